"""Keep secrets, and characters that could forge a line, out of all that is written down."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "[redacted]"
_LONGEST_SNIPPET_INPUT: Final = 4096

_SHAPES: Final = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    r"|\bsk-[A-Za-z0-9_-]{8,}"  # Anthropic, OpenAI
    r"|\buntethered-[0-9a-fA-F]{16,}"  # keys of paired devices
    r"|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_[A-Za-z0-9_]{16,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\b(?:npm|hf)_[A-Za-z0-9]{16,}|\bpypi-[A-Za-z0-9_-]{16,}|\b[rs]k_(?:live|test)_\w{8,}"
    r"|\bxox[a-z]-[A-Za-z0-9-]{8,}|\bA[KS]IA[0-9A-Z]{16}\b|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bya29\.[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*",  # JSON web tokens
    re.DOTALL,
)
_QUOTE: Final = r"(?:\\{0,8}[\"'])?"  # escaped where JSON stands in JSON
_HEADER: Final = re.compile(
    rf"(?P<name>\b(?:proxy-)?authorization\b{_QUOTE}\s{{0,4}}[:=]\s{{0,4}}{_QUOTE})"
    r"(?:(?:bearer|basic|token|digest)\s{1,4})?[^\s\"',;}\\]+",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"(?P<name>\bbearer\s{1,4})[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_NAMES: Final = r"(?:api_?-?key|token|secret|passwd|password|passphrase|credential|cookie)"
_PAIR: Final = re.compile(
    rf"(?P<name>{_NAMES}s?[\w-]{{0,16}}{_QUOTE}\s{{0,4}}[:=]\s{{0,4}})"
    r"(?:\\{0,8}\"[^\"]*\"?|\\{0,8}'[^']*'?|(?!\d{1,12}\b)[^\s\"',;}]+)",
    re.IGNORECASE,
)
_OPTION: Final = re.compile(
    rf"(?P<name>--(?:[a-z]{{1,16}}-){{0,2}}{_NAMES}s?\s{{1,4}}{_QUOTE})[^\s\"'-][^\s\"']*",
    re.IGNORECASE,
)
_USERINFO: Final = re.compile(
    r"(?P<name>\b[a-z][a-z0-9+.-]{0,20}:/{1,2})[^\s/@]{1,256}@", re.IGNORECASE
)
_SECRET_FIELD: Final = re.compile(
    rf"authorization|{_NAMES}(?!s?_?(?:count|used|limit))", re.IGNORECASE
)

_PLAIN: Final = re.compile(r"[a-z]{1,40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A word, and an id of ours: no secret has this form, and most of what is logged does."""

_UNPRINTABLE: Final = {
    code: (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        0xFEFF,
        *range(0xD800, 0xE000),
    )
} | {0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}


def redact(text: str) -> str:
    """Replace what looks like a secret: keys, tokens, passwords, headers, private keys."""
    if _PLAIN.fullmatch(text):
        return text
    if _SHAPES.search(text):
        text = _SHAPES.sub(HIDDEN, text)
    for pattern in (_HEADER, _BEARER, _PAIR, _OPTION, _USERINFO):
        if pattern.search(text):  # mostly not, and to look costs a third of what to replace does
            text = pattern.sub(rf"\g<name>{HIDDEN}", text)
    return text


def snippet(text: str, longest: int = 200) -> str:
    """Return the beginning of a text, at most ``longest`` characters, without its secrets.

    Secrets are removed first.
    """
    clean = redact(text[:_LONGEST_SNIPPET_INPUT])
    return clean if len(clean) <= longest else clean[: longest - 3] + "..."


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name must never be written down, with any value."""
    return _SECRET_FIELD.search(name) is not None


def escape(text: str) -> str:
    """Escape control and direction characters, so that a text can neither end its line nor
    change a terminal."""
    return text.translate(_UNPRINTABLE)
