"""The beginning of a session's id stands for it, as long as it is no other's too."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conversations import listed
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import LOOP, when, word
from tests.e2e.terminal import begin_alone
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude

ALIKE = ("abcdef01-0000-4000-8000-000000000001", "abcdef01-0000-4000-8000-000000000002")
OWN = "5e551012-0000-4000-8000-000000000003"


async def test_a_session_is_named_by_its_beginning_everywhere(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("Work", word("blocked", "I cannot."))]
    model_server.load({"rules": rules, "default": {"text": "Hello."}})
    await begin_alone(podium.machine, repo.path, "Hi.", session_id=OWN)
    await listed(podium, OWN, message_count=2)
    shown = json.loads((await podium.cli("show", OWN[:4], "--json")).out)
    assert (shown["session"]["session_id"], len(shown["messages"])) == (OWN, 2)
    asked = await podium.cli("prompt", "And?", "--session", OWN[:6], "--json", cwd=repo.path)
    assert (asked.code, OWN in asked.out) == (0, True)
    recipe = podium.machine.recipe("loop", LOOP)
    await podium.cli("run", recipe, "--session", OWN[:13].upper(), cwd=repo.path)
    (run,) = await podium.rpc("runs.list", active=False)
    assert run["session_id"] == OWN
    assert await podium.rpc("sessions.interrupt", session_id=OWN[:8]) == {}
    prompts = podium.machine.prompts(OWN, repo.path)
    assert [prompt.partition("\n")[0] for prompt in prompts] == ["Hi.", "And?", "Work on it."]


async def test_a_beginning_that_two_sessions_share_names_both(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Hello."}})
    for session in ALIKE:
        await begin_alone(podium.machine, repo.path, "Hi.", session_id=session)
        await listed(podium, session, message_count=2)
    recipe = podium.machine.recipe("loop", LOOP)
    for command in (
        ("show", ALIKE[0][:8]),
        ("prompt", "And?", "--session", ALIKE[0][:8]),
        ("run", recipe, "--session", ALIKE[0][:8]),
        ("sessions", "--forget", ALIKE[0][:8]),
    ):
        said = await podium.cli(*command, cwd=repo.path)
        assert said.code == 1 and all(session in said.err for session in ALIKE), said
    for beginning in ("abc", "dddddddd"):
        said = await podium.cli("show", beginning)
        assert said.code != 0 and beginning in said.err, said
    assert len(model_server.requests) == 2
    listing = (await podium.cli("sessions")).out
    assert ALIKE[0] in listing and ALIKE[1] in listing, "shown as long as it takes to tell them"
