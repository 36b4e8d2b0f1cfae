"""Certificates of the tests' own."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certified(folder: Path, subject: str = "127.0.0.1") -> tuple[Path, Path]:
    """A certificate of an address or a name that is an authority of its own, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "collector")])
    names = x509.SubjectAlternativeName([_general_name(subject)])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1)).add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return certificate, private


def _general_name(subject: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(subject))
    except ValueError:
        return x509.DNSName(subject)
