"""Following a session live: every message once, in the file's order, whoever writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from tests.e2e.conversations import in_short, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import bash, held, when
from tests.e2e.terminal import ask_alone, begin_alone
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

HELLO = {"default": {"text": "Hello."}}
ALLOWED = ("--allowedTools", "Bash")
FOUND = "It was found. " * 20
ODD_PROMPTS = [
    "--help",
    "  Two lines,\n\n\tindented,\r\nwith 👩‍👩‍👧 and \u2028 a separator   \n",
    "-" + "A long one, 🐢 by 🐢. " * 5_000,
]
"""As a message, in which it stands twice, more than is kept for a client that does not read."""


def as_recorded(machine: Machine, session: str, where: Path) -> list[tuple[str, str, str]]:
    """The messages of a session as its transcript has them."""
    return recorded(machine.transcript(session, where))


async def test_a_turn_is_followed_message_by_message_while_the_agent_works(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    look = when("Find it", bash("echo found", "I look."), held({"text": FOUND}))
    model_server.load({"rules": [look], **HELLO})
    machine = podium.machine
    session = await begin_alone(machine, repo.path, "Hi.")
    async with (
        subscribed(podium, session) as conversation,
        podium.watching("show", session[:8], "--follow") as words,
        podium.watching("show", session, "--follow", "--json", "-n", "1") as lines,
        trio.open_nursery() as nursery,
    ):
        assert len(await conversation.until(2)) == 2
        await words.until("Hello.")
        nursery.start_soon(ask_alone, machine, session, repo.path, "Find it.", *ALLOWED)
        await holding(model_server, "half")
        half = await conversation.until(6)
        assert list(map(in_short, half)) == as_recorded(machine, session, repo.path)
        kinds = [message["blocks"][0]["kind"] for message in half[2:]]
        assert kinds == ["text", "text", "tool_use", "tool_result"]
        call, result = half[4]["blocks"][0], half[5]["blocks"][0]
        assert (call["name"], call["input"]["command"]) == ("Bash", "echo found")
        assert (result["tool_use_id"], result["text"]) == (call["id"], "found")
        shown = await words.until("found\n")
        assert "Find it." in shown and "Bash: echo found" in shown and FOUND[:9] not in shown
        model_server.release("half")
        whole = await conversation.until(7)
        assert (whole[6]["role"], whole[6]["text"]) == ("assistant", FOUND)
        await words.until(FOUND)
        told = [json.loads(line) for line in (await lines.until(FOUND)).splitlines()]
    assert list(map(in_short, whole)) == as_recorded(machine, session, repo.path)
    assert conversation.seqs == [1, 2, 3, 4, 5, 6, 7]
    assert told == whole[1:]


@pytest.mark.long(
    "tests/drivers/test_claude_real.py::test_a_prompt_of_900_kb_arrives_whole_and_is_done_with_words_cost_and_mark"
)
async def test_prompts_are_shown_verbatim(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(HELLO)
    said = await podium.cli("prompt", "--", ODD_PROMPTS[0], cwd=repo.path)
    assert said.code == 0, said
    session = model_server.requests[0].session
    for text in ODD_PROMPTS[1:]:
        said = await podium.cli("prompt", "-", "--session", session, stdin=text.encode())
        assert said.code == 0, said
    async with subscribed(podium, session) as conversation:
        messages = await conversation.until(6)
    assert [message["text"] for message in messages[::2]] == ODD_PROMPTS
    assert list(map(in_short, messages)) == as_recorded(podium.machine, session, repo.path)
    assert messages == (await podium.rpc("sessions.messages", session_id=session))["messages"]
    shown = (await podium.cli("show", session)).out
    assert "Two lines,\n\n" in shown and "👩‍👩‍👧" in shown and "  --help\n" in shown
    last = await podium.cli("show", session, "-n", "2", "--json")
    assert json.loads(last.out)["messages"] == messages[4:]
