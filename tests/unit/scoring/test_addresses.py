"""Every spelling of an inside address is one, and what only resembles one is not."""

from __future__ import annotations

import time
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.scoring.addresses import hosts, inside


def reached(text: str, key: str = "q") -> list[str]:
    return [found[0] for host in hosts(text, key) if (found := inside(host))]


INSIDE = tuple(
    """
    http://127.0.0.1/ http://127.1 http://127.0.1/x http://2130706433/ http://0x7f000001/ http://0x7f.1/
    http://017700000001 http://0177.0.0.1 http://010.0.0.1 http://0x7f.0.0x0.01/
    http://169.254.169.254/latest/meta-data/ http://2852039166/ http://0xA9FEA9FE/ http://10.0.0.1:8080/
    http://172.16.0.1 http://192.168.0.1 http://100.64.1.1 http://224.0.0.1 http://0.0.0.0 http://0/
    http://255.255.255.255 http://168.63.129.16 http://192.0.0.192/opc http://100.100.100.200 http://198.18.0.1
    http://[::1]/ http://[::]/ http://[0:0:0:0:0:0:0:1] http://[::ffff:10.0.0.1] http://[::ffff:a9fe:a9fe]:80/x
    http://[::a9fe:a9fe]/ http://[2002:a9fe:a9fe::]/ http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::1]
    http://[fe80::1%25eth0]/ http://[fec0::1] http://[fc00::1] http://[fd00:ec2::254]/ http://[ff02::1]
    http://[2001:4860::5efe:10.0.0.1] http://good.com@169.254.169.254/ http://user:pw@127.0.0.1:80/
    http://a@b@127.0.0.1/ http://169.254.169.254\\@good.com/ http://good.com\\@169.254.169.254/
    http://good.com%40x@127.0.0.1 http://127.0.0.1#@good.com http://127.0.0.1?@good.com http://169.254.169.254./
    http://127.1./ http://localhost./ http://LOCALHOST:8080 http://a.localhost http://localhost.localdomain
    http://foo.internal/ http://metadata.google.internal./ http://metadata/ http://instance-data/ http://db.local
    http://x.svc.cluster.local http://１２７．０．０．１/ http://①②⑦.⓪.⓪.①/ http://127。0。0。1/ http://loc\u00adalhost/
    http://ⓛocalhost http://local\u200bhost http://%31%32%37.0.0.1/ http://127%2e0%2e0%2e1
    http://%2531%2532%2537.0.0.1 http:127.0.0.1/ http:/127.0.0.1/ http:\\\\127.0.0.1 http:///127.0.0.1/
    HTTP://127.0.0.1 gopher://127.0.0.1:6379/_x ftp://10.0.0.1 //127.0.0.1/x 169.254.169.254 169.254.169.254:80
    localhost:8080/x ::1 [::1]:80 http://10.0.0.1.nip.io http://app.10-0-0-1.nip.io http://7f000001.nip.io
    http://a9fea9fe.sslip.io http://--1.sslip.io http://lvh.me http://x.localtest.me
    https://p.example/?u=http://10.0.0.1/
    """.split()  # noqa: SIM905 - a table of words is easier to read
)

OUTSIDE = tuple(
    """
    https://example.com/ http://8.8.8.8/ http://127.0.0.1@example.com/ http://203.0.113.5 http://192.0.2.1
    http://[2001:db8::1] LK-100 3.14 2130706433 10.5 12345 1 http://example.com/127.0.0.1
    https://localhost.example.com https://internal.example.com https://notlocalhost.com https://1-2-3-4.example
    8-8-8-8.nip.io a.b.c ::: 12:30 12:30:45 name:value http://[2606:4700::1111]/ http://[64:ff9b::808:808]
    http://[2002:808:808::] doc://kb/1 order::1 http://134744072/ http://0x08080808 std::string mynip.io
    """.split()  # noqa: SIM905 - a table of words is easier to read
)


@pytest.mark.parametrize("text", INSIDE)
def test_an_inside_address_is_found_under_every_spelling(text: str) -> None:
    assert reached(text)


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_only_resembles_one_is_not_taken_for_it(text: str) -> None:
    assert reached(text) == []


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("host", "127.1", True),
        ("ip", "2130706433", True),
        ("base_url", "10.1", True),
        ("server", "1", False),
        ("address", "12 Main St", False),
        ("command", "curl -m 10 127.1:80/x", True),
        ("command", "wget 2852039166", True),
        ("command", "curl 0xa9fea9fe", True),
        ("command", "ssh root@10.0.0.1", True),
        ("command", "curl --max-time 0.5 -m 10 https://example.com 1.5 10.5", False),
        ("command", "pip install x==1.2.3.4", False),
        ("version", "10.0.1", False),
    ],
)
def test_a_short_form_is_a_host_where_it_is_meant_as_one(key: str, text: str, expected: bool) -> None:
    assert bool(reached(text, key)) is expected


V4 = st.ip_addresses(v=4, network="10.0.0.0/8")


def spellings_of(address: IPv4Address) -> list[str]:
    a, b, c, d = address.packed
    number = int(address)
    return [
        str(address),
        str(number),
        hex(number),
        f"0{number:o}",
        f"{a}.{(b << 16) + (c << 8) + d}",
        f"{a}.{b}.{(c << 8) + d}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"{address}.",
        f"[{IPv6Address(0xFFFF << 32 | number)}]",
        f"[{IPv6Address(0x2002 << 112 | number << 80)}]",
        f"[64:ff9b::{address}]",
        f"[::ffff:{address}]",
        f"{a}-{b}-{c}-{d}.nip.io",
        f"{number:08x}.nip.io",
        "".join(f"%{ord(char):02x}" for char in str(address)),
        str(address).translate({ord(str(n)): 0xFF10 + n for n in range(10)}),
    ]


@given(V4, st.integers(0, 16))
def test_every_private_address_is_found_in_every_spelling(address: IPv4Address, form: int) -> None:
    host = spellings_of(address)[form]
    assert reached(f"http://{host}/x"), host
    assert reached(f"https://user@{host}:8080"), host


@given(st.ip_addresses(v=4, network="8.8.0.0/16"), st.integers(0, 16))
def test_no_public_address_is_called_inside(address: IPv4Address, form: int) -> None:
    # read as decimal, an octal spelling may be another address: that reading is taken too, so it is left out here
    if form != 6:
        assert reached(f"http://{spellings_of(address)[form]}/x") == []


@given(st.text(max_size=60))
def test_no_text_makes_it_raise(text: str) -> None:
    for start in ("", "http://", "http://[", "curl "):
        reached(start + text, "url")


@pytest.mark.parametrize("unit", ["a", "http:", "//", "1.", "@", "%25", "[", "x-1.", "127.1 ", "http://a@"])
def test_a_megabyte_of_anything_takes_little_time(unit: str) -> None:
    text = (unit * (1 << 20))[: 1 << 20]
    began = time.perf_counter()
    reached(text, "url")
    reached("curl " + text + " x", "url")
    assert time.perf_counter() - began < 8
