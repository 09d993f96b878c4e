"""The timeline of a run for a narrow page: a row a visit, each bar at its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podium import text
from podium.export.axis import Axis, Span, union, without
from podium.export.markup import esc, number, tag
from podium.export.tone import end_tone, tone
from podium.render.history import History
from podium.render.run_words import spent

if TYPE_CHECKING:
    from podium.protocol import WholeVisit

Json = dict[str, Any]

WIDTH, HEIGHT = 1000.0, 10.0
LEAST = 8.0


def rail(run: Json, history: History) -> str:
    """Build the rows; empty for a run that has not begun."""
    steps, until = history.steps, history.until
    if not steps:
        return ""
    first = text.epoch(run.get("started_at")) or text.epoch(steps[0]["began_at"]) or until
    waits = union(span for step in steps for span in _idle(step, until))
    work = without(union(span for step in steps for span in _work(step, until)), waits)
    axis = Axis((first, max(first, until)), work, 0.0, WIDTH)
    rows = [_row(step, steps, run, axis, until) for step in steps]
    said = esc((run.get("exit") or {}).get("reason") or run.get("status"))
    rows.append(tag("li", tag("span", said, class_="pill last"), class_=end_tone(run)))
    return tag("ol", "".join(rows), class_="rail")


def _row(step: WholeVisit, steps: list[WholeVisit], run: Json, axis: Axis, until: float) -> str:
    name = tag("b", esc(f"{step['number']}. {step['step']}"), dir="auto")
    waited = spent(step["waited_seconds"])
    took = [step["outcome"] or "…", text.duration(step["work_seconds"])]
    took += [f"waited {waited}"] if waited else []
    said = tag("small", esc(" · ".join(took)))
    box = {"viewBox": f"0 0 {number(WIDTH)} {number(HEIGHT)}", "preserveAspectRatio": "none"}
    bars = [tag("rect", "", class_="ground", width=number(WIDTH), height=number(HEIGHT))]
    kind = tone(step, steps, run)
    bars += [_bar(axis, span, f"turn {kind}") for span in _work(step, until)]
    bars += [_bar(axis, span, "wait-line") for span in _idle(step, until)]
    drawn = tag("svg", "".join(bars), aria_hidden="true", **box)
    link = tag("a", tag("span", name + said) + drawn, href=f"#visit-{step['number']}")
    return tag("li", link, class_=kind)


def _bar(axis: Axis, span: Span, kind: str) -> str:
    began, ended = axis.at(span[0]), axis.at(span[1])
    width = max(LEAST, ended - began)
    x = min(began, WIDTH - width)
    return tag("rect", "", class_=kind, x=number(x), width=number(width), height=number(HEIGHT))


def _work(step: WholeVisit, until: float) -> list[Span]:
    spans = [(one["began_at"], one["ended_at"]) for one in step["turns"]]
    spans += [(one["began_at"], one["ended_at"]) for one in step["commands"]]
    return _spans(spans, until)


def _idle(step: WholeVisit, until: float) -> list[Span]:
    spans = [(one["opened_at"], one["closed_at"]) for one in step["questions"]]
    spans += [(one["began_at"], one["ended_at"]) for one in step["stills"]]
    return _spans(spans, until)


def _spans(given: list[tuple[str, str | None]], until: float) -> list[Span]:
    found = []
    for began, ended in given:
        start, stop = text.epoch(began), text.epoch(ended)
        if start is not None:
            found.append((start, max(start, until if stop is None else stop)))
    return found
