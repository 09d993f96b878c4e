"""What a repository names runs in the sandbox, or not at all; a file is never committed without.

The tests of this file need bubblewrap on Linux, and fail without it: a machine that builds Podium
must be one that can show this.
"""

from __future__ import annotations

import os
import sys
from itertools import product
from pathlib import Path

import pytest

from podiumd.core.reply.actions import Action
from podiumd.tools.agent.registry import Plan, Toolbox, ToolContext
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit.changes import TreeWatch
from podiumd.tools.commit.commit import CommitOrder, Committed, commit_changes
from podiumd.tools.commit.confined_filters import ConfinedFilters
from podiumd.tools.commit.hooks import Hooks
from podiumd.tools.commit.originals import Originals
from podiumd.tools.sandbox.sandbox import Probe, Sandbox
from tests.long import sampled, spread
from tests.needs import need
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import commit, run_git, set_for_person
from tests.tools.turn_repository import Turn

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's"),
    pytest.mark.usefixtures("home"),
]

UPPER = "tr a-z A-Z"


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    """A turn in a repository whose files go through a filter, if they end with ``.x``."""
    made = Turn(tmp_path)
    made.write(".gitattributes", "*.x filter=x\n")
    made.first = commit(made.top, "attributes")
    return made


async def in_the_sandbox(turn: Turn) -> Committed:
    need("bwrap")
    sandbox = Sandbox(
        "required",
        home=turn.top.parent / "home",
        environ={"PATH": os.environ["PATH"]},
        probe=Probe(),
    )
    (turn.top.parent / "home").mkdir(exist_ok=True)
    enclosure, _ = await sandbox.enclose(turn.top, turn.top.parent)
    assert enclosure is not None
    order = CommitOrder(
        root=f"{turn.root}",
        record=turn.record(turn.turn),
        changes=tuple(turn.changes),
        run_id="r",
        turn_id=turn.turn,
    )
    hooks = Hooks(environment={"PATH": os.environ["PATH"]}, turn_id=turn.turn, enclosure=enclosure)
    filters = ConfinedFilters(enclosure, turn.turn, turn.top.parent / "filters")
    return await commit_changes(order, turn.originals, hooks, confines=filters)


async def test_a_filter_that_the_repository_names_runs_inside(turn: Turn, tmp_path: Path) -> None:
    """Told the file's name as git tells it, at the top of the tree."""
    canary = tmp_path / "canary"
    (turn.top / "clean.sh").write_text(f"touch {canary}; ls / >&2; printf '%s:' \"$1\"; {UPPER}\n")
    turn.git("config", "filter.x.clean", "sh ./clean.sh %f")
    name = "it's $(touch canary) 100%.x"
    turn.change(name, "words\n")

    done = await in_the_sandbox(turn)

    assert done.state == "committed", done.detail
    assert turn.shown(name) == f"{name}:WORDS"
    assert not canary.exists() and not (turn.top / "canary").exists()


async def test_without_a_sandbox_the_file_is_left_out_and_named(turn: Turn, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    turn.git("config", "filter.x.clean", f"touch {canary}; {UPPER}")
    turn.change("a.x", "words\n")
    turn.change("plain", "words\n")

    done = await turn.commit()

    assert done.state == "committed" and [path for path, _ in done.left_out] == ["a.x"]
    assert "not committed: a.x: its filter x did not take it: Podium runs nothing" in done.detail
    assert turn.git("ls-files", "a.x") == "" and not canary.exists()


@pytest.mark.parametrize("boxed", [False, True])
async def test_a_filter_of_the_person_runs_as_ever(turn: Turn, home: Path, boxed: bool) -> None:
    seen = home / "seen"
    set_for_person(home, "filter.x.clean", f"touch {seen}; {UPPER}")
    turn.change("a.x", "words\n")

    done = await (in_the_sandbox(turn) if boxed else turn.commit())

    assert done.state == "committed" and turn.shown("a.x") == "WORDS"
    assert seen.exists()


@pytest.mark.parametrize(
    ("boxed", "named"),
    spread(list(product([False, True], ["by nobody", "by the person, and failing", "half"])), 3),
)
async def test_a_file_is_never_committed_without_its_filter(
    turn: Turn, home: Path, boxed: bool, named: str
) -> None:
    """Git would: where it knows no such filter, and where one fails that is not required."""
    if named == "by the person, and failing":
        set_for_person(home, "filter.x.clean", "exit 1")
    if named == "half":
        turn.git("config", "filter.x.required", "false")
        turn.git("config", "filter.x.process", "exit 1")
    turn.change("a.x", "words\n")

    done = await (in_the_sandbox(turn) if boxed else turn.commit())

    assert done.state == "nothing" and [path for path, _ in done.left_out] == ["a.x"]
    assert turn.git("rev-parse", "HEAD") == turn.first


@pytest.mark.parametrize("name", sampled(["", "set", "unset", "unspecified"]))
async def test_a_filter_may_have_a_name_that_sounds_like_none(
    turn: Turn, home: Path, name: str
) -> None:
    set_for_person(home, f"filter.{name}.clean", "exit 1")
    turn.write(".gitattributes", f"*.x filter={name}\n")
    commit(turn.top, "other attributes")
    turn.change("a.x", "words\n")

    done = await turn.commit()

    assert done.state == "nothing" and [path for path, _ in done.left_out] == ["a.x"]


@pytest.mark.needs("bwrap")
async def test_what_a_command_changed_is_seen_as_the_filter_shows_it(
    turn: Turn, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    turn.git("config", "filter.x.clean", UPPER)
    turn.git("config", "filter.x.smudge", "tr A-Z a-z")
    turn.write("a.x", "words\n")
    commit(turn.top, "filtered")
    sandbox = Sandbox("required", home=tmp_path / "home", environ={}, probe=Probe())
    enclosure, _ = await sandbox.enclose(turn.top, tmp_path)
    assert enclosure is not None
    originals = Originals(tmp_path / "kept")
    seen: list[bytes | None] = []
    for confines in (ConfinedFilters(enclosure, turn.turn, tmp_path / "filters"), None):
        os.utime(turn.top / "a.x", (1, 1))  # long before the index: not looked into once more
        turn.git("add", "a.x")
        watch = TreeWatch(turn.top, originals, confines)
        before = await watch.snapshot()
        turn.write("a.x", "others\n")
        (change,), _ = await watch.between(before)
        assert change.path == "a.x" and change.before is not None
        seen.append(originals.get(change.before))
        turn.write("a.x", "words\n")

    assert seen == [b"words\n", None]


def toolbox(inside: Inside, policy: str, unasked: bool) -> Toolbox:
    sandbox = inside.sandbox
    if policy != "required":
        sandbox = Sandbox("off", home=inside.home, environ={}, probe=Probe())
    scratch = inside.state / "scratch"
    scratch.mkdir()
    return Toolbox(
        ToolContext(
            workspace=Workspace(inside.project),
            originals=Originals(inside.state / "originals"),
            sandbox=sandbox,
            environment={"PATH": os.environ["PATH"]},
            turn_id=inside.turn,
            scratch=scratch,
            unasked=unasked,
        )
    )


@pytest.mark.parametrize(
    ("policy", "unasked", "state"),
    sampled(
        [("off", False, "failed"), ("required", False, "committed"), ("off", True, "committed")]
    ),
)
async def test_a_hook_runs_where_commands_of_the_turn_may_be_run_unasked(
    tmp_path: Path, home: Path, policy: str, unasked: bool, state: str
) -> None:
    """An agent that may only write files would get a command by it, outside."""
    set_for_person(home, "user.name", "A Person")
    set_for_person(home, "user.email", "a@example.org")
    inside = Inside(tmp_path)
    run_git(inside.project, "config", "core.hooksPath", ".husky")
    tools = toolbox(inside, policy, unasked)
    content = f"#!/bin/sh\ntouch {tmp_path}/canary ran\n"
    (inside.project / ".husky").mkdir()
    (inside.project / ".husky/pre-commit").write_text("#!/bin/sh\n")
    (inside.project / ".husky/pre-commit").chmod(0o755)
    commit(inside.project, "husky")
    plan = await tools.plan(
        Action(name="write_file", args={"path": ".husky/pre-commit", "content": content})
    )
    assert isinstance(plan, Plan)
    changes = (await plan.perform(None)).changes

    done = await tools.commit(changes, run_id="r")

    assert done.state == state, done.detail
    assert (inside.project / "ran").exists() == (state == "committed")
    assert (tmp_path / "canary").exists() == (policy == "off" and unasked)
    if state == "failed":
        assert "the hook pre-commit of this repository was not run" in done.detail


@pytest.mark.parametrize(("where", "outside"), [("~/hooks", True), (".husky", False)])
@pytest.mark.parametrize("policy", sampled(["required", "off"]))
async def test_hooks_that_the_person_keeps_for_all_repositories_run_as_ever(
    tmp_path: Path, home: Path, where: str, outside: bool, policy: str
) -> None:
    """But not those that lie in the tree by a setting of the person's."""
    for key, value in (("user.name", "P"), ("user.email", "p@x"), ("core.hooksPath", where)):
        set_for_person(home, key, value)
    inside = Inside(tmp_path)
    for folder in (home / "hooks", inside.project / ".husky"):
        folder.mkdir()
        (folder / "pre-commit").write_text(f"#!/bin/sh\ntouch {tmp_path}/canary\ntouch ran\n")
        (folder / "pre-commit").chmod(0o755)
    tools = toolbox(inside, policy, unasked=False)
    plan = await tools.plan(Action(name="write_file", args={"path": "new", "content": "x\n"}))
    assert isinstance(plan, Plan)

    done = await tools.commit((await plan.perform(None)).changes, run_id="r")

    assert (tmp_path / "canary").exists() == outside
    assert (done.state == "committed") == outside or policy == "required", done.detail
