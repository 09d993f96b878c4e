"""A run as one page or one document: whole, self-contained, and harmless whatever is in it."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium.export.page import page
from podium.render.history import as_json
from tests.client import stories
from tests.client.fake_daemon import RUN_ID, FakeDaemon, Refused, podium
from tests.client.histories import told
from tests.client.journeys import Journey, varied
from tests.client.stories import ended, ended_run, entered, started
from tests.client.terminal import Terminal
from tests.client.test_imports import loaded

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
    return page(ended_run() | run, told(events), 0.0)


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


@pytest.mark.parametrize(
    ("name", "heading"), [("Second\ttry", "Second try"), ("fix-it: it's 7", "Fix it")]
)
def test_a_page_is_headed_by_the_title_of_its_run(name: str, heading: str) -> None:
    text = made([started(name="fix-it: it's 7"), ended(2)], name=name)
    assert f">{heading}</h1>" in text and f"<title>{heading}: " in text


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
    assert whole["steps"] == as_json(told(daemon.events))


def test_contradicting_formats_are_refused(daemon: FakeDaemon) -> None:
    done = podium(daemon, "runs", "export", RUN_ID, "--json", "--format", "html")
    assert done.returncode == 2 and "exclude each other" in done.stderr


def test_a_place_that_cannot_be_written_is_named(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()
    done = podium(daemon, "runs", "export", RUN_ID, "--output", str(tmp_path / "no" / "run.html"))
    assert done.returncode == 1 and "cannot be written" in done.stderr


def test_without_a_terminal_the_page_goes_to_standard_output(
    daemon: FakeDaemon, tmp_path: Path
) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits("naïve ✓ \ud83d")
    for more in ([], ["--output", "-"]):
        done = podium(
            daemon, "runs", "export", RUN_ID, *more, cwd=tmp_path, LC_ALL="C", PYTHONUTF8="0"
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("<!DOCTYPE html>") and "naïve ✓" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_named_is_replaced(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()
    target = tmp_path / "run.json"
    target.write_text("old")
    podium(daemon, "runs", "export", RUN_ID, "--json", "--output", str(target))
    assert json.loads(target.read_text())["run"] == ended_run()


def test_at_a_terminal_it_goes_to_a_place_of_podium_s_own_and_never_into_the_project(
    daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    home = str(tmp_path / "home")
    target = tmp_path / "home" / "state" / "exports" / f"run-{RUN_ID[:8]}.html"
    for _ in ("first", "again"):  # the page of the same run takes the place of an older one
        with Terminal(daemon, "runs", "export", RUN_ID, PODIUM_HOME=home) as terminal:
            assert terminal.end() == 0
        assert f"Written to {target}." in terminal.screen
        assert "<svg" in target.read_text()
        target.write_text("an older page")
    assert list(project.iterdir()) == []
    assert target.parent.stat().st_mode & 0o077 == 0


def test_it_is_shown_in_the_person_s_browser(daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho \"$1\" > '{tmp_path / 'shown'}'\n")
    browser.chmod(0o755)
    target = tmp_path / "a run.html"
    more = ["--open", "--output", str(target)]
    done = podium(daemon, "runs", "export", RUN_ID, *more, BROWSER=f"{browser} %s")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "shown").read_text().strip() == target.as_uri()
    assert podium(daemon, "runs", "export", RUN_ID, "--open", "--output", "-").returncode == 2


DIFF = {
    "rewritten": True,
    "gone": False,
    "commits": [{"commit": "c0ffee" * 7, "at": "2026-05-01T10:00:00Z", "subject": "Add <slugs>"}],
    "more_commits": 2,
    "committed": {
        "files": [
            {"path": "slug.py", "change": "added", "added": 12, "deleted": 0},
            {"path": "b.txt", "change": "renamed", "before": "a.txt", "added": 0, "deleted": 0},
            {"path": "logo.png", "change": "modified", "added": None, "deleted": None},
        ],
        "more": 4,
        "patch": "diff --git a/slug.py b/slug.py\n@@ -0,0 +1 @@\n+<b>\n",
        "cut": True,
    },
    "uncommitted": {
        "files": [
            {
                "path": "notes.txt",
                "change": "modified",
                "added": 1,
                "deleted": 2,
                "mode": "100755",
                "changed_before": True,
            }
        ],
        "more": 0,
        "patch": "",
        "cut": False,
    },
}


def test_what_the_run_changed_is_in_it(daemon: FakeDaemon) -> None:
    daemon.answers["runs.get"] = ended_run(left={"paths": ["notes.txt"], "more": 3})
    daemon.answers["runs.diff"] = DIFF
    daemon.events = visits()
    told_page = podium(daemon, "runs", "export", RUN_ID).stdout
    assert "<code>c0ffeec0ffee</code> Add &lt;slugs&gt;" in told_page
    assert "and 2 earlier" in told_page and "4 more files" in told_page
    assert "a.txt → b.txt" in told_page and "slug.py (new)" in told_page and "binary" in told_page
    assert "notes.txt (mode 100755, changed before the run too)" in told_page
    assert '<span class="good">+&lt;b&gt;</span>' in told_page
    assert "rewritten" in told_page and "The rest is cut" in told_page
    assert "Left uncommitted: notes.txt and 3 more" in told_page
    whole = json.loads(podium(daemon, "runs", "export", RUN_ID, "--json").stdout)
    assert whole["changes"] == daemon.answers["runs.diff"]


def test_why_nobody_knows_what_it_changed_is_in_it(daemon: FakeDaemon) -> None:
    def refused(_params: Any) -> Any:
        raise Refused(-32006, "The run began outside git.")

    daemon.answers |= {"runs.get": ended_run(), "runs.diff": refused}
    daemon.events = visits()
    told_page = podium(daemon, "runs", "export", RUN_ID).stdout
    assert "Not known: The run began outside git." in told_page


def call(name: str, at: str, **given: Any) -> dict[str, Any]:
    block = {"kind": "tool_use", "id": "t", "name": name, "input": given}
    return {"seq": 1, "uuid": "u", "role": "assistant", "timestamp": at, "blocks": [block]}


def test_the_tools_that_were_called_stand_with_their_turns(daemon: FakeDaemon) -> None:
    daemon.answers["runs.get"] = ended_run()
    daemon.events = visits()  # its turn goes from second 3 to second 4
    daemon.answers["sessions.messages"] = {
        "messages": [
            call("Bash", "2026-05-01T10:00:03.500Z", command="make <test>"),
            call("Read", "2026-05-01T11:00:00.000Z", file_path="/elsewhere"),
        ],
        "next_seq": 2,
        "complete": True,
    }
    told_page = podium(daemon, "runs", "export", RUN_ID).stdout
    assert "1 tool call<" in told_page and "Bash: make &lt;test&gt;" in told_page
    assert "/elsewhere" not in told_page


def test_what_the_native_agent_did_stands_with_its_turn() -> None:
    journey = Journey()
    journey.enter("fix").prompt()
    journey.tell("action.ended", result={"action": "write_file", "message": "created a.py"})
    journey.tell("action.ended", result={"action": "save", "message": "saved"})
    journey.wait(3).reply().parsed("complete").leave("complete", exit="done").over()
    (step,) = as_json(told(journey.events))
    assert [turn["calls"] for turn in step["turns"]] == [["write_file: created a.py"]]


def test_work_is_a_figure_of_its_own_only_where_it_is_another_one() -> None:
    quick, waited = Journey(), Journey()
    quick.enter("fix").turn(60).leave("complete", exit="done").over()
    waited.enter("fix").turn(60).ask("q").wait(90).answer("q", "yes").leave("complete").over()
    said = [page(one.run(), told(one.events), 0.0) for one in (quick, waited)]
    assert ["of it work" in one for one in said] == [False, True]


def test_the_times_in_its_head_have_their_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        whole = made(visits())
    finally:
        monkeypatch.undo()
        time.tzset()
    assert "2026-05-01 19:00:00 JST" in whole


def test_a_narrow_screen_has_the_timeline_as_rows_that_fit() -> None:
    whole = page(varied().run(), told(varied().events), 0.0)
    rail = whole.partition('<ol class="rail">')[2].partition("</ol>")[0]
    assert rail.count("<svg") == 6 and rail.count('href="#visit-') == 6
    assert "min-width" not in rail and 'class="pill last"' in rail


def test_hostile_words_are_shown_and_never_obeyed_wherever_they_stand() -> None:
    journey = Journey(label=HOSTILE).ask("q", HOSTILE, detail=HOSTILE).answer("q", HOSTILE)
    journey.enter(HOSTILE).prompt(HOSTILE, agent=HOSTILE, model=HOSTILE)
    journey.ask("a", HOSTILE, kind="approval", tool=HOSTILE, input={HOSTILE: HOSTILE})
    journey.answer("a", None, closed=HOSTILE, by=HOSTILE, note=HOSTILE).wait(3)
    journey.reply(HOSTILE, kind=HOSTILE, detail=HOSTILE)
    journey.tell("outcome.invalid", error=HOSTILE, message=HOSTILE, attempt=1)
    journey.check(1, False, HOSTILE).tell("limit.hit", limit=HOSTILE, count=HOSTILE)
    journey.tell("steer.intended", text=HOSTILE).tell("run.paused", why=HOSTILE)
    journey.leave(HOSTILE, HOSTILE, source=HOSTILE, description=HOSTILE)
    journey.tell("progress.stalled", step=HOSTILE, visit=HOSTILE, since=HOSTILE, outcome=HOSTILE)
    journey.over("error")
    end = dict.fromkeys(("reason", "class", "category", "message", "detail"), HOSTILE)
    run = journey.run(exit=end, agent=HOSTILE, params={HOSTILE: HOSTILE}, session_id=HOSTILE)

    whole = page(run, told(journey.events), 0.0)

    elements = _Elements(whole)
    assert not {"script", "img", "iframe"} & set(elements.tags)
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    assert whole.count("</script>") == 0
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in whole
    assert "\\x00\\u202egnp.exe" in whole and "\x1b" not in whole


def test_other_commands_do_not_load_the_page(daemon: FakeDaemon) -> None:
    daemon.answers |= {"runs.get": ended_run(), "runs.list": [], "daemon.status": {}}
    for command in (["runs"], ["runs", "show", RUN_ID], ["runs", "log", RUN_ID]):
        assert not {name for name in loaded(daemon, *command) if "export" in name}
