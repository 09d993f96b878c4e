"""A turn of the real agent at a real terminal, joined in the middle."""

from __future__ import annotations

import pytest
import trio

from podium import flow, text
from tests.client.terminal import Terminal
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import held, when
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.patience import HANG_SECONDS

pytestmark = pytest.mark.claude

REPLY = (
    "The **first** half is said.\n\nThen more of it: " + "word " * 60 + "\n\n"
    "| File | Why |\n|---|---|\n| slug.py | letters |\n\n- one\n- two\n"
)


@pytest.mark.parametrize("columns", [40, 80, 120])
async def test_who_attaches_in_the_middle_reads_what_was_said_and_the_rest_drawn(
    podium: PodiumDaemon, repo: GitRepo, machine: Machine, model_server: ModelServer, columns: int
) -> None:
    model_server.load({"rules": [when("Go", held({"text": REPLY}))]})
    asked = {"text": "Go.", "working_directory": str(repo.path)}
    run_id = (await podium.rpc("sessions.prompt", **asked))["run_id"]
    await holding(model_server, "half")
    shown = ""

    def person() -> None:
        nonlocal shown
        terminal = Terminal(machine.environment(NO_COLOR="1"), "attach", run_id, columns=columns)
        with terminal:
            terminal.expect("  The first half is said.\r\n")
            model_server.release("half")
            terminal.expect("   • two\r\n")
            assert terminal.end() == 0
        shown = terminal.stays

    with trio.fail_after(HANG_SECONDS):
        await trio.to_thread.run_sync(person)
    lines = [flow.plain(line) for line in shown.split("\n")]
    assert max(map(text.cells, lines)) <= columns
    assert (shown.count("word"), shown.count("first half")) == (60, 1)
    assert not [mark for mark in ("**", "|---", "- one") if mark in shown]
