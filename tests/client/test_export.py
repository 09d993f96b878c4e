"""A run as one page or one document: whole, self-contained, and harmless whatever is in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium.export_page import page
from podium.history import as_json, told
from tests.client import stories
from tests.client.fake_daemon import RUN_ID, FakeDaemon, podium
from tests.client.stories import ended, ended_run, entered, started

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`&<b>\x1b[2J\x00\u202egnp.exe\n{{x}}"


def visits(words: str = "Done.", count: int = 1) -> list[stories.Json]:
    """The events of a run that came through its step so often."""
    events = [started()]
    for visit in range(1, count + 1):
        at = len(events) + 1
        last = visit == count
        events += [
            entered(at, visit=visit),
            stories.turn_intended(at + 1, visit=visit, prompt=words),
            stories.turn_ended(at + 2, words),
            stories.event(
                at + 3,
                "edge.taken",
                step="fix",
                visit=visit,
                outcome="complete",
                source="text",
                attempts=1,
                description=words,
                **({"exit": "changes-committed"} if last else {"to": "fix"}),
            ),
        ]
    return [*events, ended(len(events) + 1)]


def made(events: list[stories.Json], **run: Any) -> str:
    return page({**ended_run(), **run}, told(events), 0.0)


class _Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def test_a_page_tells_how_it_ended_what_it_cost_and_each_visit() -> None:
    told_page = made(visits(count=3))
    assert "Task implementation committed successfully" in told_page
    assert told_page.count("complete") >= 3 and "<svg" in told_page and "$1.50" in told_page
    assert told_page.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("count", [1, 60])
def test_a_page_needs_nothing_from_outside_and_runs_nothing(count: int) -> None:
    text = made(visits(HOSTILE, count), recipe=HOSTILE, working_directory=HOSTILE)
    elements = _Elements(text)
    assert not {"script", "img", "iframe", "link", "object", "form"} & set(elements.tags)
    assert [name for name, _ in elements.attributes if name.startswith("on")] == []
    places = [value for name, value in elements.attributes if name in ("src", "href")]
    assert all(place.startswith("#") for place in places)
    assert "default-src 'none'" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert "\u202e" not in text


def test_an_export_is_written_where_it_was_told_to(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()
    target = tmp_path / "run.html"
    done = podium(daemon, "runs", "export", RUN_ID, "--output", str(target))
    assert (done.returncode, done.stdout) == (0, "")
    assert "<svg" in target.read_text(encoding="utf-8") and str(target) in done.stderr


def test_as_json_it_is_the_run_its_events_and_its_visits(daemon: FakeDaemon) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits(count=2)
    whole = json.loads(podium(daemon, "runs", "export", RUN_ID, "--format", "json").stdout)
    assert whole["run"] == ended_run() and whole["events"] == daemon.events
    assert [step["visit"] for step in whole["steps"]] == [1, 2]
    assert whole["steps"] == as_json(told(daemon.events), 0.0)


def test_contradicting_formats_are_refused(daemon: FakeDaemon) -> None:
    done = podium(daemon, "runs", "export", RUN_ID, "--json", "--format", "html")
    assert done.returncode == 2 and "exclude each other" in done.stderr


def test_a_place_that_cannot_be_written_is_named(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()
    done = podium(daemon, "runs", "export", RUN_ID, "--output", str(tmp_path / "no" / "run.html"))
    assert done.returncode == 1 and "cannot be written" in done.stderr
