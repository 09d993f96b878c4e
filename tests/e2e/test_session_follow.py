"""Following a session live: every message once, in the file's order, whoever writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from tests.e2e.conversations import in_short, recorded, subscribed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.rpc_client import Connection, connected
from tests.e2e.stories import bash, held, when
from tests.e2e.terminal import ask_alone, begin_alone
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.claude

HELLO = {"default": {"text": "Hello."}}
ALLOWED = ("--allowedTools", "Bash")
FOUND = "It was found. " * 20
ODD_PROMPTS = [
    "--help",
    "  Two lines,\n\n\tindented,\r\nwith 👩‍👩‍👧 and \u2028 a separator   \n",
    "-" + "A long one, 🐢 by 🐢. " * 5_000,
]
HUGE = "A wall of words. " * 150_000
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


@pytest.mark.long("tests/sessions/test_transcripts.py::test_a_delta_holds_what_was_written_since")
async def test_who_comes_back_with_the_last_seq_gets_exactly_what_was_missed(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load(HELLO)
    machine = podium.machine
    session = await begin_alone(machine, repo.path, "First.")
    async with podium.watching("show", session, "--follow", "--json") as lines:
        async with subscribed(podium, session) as conversation:
            first = await conversation.until(2)
        await ask_alone(machine, session, repo.path, "Second.")
        async with (
            subscribed(podium, session, after_seq=2) as again,
            subscribed(podium, session) as other,
        ):
            second = await again.until(2)
            assert await other.until(4) == [*first, *second]
            await podium.kill9()
        await ask_alone(machine, session, repo.path, "Third.")
        await podium.start()
        async with subscribed(podium, session, after_seq=4) as again:
            third = await again.until(2)
        shown = await lines.until(third[-1]["uuid"])
    messages = [*first, *second, *third]
    assert [json.loads(line) for line in shown.splitlines()] == messages
    assert list(map(in_short, messages)) == as_recorded(machine, session, repo.path)
    await podium.stop()
    for path in (machine.podium_home / "state").glob("index.db*"):
        path.unlink()
    await podium.start()
    async with subscribed(podium, session) as conversation:
        assert await conversation.until(6) == messages


class ImpatientDaemon(PodiumDaemon):
    """One whose subscribers have half a second to read."""

    program = (str(Path(__file__).parent / "impatient_podiumd.py"),)


async def until_given_up(podium: PodiumDaemon, session: str, stalled: Connection) -> None:
    """Serve others until the daemon takes no more requests of a client that does not read."""
    with trio.fail_after(HANG_SECONDS):
        while True:
            assert (await podium.cli("show", session, "-n", "1")).code == 0
            try:
                await stalled.ask("daemon.ping")
            except trio.BrokenResourceError:
                return


@pytest.mark.long("tests/rpc/test_feeds.py::test_a_slow_subscriber_is_cut_loose_with_a_reason")
async def test_a_subscriber_that_stalls_is_cut_loose_and_loses_nothing(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("Much", {"text": HUGE, "chunk": 1_000_000})]
    model_server.load({"rules": rules, **HELLO})
    session = await begin_alone(machine, repo.path, "Hi.")
    async with ImpatientDaemon(machine) as podium, subscribed(podium, session) as attentive:
        async with connected(machine.socket) as stalled:
            asked = {"session_id": session, "after_seq": 0}
            page = await stalled.call("sessions.subscribe", asked)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask_alone, machine, session, repo.path, "Much!")
                await attentive.until(4)
            await until_given_up(podium, session, stalled)
            *told, last = await stalled.rest()
            assert last["params"] == {"feed": "session.messages", "reason": "slow"}
            got = page["messages"] + [m for each in told for m in each["params"]["messages"]]
        await ask_alone(machine, session, repo.path, "More.")
        messages = await attentive.until(6)
        assert got == messages[: len(got)] and len(got) < 6
        async with subscribed(podium, session, after_seq=len(got)) as again:
            assert got + await again.until(6 - len(got)) == messages
    assert list(map(in_short, messages)) == as_recorded(machine, session, repo.path)
