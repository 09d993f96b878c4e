"""The line of each key of a TOML text, which the standard library's parser does not give.

The text must have been parsed before: this reader trusts its syntax and only keeps count.
"""

from __future__ import annotations

import re
from typing import Final

Path = tuple[str | int, ...]

# No group repeats possessively: Pythons before 3.11.5 lose matches of one that holds alternatives.
_TOKEN: Final = re.compile(
    r'(?P<string>"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*"{3,5}'
    r"|'''[^']*+(?:'(?!'')[^']*+)*'{3,5}"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"'
    r"|'[^'\n]*+')"
    r"|(?P<comment>#[^\n]*+)"
    r"|(?P<newline>\n)"
    r"|(?P<open>[\[{])"
    r"|(?P<close>[\]}])"
    r"|(?P<equals>=)"
    r"|(?P<comma>,)"
    r"|(?P<dot>\.)"
    r"|(?P<bare>[A-Za-z0-9_-]++)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_OPENING: Final = re.compile(r"(\"\"\"|''')\r?\n")


class TomlLines:
    """Positions of the keys of one TOML text; lines count from 1."""

    def __init__(self, text: str) -> None:
        self._keys: dict[Path, int] = {}
        self._values: dict[Path, int] = {}
        self._table: Path = ()
        self._arrays: dict[Path, int] = {}
        self._read(text)

    def of(self, path: Path) -> int:
        """Return the line of the key at ``path``; else of the nearest table or key around it.

        Members of an array have their index in the path. Line 1 stands for the whole file.
        """
        return self._nearest(self._keys, path)

    def of_value(self, path: Path) -> int:
        """Return the line on which the text of the string at ``path`` begins."""
        return self._nearest(self._values, path) if path in self._values else self.of(path)

    @staticmethod
    def _nearest(lines: dict[Path, int], path: Path) -> int:
        while path and path not in lines:
            path = path[:-1]
        return lines.get(path, 1)

    def _read(self, text: str) -> None:
        """Walk over the statements: each begins a line outside any value."""
        statement: list[re.Match[str]] = []
        depth, line, began = 0, 1, 1
        for token in _TOKEN.finditer(text):
            kind = token.lastgroup
            if kind == "newline" and depth == 0:
                self._statement(statement, began)
                statement = []
            elif kind not in ("comment", "newline") and not token.group().isspace():
                began = began if statement else line
                statement.append(token)
            if kind == "open":
                depth += 1
            elif kind == "close":
                depth -= 1
            line += token.group().count("\n")
        self._statement(statement, began)

    def _statement(self, tokens: list[re.Match[str]], line: int) -> None:
        """Note the line of one header or one assignment."""
        if not tokens:
            return
        if tokens[0].lastgroup == "open":
            self._header(tokens, line)
            return
        equals = next(i for i, token in enumerate(tokens) if token.lastgroup == "equals")
        path = (*self._table, *_names(tokens[:equals]))
        for end in range(len(self._table) + 1, len(path) + 1):
            self._keys.setdefault(path[:end], line)
        opening = _OPENING.match(tokens[equals + 1].group())
        self._values[path] = line + 1 if opening else line

    def _header(self, tokens: list[re.Match[str]], line: int) -> None:
        """Enter the table that ``[a.b]`` or ``[[a.b]]`` names; a new array member is counted."""
        path: Path = ()
        for name in _names(tokens):
            path = (*path, name)
            self._keys.setdefault(path, line)
            if path in self._arrays:
                path = (*path, self._arrays[path])
        if tokens[1].lastgroup == "open":
            array = path[:-1] if isinstance(path[-1], int) else path
            self._arrays[array] = self._arrays.get(array, -1) + 1
            path = (*array, self._arrays[array])
        self._keys[path] = line
        self._table = path


def _names(tokens: list[re.Match[str]]) -> list[str]:
    """Return the parts of a dotted key, quotes taken off."""
    names = []
    for token in tokens:
        if token.lastgroup == "string":
            names.append(token.group()[1:-1])
        elif token.lastgroup == "bare":
            names.append(token.group())
    return names
