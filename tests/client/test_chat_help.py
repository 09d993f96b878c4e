"""What ``/help`` says in ``podium chat``, as wide as the terminal is."""

from __future__ import annotations

from pathlib import Path

from tests.client.chats import Chatty, at_narrow_terminal, turn
from tests.client.fake_daemon import FakeDaemon


def test_the_help_breaks_between_words_at_forty_columns(daemon: FakeDaemon, tmp_path: Path) -> None:
    Chatty(daemon, turn("One."))
    with at_narrow_terminal(daemon, tmp_path) as terminal:
        terminal.say("/help")
        terminal.expect("//words sends")
        said = terminal.screen[terminal.screen.index("Say what") :]
        terminal.leave()
    assert max(map(len, said.splitlines())) <= 40
    row = "/resume, /stop let the recipe go on that Ctrl-C has paused, or end it"
    assert row in " ".join(said.split())
