"""From a person's answer to the decision that an agent understands."""

from __future__ import annotations

from podiumd.core.state import Question
from podiumd.drivers.base import Decision

DENIED = "The person you work for said no."


def decision_for(question: Question) -> Decision:
    """The decision for an answered approval, or an answered question of the agent's own."""
    note = question.note or ""
    if question.kind == "approval":
        if question.answer == "deny":
            return Decision(behavior="deny", message=note or DENIED, note=note)
        return Decision(behavior="allow", always=question.answer == "always")
    if question.tool == "ExitPlanMode":
        if question.answer == "yes":
            return Decision(behavior="allow")
        said = note or (question.answer if question.answer != "no" else "")
        return Decision(behavior="deny", message=said or DENIED)
    asked = question.input or {}
    texts = [str(q.get("question", "")) for q in asked.get("questions", []) if isinstance(q, dict)]
    answer = question.answer or ""
    answers = dict.fromkeys(texts, answer if not note else f"{answer} ({note})")
    return Decision(behavior="allow", updated_input={**asked, "answers": answers})
