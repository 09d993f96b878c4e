"""From a person's answer to the decision that an agent understands."""

from __future__ import annotations

from podiumd.core.decide.own_questions import answers_of
from podiumd.core.run.state import Question
from podiumd.drivers.base import Decision

DENIED = "The person you work for said no."


def decision_for(question: Question) -> Decision:
    """Build the decision for an answered approval, or an answered question of the agent's own."""
    note = question.note or ""
    if question.kind == "approval":
        if question.answer == "deny":
            return Decision(behavior="deny", message=note or DENIED, note=note)
        return Decision(behavior="allow", rule=question.allowed)
    if question.tool == "ExitPlanMode":
        if question.answer == "yes":
            return Decision(behavior="allow")
        said = note or (question.answer if question.answer != "no" else "")
        return Decision(behavior="deny", message=said or DENIED)
    asked = question.input or {}
    answers = answers_of(asked, question.answer or "", note)
    return Decision(behavior="allow", updated_input={**asked, "answers": answers})
