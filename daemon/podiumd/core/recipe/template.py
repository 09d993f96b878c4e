"""``{{name}}`` in prompts and arguments: found at load, filled in once at use.

A name is a parameter, ``ctx.KEY`` or ``last.STEP.detail``. What does not look like a name
(``{{.Names}}``, ``{{ a b }}``) is ordinary text, so that other tools' templates pass through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_VARIABLE: Final = re.compile(r"\{\{[ \t]*+([A-Za-z_][A-Za-z0-9_.-]*+)[ \t]*+\}\}")


class MissingVariable(LookupError):
    """A text uses a variable that has no value.

    ``name`` is the variable; the message names the ones that exist.
    """

    def __init__(self, name: str, known: Mapping[str, str]) -> None:
        names = ", ".join(sorted(known)) or "none"
        super().__init__(f"no value for '{{{{{name}}}}}'; the variables are: {names}")
        self.name = name


def variables(text: str) -> list[tuple[str, int]]:
    """List the variables of ``text`` in order: (name, number of lines before it)."""
    found: list[tuple[str, int]] = []
    line, seen = 0, 0
    for match in _VARIABLE.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        found.append((match.group(1), line))
    return found


def rewrite(text: str, put: Callable[[str], str | None]) -> str:
    """Put other text in the place of variables; ``put`` returns it, or ``None`` to leave one."""

    def in_place_of(match: re.Match[str]) -> str:
        other = put(match.group(1))
        return match.group() if other is None else other

    return _VARIABLE.sub(in_place_of, text)


def render(text: str, values: Mapping[str, str]) -> str:
    """Fill ``values`` into ``text``; a filled-in value is never read for braces again.

    Raises MissingVariable for a variable without a value.
    """

    def value_of(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in values:
            raise MissingVariable(name, values)
        return values[name]

    return _VARIABLE.sub(value_of, text)
