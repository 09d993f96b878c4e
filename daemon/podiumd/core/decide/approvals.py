"""An agent's questions to a person in mid-turn: leave to use a tool, or a question of its own."""

from __future__ import annotations

import msgspec

from podiumd.core.decide import own_questions
from podiumd.core.decide.command_rules import CommandRule, offered
from podiumd.core.decide.decision import CHOICES, Decision
from podiumd.core.decide.own_questions import OwnQuestion
from podiumd.core.decide.policy import ESCALATE
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run.state import Question, RunState

TEXT_CHARACTERS = 300
DETAIL_CHARACTERS = 8 * 1024
TOOL_CHARACTERS = 80

_TELLING = ("command", "file_path", "notebook_path", "path", "url", "pattern", "query")
"""Parameters of tools that say by themselves what a call would do, the first that is there."""


def approval(d: Decision, seen: c.ReportApproval) -> None:
    """Open a question for the agent's request, or answer it from an earlier answer."""
    state = d.state
    if state.turn is None or state.turn.intent.turn_id != seen.turn_id:
        return
    asked = (seen.turn_id, seen.request_id)
    before = [q for q in state.asking if (q.turn_id, q.request_id) == asked]
    if state.turn.goes_on:  # it asks one thing at a time, and once more in each life of the daemon
        if any(q.closed is None or q in state.undelivered_answers for q in before):
            return
        no_longer_asked(d)
    elif before:
        return
    own = own_questions.questions_of(seen.input) if seen.asks_person else ()
    rule = None if seen.asks_person else offered(seen.tool, seen.input)
    choices = (
        own_questions.choices_of(own) if seen.asks_person else _approval_choices(seen.tool, rule)
    )
    spare = _spare_answer(state, seen)
    name = d.id("question", len(state.questions) + 1)
    d.emit(
        f.QuestionOpened(
            question_id=name,
            kind="ask" if seen.asks_person else "approval",
            text=_own_text(seen, own) if seen.asks_person else _question_text(seen),
            choices=choices,
            free_text=seen.asks_person,
            detail=_own_detail(seen, own) if seen.asks_person else _detail(seen),
            multi=len(own) == 1 and own[0].several and bool(choices),
            turn_id=seen.turn_id,
            request_id=seen.request_id,
            tool=seen.tool,
            input=seen.input,
            tool_use_id=seen.tool_use_id,
            step=state.step,
            visit=state.visits.get(state.step or "", 0),
            mono=d.mono,
            rule="" if rule is None else rule.text,
        )
    )
    question = d.state.questions[name]
    if spare is not None:
        d.emit(f.EffectEnded(effect=f"answer:{spare.question_id}", state="reused"))
        d.close(question, "answered", answer=spare.answer, note=spare.note, by=spare.by)
    elif seen.tool in state.always and not seen.asks_person:
        d.close(question, "answered", answer="allow", by="always")
    elif state.start.on_question == "fail" and not state.stopping:
        d.give_up("clarification-needed", detail=question.text)


def no_longer_asked(d: Decision) -> None:
    """Supersede the turn's open requests: it goes on without those of before the daemon ended."""
    assert d.state.turn is not None
    turn_id = d.state.turn.intent.turn_id
    open_ = [q for q in d.state.open_questions if q.turn_id == turn_id and q.request_id]
    d.close_all("superseded", open_)


def asker_gone(d: Decision, command: c.ReportAskerGone) -> None:
    """Settle the questions of a turn whose asker is gone.

    An open one is superseded and asked anew if need be; an answer that came too late serves once
    more. A turn that goes on where it was asks the same again: its question stands.
    """
    goes_on = d.state.turn is not None and d.state.turn.goes_on
    for question in d.state.asking:
        if question.turn_id != command.turn_id:
            continue
        if question.closed is None:
            if not goes_on:
                d.close(question, "superseded")
        elif question in d.state.undelivered_answers:
            effect = f"answer:{question.question_id}"
            d.emit(f.EffectEnded(effect=effect, state="spare"))


def _spare_answer(state: RunState, seen: c.ReportApproval) -> Question | None:
    """Find an answer of this visit that its process never got; it serves once for the same call."""
    visit = state.visits.get(state.step or "", 0)
    for q in state.asking:
        if (
            q.undelivered
            and (q.spare or q.turn_id != seen.turn_id)
            and (q.step, q.visit, q.tool, q.input) == (state.step, visit, seen.tool, seen.input)
        ):
            return q
    return None


def _question_text(seen: c.ReportApproval) -> str:
    """Return what the agent wants, in its call's own words: a description is only the model's
    claim."""
    telling = [seen.input[name] for name in _TELLING if isinstance(seen.input.get(name), str)]
    wish = "go outside the sandbox" if seen.tool == ESCALATE else f"use {seen.tool}"
    if not telling:
        return f"May the agent {wish}?"
    return f"May the agent {wish}? {_cut(telling[0], TEXT_CHARACTERS)}"


def _detail(seen: c.ReportApproval) -> str:
    """Return the whole call for a person to read."""
    call = msgspec.json.format(msgspec.json.encode(seen.input), indent=2).decode()
    return "\n".join(part for part in (seen.description, _cut(call, DETAIL_CHARACTERS)) if part)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _own_text(seen: c.ReportApproval, own: tuple[OwnQuestion, ...]) -> str:
    """Return the agent's own question in its words; a plan is one too."""
    if own:
        return own_questions.text_of(own)
    return str(seen.input.get("plan") or seen.description or f"{seen.tool} asks you")


def _own_detail(seen: c.ReportApproval, own: tuple[OwnQuestion, ...]) -> str:
    """Return what the options mean, after what else there is to see, such as a change."""
    means = own_questions.detail_of(own) if own else ""
    return "\n".join(part for part in (seen.description, _cut(means, DETAIL_CHARACTERS)) if part)


def _approval_choices(tool: str, rule: CommandRule | None) -> tuple[tuple[str, str], ...]:
    """Build the choices of a request to use a tool.

    The last one allows the tool with any arguments, so its label must not read as of this call
    alone. Before it stands the one for commands like this, where there is a rule for them.
    """
    every = f"Always in this run: every {_cut(tool, TOOL_CHARACTERS)}"
    once = tuple(choice for choice in CHOICES["approval"] if choice[0] != "always")
    if rule is None:
        return (*once, ("always", every))
    like = f"Always in this run: commands that begin with '{rule.begins}'"
    return (*once, ("always-like", like), ("always", every))
