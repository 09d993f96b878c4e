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

The first turn in file order that matches the prompt and is not used up answers it. A command of
``run`` that ends with another status than 0 ends the turn as failed, unless ``otherwise`` names
that status: then its text and outcome stand for the turn's own.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec


class ScriptError(ValueError):
    """The script cannot be used; the message names the file, the place and what is expected."""


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request for approval."""

    tool: str
    input: dict[str, Any] = {}


class Write(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file to write, below the working directory."""

    path: str
    content: str


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call of one of the tools that Podium serves, and what is to come of it."""

    tool: str
    args: dict[str, Any] = {}
    expect: Literal["done", "refused"] = "done"


class Otherwise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the turn says when a command ended with this status."""

    status: int
    text: str
    outcome: dict[str, Any] | None = None


class ScriptedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of a script; see the module's text for the keys."""

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


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ordered list of turns."""

    turns: tuple[ScriptedTurn, ...]

    def choose(self, prompt: str, used: Mapping[int, int]) -> int | None:
        """The index of the turn that answers ``prompt``; ``None`` where none is left.

        ``used`` says how often each turn, by index, was already played in this run.
        """
        for index, turn in enumerate(self.turns):
            left = turn.times == 0 or used.get(index, 0) < turn.times
            if left and re.search(turn.when, prompt):
                return index
        return None


def parse_script(data: object, name: str) -> Script:
    """Check plain data (of TOML or JSON); ``name`` stands in errors.

    Raises ``ScriptError``.
    """
    try:
        script = msgspec.convert(data, Script)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{name}: {error}") from None
    for index, turn in enumerate(script.turns):
        problem = _problem(turn)
        if problem:
            raise ScriptError(f"{name}: turns[{index}]: {problem}")
    return script


def load_script(path: Path) -> Script:
    """Read a script from a file.

    Raises ``ScriptError``, also where the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        whole = "" if path.is_absolute() else "; give the whole path"
        raise ScriptError(f"{path}: cannot be read: {error.strerror}{whole}") from None
    except UnicodeDecodeError:
        raise ScriptError(f"{path}: cannot be read: it is not UTF-8 text") from None
    try:
        data: object = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise ScriptError(f"{path}: not {kind}: {error}") from None
    return parse_script(data, str(path))


def demo_script() -> Script:
    """The built-in script: plays the recipe ``implement-and-review`` without any agent."""
    text = resources.files("podiumd.drivers").joinpath("demo.toml").read_text(encoding="utf-8")
    return parse_script(tomllib.loads(text), "demo.toml")


def _problem(turn: ScriptedTurn) -> str:
    """What is wrong with a turn beyond its types; empty where nothing is."""
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
