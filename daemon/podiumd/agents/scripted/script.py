r"""The file of turns that the scripted driver plays: its shape, its errors, the choice of a turn.

A script is TOML (``.toml``) or JSON and holds an ordered list ``turns``::

    [[turns]]
    when = "code review"              # regular expression searched in the prompt; default: any
    times = 1                         # how often a run may use this turn; 0: any number of times
    text = "Looks good."              # what the agent says; shown before it acts
    outcome = { outcome = "no-issues" }                 # structured output
    delay_ms = 250                    # silence before anything else
    ask = { tool = "Bash", input = { command = "make" } }   # asks first; denied: does not act
    write = [{ path = "src/a.py", content = "x = 1\n" }]  # below the working directory
    run = [["git", "add", "src/a.py"]]                  # argument lists, run in order
    otherwise = { status = 1, text = "Nothing to do.", outcome = { outcome = "other" } }
    tools = [{ tool = "save", args = { key = "goal", value = "a shop" } }]  # Podium's own, last
    cost_usd = 0.01
    error = "the model is overloaded" # ends as an API error
    usage_limit = "2030-01-01T00:00:00Z"                # ends at the account's limit, until then

Of ``tools`` each waits for what came of the one before. ``expect = "refused"`` says that a call is
to be refused; a call that comes to anything else than expected ends the turn as failed. A file or
command that a hook refuses is passed over.

The first turn in file order that matches the prompt and is not used up answers it. One that was cut
off by the end of its daemon is not used up, and is what its run goes on with, unless the first that
fits is meant for the opening words of that prompt ("You were interrupted"). A command of ``run``
that ends with another status than 0 ends the turn as failed, unless ``otherwise`` names that
status: then its text and outcome stand for the turn's own.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

import msgspec

from podiumd.core.toml_lines import TomlLines
from podiumd.wording import FaultPath, Misfit, convert_file

SCRIPT_BYTES: Final = 256 * 1024
"""The most of a script: what a run is given stands in its first fact."""

_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class ScriptError(ValueError):
    """The script cannot be used; the message names the file, the place and what is expected."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request for approval."""

    tool: str
    input: dict[str, Any] = {}


class Write(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file to write, below the working directory."""

    path: str
    content: str


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call of one of the tools that Podium serves, and what is to come of it."""

    tool: str
    args: dict[str, Any] = {}
    expect: Literal["done", "refused"] = "done"


class Otherwise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The turn's text when a command ended with this status."""

    status: int
    text: str
    outcome: dict[str, Any] | None = None


class ScriptedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A turn of a script; see the module's text for the keys."""

    when: str = ""
    times: int = 1
    text: str = ""
    outcome: dict[str, Any] | None = None
    delay_ms: int = 0
    ask: Ask | None = None
    write: tuple[Write, ...] = ()
    run: tuple[tuple[str, ...], ...] = ()
    otherwise: Otherwise | None = None
    tools: tuple[Call, ...] = ()
    cost_usd: float = 0.0
    error: str = ""
    usage_limit: str = ""


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An ordered list of turns."""

    turns: tuple[ScriptedTurn, ...]

    def choose(self, prompt: str, used: Mapping[int, int]) -> int | None:
        """Choose the turn that answers ``prompt``, by index; ``None`` where none is left.

        ``used`` counts how often each turn, by index, was already played in this run.
        """
        for index, turn in enumerate(self.turns):
            left = turn.times == 0 or used.get(index, 0) < turn.times
            if left and re.search(turn.when, prompt):
                return index
        return None

    def resume(self, prompt: str, used: Mapping[int, int], cut: int) -> int:
        """Return the index of the turn that goes on where the turn ``cut`` was cut off.

        It is the same one, whose ``when`` the prompt need not fit, unless one is meant for the
        words of the interruption.
        """
        words, index = prompt.partition("\n\n")[0], self.choose(prompt, used)
        meant = index is not None and self.turns[index].when
        return index if index is not None and meant and re.search(meant, words) else cut


def parse_script(data: object, name: str, lines: TomlLines | None = None) -> Script:
    """Check plain data (of TOML or JSON); ``name`` stands in errors, with the line of ``lines``.

    Raises ``ScriptError``.
    """
    try:
        script: Script = convert_file(data, Script)
    except Misfit as error:
        raise ScriptError(f"{name}{_line(lines, error.path)}: {error}") from None
    for index, turn in enumerate(script.turns):
        problem = _problem(turn)
        if problem:
            line = _line(lines, ("turns", index))
            raise ScriptError(f"{name}{line}: turns[{index}]: {problem}")
    return script


def _line(lines: TomlLines | None, path: FaultPath) -> str:
    return "" if lines is None else f", line {lines.of(path)}"


def load_script(path: Path) -> Script:
    """Read a script from a file.

    Raises ``ScriptError``, also where the file cannot be read.
    """
    try:
        text = _read(path)
    except OSError as error:
        whole = "" if path.is_absolute() else "; give the whole path"
        raise ScriptError(f"{path}: cannot be read: {error.strerror}{whole}") from None
    except UnicodeDecodeError:
        raise ScriptError(f"{path}: cannot be read: it is not UTF-8 text") from None
    kind = "TOML" if path.suffix == ".toml" else "JSON"
    try:
        data: object = tomllib.loads(text) if kind == "TOML" else json.loads(text)
    except RecursionError:
        raise ScriptError(f"{path}: not {kind}: it is nested too deeply") from None
    except ValueError as error:
        raise ScriptError(f"{path}: not {kind}: {error}") from None
    return parse_script(data, str(path), TomlLines(text) if kind == "TOML" else None)


def script_turns(path: Path) -> tuple[dict[str, Any], ...]:
    """Load the turns of a file as data that can be stored, and given to ``parse_script`` again.

    Raises ``ScriptError``.
    """
    try:
        stored = msgspec.json.encode(load_script(path).turns)
        turns: tuple[dict[str, Any], ...] = msgspec.json.decode(
            stored, type=tuple[dict[str, Any], ...]
        )
    except (UnicodeEncodeError, OverflowError) as error:
        raise ScriptError(f"{path}: holds what cannot be stored: {error}") from None
    return turns


def _read(path: Path) -> str:
    """Read a file of bounded size, never held up by a pipe. Raises OSError, UnicodeDecodeError."""
    with os.fdopen(os.open(path, _READ), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is no regular file")
        content = file.read(SCRIPT_BYTES + 1)
    if len(content) > SCRIPT_BYTES:
        raise OSError(0, f"it is larger than {SCRIPT_BYTES // 1024} KiB")
    return content.decode("utf-8")


def demo_script() -> Script:
    """Load the built-in script: plays the recipe ``implement-and-review`` without any agent."""
    text = resources.files("podiumd.drivers").joinpath("demo.toml").read_text(encoding="utf-8")
    return parse_script(tomllib.loads(text), "demo.toml")


def _problem(turn: ScriptedTurn) -> str:
    """Describe what is wrong with a turn beyond its types; empty where nothing is."""
    try:
        re.compile(turn.when)
    except re.error as error:
        return f"`when` is not a regular expression: {error}"
    if turn.times < 0:
        return "`times` must be 1 or more, or 0 for any number of times"
    if turn.delay_ms < 0:
        return "`delay_ms` must not be negative"
    if turn.cost_usd < 0:
        return "`cost_usd` must not be negative"
    for write in turn.write:
        path = PurePosixPath(write.path)
        if not path.name or path.is_absolute() or ".." in path.parts:
            return f"`write` path {write.path!r} must lie below the working directory"
    if any(not command for command in turn.run):
        return "`run` holds an empty command; each is an argument list like ['make', 'test']"
    if turn.error and turn.usage_limit:
        return "`error` and `usage_limit` exclude each other"
    return ""
