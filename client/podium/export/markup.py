"""Markup that nothing in a run can break out of: every word of it goes through ``esc``."""

from __future__ import annotations

import html

from podium import text

SIGNS = {
    "completed": "✓",
    "needs-user": "⚠",
    "blocked": "⚠",
    "cancelled": "⚠",
    "guardrail": "⚠",
    "checks-failed": "✗",
    "error": "✗",
}


def esc(value: object) -> str:
    """Text for an element or a quoted attribute; control and bidirectional characters shown."""
    whole = str(value).encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return html.escape(text.clean(whole), quote=True)


def tag(name: str, inside: str, **attributes: object) -> str:
    """Build an element around markup.

    ``class_`` is ``class``; ``True`` is an attribute alone, a value of ``None`` or ``False`` is
    left out.
    """
    said = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        spelt = key.rstrip("_").replace("_", "-")
        said += f" {spelt}" if value is True else f' {spelt}="{esc(value)}"'
    return f"<{name}{said}>{inside}</{name}>"


def number(value: float) -> str:
    """Format a coordinate, in tenths."""
    return f"{value:.1f}".removesuffix(".0")
