"""The picture of a run: true to time where work is, readable however long the waiting was."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.export.axis import TICK_ROOM, Axis, Span, union, without
from podium.export.page import page
from podium.export.style import CSS
from podium.export.timeline import LABELS, MARGIN, WIDTH, Timeline
from podium.export.tone import tone
from tests.client import journeys
from tests.client.histories import told
from tests.client.journeys import BEGAN, Journey

spans = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=8).map(
    lambda pairs: [(float(min(pair)), float(max(pair))) for pair in pairs]
)


def inside(moment: float, stretches: list[Span]) -> bool:
    return any(began <= moment < ended for began, ended in stretches)


def drawn(journey: Journey, kind: str = "completed") -> ET.Element:
    history = told(journey.events)
    svg = Timeline(journey.run(kind), history).svg()
    return ET.fromstring(svg)


def bars(picture: ET.Element, kind: str) -> list[tuple[float, float]]:
    """Left and right of the bars of a kind."""
    found = [one for one in picture.iter("rect") if kind in one.attrib["class"].split()]
    return [(float(r.attrib["x"]), float(r.attrib["x"]) + float(r.attrib["width"])) for r in found]


@given(spans, spans, st.integers(0, 1000))
def test_what_is_left_is_in_the_one_and_not_in_the_other(
    some: list[Span], holes: list[Span], moment: int
) -> None:
    left = without(union(some), union(holes))

    assert inside(moment, left) == (inside(moment, some) and not inside(moment, holes))


@given(spans, st.lists(st.floats(0, 1000), min_size=2, max_size=9))
def test_later_never_stands_further_left_and_all_is_within(
    work: list[Span], moments: list[float]
) -> None:
    axis = Axis((0.0, 1000.0), union(work), 10.0, 500.0)
    places = [axis.at(moment) for moment in sorted(moments)]

    assert places == sorted(places)
    assert all(10.0 <= place <= 500.001 for place in places)
    ticks = [place for _, place in axis.ticks()]
    assert all(b - a >= TICK_ROOM for a, b in pairwise(ticks))


def test_a_night_of_waiting_leaves_most_of_the_picture_to_the_work() -> None:
    picture = drawn(journeys.varied())

    turns = sum(right - left for left, right in bars(picture, "turn"))
    assert turns > 0.5 * (WIDTH - MARGIN - LABELS)
    assert len(bars(picture, "waiting")) == 3
    assert len(bars(picture, "paused")) == 1
    assert len(bars(picture, "command")) == 2
    assert len(bars(picture, "cut")) == 2


@pytest.mark.parametrize("journey", [journeys.short(), journeys.varied(), journeys.long()])
def test_each_visit_is_a_link_to_its_section_and_no_bar_leaves_the_picture(
    journey: Journey,
) -> None:
    picture = drawn(journey)
    links = [link.attrib["href"] for link in picture.iter("a")]

    assert links == [f"#visit-{number + 1}" for number in range(len(links))]
    edges = [edge for kind in ("visit", "turn", "command") for edge in bars(picture, kind)]
    assert all(LABELS - 0.1 <= left <= right <= WIDTH for left, right in edges)
    whole = page(journey.run(), told(journey.events), BEGAN)
    assert [f'id="visit-{number + 1}"' in whole for number in range(len(links))] == [True] * len(
        links
    )


def test_sixty_visits_keep_four_lanes() -> None:
    picture = drawn(journeys.long(), "guardrail")

    assert len(list(picture.iter("a"))) == 60
    lanes = [one[0].tail for one in picture.iter("text") if one.attrib["class"] == "step"]
    assert lanes == ["implement", "code-review", "fix", "commit"]
    assert len(bars(picture, "parked")) == 1


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("completed", "done"),
        ("needs-user", "person"),
        ("blocked", "person"),
        ("cancelled", "stopped"),
        ("guardrail", "guardrail"),
        ("checks-failed", "error"),
        ("error", "error"),
    ],
)
def test_colours_say_what_a_visit_led_to(kind: str, last: str) -> None:
    journey = Journey().enter("fix").turn(1).leave("complete", "review").enter("review").turn(1)
    journey.leave("issues-found", "fix").enter("fix").check(1, False)
    journey.leave("checks-failed", "fix", source="check").enter("fix").turn(1)
    running = told(journey.events).steps
    seen = [tone(step, running, journey.run(exit=None)) for step in running]
    assert seen == ["onward", "back", "failed", "open"]

    ended = told(journey.over(kind).events).steps
    assert tone(ended[-1], ended, journey.run(kind)) == last


def test_a_run_that_has_only_begun_has_a_page_without_a_picture() -> None:
    journey = Journey()
    whole = page(journey.run(exit=None, status="queued"), told(journey.events), BEGAN + 5)

    assert "<svg" not in whole and "queued" in whole


def test_a_narrow_screen_keeps_the_heads_of_the_table_whole() -> None:
    """Only a step's name may be broken anywhere; the bars go first."""
    assert re.search(r"\nth\{[^}]*white-space:nowrap", CSS)
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", CSS)
    heads = [said for selector, said in rules if re.search(r"(^|[\s,])th\b", selector)]
    assert len(heads) > 2 and not any("overflow-wrap" in said for said in heads)
    assert "td.share{display:none}" in CSS.partition("@media (max-width:640px)")[2]


def test_the_policy_admits_exactly_the_style_that_is_there() -> None:
    whole = page(journeys.short().run(), told(journeys.short().events), BEGAN)
    (style,) = re.findall(r"<style>(.*?)</style>", whole, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert f"style-src 'sha256-{digest}'" in whole
    assert " style=" not in whole
    assert "url(" not in style.replace("url(#", "")
    assert "@import" not in style and "@font-face" not in style


def test_a_page_tells_replies_checks_questions_and_notes() -> None:
    journey = journeys.varied()
    whole = page(journey.run(), told(journey.events), BEGAN)

    for words in (
        "Reply 2 of 4: asking again for the outcome",
        "No usable outcome: There is no JSON block.",
        "outcome from a check",
        "1 of 1 failed",
        "test_slug.py:9: assert &#x27;a--b&#x27; == &#x27;a-b&#x27;",
        "answered allow by phone, after 35 s",
        "after 8:20:00: at last",
        "Told the agent</b>: Look at the docs too.",
        "Paused: requested",
        "<details open><summary>",
    ):
        assert words in whole
