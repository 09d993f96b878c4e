"""Which Host and Origin are let in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.access.hosts import (
    Authority,
    HostRules,
    canonical,
    is_loopback,
    is_own_origin,
    parse_authority,
)

RULES = HostRules(
    ("tower", "tower.example.org"),
    ("podium.example.com", "*.corp.example", "203.0.113.7", "fd00::7"),
)
HERE = "192.168.1.20"

SERVED = [
    "localhost",
    "localhost:8080",
    "LOCALHOST:8080",
    "localhost.",
    "LocalHost.:80",
    "localhost:",
    "podium.localhost",
    "127.0.0.1:8080",
    "127.8.9.10",
    "[::1]",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]:8080",
    "[::ffff:127.0.0.1]",
    "192.168.1.20:9000",
    "[::ffff:192.168.1.20]",
    "tower",
    "TOWER:8080",
    "tower.example.org.",
    "tower.local",
    "anything.local:8080",
    "tower.tail1234.ts.net",
    "Tower.Tail1234.TS.NET.:443",
    "podium.example.com",
    "a.corp.example",
    "a.b.corp.example",
    "203.0.113.7",
    "[fd00:0::7]:8080",
]
REFUSED = [
    "",
    " ",
    ".",
    "evil.com",
    "localhost.evil.com",
    "evil.com:8080",
    "localhost.evil.com:8080",
    "127.0.0.1.evil.com",
    "evil.ts.net.attacker.io",
    "evil-ts.net",
    "evilts.net",
    "ts.net",
    ".ts.net",
    "local",
    ".local",
    "x.local.evil.com",
    "xlocal",
    "notlocalhost",
    "corp.example",
    "evilcorp.example",
    "tower.evil.com",
    "eviltower",
    "user@localhost",
    "localhost@evil.com",
    "evil.com#localhost",
    "evil.com/localhost",
    "evil.com?.local",
    "evil.com\\.local",
    "localhost\t",
    "local host",
    "localhost:8080:8080",
    "localhost:port",
    "localhost:65536",
    "localhost:-1",
    "localhost:99999999",
    "localhost..",
    "a..local",
    "192.168.1.21",
    "0.0.0.0",
    "0.0.0.0:8080",
    "[::]",
    "10.0.0.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "127.0.0.01",
    "[::1",
    "::1",
    "::1:8080",
    "[127.0.0.1]",
    "[::1]x",
    "[::2]",
    "[1:2:3:4:5:6:7:8:9]",
    "loc\u0430lhost",
    "\u217cocalhost",
    f"{'a' * 64}.local",
    f"{'a.' * 200}local",
    "localhost,evil.com",
    "localhost, localhost",
]


@pytest.mark.parametrize("host", SERVED)
def test_a_host_that_means_this_machine_is_served(host: str) -> None:
    assert RULES.serves(host, HERE)


@pytest.mark.parametrize("host", REFUSED)
def test_any_other_host_is_refused(host: str) -> None:
    assert not RULES.serves(host, HERE)


def test_the_address_where_the_client_arrived_is_ours_and_no_other() -> None:
    assert RULES.serves("[fe80::1%25eth0]:8080", "fe80::1%eth0")
    assert RULES.serves("10.0.0.5", "::ffff:10.0.0.5")
    assert not RULES.serves("10.0.0.5", "10.0.0.6")


@given(st.text(max_size=60))
def test_no_text_at_all_is_more_than_refused(text: str) -> None:
    authority = parse_authority(text)

    assert authority is None or (authority.host and authority.host == authority.host.lower())


@given(st.from_regex(r"[a-z]{1,10}(\.[a-z]{1,10}){0,3}", fullmatch=True))
def test_a_suffix_never_matches_in_the_middle(name: str) -> None:
    refused = f"{name}.local.{name}-evil.io"

    assert not RULES.serves(refused, HERE)


@pytest.mark.parametrize(
    ("text", "authority"),
    [
        ("A.Example:8080", Authority("a.example", 8080)),
        ("a.example:", Authority("a.example", None)),
        ("[2001:DB8::0:1]:1", Authority("2001:db8::1", 1)),
    ],
)
def test_an_authority_is_read_in_one_form(text: str, authority: Authority) -> None:
    assert parse_authority(text) == authority


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("fe80::1%eth0", "fe80::1"),
        ("1.2.3.4", "1.2.3.4"),
        ("x", "x"),
    ],
)
def test_an_address_has_one_form(address: str, plain: str) -> None:
    assert canonical(address) == plain


def test_loopback_is_told_from_names_that_look_like_it() -> None:
    assert is_loopback("localhost") and is_loopback("a.localhost") and is_loopback("::1")
    assert not is_loopback("alocalhost") and not is_loopback("10.0.0.1")


@pytest.mark.parametrize(
    ("origin", "host", "secure"),
    [
        ("http://localhost:8080", "localhost:8080", False),
        ("HTTP://LOCALHOST:8080", "localhost:8080", False),
        ("https://tower.ts.net:8080", "tower.ts.net:8080", True),
        ("http://[::1]:8080", "[0::1]:8080", False),
    ],
)
def test_the_gateways_own_origin_is_let_in(origin: str, host: str, secure: bool) -> None:
    assert is_own_origin(origin, host, 8080, secure)


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://evil.com",
        "http://evil.com:8080",
        "http://localhost",
        "http://localhost:3000",
        "http://localhost:8081",
        "https://localhost:8080",
        "ws://localhost:8080",
        "file://",
        "chrome-extension://abcdef",
        "http://localhost:8080.evil.com",
        "http://localhost:8080@evil.com",
        "http://user@localhost:8080",
        "http://localhost:8080/",
        "http://localhost:8080/path",
        "http://localhost.evil.com:8080",
        "http://127.0.0.1:8080",
        "http://localhost:8080 http://evil.com",
        "http://localhost:8080, http://localhost:8080",
        "localhost:8080",
    ],
)
def test_any_other_origin_is_refused(origin: str) -> None:
    assert not is_own_origin(origin, "localhost:8080", 8080, secure=False)


def test_a_page_on_another_port_of_this_machine_is_refused_even_through_a_proxy() -> None:
    # A proxy that ends TLS passes on Host and Origin as the browser wrote them.
    assert not is_own_origin("http://tower.ts.net", "tower.ts.net", 8080, secure=False)
    assert is_own_origin("http://tower.ts.net", "tower.ts.net", 80, secure=False)
