"""``podium chat`` with other agents than Podium's own: the real agent CLI, and the scripted one."""

from __future__ import annotations

import pytest

from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.stories import bash, when
from tests.e2e.test_chat import KEYS, by_hand
from tests.fakes.model_server import ModelServer

pytestmark = pytest.mark.claude


async def test_a_chat_with_the_agent_cli_asks_at_the_terminal_and_goes_on_in_its_session(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [
        when("Make it", bash("echo made > made"), {"text": "It is made."}),
        when("Remake", bash("echo again > made"), {"text": "Then not."}),
        when("What", {"text": "You wanted it made."}),
    ]
    model_server.load({"rules": rules})
    environment = podium.machine.environment(NO_COLOR="1")
    where = ("--cwd", str(repo.path), "--agent", "claude")

    def person() -> None:
        with Terminal(environment, "chat", *where, columns=300) as terminal:
            terminal.expect("claude · ")
            terminal.expect("mode default")
            terminal.say("Make it.")
            terminal.expect("? approval: May the agent use Bash?")
            terminal.expect("$ echo made > made")
            terminal.expect(KEYS)
            terminal.type("y\r")
            terminal.expect("It is made.")
            terminal.say("Remake it.")
            terminal.expect(KEYS)
            terminal.type("n\r")
            terminal.expect("Then not.")
            terminal.say("/mode allow-all")
            terminal.say("What did I want?")
            terminal.expect("Agent 'claude' has no permission mode 'allow-all'; it has: ")
            terminal.expect("> What did I want?")
            terminal.type("\x15/mode plan\r")
            terminal.say("What did I want?")
            terminal.expect("You wanted it made.")
            terminal.leave()

    await by_hand(person)
    assert (repo.path / "made").read_text() == "made\n"
    assert len({asked.session for asked in model_server.requests}) == 1
