"""Keys: a form that existing apps accept, never kept, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.gateway.access import keys

KEY = "untethered-0123456789abcdef0123456789abcdef"


def test_a_new_key_has_the_form_that_existing_apps_accept_and_is_new_each_time() -> None:
    made = {keys.new_key() for _ in range(100)}

    assert len(made) == 100
    assert all(re.fullmatch(r"untethered-[0-9a-f]{32}", key) for key in made)
    assert all(keys.well_formed(key) for key in made)


@pytest.mark.parametrize(
    "key",
    [
        "",
        KEY[:-1],
        KEY + "0",
        KEY + "\n",
        " " + KEY,
        KEY.upper(),
        KEY.replace("-", "_"),
        KEY.replace("0", "g"),
        KEY.replace("0", "\u0660"),
        "untethered-" + "\0" * 32,
    ],
)
def test_what_only_looks_like_a_key_is_none(key: str) -> None:
    assert not keys.well_formed(key)


def test_the_digest_is_sha256_in_hex() -> None:
    assert keys.digest(KEY) == hashlib.sha256(KEY.encode()).hexdigest()


@given(st.text(st.characters()))
def test_any_text_a_client_can_send_has_a_digest(text: str) -> None:
    assert len(keys.digest(text)) == 64


def test_digests_are_compared_by_a_function_of_constant_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)

    assert keys.same("aa", "aa")
    assert not keys.same("aa", "ab")
    assert compared == [(b"aa", b"aa"), (b"aa", b"ab")]
