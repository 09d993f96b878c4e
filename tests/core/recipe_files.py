"""The recipes in files beside this one: ``sound_recipes``, and ``faulty_recipes``.

A faulty one says on the very line, in a comment, what must be found there: ``# <- CODE: words of
the message``, and nothing else may be found.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from podiumd.core.analysis.check import CheckResult, check_text
from podiumd.core.analysis.check_agents import Capabilities, KnownAgents
from podiumd.core.recipe.load import load_recipe
from podiumd.core.recipe.model import Recipe

HERE = Path(__file__).parent
SOUND = sorted((HERE / "sound_recipes").glob("*.toml"))
FAULTY = sorted((HERE / "faulty_recipes").glob("*.toml"))
WARNINGS = {
    "agent-not-here",
    "idle-limit",
    "no-success-exit",
    "same-agent",
    "unused-param",
    "ungated-irreversible",
}

_MARK = re.compile(r"# <- (?P<code>[a-z-]+): (?P<words>.*?)(?=\s*# <- |$)")


#: ``claude`` can do all, ``plain`` nothing but answer, ``reader`` be kept from writing; ``away`` is
#: not on this machine, ``rash`` changes files unasked.
AGENTS = {
    "claude": Capabilities(
        approvals=True,
        resume=True,
        fork=True,
        read_only_tools=True,
        tool_lists=True,
        hooks=True,
        permission_modes=("default", "plan"),
        own_tools="dialect",
        usage="cost",
    ),
    "plain": Capabilities(),
    "reader": Capabilities(resume=True, read_only_tools=True),
    "away": Capabilities(usage="tokens", resume=True),
    "rash": Capabilities(approvals=True, resume=True, unasked=("Edit",)),
}
ABSENT = {"away": "`away` is no program on its PATH. Install it."}


class Mark(NamedTuple):
    """What a file says must be found on one of its lines."""

    file: str
    line: int
    code: str
    words: str


def marks(path: Path) -> list[Mark]:
    """List what must be found in ``path`` and in the prompt file it may have."""
    found = []
    for file in (path, path.with_suffix(".md")):
        lines = file.read_text().splitlines() if file.exists() else []
        for number, line in enumerate(lines, 1):
            found += [
                Mark(file.name, number, mark["code"], mark["words"])
                for mark in _MARK.finditer(line)
            ]
    return found


def load_called(id: str) -> Recipe | None:
    """Find a sound recipe."""
    path = HERE / "sound_recipes" / f"{id}.toml"
    return load(path) if path.exists() else None


def load(path: Path) -> Recipe:
    """Load a recipe file."""
    return load_recipe(
        path.read_text(),
        file=path.name,
        read_prompt=lambda name: (path.parent / name).read_text(),
    )


def check_file(path: Path) -> CheckResult:
    """Check a recipe file, knowing the agents above and the sound recipes."""
    return check_text(
        path.read_text(),
        file=path.name,
        read_prompt=lambda name: (path.parent / name).read_text(),
        agents=KnownAgents(can=AGENTS, own="claude", absent=ABSENT),
        load_called=load_called,
    )
