"""The key of a paired device: its form, its digest at rest, and how two digests are compared.

Existing phone apps accept nothing else than ``untethered-`` and 32 lowercase hex digits. A page's
key, and its secret, have a form of their own.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Final

_PREFIX: Final = "untethered-"
_RANDOM_BYTES: Final = 16  # 128 bits, beyond any guessing
_PAGE_BYTES: Final = 32
_FORM: Final = re.compile(rf"{_PREFIX}[0-9a-f]{{{2 * _RANDOM_BYTES}}}", re.ASCII)


def new_key() -> str:
    """Make a new random key."""
    return _PREFIX + secrets.token_hex(_RANDOM_BYTES)


def new_page_key() -> str:
    """Make a new random key, or secret, of a page."""
    return secrets.token_urlsafe(_PAGE_BYTES)


def well_formed(key: str) -> bool:
    """Return whether this could be a key: the whole text, and nothing around it."""
    return _FORM.fullmatch(key) is not None


def digest(key: str) -> str:
    """Return the SHA-256 of a text as hex digits: all that is kept of a key.

    A plain hash is enough: a key is random, so there is no dictionary to try.
    """
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare two digests in a time that does not show where they differ."""
    return hmac.compare_digest(one.encode("ascii"), other.encode("ascii"))
