"""``podium chat`` under a real terminal, with the real daemon and its own agent."""

from __future__ import annotations

from collections.abc import Callable

import trio

from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.native_rig import (
    MENDED,
    fixtures,
    says,
)
from tests.patience import HANG_SECONDS

KEYS = "/a > "


machine, repo = fixtures()


def chat(machine: Machine, repo: GitRepo, *arguments: str) -> Terminal:
    """A chat in the repository, at a terminal without colours."""
    where = ("--cwd", str(repo.path))
    return Terminal(machine.environment(NO_COLOR="1"), "chat", *where, *arguments, columns=300)


async def by_hand(person: Callable[[], None]) -> None:
    """Have a person at a terminal do something, in a thread of its own."""
    with trio.fail_after(HANG_SECONDS):
        await trio.to_thread.run_sync(person)


async def test_a_failing_test_is_mended_with_leave_that_is_given_at_the_terminal(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine
) -> None:
    session = ""

    def person() -> None:
        nonlocal session
        with chat(machine, repo) as terminal:
            terminal.expect(f"native · {repo.path} · a new session · mode confirm")
            terminal.say("Mend it.")
            terminal.expect("I look.")
            terminal.expect("⚙ read_file calc.py")
            terminal.expect("I mend it.")
            terminal.expect("? approval: May the agent use patch?")
            terminal.expect("-    return a - b")
            terminal.expect("+    return a + b")
            terminal.expect(KEYS)
            terminal.type("y\r")
            terminal.expect("? approval: May the agent use run_tests?")
            terminal.expect("$ python3 -m unittest")
            terminal.expect(KEYS)
            terminal.type("y\r")
            terminal.expect("The test passes.")
            terminal.expect("committed ")
            terminal.expect("1 file changed")
            terminal.say("Quit.")
            terminal.expect("Come back with: podium chat --session ")

            assert terminal.end() == 0
            assert terminal.modes == terminal.found_modes
        assert terminal.screen.count("committed") == 1 and "· commit " not in terminal.screen
        session = terminal.screen.split()[-1]

    await by_hand(person)
    assert (repo.path / "calc.py").read_text() == MENDED
    assert repo.subjects == ["AI: modified calc.py", "A calculator", "Begin"]

    def comes_back() -> None:
        machine.model.load({"default": says("You asked for a repair.")})
        with Terminal(machine.environment(), "chat", "--session", session[:8]) as terminal:
            terminal.expect("earlier messages: 'podium show ")
            terminal.expect("⚙ done: The test passes.")
            terminal.say("What did I ask?")
            terminal.expect("You asked for a repair.")
            terminal.expect("> ")
            terminal.type("\x04")

            assert terminal.end() == 0

    await by_hand(comes_back)
    assert "Mend it." in machine.model.requests[-1].anywhere
    kept = (machine.podium_home / "state" / "chat_history").read_text().splitlines()
    assert kept == ['"Mend it."', '"What did I ask?"']
