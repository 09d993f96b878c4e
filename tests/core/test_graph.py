"""A recipe as a picture, for Mermaid and for Graphviz."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.core.analysis.render import Format, draw, graph
from podiumd.core.recipe.model import Limits, Recipe, Step
from tests.core.builders import a_check, a_recipe, a_step, leave, to
from tests.core.machines import sound_recipes

HOSTILE = '"]--> x{|`<b>&#59;\\ \n\x00\x1b [2] ü 日本 %%{init}%% {{a}}'


def every_kind() -> Recipe:
    choices = ("yes", "no", "later")
    steps = {
        "end": a_step(
            on={"complete": to("lint"), "checks-failed": to("end")},
            checks=(a_check("make", "test"),),
            session="fresh",
            agent="claude",
        ),
        "lint": Step(
            kind="command",
            run=("make", "lint"),
            outcomes=("passed", "failed"),
            on={"passed": to("script"), "failed": leave("odd", "error")},
        ),
        "script": Step(
            kind="command",
            shell="make | tee log",
            outcomes=("passed", "failed"),
            on={"passed": to("ask"), "failed": leave("implementation-blocked")},
        ),
        "ask": Step(
            kind="gate",
            ask="Which way?",
            choices=choices,
            outcomes=choices,
            on={"yes": to("commit"), "later": to("sub")},
        ),
        "commit": a_step(
            on={"committed": leave("changes-committed"), "again": to("@restart")},
            gate="Commit?",
            commits=True,
            irreversible=True,
        ),
        "sub": Step(kind="call", recipe="another", outcomes=("done",), on={"done": to("talk")}),
        "talk": Step(kind="talk", outcomes=("done",), on={"done": leave("changes-committed")}),
    }
    limits = Limits(max_step_visits=3, max_total_steps=12, max_minutes=90.5, max_cost_usd=15.0)
    return a_recipe(steps, limits, label="Every kind")


def test_what_leads_to_a_gated_step_leads_to_its_gate() -> None:
    picture = draw(every_kind())
    arrows = {(arrow.source, arrow.label, arrow.target) for arrow in picture.arrows}

    assert ("s3", "yes", "g4") in arrows
    assert ("g4", "yes", "s4") in arrows
    assert {target for source, label, target in arrows if label == "declined"} == {"x3"}
    assert ("start", "", "s0") in arrows


def test_an_exit_is_drawn_once_for_each_class_of_its_reason() -> None:
    steps = {
        "work": a_step(
            on={"complete": leave("odd", "error"), "good": leave("odd", "completed")},
        ),
        "more": a_step(on={"complete": leave("odd", "error")}),
    }
    exits = [node for node in draw(a_recipe(steps)).nodes if node.shape == "exit"]

    assert [(node.lines, node.class_) for node in exits] == [
        (("odd",), "error"),
        (("odd",), "completed"),
        (("user-provided-other",), "needs-user"),
    ]


def test_lines_tell_what_is_planned_from_what_goes_wrong() -> None:
    lines = {(arrow.label, arrow.line) for arrow in draw(every_kind()).arrows}

    assert {
        ("complete", "plain"),
        ("checks-failed", "failed"),
        ("other", "quiet"),
        ("declined", "quiet"),
        ("again (@restart)", "restart"),
    } <= lines


def test_a_step_says_what_is_special_about_it() -> None:
    lines = {node.lines[0]: node.lines[1:] for node in draw(every_kind()).nodes if node.lines}

    assert lines["end"] == ("fresh session", "agent claude", "check: make test")
    assert lines["lint"] == ("make lint",)
    assert lines["script"] == ("make | tee log",)
    assert lines["ask"] == ("Which way?",)
    assert lines["commit"] == ("commits, irreversible",)
    assert lines["sub"] == ("recipe another",)


def test_the_caption_tells_the_limits() -> None:
    assert draw(every_kind()).limits == (
        "3 visits a step, 12 steps, 90.5 minutes, 15 US dollars, 20 restarts"
    )
    assert draw(a_recipe()).limits == ""


def test_a_long_text_is_cut() -> None:
    recipe = a_recipe({"work": a_step(gate="Shall I? " * 20)})
    (gate,) = (node for node in draw(recipe).nodes if node.shape == "gate")

    assert len(gate.lines[0]) == 48
    assert gate.lines[0].endswith("…")


def test_mermaid_draws_boxes_gates_and_coloured_exits() -> None:
    lines = [line.strip() for line in graph(every_kind(), "mermaid").splitlines()]

    assert lines[:2] == ["flowchart TD", "%% Every kind"]
    assert {
        's0("end<br/>fresh session<br/>agent claude<br/>check: make test")',
        's1["lint<br/>make lint"]',
        's3{{"ask<br/>Which way?"}}',
        'g4{{"Commit?"}}',
        's5[["sub<br/>recipe another"]]',
        's6[/"talk"/]',
        's0 -->|"complete"| s1',
        's0 -.->|"other"| x0',
        "start --> s0",
        's4 -->|"again (#64;restart)"| start',
        "style x1 fill:#fbe3e3,stroke:#b3261e,color:#1b1f24",
    } <= set(lines)
    (failed,) = (n for n, arrow in enumerate(draw(every_kind()).arrows) if arrow.line == "failed")
    assert f"linkStyle {failed} stroke:#b3261e" in lines


def test_dot_draws_boxes_gates_and_coloured_exits() -> None:
    text = graph(every_kind(), "dot")

    assert text.startswith("digraph recipe {\n")
    assert text.endswith("\n}\n")
    assert 's0 [label=<<b>end</b><br/><font point-size="10">fresh session</font>' in text
    assert 's0 -> s1 [label=<&#160;complete&#160;>, color="#44546a"' in text
    assert re.search(r's4 -> start .*color="#6f42c1".*constraint=false', text)
    assert re.search(r"s0 -> x0 .*style=dashed", text)
    assert re.search(r'x0 \[.*fillcolor="#fff4cc"', text)
    assert "at most 3 visits a step" in text


def test_a_recipe_without_limits_says_nothing_of_them() -> None:
    assert "at most" not in graph(a_recipe(), "dot") + graph(a_recipe(), "mermaid")


@pytest.mark.parametrize("format", ["mermaid", "dot"])
def test_the_same_recipe_gives_the_same_text(format: Format) -> None:
    assert graph(every_kind(), format) == graph(every_kind(), format)


def shown(text: str, format: Format) -> str:
    """What the drawing program shows of a label: its entities read, its tags left out."""
    import html

    if format == "mermaid":
        return re.sub(r"#(\d+);", lambda found: chr(int(found.group(1))), text)
    return html.unescape(re.sub(r"<[^<>]*>", "", text))


@pytest.mark.parametrize("format", ["mermaid", "dot"])
def test_whatever_people_write_stays_in_its_label(format: Format) -> None:
    steps = {"work": a_step(gate=HOSTILE, on={"complete": leave("changes-committed")})}
    calm = {"work": a_step(gate="Go?", on={"complete": leave("changes-committed")})}
    text = graph(a_recipe(steps, label=HOSTILE), format)
    calm_text = graph(a_recipe(calm, label="Calm"), format)
    (line,) = (line for line in text.splitlines() if re.match(r" *g0( \[|\{)", line))
    written = '"]--> x{|`<b>&#59;\\ \ufffd\ufffd [2] ü 日本 %%{init}%%…'

    assert written[:40] in shown(line, format)
    # Nothing but labels differs: as many lines, quotes and brackets as without it.
    assert len(text.splitlines()) == len(calm_text.splitlines())
    for char in '"{}|' if format == "mermaid" else "<>":
        assert text.count(char) == calm_text.count(char)
    assert text.isprintable() or set(text) - {"\n"} == set(filter(str.isprintable, text))


@given(sound_recipes(), st.sampled_from(["mermaid", "dot"]))
def test_every_arrow_joins_nodes_that_exist(recipe: Recipe, format: Format) -> None:
    picture = draw(recipe)
    ids = [node.id for node in picture.nodes]

    assert len(set(ids)) == len(ids)
    assert {end for arrow in picture.arrows for end in (arrow.source, arrow.target)} <= set(ids)
    assert graph(recipe, format).count("\n") >= len(ids) + len(picture.arrows)


def test_a_comment_of_mermaid_has_no_entities_and_begins_no_directive() -> None:
    plain = graph(a_recipe(every_kind().steps, label="Implement & Review"), "mermaid")
    hostile = graph(a_recipe(every_kind().steps, label=HOSTILE), "mermaid")

    assert "%% Implement & Review" in plain.splitlines()[1]
    assert "%%{" not in hostile and hostile.splitlines()[2].startswith("    start")
