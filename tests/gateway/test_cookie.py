"""The cookie of a page: named after the port, closed to scripts, kept to its host."""

from __future__ import annotations

import pytest

from podiumd.gateway.access.cookie import cookie_name, key_of, set_cookie


@pytest.mark.parametrize("secure", [False, True])
def test_what_is_set_is_found_again(secure: bool) -> None:
    pair = set_cookie(8080, secure, "KEY").partition(";")[0]
    assert key_of(f"other=1; {pair}; third=a=b", 8080, secure) == "KEY"


def test_over_https_its_name_keeps_it_to_its_host() -> None:
    cookie = set_cookie(8080, True, "KEY")
    assert cookie.startswith("__Host-podium-8080=KEY; Path=/; ") and cookie.endswith("; Secure")
    assert "Secure" not in set_cookie(8080, False, "KEY") and cookie_name(1, False) == "podium-1"


@pytest.mark.parametrize("attribute", ["HttpOnly", "SameSite=Strict", "Path=/"])
def test_no_script_and_no_other_site_has_it(attribute: str) -> None:
    assert attribute in set_cookie(8080, False, "KEY").split("; ")


def test_that_of_another_daemon_or_of_the_other_scheme_is_none() -> None:
    assert key_of("podium-8081=KEY", 8080, False) == ""
    assert key_of("podium-8080=KEY", 8080, True) == ""
    assert key_of("", 8080, False) == ""


def test_no_seconds_have_a_browser_drop_it() -> None:
    assert "Max-Age=0" in set_cookie(8080, False, "", seconds=0)
