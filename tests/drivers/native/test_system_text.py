"""What the model is told about its work."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from podiumd.agents.native.system_text import Offered, system_text
from podiumd.core.decide.policy import Mode
from podiumd.core.reply.action_args import TYPES, checked
from podiumd.core.reply.actions import NAMES, Action, parse_reply
from podiumd.core.reply.patch import apply_patch

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
