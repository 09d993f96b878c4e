"""``podium recipe sim --step`` of a conversation: a phase is played with made-up replies."""

from __future__ import annotations

import io
import re
from typing import Any

import msgspec

from podium import text
from podium.commands.recipes import _replies
from podium.render import rehearsal
from podiumd.core.analysis.check import check_text
from podiumd.core.analysis.rehearse import play_step
from tests.client.fake_daemon import FakeDaemon
from tests.client.processes import ROOT
from tests.client.test_recipe_tools import rehearse


def test_a_phase_is_played_with_its_tools_and_what_they_save(daemon: FakeDaemon) -> None:
    used = {"tool": "save", "args": {"key": "goal", "value": "A rota"}, "success": True}
    early = {"tool": "transition", "args": {"to": "agreed"}, "success": False}
    asked = {"tool": "ask", "args": {"question": "Who?"}, "success": True, "message": ""}
    blank: dict[str, Any] = {"ok": True, "fault": None, "text": "", "tools": [], "ctx": {}}
    replies = [
        {
            **blank,
            "prompt": "Begin.",
            "text": "Who is\nit for?",
            "tools": [{**early, "message": "'agreed' needs 'goal': save that first"}, asked],
            "question": "Who?",
            "ctx": {"goal": "", "agents": []},
        },
        {**blank, "prompt": "Nurses", "fault": "it is no JSON", "ok": False, "ctx": {"goal": ""}},
        {
            **blank,
            "prompt": "Nurses",
            "tools": [{**used, "message": "'goal' is saved"}],
            "ctx": {"goal": "A rota", "agents": []},
            "transition": "agreed",
        },
    ]
    code, out, _ = rehearse(
        daemon, "x", replies=replies, outcome="agreed", to="design", unused=0, waits=False
    )

    assert code == 0
    assert out.splitlines() == [
        "reply 1  to: Begin.",
        "  Who is it for?",
        "  ✗ transition agreed refused: 'agreed' needs 'goal': save that first",
        "  ? Who?",
        "reply 2  to: Nurses",
        "  ✗ cannot be read: it is no JSON",
        "reply 3  to: Nurses",
        "  ✓ saved goal: A rota",
        "    goal = A rota",
        "→ design",
    ]


def test_a_script_that_ends_where_the_person_is_waited_for_is_no_failure(
    daemon: FakeDaemon,
) -> None:
    code, out, _ = rehearse(daemon, "x", replies=[], unused=0, waits=True)

    assert (code, out) == (0, "… the script ends here, and the phase waits for the person\n")


def test_the_manual_shows_what_a_played_phase_prints() -> None:
    page = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    (sample,) = (
        block
        for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
        if 'id = "name-it"' in block
    )
    script = re.search(r"````\n(.*?)\n````", page, re.DOTALL)
    shown = re.search(r"\n\$ podium recipe sim name-it [^\n]*\n(.*?)```", page, re.DOTALL)
    assert script is not None and shown is not None
    recipe = check_text(sample, file="recipes.md", read_prompt=lambda name: name).recipe
    assert recipe is not None

    played = play_step(recipe, "understand", _replies(script[1]))

    told = rehearsal.lines(msgspec.to_builtins(played), text.Style(io.StringIO()), "")
    assert "\n".join(told) + "\n" == shown[1]
