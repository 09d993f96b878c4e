"""A tool in three steps: described, planned, and only then executed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from podiumd.core.decide.policy import Risk
from podiumd.core.run.native_loop_facts import FileChange, Result
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.sandbox.sandbox import Sandbox

OnOutput = Callable[[str], None]


class Done(msgspec.Struct, frozen=True):
    """The result of a tool's use, and the files that it changed, in order."""

    result: Result
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A use of a tool, ready to be decided on.

    ``preview`` is what a person decides by: a unified diff, or the command line; empty for what
    only reads. ``command`` is the command line where there is one. ``changes`` are the files that
    will be written, as they are and as they will be; what a command changes is not known before.
    """

    action: str
    risk: Risk
    preview: str = ""
    command: str | None = None
    changes: tuple[FileChange, ...] = ()
    perform: Callable[[OnOutput | None], Awaitable[Done]] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The resources that tools work with, for one turn.

    ``environment`` is the environment of commands before keys are taken out; ``hidden_names`` are
    names of further variables that hold keys; ``scratch`` is a directory of the turn's own, beside
    which its records lie; ``unasked``: its commands may be run without a question; ``inherited``
    are descriptors that commands outside a sandbox keep open; ``test_command`` is the configured
    one. ``committing`` is where turns of one repository wait for each other.
    """

    workspace: Workspace
    originals: Originals
    sandbox: Sandbox
    environment: Mapping[str, str]
    turn_id: str
    scratch: Path
    test_command: str = ""
    hidden_names: tuple[str, ...] = ()
    inherited: tuple[int, ...] = ()
    unasked: bool = False
    committing: LineUp = field(default_factory=LineUp)


@dataclass(frozen=True)
class Tool:
    """A tool. ``parameters`` is a struct; ``critical``: a failure ends the batch it is in."""

    name: str
    description: str
    risk: Risk
    parameters: type[msgspec.Struct]
    plan: Callable[[Any], Awaitable[Plan]]
    critical: bool = False

    def describe(self) -> dict[str, Any]:
        """Describe the tool for a model: name, description, risk, and JSON schema of parameters."""
        _, components = msgspec.json.schema_components([self.parameters], ref_template="#/{name}")
        schema = components[self.parameters.__name__]
        return {
            "name": self.name,
            "description": self.description,
            "risk": self.risk,
            "parameters": {key: value for key, value in schema.items() if key != "title"},
        }
