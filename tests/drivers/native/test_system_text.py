"""What the model is told about its work."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
import trio
from trio.testing import MockClock

from podiumd.agents.native.kind import NativeSettings
from podiumd.agents.native.model import opening
from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.scripted import ScriptedModel, ScriptedReply
from podiumd.agents.native.request import Asking
from podiumd.agents.native.system_text import Offered, system_text
from podiumd.core.decide.policy import Mode
from podiumd.core.reply.action_args import TYPES, checked
from podiumd.core.reply.actions import NAMES, Action, parse_reply
from podiumd.core.reply.model_message import Message
from podiumd.core.reply.patch import apply_patch
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.native_loop_state import ActionState, LoopState
from podiumd.tools.agent.edit import do_plan, plan_patch, read_text
from podiumd.tools.agent.workspace import Workspace
from tests.core.rounds import turn
from tests.drivers.native.models import HI, Told

open_model = partial(opening.open_model, agent="native")

ALL = tuple(Offered(name) for name in NAMES)


def text_of(*names: str, **more: Any) -> str:
    offered = [Offered(name) for name in names] if names else ALL
    given = {"directory": "/src", "mode": "confirm", "sandboxed": True, "commits": True, **more}
    return system_text(**{"offered": offered, **given})


def test_every_section_is_there_and_the_directory_is_named() -> None:
    text = text_of(directory="/home/me/project")

    for title in (
        "CAPABILITIES",
        "FORM OF AN ANSWER",
        "ACTIONS",
        "FORM OF A PATCH",
        "GUIDELINES",
        "WORKING DIRECTORY\n/home/me/project",
    ):
        assert f"\n\n{title}" in text


def test_all_actions_that_are_offered_are_described_and_no_others() -> None:
    text = text_of("read_file", "search", "done")

    assert [name for name in NAMES if f"\n{name}: " in text] == ["read_file", "search", "done"]
    for name in ("patch", "write_file", "run_command", "run_tests"):
        assert name not in text
    assert "sandbox" not in text and "commit" not in text


def test_its_own_examples_can_be_read_and_have_good_parameters() -> None:
    """A model that copies what it is shown must not be refused."""
    text = text_of()
    reply = parse_reply(text)
    shown = [json.loads(m[1]) for m in re.finditer(r"^\w+: (\{.*\})$", text, re.MULTILINE)]
    actions = list(reply.actions) + [Action(one.pop("action"), one) for one in shown]

    assert reply.fault is None
    assert {action.name for action in actions} == set(NAMES)
    assert [checked(action) for action in actions if isinstance(checked(action), str)] == []
    assert all(type(checked(action)) is TYPES[action.name] for action in actions)


def test_the_patch_that_is_shown_does_what_is_said_of_it() -> None:
    [patch] = [a for a in parse_reply(text_of()).actions if a.name == "patch"]
    old = b"".join(b"the old line %d\n" % number for number in range(1, 26))

    lines = apply_patch(old, patch.args["operations"]).decode().splitlines()

    assert lines[9:11] == ["a new line before line 10", "and another"]
    assert lines[11] == "the old line 10"
    assert not {"the old line 15", "the old line 16", "the old line 17"} & set(lines)
    assert "the new line 20" in lines and "the old line 20" not in lines


def test_lines_count_from_one() -> None:
    assert "Lines are counted from 1" in text_of("patch")


@pytest.mark.parametrize("mode", get_args(Mode))
def test_the_mode_is_told(mode: Mode) -> None:
    words = {"confirm": "is asked before", "allow-all": "without asking", "read-only": "can look"}

    text = text_of(mode=mode)

    assert [name for name, said in words.items() if said in text] == [mode]


def test_the_sandbox_is_told() -> None:
    assert "Commands run in a sandbox: no network" in text_of()
    assert "without a sandbox" in text_of(sandboxed=False)


def test_whether_changes_are_committed_is_told() -> None:
    assert "Podium commits the files that you changed" in text_of()
    assert "Nothing is committed for you" in text_of(commits=False)
    assert "earlier steps of this run have left" in text_of(earlier=True)
    assert "earlier steps" not in text_of()


def test_a_tool_of_another_kind_is_described_by_its_own_words() -> None:
    ask = Offered("ask", "Ask the\nperson.", {"type": "object", "required": ["question"]})
    bare = Offered("wave", "Waves.")

    text = text_of(offered=[*ALL, ask, bare])

    assert "ask: Ask the person.\n" in text
    assert '{"type": "object", "required": ["question"]}' in text
    assert "\nwave: Waves.\n" in text


def test_a_list_in_a_description_stays_one() -> None:
    save = Offered("save", "Save one of these\nkeys:\n- goal: what is\n  wanted\n- agents: who")

    assert "\nsave: Save one of these keys:\n  - goal: what is wanted\n  - agents: who" in text_of(
        offered=[save]
    )


def test_without_any_action_only_words_are_asked_for() -> None:
    text = text_of(offered=[], mode="read-only")

    assert "FORM OF AN ANSWER" not in text and "CAPABILITIES" not in text
    assert "GUIDELINES" in text


def test_an_example_fits_what_is_offered() -> None:
    assert parse_reply(text_of("search")).actions[0].name == "search"
    assert "README" not in text_of("search")


def test_instructions_of_ones_own_come_last() -> None:
    assert text_of(extra=" Speak French.\n").endswith("\n\nINSTRUCTIONS\nSpeak French.\n")
    assert "INSTRUCTIONS" not in text_of(extra=" \n")


def test_in_a_phase_without_tools_of_its_own_nothing_is_said_of_code() -> None:
    """A model that is to talk must not be told to look at files it cannot read."""
    ask = Offered("ask", "Ask the person.", {"type": "object"})

    text = text_of(offered=[Offered("done"), ask], commits=False)

    assert text.startswith("You work together with a person")
    for word in ("coding", "style of the code", ".git", "WORKING DIRECTORY", "CAPABILITIES"):
        assert word not in text
    assert '"ask" ends your turn' in text and "ends your turn" not in text_of()


# -- the next request, put together with the files as they are now ---------------------------


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
    asking = Asking(workspace, "Fix it.", (), "", agent="native", blind=True)
    composed = await asking.compose(ScriptedModel([], Told()), loop)
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


# -- the model that plays replies ------------------------------------------------------------


async def test_replies_are_told_in_pieces_and_used_once() -> None:
    told = Told()
    text = "a reply of more than one piece"
    model = ScriptedModel([ScriptedReply(text), ScriptedReply("two", stop="length")], told)

    first, second, over = [await model.reply(system, HI) for system in ("a", "b", "c")]

    assert (first.text, first.stop, second.stop) == (text, "end", "length")
    assert len(told.events) > 3 and told.text.startswith(text)
    assert "over" in over.text
    assert model.asked == ("c", tuple(HI)), "of what it was sent it keeps the last alone"
    assert (first.cost_usd, first.priced) == (0.0, True) and first.usage.output > 0


async def test_the_first_unused_reply_that_matches_the_last_message_is_played() -> None:
    replies = [ScriptedReply("b", when="ba+d"), ScriptedReply("any")]
    model = ScriptedModel(replies, Told())

    texts = [(await model.reply("", [Message("user", m)])).text for m in ("good", "baad")]

    assert texts == ["any", "b"]


async def test_a_reply_may_fail_and_may_take_its_time(autojump_clock: MockClock) -> None:
    model = ScriptedModel([ScriptedReply(error="overloaded", delay_seconds=40)], Told())

    with pytest.raises(ModelError, match="overloaded"):
        await model.reply("", HI)

    assert trio.current_time() == pytest.approx(40)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.toml", '[[replies]]\ntext = "from a file"\n'),
        ("s.json", '{"replies": [{"text": "from a file"}]}'),
    ],
)
async def test_a_script_may_be_a_file(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)

    async with open_model(
        NativeSettings(provider="scripted"), {}, tell=Told(), model=str(path)
    ) as m:
        assert (await m.reply("", HI)).text == "from a file"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("[[replies", "Expected"),
        ("replies = 3", "replies: expected a list, each a table, got the number 3"),
        (
            "[[replies]]\ntxt = 'x'",
            r"replies\[0\]\.txt: it is unknown; the nearest known is 'text'",
        ),
        ("[[replies]]\nwhen = '('", r"replies\[0\].when"),
        ("[[replies]]\ndelay_seconds = -1", "delay_seconds"),
        ("[[replies]]\nstop = 'soon'", r"replies\[0\]\.stop: expected one of .*, got 'soon'"),
    ],
)
async def test_a_script_that_cannot_be_used_says_why(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "s.toml"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ModelError, match=words) as caught:
        async with open_model(
            NativeSettings(provider="scripted", model=str(path)), {}, tell=Told()
        ):
            raise AssertionError("not opened")

    assert caught.value.kind == "setup" and str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ('{"action": "write_file", "success": false}', "wrote nothing, as you wished"),
        ("Do it.\n\nYour possible outcomes for this step: complete, other", '"outcome": "other"'),
    ],
)
async def test_the_built_in_demonstration_claims_nothing_that_it_has_not_done(
    last: str, said: str
) -> None:
    async with open_model(NativeSettings(provider="scripted"), {}, tell=Told()) as model:
        reply = await model.reply("", [Message("user", last)])

    assert said in reply.text


async def test_the_built_in_demonstration_looks_writes_and_ends() -> None:
    results = ["Try it.", '{"action": "run_command"}', '{"action": "write_file"}']
    async with open_model(NativeSettings(provider="scripted"), {}, tell=Told()) as model:
        replies = [parse_reply((await model.reply("", [Message("user", r)])).text) for r in results]

    names = [[action.name for action in reply.actions] for reply in replies]
    assert names == [["run_command"], ["write_file"], []]
    assert all(reply.fault is None for reply in replies)
