"""The tools as an agent uses them: planned, decided on, done, and told."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from podiumd.core.reply.actions import NAMES, Action
from podiumd.core.run.native_loop_facts import Result
from podiumd.tools.agent.registry import UNCOVERED, UNSEEN, Done, Plan, Tool, Toolbox, ToolContext
from podiumd.tools.agent.workspace import Workspace
from podiumd.tools.commit.originals import Originals
from podiumd.tools.git.waits import WAITS
from podiumd.tools.sandbox.sandbox import Enclosure, Policy, Probe, Sandbox
from tests.long import sampled
from tests.tools.fresh_turn import fresh_turn
from tests.tools.git_repository import commit, make_repository, run_git


def make_toolbox(folder: Path, policy: Policy = "off", **settings: Any) -> Toolbox:
    root = folder / "home/repo"
    if not root.exists():
        make_repository(root)
        run_git(root, "config", "user.name", "A Person")
        run_git(root, "config", "user.email", "a@example.org")
        (root / "a.txt").write_text("one\ntwo\n")
        commit(root, "first")
    (folder / "scratch").mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "sk-planted", "MY_KEY": "sk-x"}
    return Toolbox(
        ToolContext(
            workspace=Workspace(root),
            originals=Originals(folder / "originals"),
            sandbox=Sandbox(policy, home=folder / "home", environ=environment, probe=Probe()),
            environment=environment,
            turn_id=fresh_turn(),
            scratch=folder / "scratch",
            hidden_names=("MY_KEY",),
            **settings,
        )
    )


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return make_toolbox(tmp_path)


async def planned(box: Toolbox, name: str, **args: Any) -> Plan:
    plan = await box.plan(Action(name, args))
    assert isinstance(plan, Plan), plan
    return plan


async def do(box: Toolbox, name: str, **args: Any) -> Done:
    return await (await planned(box, name, **args)).perform(None)


def test_every_action_of_the_contract_is_described(box: Toolbox) -> None:
    described = {one["name"]: one for one in box.describe()}

    assert tuple(described) == NAMES
    assert {name: one["risk"] for name, one in described.items()} == {
        "read_file": "read", "write_file": "write", "patch": "write", "search": "read",
        "run_command": "exec", "run_tests": "exec", "done": "read",
    }  # fmt: skip
    assert described["write_file"]["parameters"]["required"] == ["path", "content"]
    assert described["write_file"]["parameters"]["additionalProperties"] is False
    assert all(one["description"] for one in described.values())


async def test_what_git_ignored_before_a_command_is_said_not_to_be_its_work(
    box: Toolbox, tmp_path: Path
) -> None:
    repo = tmp_path / "home/repo"
    (repo / ".gitignore").write_text("*.log\n")
    for number in range(7):
        (repo / f"{number}.log").write_text("private\n")

    done = await do(box, "run_command", command=": > .gitignore")

    assert [change.path for change in done.changes] == [".gitignore"]
    named = "0.log, 1.log, 2.log, 3.log, 4.log and 2 more"
    assert done.result.message.endswith(UNCOVERED.format(named))


async def test_it_is_said_where_what_a_command_changed_is_not_known(
    box: Toolbox, tmp_path: Path
) -> None:
    done = await do(box, "run_command", command="echo x > new.txt; mkfifo .gitignore")

    assert done.changes == ()
    waits = WAITS.format(tmp_path / "home/repo/.gitignore")
    assert done.result.message.endswith(UNSEEN.format(waits))


async def test_an_unknown_name_is_a_result(box: Toolbox) -> None:
    result = await box.plan(Action("fly", {}))

    there_are = "read_file, write_file, patch, search, run_command, run_tests, done"
    message = f"unknown action type: fly; there are {there_are}"
    assert result == Result(action="fly", success=False, message=message)


@pytest.mark.parametrize(
    ("name", "args", "critical"),
    [
        ("read_file", {"path": 3}, False),
        ("write_file", {"path": "x"}, True),
        ("patch", {"file": "a.txt", "operations": "x"}, True),
        ("run_command", {"command": "x", "shell": "y"}, False),
        ("write_file", {"path": "../x", "content": ""}, True),
        ("patch", {"file": "a.txt", "operations": [{"line": 9, "type": "delete"}]}, True),
        ("run_tests", {"pattern": "--x"}, False),
    ],
)
async def test_what_cannot_be_planned_is_a_failed_result(
    box: Toolbox, name: str, args: dict[str, Any], critical: bool
) -> None:
    result = await box.plan(Action(name, args))

    assert isinstance(result, Result)
    assert (result.action, result.success, result.critical) == (name, False, critical)
    assert result.message


async def test_reading_and_searching_need_no_decision_and_change_nothing(box: Toolbox) -> None:
    plan = await planned(box, "read_file", path="a.txt", first=2)
    done = await plan.perform(None)
    found = await do(box, "search", query="two")

    assert (plan.risk, plan.preview, plan.changes) == ("read", "", ())
    assert done.result.success and done.result.output.endswith("\n2\ttwo\n")
    assert (found.result.message, found.result.output) == ("1 line matches", "a.txt:2: two\n")
    missing = await do(box, "read_file", path="nope")
    assert missing.result == Result(
        action="read_file", success=False, message="there is no file 'nope'"
    )


async def test_a_write_is_previewed_then_done_and_its_contents_are_kept(
    box: Toolbox, tmp_path: Path
) -> None:
    plan = await planned(
        box, "patch", file="a.txt", operations=[{"line": 1, "type": "replace", "content": ["ONE"]}]
    )
    file = tmp_path / "home/repo/a.txt"

    assert plan.risk == "write" and "-one\n+ONE\n" in plan.preview
    assert file.read_text() == "one\ntwo\n"
    done = await plan.perform(None)
    assert file.read_text() == "ONE\ntwo\n"
    (change,) = done.changes
    assert done.changes == plan.changes and change.path == "a.txt"
    assert done.result.message == f"patched a.txt, sha256 {change.after}"
    originals = Originals(tmp_path / "originals")
    assert change.before and originals.get(change.before) == b"one\ntwo\n"
    assert change.after and originals.get(change.after) == b"ONE\ntwo\n"


async def test_a_plan_that_is_no_longer_true_fails_critically(box: Toolbox, tmp_path: Path) -> None:
    plan = await planned(box, "write_file", path="a.txt", content="new\n")
    (tmp_path / "home/repo/a.txt").write_text("meanwhile\n")

    done = await plan.perform(None)

    assert (done.result.success, done.result.critical, done.changes) == (False, True, ())
    assert "was changed since it was read" in done.result.message


async def test_a_command_tells_its_end_and_what_it_changed(box: Toolbox) -> None:
    heard: list[str] = []
    plan = await planned(box, "run_command", command="echo hi; echo x >> a.txt; exit 3")

    done = await plan.perform(heard.append)

    assert (plan.risk, plan.preview) == ("exec", "echo hi; echo x >> a.txt; exit 3")
    assert plan.command == plan.preview
    assert done.result.message.startswith("exit code 3 after ")
    assert (done.result.success, done.result.critical) == (False, False)
    assert done.result.output == "hi\n" and heard == ["hi\n"]
    assert [change.path for change in done.changes] == ["a.txt"]


async def test_a_command_sees_no_keys_and_is_ended_in_time(box: Toolbox) -> None:
    env = await do(box, "run_command", command="env; setsid sleep 1000 &")
    slow = await do(box, "run_command", command="sleep 1000", timeout=0.3)
    dead = await do(box, "run_command", command="kill -9 $$")

    assert "sk-" not in env.result.output
    assert "what it had left running was ended: sleep 1000" in env.result.message
    assert slow.result.message == "ended at its time limit of 0.3 s"
    assert "ended by signal 9" in dead.result.message


async def test_tests_are_run_as_configured(tmp_path: Path) -> None:
    box = make_toolbox(tmp_path, test_command="printf %s:")

    done = await do(box, "run_tests", pattern="$(x) y")

    assert (done.result.action, done.result.output) == ("run_tests", "$(x) y:")


@pytest.mark.needs("bwrap")
async def test_in_the_sandbox_tools_work_and_a_missing_one_is_critical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home/diary").parent.mkdir()
    (tmp_path / "home/diary").write_text("[secret]")
    done = await do(make_toolbox(tmp_path, "required"), "run_command", command="cat ../diary; pwd")
    monkeypatch.setenv("PATH", "")
    refused = await do(make_toolbox(tmp_path, "required"), "run_command", command="pwd")
    auto = make_toolbox(tmp_path, "auto")
    first = await do(auto, "run_command", command="/bin/pwd")
    second = await do(auto, "run_command", command="/bin/pwd")

    assert done.result.success and "[secret]" not in done.result.output
    assert (refused.result.success, refused.result.critical) == (False, True)
    assert "a sandbox is required and there is none" in refused.result.message
    assert "no sandbox: commands run unconfined" in first.result.message
    assert "no sandbox" not in second.result.message


@pytest.mark.long(
    "tests/tools/test_confined_filters.py::test_a_hook_runs_where_commands_of_the_turn_may_be_run_unasked"
)
@pytest.mark.needs("bwrap")
async def test_hooks_of_the_commit_are_in_the_sandbox_too(tmp_path: Path) -> None:
    box = make_toolbox(tmp_path, "required")
    (tmp_path / "home/diary").write_text("[secret]")
    hook = tmp_path / "home/repo/.git/hooks/pre-commit"
    hook.write_text(
        "#!/bin/sh\ncat ../diary; touch ../escaped; git diff --cached --name-only; [ -e fixed ]\n"
    )
    hook.chmod(0o755)
    first = await do(box, "write_file", path="b.txt", content="b\n")
    refused = await box.commit(first.changes, run_id="r")
    fixed = await do(box, "write_file", path="fixed", content="")

    done = await box.commit((*first.changes, *fixed.changes), run_id="r")

    assert refused.state == "refused" and "it ran in the sandbox" in refused.detail
    assert "b.txt" in refused.detail and "[secret]" not in refused.detail
    assert done.state == "committed"
    assert not (tmp_path / "home/escaped").exists()


async def test_more_tools_can_be_added(box: Toolbox) -> None:
    class Wave(msgspec.Struct):
        times: int = 1

    async def plan(given: Wave) -> Plan:
        async def perform(_: object) -> Done:
            return Done(Result(action="wave", success=True, message=f"waved {given.times} times"))

        return Plan(action="wave", risk="read", perform=perform)

    box.tools["wave"] = Tool("wave", "Wave.", "read", Wave, plan)

    assert (await do(box, "wave", times=2)).result.message == "waved 2 times"
    wrong = await box.plan(Action("wave", {"times": "x"}))
    assert isinstance(wrong, Result) and "Expected `int`" in wrong.message
    assert "wave" in [one["name"] for one in box.describe()]


async def test_done_is_said_with_its_summary(box: Toolbox) -> None:
    assert (await do(box, "done", summary="all well")).result.message == "all well"
    assert (await do(box, "done")).result.message == "done"


@pytest.mark.parametrize("confined", sampled([True, False]))
async def test_a_command_in_a_sandbox_cannot_let_go_of_the_daemons_locks(
    tmp_path: Path, confined: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One outside keeps them: what outlives a daemon goes on to hold the tree."""

    async def enclose(*_: Path) -> tuple[Enclosure | None, str]:
        await trio.lowlevel.checkpoint()
        return (Enclosure(prefix=("/usr/bin/env",), variables={}) if confined else None), ""

    held = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(held, False)
    box = make_toolbox(tmp_path, inherited=(held,), unasked=True)
    monkeypatch.setattr(Sandbox, "enclose", enclose)
    hook = tmp_path / "home/repo/.git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    look = f"if [ -e /dev/fd/{held} ]; then echo held; else echo free; fi"
    hook.write_text(f"#!/bin/sh\n{look} >&2; exit 1\n")
    hook.chmod(0o755)
    try:
        ran = await do(box, "run_command", command=look)
        wrote = await do(box, "write_file", path="a.txt", content="x\n")
        made = await box.commit(wrote.changes, run_id="r")
    finally:
        os.close(held)

    word = "free" if confined else "held"
    assert ran.result.output == f"{word}\n"
    assert made.state == "refused" and word in made.detail
