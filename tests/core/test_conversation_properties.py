"""What holds for every conversation and every order of events.

``Play`` proves at each command that the fold of the stored bytes is the live state, that nothing
follows ``run.ended``, that no two prompts share a uuid, and that words never wait with nothing to
send them.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from podiumd.core.recipe.context import declared, fits
from podiumd.core.recipe.model import Edge, Limits, Recipe, Step
from podiumd.core.reply.report import EndKind
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.commands import CommandRefused
from podiumd.core.run.fold import evolve
from tests.core.builders import a_recipe, a_step, leave, to
from tests.core.conversations import CONTEXT, Conversation, a_hook, a_talk
from tests.core.test_properties import Pick
from tests.examples import examples

NAMES = ("goal", "setup", "design", "work")
WORDS = ("agreed", "back", "stop")
TEXTS = (None, None, "Plain.", "About {{ctx.size}}", "For {{ctx.goal}}")
ENDS: tuple[EndKind, ...] = (
    *(("done",) * 16),
    *("broken", "interrupted", "usage_limit", "timeout", "api_error"),
)
RESET = "2026-01-02T05:00:00.000Z"
VALUES: tuple[Any, ...] = ("x", "", 5, "7", [], ["a"], '["b"]', {}, None, True, 2.5)

ALONE = a_recipe(
    {"one": a_talk({"x": to("one")}, auto=True, hooks=(a_hook(),))},
    Limits(max_total_steps=2, max_retries=1),
)
"""A phase that waits for nobody."""

NO_PHASE = a_recipe({"work": a_step(on={"complete": to("work")})}, Limits(max_total_steps=1))
SAID_THEN_STEERED = [47, 8, 0, 8, 20207, 0]
"""What was said to a turn of ``NO_PHASE`` comes once more, as words for a turn."""


@st.composite
def conversations(draw: st.DrawFn) -> Recipe:
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    targets = [*map(to, names), to("@restart"), leave("clarification-needed"), leave("odd")]
    steps = {name: draw(_steps(targets)) for name in names}
    limits = Limits(
        max_total_steps=draw(st.integers(1, 6)),
        max_retries=draw(st.integers(1, 2)),
        max_restarts=1,
        max_minutes=draw(st.none() | st.sampled_from([0.25, 5.0])),
        on_limit=draw(st.sampled_from(["exit", "ask"])),
    )
    return a_recipe(steps, limits, context=CONTEXT)


@st.composite
def _steps(draw: st.DrawFn, targets: list[Edge]) -> Step:
    said = draw(st.lists(st.sampled_from(WORDS), max_size=3, unique=True))
    requires = st.sampled_from([(), (), ("goal",), ("people", "size")])
    if draw(st.sampled_from([True, False, False, False])):
        on = {"complete": draw(st.sampled_from(targets))}
        return a_step(draw(st.sampled_from(["Do it.", "Do {{ctx.goal}}."])), on=on)
    on = {}
    for word in said:
        edge = draw(st.sampled_from(targets))
        on[word] = Edge(to=edge.to, exit=edge.exit, requires=draw(requires))
    return a_talk(
        on,
        system=draw(st.sampled_from(TEXTS)),
        opening=draw(st.sampled_from(TEXTS)),
        auto=draw(st.booleans()) and bool(on),
        gate=draw(st.sampled_from([None, None, None, "Shall we?"])),
        hooks=(a_hook(),) * draw(st.integers(0, 2)),
        irreversible=draw(st.sampled_from([False, False, True])),
    )


def use_a_tool(talk: Conversation, pick: Pick) -> None:
    """The agent calls some tool, rightly or wrongly; the same call again changes nothing."""
    turn = talk.state.turn
    assert turn is not None
    step = talk.state.current
    assert step is not None
    tool = pick.of((*turn.intent.served, *turn.intent.served, "mcp__podium__save", "fly"))
    args: dict[str, list[dict[str, Any]]] = {
        "transition": [{"to": to, "summary": "So."} for to in (*step.outcomes, "nowhere")],
        "ask": [
            {"question": "Which?", "options": ["a", "b"]},
            {"question": "Which?", "options": ["a", "b"], "multi": True, "free_text": True},
            {"question": "Who?", "columns": [{"name": "who"}]},
            {"question": "What?"},
            {"question": ""},
        ],
        "notify": [{"message": "Look."}],
        "report_outcome": [{"outcome": "complete"}, {"outcome": "other"}],
    }
    key = pick.of(("goal", "people", "size", "notes", "no"))
    save = [{"key": key, "value": pick.of(VALUES)}]
    given = pick.of(args.get(tool, save))
    fields = {
        "turn_id": turn.intent.turn_id,
        "call_id": pick.of(("c1", "c2", "c3", "c4")),
        "tool": tool,
        "args": given,
        "refused": pick.of((None, None, None, "not now")),
    }
    talk.do(c.ReportToolCall, **fields)
    assert talk.do(c.ReportToolCall, **fields) == []


def natural(talk: Conversation, pick: Pick) -> None:
    """What comes next by itself."""
    state = talk.state
    if state.open_questions:
        question = pick.of(state.open_questions)
        answers = [choice for choice, _ in question.choices] or ["a text", '[{"who": "me"}]']
        try:
            talk.do(c.Answer, question_id=question.question_id, answer=pick.of(answers))
        except CommandRefused:
            assert question.columns
    elif state.turn is not None and pick.of((True, True, False)):
        use_a_tool(talk, pick)
    elif state.turn is not None:
        talk.wait(pick.of((0, 5, 20))).over(
            pick.of(ENDS),
            texts=(pick.of(("Well.", '{"outcome": "complete"}')),),
            delivered=tuple(steer.uuid for steer in state.steers[: pick.of((0, 1))]),
            prompt_recorded=pick.of((True, False)),
            resets_at=pick.of((RESET, None)),
        )
    elif state.paused:
        talk.do(c.Resume)
    elif state.parked_until is not None:
        talk.do(c.ReportLimitReset)
    elif state.next is None:
        talk.tell("Hello.", uuid=f"hello-{len(talk.facts)}")
    elif state.next.kind == "hook":
        talk.hook(pick.of((0, 0, 2, 1, None)), reason=pick.of(("", "Not yet.")))
    else:
        talk.do(c.Proceed, gone=pick.of((False, False, True)))


def disturb(talk: Conversation, pick: Pick) -> None:
    """What a person or the world may do at any time, also at the wrong one."""
    state = talk.state
    uuid = f"s{pick.of(range(12))}"
    turn_id = state.turn.intent.turn_id if state.turn is not None else "turn-0"
    question = pick.of(list(state.questions) or ["q-0"])
    make, fields = pick.of(
        [
            *[(c.Say, {"uuid": uuid, "text": f"Text of {uuid}"})] * 4,
            (c.Say, {"uuid": uuid, "text": " "}),
            (c.Steer, {"uuid": uuid, "text": f"Text of {uuid}"}),
            (c.Pause, {}),
            (c.Resume, {}),
            (c.Interrupt, {}),
            (c.Interrupt, {}),
            (c.ReportWorkStopped, {}),
            (c.ReportHookEnd, {"index": pick.of((0, 1)), "exit_status": 2}),
            (c.ReportToolCall, {"turn_id": "turn-0", "call_id": "c", "tool": "save", "args": {}}),
            (c.ReportTurnStart, {"turn_id": turn_id, "pid": 7, "proc_start": 7, "group": 7}),
            (c.Answer, {"question_id": question, "answer": pick.of(("a", "stop", "b,a"))}),
            (
                c.ReportEffectEnd,
                {"effect": f"steer:{uuid}", "state": pick.of(("queued", "too_late"))},
            ),
            (c.AskRecovery, {"about": "damage", "text": "How?"}),
            (c.ReportAskerGone, {"turn_id": turn_id}),
            pick.of([(c.Pause, {})] * 6 + [(c.Cancel, {})]),
        ]
    )
    before = talk.state
    try:
        talk.do(make, **fields)
    except CommandRefused:
        assert talk.state == before


def live(talk: Conversation, number: int) -> None:
    pick = Pick(number)
    if talk.state.exit is None and pick.of((True, True, True, False)):
        natural(talk, pick)
    else:
        disturb(talk, pick)


def no_word_is_lost_or_sent_twice(talk: Conversation) -> None:
    """Each message is carried by one prompt, taken by one turn, waits, or is told at the end."""
    carried = [uuid for intent in talk.all(f.TurnIntended) for uuid in intent.carried]
    taken = [
        fact.effect.removeprefix("steer:")
        for fact in talk.all(f.EffectEnded)
        if fact.effect.startswith("steer:") and fact.state == "delivered"
    ]
    assert len({*carried}) == len(carried), "a message was sent twice"
    assert not {*carried} & {*taken}, "a message was sent and taken"
    received = {fact.uuid: fact.text for fact in talk.all(f.MessageReceived)}
    waiting = {steer.uuid for steer in talk.state.steers}
    assert received.keys() == {*carried, *taken, *waiting} & received.keys(), "words are lost"
    for intent in talk.all(f.TurnIntended):
        for uuid in intent.carried:
            assert f"Text of {uuid}" in intent.prompt or received[uuid] in intent.prompt
    if talk.state.exit is not None:
        (ended,) = talk.all(f.RunEnded)
        assert {received[uuid] for uuid in waiting & received.keys()} <= {*ended.undelivered}


def only_what_the_recipe_says(talk: Conversation) -> None:
    """Context as declared, transitions along edges whose keys are set, within the limits."""
    recipe = talk.state.recipe
    assert recipe is not None
    keys = declared(recipe.context)
    state = None
    for data, at in talk.stored:
        fact = f.decode(data)
        before = state
        state = evolve(state, fact, at)
        for key, value in state.ctx.items():
            assert fits(keys[key].type, value)
        if isinstance(fact, f.EdgeTaken) and recipe.steps[fact.step].kind == "talk":
            edge = recipe.steps[fact.step].edge(fact.outcome)
            assert edge is not None and (edge.to, edge.exit) == (fact.to, fact.exit)
            assert before is not None
            assert all(before.ctx.get(key) not in (None, "", [], {}) for key in edge.requires)
        if isinstance(fact, f.StepEntered):
            more = 2 if "max-total-steps" in talk.state.granted else 1
            assert fact.step_count <= (talk.state.limits.max_total_steps or 0) * more
        if isinstance(fact, f.TurnIntended):
            assert fact.attempt <= talk.state.limits.max_retries + 1
    assert state == talk.state


@examples(400)
@given(
    recipe=conversations(),
    on_question=st.sampled_from(["wait", "wait", "wait", "fail"]),
    story=st.lists(st.integers(0, 2**64), min_size=20, max_size=70),
)
@example(recipe=NO_PHASE, on_question="wait", story=SAID_THEN_STEERED)
def test_whatever_happens_in_whatever_order_a_conversation_stays_whole(
    recipe: Recipe, on_question: str, story: list[int]
) -> None:
    talk = Conversation(recipe, on_question=on_question)
    for number in story:
        live(talk, number)
    no_word_is_lost_or_sent_twice(talk)
    only_what_the_recipe_says(talk)


@examples(200)
@given(
    recipe=conversations(),
    ways=st.lists(st.sampled_from([None, *WORDS]), max_size=20),
    hooks=st.lists(st.sampled_from([0, 2]), max_size=10),
    last_hook=st.sampled_from([0, 2]),
)
@example(recipe=ALONE, ways=[], hooks=[], last_hook=0)
@example(recipe=ALONE, ways=[], hooks=[0, 2, 2], last_hook=2)
def test_a_conversation_in_which_nobody_speaks_ends_or_waits_for_a_person(
    recipe: Recipe, ways: list[str | None], hooks: list[int], last_hook: int
) -> None:
    """Agents go on as listed, and then end their turns without a word."""
    talk, limits = Conversation(recipe), recipe.limits
    entries = (limits.max_total_steps or 0) * 2 * (1 + 2 * limits.max_restarts)
    while talk.state.exit is None and talk.state.status != "waiting":
        state = talk.state
        if state.turn is not None:
            way = ways.pop() if ways else None
            if "transition" in state.turn.intent.served and way is not None:
                talk.call("transition", to=way)
            talk.answers('{"outcome": "complete"}')
        elif state.next is not None and state.next.kind == "hook":
            talk.hook(hooks.pop() if hooks else last_hook)
        else:
            talk.do(c.Proceed)
        most = entries * (1 + limits.max_retries)
        assert len(talk.all(f.TurnIntended)) <= most, "nobody speaks, and it does not end"


@given(st.sampled_from(VALUES), st.sampled_from([*CONTEXT, "no"]))
def test_what_is_saved_is_of_its_declared_type_or_refused(value: Any, key: str) -> None:
    talk = Conversation()
    talk.tell("Hi.")
    used = talk.call("save", key=key, value=value)

    assert used.success == (
        key in CONTEXT
        and used.args["value"] is not None
        and fits(declared(CONTEXT)[key].type, used.args["value"])
    )
    if used.success:
        assert talk.state.ctx[key] == used.args["value"]
        assert json.loads(f.encode(used))["args"]["value"] == used.args["value"]
