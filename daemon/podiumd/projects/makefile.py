"""The targets of a Makefile, read from its text. Pure.

Asking ``make`` itself is out of the question: ``make -qp`` runs each ``$(shell ...)`` and remakes
included files, that is, it runs code of a directory that a person merely looked at. The price of
reading is that names which only make's functions would yield are not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

Read = Callable[[str], Iterable[str]]
"""Gives the texts of the files that a name or glob pattern stands for; none that cannot be read."""

MOST_TARGETS = 500
_MOST_EXPANSIONS = 20_000
_MOST_EXPANDED = 4 * 1024 * 1024  # characters
_LONGEST_LINE = 64 * 1024
_DEEPEST = 8

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_ASSIGNMENT = re.compile(
    r"(?:(?:export|override|private)\s+)*([^\s:#=+?!$()]+)\s*(:{0,3}=|\?=|\+=|!=)(.*)", re.DOTALL
)
_FOR_ONE_TARGET = re.compile(r"\s*(?:(?:export|override|private)\s+)*[^\s:#=]+\s*(?:[:?+!]{0,3}=)")
_DIRECTIVE = re.compile(
    r"(?:ifn?eq|ifn?def|else|endif|endef|vpath|export|unexport|undefine|load|-load)\b(?!\s*:)"
)
_INCLUDE = re.compile(r"(?:-include|sinclude|include)\s+(.*)")
_DEFINE = re.compile(r"(?:override\s+)?define\b(?!\s*:)")
_BRACKETS = {"(": ")", "{": "}"}
_UNKNOWN = "$"  # stands for what only make could know; no name holds it

# A dotted name that ends like this is a file to build, unless .PHONY says it is none.
_BUILT = re.compile(
    r"a|bin|c|cc|class|cpp|css|csv|d|deb|dll|dvi|dylib|elf|env|exe|go|gz|h|hex|hpp|html|i|in|jar|"
    r"java|js|json|lib|lo|lock|log|lst|map|md|mk|o|obj|out|pdf|png|ps|py|rb|rpm|rs|s|so|svg|tar|"
    r"tex|tgz|toml|ts|txt|wasm|whl|xml|xz|yaml|yml|zip|zst",
    re.IGNORECASE,
)


class Target(msgspec.Struct, frozen=True):
    """A target that a person may call for, with what its ``##`` comment says of it."""

    name: str
    description: str | None = None


def targets(text: str, read: Read) -> list[Target]:
    """List the targets in the order of the text, each once, at most 500.

    Pattern rules are left out, names with a slash or a leading ``_`` or ``.``, and names of files
    to build (``main.o``) that are not ``.PHONY``. Both sides of a conditional count.
    """
    reader = _Reader(read)
    reader.take(text)
    return [
        Target(name, description)
        for name, description in reader.rules.items()
        if name in reader.phony or not _is_file(name)
    ][:MOST_TARGETS]


def _is_file(name: str) -> bool:
    _, dot, ending = name.rpartition(".")
    return name.lower() in {"makefile", "gnumakefile"} or bool(dot and _BUILT.fullmatch(ending))


class _Reader:
    def __init__(self, read: Read) -> None:
        self.rules: dict[str, str | None] = {}
        self.phony: set[str] = set()
        self._read = read
        self._variables: dict[str, str] = {}
        self._expansions = _MOST_EXPANSIONS
        self._room = _MOST_EXPANDED
        self._recipe_prefix = "\t"

    def take(self, text: str) -> None:
        defining = 0
        said = None
        for line in _logical_lines(text):
            bare = line.strip()
            if defining:
                defining += bool(_DEFINE.match(bare)) - bare.startswith("endef")
            elif _DEFINE.match(bare):
                defining = 1
            elif not line.startswith(self._recipe_prefix):
                self._line(bare, said)
            said = bare.strip("# ") if bare.startswith("##") else None

    def _line(self, line: str, said: str | None) -> None:
        if assigned := _ASSIGNMENT.match(line):
            self._assign(*assigned.groups())
        elif included := _INCLUDE.match(line):
            for word in self._expand(included[1].partition("#")[0]).split():
                for text in self._read(word) if _UNKNOWN not in word else ():
                    self.take(text)
        elif not _DIRECTIVE.match(line):
            self._rule(line, said)

    def _assign(self, name: str, operator: str, value: str) -> None:
        value = value.partition("#")[0].strip()
        if name == ".RECIPEPREFIX":
            self._recipe_prefix = value[:1] or "\t"
        elif operator == "!=":
            self._variables[name] = _UNKNOWN
        elif operator == "+=" and name in self._variables:
            self._variables[name] = f"{self._variables[name]} {value}"[:_LONGEST_LINE]
        elif operator != "?=" or name not in self._variables:
            self._variables[name] = value

    def _rule(self, line: str, said: str | None) -> None:
        code, _, comment = line.partition("#")
        names, colon, rest = self._expand(code).partition(":")
        rest = rest.removeprefix(":")
        if not colon or _FOR_ONE_TARGET.match(rest):
            return
        words = names.rstrip("&").split()
        if words == [".PHONY"]:
            self.phony.update(rest.partition(";")[0].split())
        described = comment[1:].strip() if comment.startswith("#") else said
        for word in words:
            if _NAME.fullmatch(word):
                self.rules[word] = self.rules.get(word) or described or None

    def _expand(self, text: str, depth: int = 0) -> str:
        """Expand the variables of a text; a reference that cannot be resolved is ``$``."""
        parts: list[str] = []
        at = 0
        while (dollar := text.find("$", at)) >= 0:
            parts.append(text[at:dollar])
            reference, at = _reference(text, dollar)
            value = self._variables.get(reference)
            self._expansions -= 1
            if value is None or depth == _DEEPEST or self._expansions < 0 or self._room < 0:
                value = _UNKNOWN
            elif value:
                value = self._expand(value, depth + 1)
                self._room -= len(value)
            parts.append(value)
        return "".join([*parts, text[at:]])[:_LONGEST_LINE]


def _reference(text: str, dollar: int) -> tuple[str, int]:
    """Parse what the reference at ``dollar`` names, and where the text goes on after it."""
    opening = text[dollar + 1 : dollar + 2]
    closing = _BRACKETS.get(opening)
    if closing is None:
        return opening, dollar + 1 + len(opening)
    depth = 0
    for at in range(dollar + 1, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return text[dollar + 2 : at], at + 1
    return "", len(text)


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines with their continuations, each at most 64 KiB of characters."""
    pending: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending.append(line[:-1])
            continue
        yield " ".join([*pending, line])[:_LONGEST_LINE]
        pending.clear()
    if pending:
        yield " ".join(pending)[:_LONGEST_LINE]
