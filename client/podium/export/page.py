"""A run as one HTML page that needs nothing else: no script, no font, no network."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import TYPE_CHECKING

from podium import __version__, text
from podium.export.markup import SIGNS, esc, number, tag
from podium.export.style import CSS
from podium.export.timeline import Timeline, rail
from podium.export.tone import LEGEND, end_tone, how_it_stands, tone
from podium.export.visit import section
from podium.render.history import RESTART, History
from podium.render.run_words import (
    advice,
    counts,
    ended_as,
    named,
    notes,
    parts_of,
    spent,
    step_limit,
    title_of,
    tokens_words,
)

if TYPE_CHECKING:
    from podium import protocol


def changes(diff: protocol.Diff | str | None) -> str:
    """Build the section; a ``diff`` in words says why there is none."""
    if diff is None:
        return ""
    if isinstance(diff, str):
        inside = tag("p", esc(f"Not known: {diff}"), class_="soft")
        return tag("h2", "What it changed") + tag("div", inside, class_="card")
    parts = [_commits(diff)]
    parts += [tag("p", esc(line), class_="warn") for line in notes(diff)]
    for part, heading in parts_of(diff):
        if part["files"]:
            parts.append(tag("h3", heading) + _files(part) + _patch(part))
    inside = "".join(parts) or tag("p", "Nothing.", class_="soft")
    return tag("h2", "What it changed") + tag("div", inside, class_="card changes")


def _commits(diff: protocol.Diff) -> str:
    items = [
        tag("li", tag("code", esc(str(one.get("commit"))[:12])) + " " + esc(one.get("subject")))
        for one in diff.get("commits") or []
    ]
    if diff.get("more_commits"):
        items.append(tag("li", esc(f"and {diff['more_commits']} earlier"), class_="soft"))
    return tag("ul", "".join(items), class_="commits", dir="auto") if items else ""


def _files(part: protocol.DiffPart) -> str:
    rows = []
    for file in part["files"]:
        added, deleted = counts(file)
        cells = tag("td", tag("code", esc(named(file))), dir="auto")
        cells += tag("td", esc(added), class_="good") + tag("td", esc(deleted), class_="bad")
        rows.append(tag("tr", cells))
    if part.get("more"):
        more = esc(text.counted(int(part["more"]), "more file"))
        rows.append(tag("tr", tag("td", more, colspan=3, class_="soft")))
    return tag("table", "".join(rows), class_="files")


def _patch(part: protocol.DiffPart) -> str:
    patch = str(part.get("patch") or "")
    if not patch:
        return ""
    lines = []
    for line in patch.split("\n"):
        kind = {"+": "good", "-": "bad", "@": "soft"}.get(line[:1])
        said = esc(line)
        lines.append(tag("span", said, class_=kind) if kind else said)
    cut = tag("p", "The rest is cut: it is too long.", class_="warn") if part.get("cut") else ""
    inside = tag("pre", "\n".join(lines), dir="ltr") + cut
    return tag("details", tag("summary", "The patch") + inside, class_="patch")


ALIKE = 0.1
"""The part of the whole time by which work may fall short of it and be no figure of its own."""

BARS = (
    ("command passed", "check or command passed"),
    ("command failed", "check or command failed"),
    ("waiting", "waited for a person"),
    ("paused", "paused"),
    ("parked", "parked: the agent's usage limit"),
    ("cut", "long without work, cut short"),
)


def page(
    run: protocol.Run, history: History, now: float, diff: protocol.Diff | str | None = None
) -> str:
    """Render the page of a run, written ``now`` (epoch seconds). ``diff`` is what it changed, as
    ``runs.diff`` returns it, or why that is not known."""
    until = history.until
    start = history.start
    label = title_of(run, start) or str((start and start["label"]) or run.get("recipe") or "Prompt")
    parts = [_head(run, history, label), _picture(run, history)]
    parts += [changes(diff), _way(run, history), _sums(history)]
    if history.steps:
        parts.append(tag("h2", "Visits"))
    parts += [section(step, history.steps, run, until) for step in history.steps]
    zone = time.strftime("%Z", time.localtime(now))
    written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    foot = f"Written {written} by Podium {__version__}. Times are {zone}; costs are US dollars."
    parts.append(tag("footer", esc(foot)))
    return _document(f"{label}: {how_it_stands(run)}", tag("main", "".join(parts)))


def _document(title: str, body: str) -> str:
    """Build the whole document. The policy admits this style by its digest, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{esc(text.fold(title))}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _head(run: protocol.Run, history: History, label: str) -> str:
    end = run.get("exit")
    said = f"{SIGNS.get(end['class'], '…')} {end['message']}" if end else f"… {run['status']}"
    parts = [tag("h1", esc(label), dir="auto")]
    parts.append(tag("p", esc(said), class_="ended", dir="auto"))
    if end:
        parts.append(tag("p", esc(f"{end['reason']} · {ended_as(end)}"), class_="soft"))
    if end and end["detail"]:
        parts.append(tag("pre", esc(end["detail"]), dir="auto"))
    parts.append(tag("dl", "".join(_facts(run, history))))
    lines = "".join(tag("li", esc(line)) for line in advice(run, history))
    if lines:
        parts.append(tag("div", tag("b", "Next") + tag("ul", lines), class_="next"))
    return tag("header", "".join(parts), class_=f"card {end_tone(run)}")


def _facts(run: protocol.Run, history: History) -> list[str]:
    until = history.until
    began = text.epoch(run.get("started_at"))
    most = step_limit(run)
    params = "\n".join(f"{name} = {value}" for name, value in (run.get("params") or {}).items())
    steps = history.steps
    big = [
        ("took", "-" if began is None else text.duration(until - began)),
        ("of it work", _work(steps, began, until)),
        ("waited for a person", spent(sum(step["waited_seconds"] for step in steps))),
        ("stood still", spent(sum(step["still_seconds"] for step in steps))),
        ("cost", text.money(run.get("cost_usd"))),
        ("tokens", tokens_words(run)),
        ("visits", f"{len(steps)}" + (f" (limit {most})" if most else "")),
        ("turns", run.get("turns")),
    ]
    small = [
        ("recipe", run.get("recipe")),
        ("agent", run.get("agent")),
        ("started", _moment(run.get("started_at"))),
        ("ended", _moment(run["ended_at"]) if run.get("ended_at") else "not yet"),
        ("directory", run.get("working_directory")),
        ("session", run.get("session_id")),
        ("run", run.get("run_id")),
        ("parameters", params),
    ]
    return [_fact(name, value, "big", "") for name, value in big if value] + [
        _fact(name, value, "", "wide" if len(str(value)) > 24 else "")
        for name, value in small
        if value
    ]


def _work(steps: list[protocol.WholeVisit], began: float | None, until: float) -> str:
    """Return how long the run worked; empty where that is nearly all of its time."""
    worked = sum(step["work_seconds"] for step in steps)
    nearly_all = began is not None and until - began - worked < max(1.0, worked * ALIKE)
    return "" if nearly_all else text.duration(worked)


def _moment(stamp: object) -> str:
    """Format a time on the clock of this machine, with its zone."""
    then = text.epoch(stamp)
    return text.local(stamp) + ("" if then is None else time.strftime(" %Z", time.localtime(then)))


def _fact(name: str, value: object, kind: str, width: str) -> str:
    said = tag("dd", esc(value), class_=kind or None, dir="auto")
    return tag("div", tag("dt", esc(name)) + said, class_=width or None)


def _picture(run: protocol.Run, history: History) -> str:
    drawn = Timeline(run, history).svg()
    if not drawn:
        return ""
    used = {tone(step, history.steps, run) for step in history.steps}
    shown = [(f"turn {kind}", words) for kind, words in LEGEND if kind in used]
    shown += [(kind, words) for kind, words in BARS if f'class="{kind}"' in drawn]
    legend = tag("ul", "".join(_swatch(*one) for one in shown), class_="legend")
    both = tag("div", drawn, class_="picture") + rail(run, history) + legend
    return tag("h2", "Timeline") + tag("div", both, class_="card")


def _swatch(kind: str, words: str) -> str:
    inset = 3 if kind.startswith("command") else 0
    box = tag("rect", "", class_=kind, y=inset, width=16, height=12 - 2 * inset, rx=2)
    return tag("li", tag("svg", box, viewBox="0 0 16 12", aria_hidden="true") + esc(words))


def _way(run: protocol.Run, history: History) -> str:
    """Build the way through the machine, with a link to each visit."""
    if not history.steps:
        return ""
    items = []
    for step in history.steps:
        restart = " ↺" if step["to"] == RESTART else ""
        named = tag("b", esc(step["step"])) + tag("span", esc((step["outcome"] or "…") + restart))
        link = tag("a", named, href=f"#visit-{step['number']}", dir="auto")
        items.append(tag("li", link, class_=tone(step, history.steps, run)))
    last = tag("span", esc(how_it_stands(run)), class_="pill last")
    items.append(tag("li", last, class_=end_tone(run)))
    way = tag("ol", "".join(items), class_="way")
    return tag("h2", "The way it went") + tag("div", way, class_="card")


def _sums(history: History) -> str:
    """Build the table of what each step took in all its visits; empty for a single visit."""
    by_step: dict[str, list[float]] = {}
    for step in history.steps:
        sums = by_step.setdefault(step["step"], [0.0, 0.0, 0.0, 0.0])
        took = (1.0, step["work_seconds"], step["waited_seconds"], step["cost_usd"])
        by_step[step["step"]] = [a + b for a, b in zip(sums, took, strict=True)]
    if len(history.steps) < 2:
        return ""
    most = max(sums[1] for sums in by_step.values()) or 1.0
    heads = ("step", "visits", "work", "waited", "cost", "")
    shown = [tag("th", name, class_=None if name else "share") for name in heads]
    rows = [tag("tr", "".join(shown))]
    for name, (visits, work, waited, cost) in by_step.items():
        bar = tag("rect", "", width=number(100 * work / most), height=10)
        box = {"viewBox": "0 0 100 10", "preserveAspectRatio": "none", "aria_hidden": "true"}
        cells = [esc(name), f"{visits:g}", text.duration(work), spent(waited) or "-"]
        cells.append(text.money(cost))
        row = "".join(tag("td", cell) for cell in cells)
        rows.append(tag("tr", row + tag("td", tag("svg", bar, **box), class_="share")))
    return tag("h2", "Steps") + tag("div", tag("table", "".join(rows)), class_="card")
