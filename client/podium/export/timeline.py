"""The picture of a run: a lane a step, a bar for all that took time, as inline SVG."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from podium import text
from podium.export.axis import Axis, Span, union, without
from podium.export.markup import SIGNS, esc, number, tag
from podium.export.tone import end_tone, how_it_stands, tone
from podium.render.history import RESTART, History
from podium.render.narrate import PURPOSES
from podium.render.question import heading
from podium.render.run_words import answered, checks, spent

if TYPE_CHECKING:
    from podium import protocol

WIDTH, LABELS, MARGIN = 1120.0, 176.0, 34.0
TOP, LANE, BAR = 30.0, 40.0, 22.0
INSET = 5.0
"""How much lower than a turn a check is drawn, above and below."""
LEAST = 2.5
"""The narrowest bar that can be seen and pointed at."""
LABEL_CELLS = 22

RAIL_WIDTH, RAIL_HEIGHT, RAIL_LEAST = 1000.0, 10.0, 8.0
"""The same for a narrow page, of whose rows each is a picture."""

PATTERNS = (
    '<defs><pattern id="waiting" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="wait-ground" width="7" height="7"/>'
    '<rect class="wait-line" width="3" height="7"/></pattern>'
    '<pattern id="paused" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(-45)"><rect class="still-ground" width="7" height="7"/>'
    '<rect class="still-line" width="2.5" height="7"/></pattern>'
    '<pattern id="parked" width="7" height="7" patternUnits="userSpaceOnUse">'
    '<rect class="still-ground" width="7" height="7"/>'
    '<circle class="still-line" cx="3.5" cy="3.5" r="1.6"/></pattern></defs>'
)


class Timeline:
    """One run's picture."""

    def __init__(self, run: protocol.Run, history: History) -> None:
        self._run, self._steps, self._until = run, history.steps, history.until
        names = list(dict.fromkeys(step["step"] for step in self._steps))
        self._lanes = {name: TOP + LANE * place for place, name in enumerate(names)}
        self._bottom = TOP + LANE * len(names)
        self._axis = _axis(run, history, LABELS, WIDTH - MARGIN)

    def svg(self) -> str:
        """Draw the picture; empty for a run that has not begun."""
        if not self._steps:
            return ""
        parts = [PATTERNS, *self._scale(), *self._cuts(), *self._rows(), *self._links()]
        parts += [self._visit(step) for step in self._steps]
        parts += [*self._restarts(), *self._end()]
        size = f"0 0 {number(WIDTH)} {number(self._bottom + 8)}"
        return tag(
            "svg", "".join(parts), viewBox=size, role="group", aria_label="Timeline", class_="time"
        )

    def _span(self, began: str, ended: str | None) -> Span:
        return _span(began, ended, self._until)

    def _scale(self) -> list[str]:
        parts = []
        for seconds, place in self._axis.ticks():
            said = text.duration(seconds) if seconds else "0"
            parts.append(self._line("tick", place, TOP - 6, self._bottom))
            parts.append(_words(said, place, TOP - 12, "scale", "middle"))
        return parts

    def _cuts(self) -> list[str]:
        """Draw the marks that stand for long times without work."""
        parts = []
        for began, ended in self._axis.cuts:
            left, right = self._axis.at(began), self._axis.at(ended)
            said = f"{text.duration(ended - began)} without work, not to scale"
            cut = _rect("cut", left, TOP - 6, right - left, self._bottom - TOP + 6, said)
            parts.append(cut)
        return parts

    def _rows(self) -> list[str]:
        parts = []
        for name, top in self._lanes.items():
            middle = top + LANE / 2
            parts.append(
                f'<line class="lane" x1="{number(LABELS)}" x2="{number(WIDTH - MARGIN)}" '
                f'y1="{number(middle)}" y2="{number(middle)}"/>'
            )
            label = text.fold(name, LABEL_CELLS)
            parts.append(_words(label, LABELS - 14, middle + 4.5, "step", "end", name))
        return parts

    def _links(self) -> list[str]:
        """Draw the curves from the end of each visit to the start of the next."""
        parts = []
        for step, following in zip(self._steps, self._steps[1:], strict=False):
            x1 = self._axis.at(self._span(step["began_at"], step["ended_at"])[1])
            taken = [self._span(following["began_at"], None), *_idle(following, self._until)]
            x2 = self._axis.at(min(taken)[0])
            y1, y2 = (self._lanes[one["step"]] + LANE / 2 for one in (step, following))
            bend = max(LEAST, (x2 - x1) / 2)
            curve = " ".join(number(one) for one in (x1 + bend, y1, x2 - bend, y2, max(x1, x2), y2))
            path = f"M{number(x1)} {number(y1)} C{curve}"
            parts.append(f'<path class="link" d="{path}"/>')
        return parts

    def _visit(self, step: protocol.WholeVisit) -> str:
        """Draw a visit: its whole duration, and in it the work and the waits."""
        kind = tone(step, self._steps, self._run)
        top = self._lanes[step["step"]] + (LANE - BAR) / 2
        parts = [
            self._bar(f"visit {kind}", (step["began_at"], step["ended_at"]), top - 3, BAR + 6, "")
        ]
        for turn in step["turns"]:
            said = "turn" if turn["purpose"] == "step" else PURPOSES.get(turn["purpose"], "turn")
            price = text.price(turn["cost_usd"], turn["tokens"])
            said = text.dotted(f"{said}: {text.duration(turn['seconds'])}", price)
            parts.append(
                self._bar(f"turn {kind}", (turn["began_at"], turn["ended_at"]), top, BAR, said)
            )
        for command in step["commands"]:
            said = f"{shlex.join(command['run'])}: {text.duration(command['seconds'])}"
            how = "failed" if command["passed"] is False else "passed"
            span = (command["began_at"], command["ended_at"])
            said = f"{how}: {said}"
            parts.append(self._bar(f"command {how}", span, top + INSET, BAR - 2 * INSET, said))
        for asked in step["questions"]:
            said = f"{heading(asked['opened'])}\n{answered(asked, self._until)}"
            span = (asked["opened_at"], asked["closed_at"])
            parts.append(self._bar("waiting", span, top, BAR, said))
        for still in step["stills"]:
            span = (still["began_at"], still["ended_at"])
            said = f"{still['kind']}: {still['why']}"
            parts.append(self._bar(still["kind"], span, top, BAR, said))
        parts.append(self._number(step, top))
        return tag(
            "a",
            tag("title", esc(self._said(step))) + "".join(parts),
            href=f"#visit-{step['number']}",
        )

    def _said(self, step: protocol.WholeVisit) -> str:
        waited = spent(step["waited_seconds"])
        took = [f"work {text.duration(step['work_seconds'])}", waited and f"waited {waited}"]
        took += [
            text.price(step["cost_usd"], step["tokens"]),
            checks(step) and f"checks: {checks(step)}",
        ]
        led = step["to"] or (step["exit"] and f"exit {step['exit']}") or "…"
        return (
            f"{step['number']}. {step['step']}, visit {step['visit']}\n"
            f"{step['outcome'] or '…'} → {led}\n" + text.dotted(*(one or "" for one in took))
        )

    def _bar(
        self, kind: str, times: tuple[str, str | None], top: float, height: float, said: str
    ) -> str:
        began, ended = (self._axis.at(one) for one in self._span(*times))
        return _rect(kind, began, top, max(LEAST, ended - began), height, said)

    def _number(self, step: protocol.WholeVisit, top: float) -> str:
        """Draw the visit's number, in its longest stretch of work if there is room."""
        drawn = [(self._axis.at(a), self._axis.at(b)) for a, b in self._free(step)]
        began, ended = max(drawn, key=lambda one: one[1] - one[0], default=(0.0, 0.0))
        said = str(step["number"])
        if ended - began < 8.0 * len(said) + 4:
            return ""
        return _words(said, (began + ended) / 2, top + BAR / 2 + 4, "number", "middle")

    def _free(self, step: protocol.WholeVisit) -> list[Span]:
        """Return the stretches of a visit's turns that nothing is drawn upon."""
        turns = [self._span(turn["began_at"], turn["ended_at"]) for turn in step["turns"]]
        return without(union(turns), union(_idle(step, self._until)))

    def _restarts(self) -> list[str]:
        parts = []
        for step in self._steps:
            if step["to"] == RESTART:
                place = self._axis.at(self._span(step["began_at"], step["ended_at"])[1])
                parts.append(self._line("restart", place, TOP - 6, self._bottom))
        return parts

    def _end(self) -> list[str]:
        place = self._axis.at(self._until)
        kind = end_tone(self._run)
        end = self._run.get("exit")
        sign = SIGNS.get(end["class"], "…") if end else "…"
        flag = _words(sign, place + 6, TOP + 8, f"end {kind}", "start")
        return [self._line(f"end {kind}", place, TOP - 6, self._bottom), flag]

    def _line(self, kind: str, place: float, top: float, bottom: float) -> str:
        x = number(place)
        return (
            f'<line class="{esc(kind)}" x1="{x}" x2="{x}" y1="{number(top)}" '
            f'y2="{number(bottom)}"/>'
        )


def _rect(kind: str, x: float, y: float, width: float, height: float, said: str) -> str:
    title = tag("title", esc(said)) if said else ""
    return tag(
        "rect",
        title,
        class_=kind,
        x=number(x),
        y=number(y),
        width=number(width),
        height=number(height),
        rx=3,
    )


def _words(said: str, x: float, y: float, kind: str, anchor: str, whole: str = "") -> str:
    title = tag("title", esc(whole)) if whole else ""
    place = {"x": number(x), "y": number(y), "text_anchor": anchor}
    return tag("text", title + esc(said), class_=kind, **place)


def rail(run: protocol.Run, history: History) -> str:
    """Build the timeline for a narrow page, a row a visit; empty for a run that has not begun."""
    steps = history.steps
    if not steps:
        return ""
    axis = _axis(run, history, 0.0, RAIL_WIDTH)
    rows = [_row(step, steps, run, axis, history.until) for step in steps]
    rows.append(
        tag("li", tag("span", esc(how_it_stands(run)), class_="pill last"), class_=end_tone(run))
    )
    return tag("ol", "".join(rows), class_="rail")


def _row(
    step: protocol.WholeVisit,
    steps: list[protocol.WholeVisit],
    run: protocol.Run,
    axis: Axis,
    until: float,
) -> str:
    name = tag("b", esc(f"{step['number']}. {step['step']}"), dir="auto")
    waited = spent(step["waited_seconds"])
    took = [step["outcome"] or "…", text.duration(step["work_seconds"])]
    took += [f"waited {waited}"] if waited else []
    said = tag("small", esc(" · ".join(took)))
    box = {
        "viewBox": f"0 0 {number(RAIL_WIDTH)} {number(RAIL_HEIGHT)}",
        "preserveAspectRatio": "none",
    }
    bars = [tag("rect", "", class_="ground", width=number(RAIL_WIDTH), height=number(RAIL_HEIGHT))]
    kind = tone(step, steps, run)
    bars += [_bar(axis, span, f"turn {kind}") for span in _work(step, until)]
    bars += [_bar(axis, span, "wait-line") for span in _idle(step, until)]
    drawn = tag("svg", "".join(bars), aria_hidden="true", **box)
    link = tag("a", tag("span", name + said) + drawn, href=f"#visit-{step['number']}")
    return tag("li", link, class_=kind)


def _bar(axis: Axis, span: Span, kind: str) -> str:
    began, ended = axis.at(span[0]), axis.at(span[1])
    width = max(RAIL_LEAST, ended - began)
    x = min(began, RAIL_WIDTH - width)
    return tag(
        "rect", "", class_=kind, x=number(x), width=number(width), height=number(RAIL_HEIGHT)
    )


def _axis(run: protocol.Run, history: History, left: float, right: float) -> Axis:
    """Lay the time of a run on a line; what only waited is cut short."""
    steps, until = history.steps, history.until
    began = [
        text.epoch(run.get("started_at")),
        *(text.epoch(step["began_at"]) for step in steps[:1]),
    ]
    first = min((one for one in began if one is not None), default=until)
    waits = union(span for step in steps for span in _idle(step, until))
    work = without(union(span for step in steps for span in _work(step, until)), waits)
    return Axis((first, max(first, until)), work, left, right)


def _span(began: str, ended: str | None, until: float) -> Span:
    first, last = text.epoch(began), text.epoch(ended)
    start = until if first is None else first
    return start, max(start, until if last is None else last)


def _work(step: protocol.WholeVisit, until: float) -> list[Span]:
    done = (*step["turns"], *step["commands"])
    return [_span(one["began_at"], one["ended_at"], until) for one in done]


def _idle(step: protocol.WholeVisit, until: float) -> list[Span]:
    asked = [_span(one["opened_at"], one["closed_at"], until) for one in step["questions"]]
    return asked + [_span(one["began_at"], one["ended_at"], until) for one in step["stills"]]
