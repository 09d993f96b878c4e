"""What a phone does with its sessions: summed up, stopped, in a terminal, in a tree of its own."""

from __future__ import annotations

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
