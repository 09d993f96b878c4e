"""The next request, put together with the files as they are now."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from podiumd.agents.native.context import next_request
from podiumd.core.prompts.kept_texts import KeptTexts
from podiumd.core.reply.actions import Action
from podiumd.core.run import loop_facts as lf
from podiumd.core.run.loop_state import ActionState, LoopState
from podiumd.tools.agent.edit import do_plan, plan_patch, read_text
from podiumd.tools.agent.workspace import Workspace
from tests.core.rounds import turn

ROOM = 1_000_000


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    return Workspace(tmp_path)


def reading(workspace: Workspace, path: str) -> ActionState:
    """The file as read_file really shows it."""
    text = read_text(workspace, path)
    result = lf.Result(action="read_file", success=True, message="read", output=text)
    return ActionState(action=Action("read_file", {"path": path}), result=result)


def patching(workspace: Workspace, path: str) -> ActionState:
    """A patch that is really done."""
    plan = plan_patch(workspace, path, [{"line": 1, "type": "insert", "content": ["zero"]}])
    do_plan(workspace, plan)
    change = lf.FileChange(path=path, before=plan.before, after=plan.after)
    intended = lf.ActionIntended(turn_id="t", reply=1, index=0, action="patch", changes=(change,))
    result = lf.Result(action="patch", success=True, message="patched")
    return ActionState(action=Action("patch", {"file": path}), intended=intended, result=result)


async def last(workspace: Workspace, loop: LoopState) -> str:
    composed = await next_request(
        workspace, goal="Fix it.", loop=loop, room=ROOM, texts=KeptTexts()
    )
    assert composed.messages[0].text.startswith("Fix it.")
    return "\n".join(message.text for message in composed.messages[1:])


async def test_a_file_that_is_as_it_was_read_is_shown_once(workspace: Workspace) -> None:
    text = await last(workspace, turn(("r", (reading(workspace, "a.py"),))))

    assert text.count("2\ttwo") == 1 and "have changed" not in text


async def test_a_patched_file_is_shown_as_it_is_now(workspace: Workspace) -> None:
    read = reading(workspace, "a.py")
    loop = turn(("1", (read,)), ("2", (patching(workspace, "a.py"),)))

    text = await last(workspace, loop)

    assert "[left out: a.py has changed since" in text
    assert "2\ttwo" not in text and "3\ttwo" in text
    assert hashlib.sha256((workspace.root / "a.py").read_bytes()).hexdigest() in text


async def test_a_file_that_somebody_else_changed_is_shown_anew(workspace: Workspace) -> None:
    loop = turn(("1", (reading(workspace, "a.py"),)))
    (workspace.root / "a.py").write_text("other\n")

    text = await last(workspace, loop)

    assert "two" not in text and "1\tother" in text


async def test_a_file_that_is_gone_or_leads_out_is_not_shown(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (workspace.root / "b.py").write_text("bee\n")
    loop = turn(("1", (reading(workspace, "a.py"), reading(workspace, "b.py"))))
    secret = tmp_path_factory.mktemp("else") / "secret"
    secret.write_text("secret\n")
    (workspace.root / "a.py").unlink()
    (workspace.root / "b.py").unlink()
    (workspace.root / "b.py").symlink_to(secret)

    text = await last(workspace, loop)

    assert "two" not in text and "bee" not in text and "secret" not in text
    assert "have changed since you saw them" not in text


async def test_a_file_that_became_too_long_or_binary_is_only_named(workspace: Workspace) -> None:
    (workspace.root / "b.py").write_text("bee\n")
    loop = turn(("1", (reading(workspace, "a.py"), reading(workspace, "b.py"))))
    (workspace.root / "a.py").write_text("long line\n" * 5000)
    (workspace.root / "b.py").write_bytes(b"\0\1\2")

    text = await last(workspace, loop)

    assert "a.py: lines 1 to 5000 of 5000" in text and "read the lines that you need" in text
    assert "long line" not in text and "[b.py cannot be shown: " in text
