"""Which hosts a text aims at, and which of them lie inside: private, local, reserved or metadata addresses.

Sources: the IANA special-purpose registries as Python's ipaddress knows them; RFC 3986 and the WHATWG URL
standard for what is a host; inet_aton(3) for short, octal, decimal and hexadecimal spellings; RFC 4291, 3056,
6052, 4380 and 5214 for IPv4 inside IPv6. Names are not resolved (a verdict must not depend on the network):
known local names, local domains and wildcard services that spell an address are. Numbers beyond 32 bits and
octets beyond 255, which no resolver takes, are not.
"""

from __future__ import annotations

import contextlib
import re
import socket
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote

Address = IPv4Address | IPv6Address

_SCHEME = r"(?:(?:https?|wss?|ftp):[/\\]*|:[/\\]{2,})"
_URL = re.compile(_SCHEME + r"""[^\s"'<>`/\\?#]+""", re.I)
_LOOSE_URL = re.compile(_SCHEME + r"""[^\s"'<>`/?#]+""", re.I)
"""Up to the end of the authority as the URL standard has it, and as parsers do that keep a backslash in it."""
_BARE = re.compile(
    r"(?://)?(?P<host>\[[^\]\s]+\]|[^\s/\\?#:@\"'<>]+|[0-9a-f:.%]+)(?::\d{1,5})?(?:[/?#].*)?\Z", re.I | re.S
)
_HOST_KEY = re.compile(
    r"ur[il]|host|addr|(?:^|_)ips?(?:$|_)|endpoint|server|domain|link|href|hook|proxy|origin|remote|peer"
)
_FETCHES = re.compile(
    r"(?i)\b(?:curl|wget|nc|ncat|netcat|telnet|ssh|scp|ping6?|dig|nslookup|http|https|socat|nmap|fetch)\b"
)
_WORD = re.compile(r"""[^\s"'`;|&()<>=,]+""")
_IGNORED = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")
_ZONE = re.compile(r"%.*\Z", re.S)

_INSIDE = tuple(
    ip_network(net) for net in ("100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "fec0::/10", "64:ff9b:1::/48")
)
"""Inside, though ipaddress calls them global (or, in some versions, not private)."""
_EXAMPLES = tuple(ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"))
"""Documentation ranges lead nowhere; packs use them where they need an address of nobody's."""
_METADATA = frozenset(
    map(
        ip_address,
        ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"),
    )
)

_LONGEST = 4096
"""Characters of a host that are looked at, escapes and all; a name has at most 253."""

_LOCAL_NAMES = frozenset(
    (
        "localhost",
        "localdomain",
        "ip6-localhost",
        "ip6-loopback",
        "broadcasthost",
        "metadata",
        "instance-data",
        "kubernetes",
    )
)
_LOCAL_ENDS = (".localhost", ".localdomain", ".internal", ".local", ".home.arpa", ".intranet", ".lan", ".svc")
_LOOPBACK_DOMAINS = ("localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "yoogle.com", "fuf.me")
_WILDCARDS = ("nip.io", "sslip.io", "xip.io", "traefik.me", "local-ip.co", "backname.io", "rbndr.us", "1u.ms")
_DOTTED = re.compile(r"(?<![0-9])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?![0-9])")
_HEXED = re.compile(r"(?<![0-9a-z])(?:0x)?([0-9a-f]{8})(?![0-9a-z])")
_NAT64 = ip_network("64:ff9b::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def hosts(text: str, key: str) -> Iterator[str]:
    """Every host in a string argument named `key`: of URLs anywhere, of the whole string, of words of a command.

    Where parsers disagree on a URL (a backslash before `@`) the host is given in each of the readings. A bare
    number or a short form (127.1) is a host only where its argument is named like one or a command fetches it.
    """
    for pattern in (_URL, _LOOSE_URL):
        for match in pattern.finditer(text):
            yield _authority(match[0])
    stripped = text.strip()
    aimed = bool(_HOST_KEY.search(key))
    if whole := _BARE.fullmatch(stripped):
        if _clear(whole["host"]) or _short(whole["host"]) or (aimed and not _count(whole["host"])):
            yield whole["host"]
    elif aimed or _FETCHES.search(stripped):
        for word in _WORD.findall(stripped)[:1000]:
            if (found := _BARE.fullmatch(word.rpartition("@")[2])) and _meant(found["host"]):
                yield found["host"]


@lru_cache(maxsize=1024)
def inside(host: str) -> tuple[str, tuple[Address, ...]] | None:
    """(what it is, the addresses it stands for) where `host` lies inside; None for a host out in the world."""
    name = normal(host)
    addresses = _addresses(name)
    for address in addresses:
        if kind := _kind(address):
            return f"{kind} address {address}", (address,)
    if addresses:
        return None
    for address in _spelled_in_name(name):
        if kind := _kind(address):
            return f"a name for the {kind} address {address}", (address,)
    if name in _LOCAL_NAMES or name.endswith(_LOCAL_ENDS) or _under(name, _LOOPBACK_DOMAINS):
        return "a local name", ()
    return None


def normal(host: str) -> str:
    """The host as a resolver would take it: unescaped, NFKC and dots as IDNA has them, no dot at the end."""
    host = host[:_LONGEST]
    for _ in range(3):
        host = unquote(host)
    host = unicodedata.normalize("NFKC", _IGNORED.sub("", host)).translate(_DOTS).casefold().strip()
    return _ZONE.sub("", host.strip("[]")).rstrip(".")


def _authority(url: str) -> str:
    host = re.split(r":[/\\]*", url, maxsplit=1)[1].rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host if host.count(":") > 1 else host.partition(":")[0]


def _meant(host: str) -> bool:
    """As a word of a command that fetches: also a number too large to count anything with."""
    return _clear(host) or _short(host) or (normal(host).isdecimal() and not _count(host))


def _clear(host: str) -> bool:
    """It is a host whatever its argument is called: an address in four parts, hexadecimal or IPv6, or a local name."""
    name = normal(host)
    if re.fullmatch(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){3}|0x[0-9a-f]{8}", name):
        return True
    if ":" in name:
        return bool(_addresses(name))
    return name in ("localhost", "ip6-localhost") or ("." in name and not _addresses(name))


def _short(host: str) -> bool:
    """A short or numeric form that can only be meant as an address: no count, no version, no number of seconds."""
    name = normal(host)
    if name.isdecimal() or _count(host):
        return False
    return any(address.is_loopback or address.is_link_local for address in _addresses(name))


def _count(host: str) -> bool:
    """A small whole number or a fraction, which nobody means as an address."""
    return bool(re.fullmatch(r"\d{1,7}|0\.\d*", normal(host)))


def _addresses(name: str) -> list[Address]:
    """The addresses a literal stands for: octal and decimal readings of leading zeros are both taken."""
    if re.fullmatch(r"[0-9a-fx.]+", name):
        found: list[Address] = []
        with contextlib.suppress(OSError):
            found.append(IPv4Address(socket.inet_aton(name)))
        if re.fullmatch(r"\d{1,10}(?:\.\d{1,10}){3}", name):
            parts = [int(part) for part in name.split(".")]
            if max(parts) < 256 and (address := IPv4Address(bytes(parts))) not in found:
                found.append(address)
        if found:
            return found
    try:
        return _with_embedded(IPv6Address(name))
    except ValueError:
        return []


def _with_embedded(address: IPv6Address) -> list[Address]:
    """IPv4 inside it first (mapped, compatible, 6to4, NAT64, Teredo, ISATAP), as that is where it leads."""
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    inner: list[Address] = [a for a in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if a]
    if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 0xFFFF):
        inner.append(low)
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        inner.append(low)
    # the frame of a translated address says nothing of its own: 6to4 and NAT64 prefixes are no inside
    return inner or [address]


def _kind(address: Address) -> str | None:
    if address in _METADATA:
        return "metadata"
    if any(address in net for net in _EXAMPLES):
        return None
    for word in ("loopback", "link_local", "multicast", "unspecified"):
        if getattr(address, f"is_{word}"):
            return word.replace("_", "-")
    if any(address in net for net in _INSIDE):
        return "shared or reserved"
    return None if address.is_global else "private or reserved"


def _spelled_in_name(name: str) -> Iterator[Address]:
    """Addresses spelled in a name under a wildcard service (10-0-0-1.nip.io, 7f000001.nip.io, --1.sslip.io)."""
    suffix = next((wild for wild in _WILDCARDS if _under(name, (wild,))), None)
    if suffix is None:
        return
    label = name.removesuffix(suffix).rstrip(".")
    for match in _DOTTED.finditer(label):
        yield from _addresses(".".join(match.groups()))
    for match in _HEXED.finditer(label):
        yield IPv4Address(int(match[1], 16))
    yield from _addresses(label.rpartition(".")[2].replace("-", ":"))


def _under(name: str, domains: tuple[str, ...]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)
