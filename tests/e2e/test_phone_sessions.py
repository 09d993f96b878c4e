"""What a phone does with its sessions: summed up, stopped, in a terminal, in a tree of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import VERSIONS, agrees, asked, begun, heard, holding, paired
from tests.e2e.stories import held, when
from tests.e2e.terminal import ask_alone, begin_alone
from tests.e2e.test_session_compact import GIST, SUM_UP, SUMMARY
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude

HELLO = {"default": {"text": "Hello."}}
LONG = "Thinking about it. " * 20


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_session_goes_on_in_a_terminal_and_comes_back(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    rules = [when("At the desk", {"text": "Seen."}), when("Under way", {"text": "Again."})]
    model_server.load({"rules": rules, **HELLO})
    url, key = await paired(podium)
    machine = podium.machine
    session = await begin_alone(machine, repo.path, "Hi.")
    async with Phone(url, key, variant) as phone:
        await phone.until(lambda p: session in p.model.listed or p.model.recents)
        await phone.open(session)
        await heard(phone, session, "Hello.")
        await phone.say("Under way")
        await heard(phone, session, "Again.")
        await ask_alone(machine, session, repo.path, "At the desk")
        await heard(phone, session, "Seen.")
        await phone.background()
        await ask_alone(machine, session, repo.path, "Without the phone")
        await phone.foreground()
        await heard(phone, session, "Without the phone")
        await agrees(podium, phone, session)
        assert len(phone.texts(session)) == 8 and phone.faults == []


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_session_is_stopped_and_summed_up_and_goes_on(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    rules = [when(SUM_UP, SUMMARY), when("Take your time", held({"text": LONG}))]
    model_server.load({"rules": rules, **HELLO})
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        session = await begun(phone, repo, "Hi.", "Hello.")
        await phone.turns(session, 1)
        await phone.say("Take your time")
        await holding(model_server, "half")
        await heard(phone, session, "Take your time")
        with phone.listening("turn_complete") as ended:
            await asked(phone, "kill_session", session, "session_killed")
            await phone.until(lambda _: ended)
        assert ended[0]["aborted"] is True
        await phone.say("Still there?")
        await phone.until(lambda p: p.texts(session)[-1:] == ["Hello."])
        await phone.turns(session, 3)
        told = await asked(
            phone, "compact_session", session, "compaction_complete", "compaction_error"
        )
        assert told["type"] == "compaction_complete"
        await phone.until(lambda p: any(GIST in text for text in p.texts(session)))
        await phone.say("And after that?")
        await phone.until(lambda p: p.texts(session)[-1:] == ["Hello."])
        assert podium.machine.prompts(session, repo.path)[-1] == "And after that?"
        await agrees(podium, phone, session)
        assert phone.unsent(session) == [] and phone.faults == []


async def test_two_phones_of_one_device_and_a_third_see_the_same(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    """One was lost without a word and the gateway still believes in it."""
    model_server.load(HELLO)
    url, key = await paired(podium)
    _, other_key = await paired(podium)
    async with (
        Phone(url, key, "ios") as phone,
        Phone(url, key, "ios-0.4") as twin,
        Phone(url, other_key, "ios") as third,
    ):
        session = await begun(phone, repo, "Hi.", "Hello.")
        for each in (twin, third):
            await each.open(session)
        twin.stop_reading()
        await third.say("From the third")
        await phone.until(lambda p: len(p.texts(session)) == 4)
        phone.cut()
        twin.go_on_reading()
        await twin.say("From the twin")
        async with Phone(url, key, "ios") as again:
            await again.open(session)
            for each in (twin, third, again):
                await each.until(lambda p: len(p.texts(session)) == 6)
                await agrees(podium, each, session)
                assert each.faults == [] and each.unsent(session) == []
        devices = {row["name"]: row for row in await podium.rpc("gateway.devices")}
        assert sorted(devices) == ["phone", "phone-2"]


async def test_a_session_in_a_working_tree_of_its_own(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("You are in a git worktree", {"text": "Ready."}), when("Go", {"text": "Gone."})]
    model_server.load({"rules": rules})
    url, key = await paired(podium)
    async with Phone(url, key, "ios") as phone:
        made = await phone.request(
            {
                "type": "create_worktree_session",
                "session_name": "Fix the door",
                "parent_directory": str(repo.path),
            },
            "worktree_session_created",
            "worktree_session_error",
        )
        assert (made["success"], made["branch_name"]) == (True, "fix-the-door"), made
        session = made["session_id"]
        await phone.until(lambda p: session in p.model.ready_sessions)
        await phone.open(session)
        await heard(phone, session, "Ready.")
        await phone.say("Go on")
        await heard(phone, session, "Gone.")
        tree = Path(made["worktree_path"])
        assert podium.machine.prompts(session, tree)[-1] == "Go on"
        assert phone.unsent(session) == [] and phone.faults == []
        again = await phone.request(
            {
                "type": "create_worktree_session",
                "session_name": "Fix the door",
                "parent_directory": str(repo.path),
            },
            "worktree_session_error",
        )
        assert again["success"] is False
