"""Who is at the other end, as far as limits are concerned: an address of IPv4, or a network of 64 bits of IPv6."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from blendp.errors import ParameterError

UNKNOWN = "unknown"
"""Whoever gives no address, or what is none: all of them together are one peer."""

_MAX_ADDRESS = 64
_HOUSEHOLD_BITS = 64
_WIDEST = {4: 16, 6: 48}
"""The shortest prefix that a proxy's network may have: nobody's proxies fill more."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def peer_of(address: str) -> str:
    """The peer that has this address; IPv4 in the clothes of IPv6 is IPv4."""
    return _peer_of(address) if len(address) <= _MAX_ADDRESS else UNKNOWN


@lru_cache(maxsize=10_000)
def _peer_of(address: str) -> str:
    parsed = _parsed(address)
    if parsed is None:
        return UNKNOWN
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((int(parsed) >> _HOUSEHOLD_BITS << _HOUSEHOLD_BITS, _HOUSEHOLD_BITS)))


def _parsed(address: str) -> Address | None:
    """The address without its zone; None if it is none."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def is_loopback(address: str) -> bool:
    """Whether whoever has this address is on this machine."""
    parsed = _parsed(address)
    return parsed is not None and parsed.is_loopback


@dataclass(frozen=True)
class Proxies:
    """The networks of proxies whose word about peers is taken."""

    networks: tuple[Network, ...]

    @classmethod
    def parse(cls, text: str) -> Proxies:
        """Addresses or networks, separated by commas; names would never fit, and wide networks let anybody in."""
        return cls(tuple(_network(text, part.strip()) for part in text.split(",")))

    def __contains__(self, address: str) -> bool:
        """Whether the address is that of a proxy."""
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self.networks)


def _network(text: str, part: str) -> Network:
    legal = "an IP address or a network, such as 10.0.0.2 or 10.0.0.0/24, or several with commas between"
    try:
        network = ipaddress.ip_network(part)
    except ValueError:
        raise ParameterError("behind_proxy", text, legal, "Look up the proxy's address.") from None
    widest = _WIDEST[network.version]
    if network.prefixlen < widest:
        raise ParameterError(
            "behind_proxy",
            text,
            f"networks of at most /{widest}, since everybody in them may say to be anybody",
            "Give the proxy's own address.",
        )
    return network
