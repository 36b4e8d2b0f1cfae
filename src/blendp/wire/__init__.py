"""What travels between a collector, its clients and its operators: one form each, the same bytes everywhere."""

from blendp.wire.campaign import Manifest, Terms
from blendp.wire.envelope import Envelope, Signature, SigningKey, VerifyKey
from blendp.wire.problems import PROBLEMS, Problem
from blendp.wire.reports import UploadedReport

__all__ = [
    "PROBLEMS",
    "Envelope",
    "Manifest",
    "Problem",
    "Signature",
    "SigningKey",
    "Terms",
    "UploadedReport",
    "VerifyKey",
]
