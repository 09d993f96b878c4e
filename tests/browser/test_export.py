"""The page of a run in a real browser: it fits a narrow screen, and reaches nothing.

Run by ``make browser``; needs Chromium.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import trio

from podium.export.page import page
from tests.browser.chromium import browsing
from tests.browser.relay import open_relay
from tests.client.histories import told
from tests.client.journeys import long, varied
from tests.patience import HANG_SECONDS

NARROW = 500
AGENT = "| a | b |\n| - | - |\n| " + "wide" * 60 + " | `" + "x" * 300 + "` |\n\n" + "y" * 400
SLIPPED_IN = (
    "<script>parent.ran = true</script><img src='/attack?picture' onerror='parent.ran = true'>"
    "<link rel=stylesheet href='/attack?style'><iframe src='/attack?frame'></iframe>"
    "<div style='width:4000px'>inline style</div>"
)
AROUND = """<!doctype html><meta charset="utf-8">
<iframe id="it" width="WIDTH" height="800" srcdoc="PAGE"></iframe>
<script>
addEventListener("load", () => {
  const root = document.getElementById("it").contentDocument.documentElement;
  const bars = root.querySelector(".rail svg");
  fetch("/report", {method: "POST", body: JSON.stringify({
    ran: window.ran === true, width: root.scrollWidth, rail: bars.getBoundingClientRect().width,
    styled: getComputedStyle(root.querySelector(".card")).borderRadius})});
});
</script>"""


async def looked_at(tmp_path: Path, whole: str) -> tuple[dict[str, Any], int]:
    """What a browser makes of the page in a narrow frame, and how often it fetched anything."""
    with trio.fail_after(HANG_SECONDS):
        async with open_relay(0) as relay:
            around = AROUND.replace("WIDTH", str(NARROW)).replace("PAGE", html.escape(whole))
            relay.page = around.encode()
            url = f"http://127.0.0.1:{relay.port}/attack"
            async with browsing(tmp_path / "profile", url, ""):
                report: dict[str, Any] = await relay.report()
            return report, relay.served


async def test_it_fits_a_narrow_screen_whatever_is_in_it(tmp_path: Path) -> None:
    journey = long()
    history = told(journey.events)
    for step in history.steps:
        step["turns"][0]["text"] = AGENT
    file = {"path": "long/" * 50, "change": "added", "added": 1, "deleted": 0}
    part = {"files": [file], "more": 0, "patch": "+" + "z" * 500, "cut": False}
    diff: Any = {
        "commits": [{"commit": "c" * 40, "subject": "s" * 300}],
        "committed": part,
        "uncommitted": {**part, "files": []},
    }

    report, served = await looked_at(tmp_path, page(journey.run(), history, 0.0, diff))

    assert report["width"] <= NARROW
    assert 300 < report["rail"] <= NARROW
    assert served == 1


async def test_what_might_slip_into_it_runs_nothing_and_fetches_nothing(tmp_path: Path) -> None:
    journey = varied()
    whole = page(journey.run(), told(journey.events), 0.0)

    report, served = await looked_at(tmp_path, whole.replace("<main>", "<main>" + SLIPPED_IN))

    assert not report["ran"]
    assert served == 1
    assert report["styled"] == "12px"  # its own style is let in
    assert report["width"] <= NARROW  # no other is
