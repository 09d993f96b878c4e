"""Exits of a run: its reason, sorted into a category and a class, with a sentence for people.

Nothing unforeseen may look like success: a reason that neither the table below nor the recipe's
edge classifies is an error.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Category = Literal["completed", "guardrail", "error"]
ExitClass = Literal[
    "completed", "needs-user", "blocked", "cancelled", "guardrail", "checks-failed", "error"
]

#: A reason of this form names the step whose visits ran out: ``max-step-visits-exceeded:STEP``.
VISITS_EXCEEDED: Final = "max-step-visits-exceeded"

_CATEGORY: Final[dict[str, Category]] = {
    "completed": "completed",
    "needs-user": "completed",
    "blocked": "completed",
    "cancelled": "completed",
    "guardrail": "guardrail",
    "checks-failed": "error",
    "error": "error",
}

_DEFAULT_MESSAGE: Final[dict[Category, str]] = {
    "completed": "Completed: {reason}",
    "guardrail": "Recipe stopped by safety limit: {reason}",
    "error": "Recipe failed: {reason}",
}

_STOPPED: Final = "Recipe stopped on request"

# reason -> (class, message); an empty message stands for the default of its category.
_TABLE: Final[dict[str, tuple[ExitClass, str]]] = {
    "changes-committed": ("completed", "Task implementation committed successfully"),
    "task-committed": ("completed", "Task implementation committed successfully"),
    "design-committed": ("completed", "Design document committed successfully"),
    "tasks-committed": ("completed", "Implementation tasks created and committed"),
    "no-changes-to-commit": ("completed", "No changes to commit"),
    "no-tasks-available": ("completed", "No tasks are ready"),
    "clarification-needed": ("needs-user", "Needs clarification before continuing"),
    "implementation-blocked": ("blocked", "Implementation blocked - cannot proceed"),
    "no-design-document-found": ("blocked", "Design document not found"),
    "user-provided-other": ("needs-user", "Recipe exited by user choice"),
    "gate-declined": ("needs-user", "Recipe stopped: declined at {step}"),
    "turn-complete": ("completed", "Turn complete"),
    "conversation-complete": ("completed", "Conversation complete"),
    "user-requested": ("cancelled", _STOPPED),
    "orchestration-disabled": ("cancelled", _STOPPED),
    "max-total-steps": ("guardrail", "Recipe stopped: reached maximum step limit ({limit} steps)"),
    VISITS_EXCEEDED: ("guardrail", "Recipe stopped: step '{step}' visited too many times"),
    "max-minutes": ("guardrail", ""),
    "max-cost": ("guardrail", ""),
    "max-restarts": ("guardrail", ""),
    "max-iterations": ("guardrail", "max iterations ({limit}) reached"),
    "checks-failed": ("checks-failed", "Recipe failed: checks failed"),
    "orchestration-error": ("error", "Recipe failed: could not parse agent response"),
    "error": ("error", "Recipe failed: agent invocation error"),
    "internal-error": ("error", "Recipe failed: internal error"),
    "no-prompt": ("error", "Recipe failed: no prompt available"),
    "session-locked": ("error", "Recipe failed: the session is in use"),
}

Claims = Literal["commit", "clean", "none"]

_CLAIMS: Final[dict[str, Claims]] = {
    "changes-committed": "commit",
    "task-committed": "commit",
    "design-committed": "commit",
    "tasks-committed": "commit",
    "no-changes-to-commit": "clean",
}

#: Every reason that has a class of its own.
KNOWN: Final[frozenset[str]] = frozenset(_TABLE)

#: The guardrail and error rows: only the daemon ends a run with them, no edge may.
RESERVED: Final[frozenset[str]] = frozenset(
    reason for reason, (class_, _) in _TABLE.items() if _CATEGORY[class_] != "completed"
)


class Exit(msgspec.Struct, frozen=True):
    """The end of a run. ``detail`` is the cause in the words of its source."""

    reason: str
    category: Category
    class_: ExitClass = msgspec.field(name="class")
    message: str
    detail: str | None = None


def claim_of(reason: str) -> Claims | None:
    """Return what ``reason`` says of the working tree, if anything."""
    return _CLAIMS.get(reason)


def is_known(reason: str) -> bool:
    """Say whether the table classifies ``reason``, a step's name after a colon included."""
    return _row(reason) in KNOWN


def is_reserved(reason: str) -> bool:
    """Say whether only the daemon may end a run with ``reason``."""
    return _row(reason) in RESERVED


def classify(
    reason: str,
    edge_class: ExitClass | None = None,
    edge_message: str | None = None,
    *,
    step: str | None = None,
    limit: int | None = None,
    detail: str | None = None,
) -> Exit:
    """Classify the end of a run.

    ``edge_class`` and ``edge_message`` are what the recipe's edge says; they win over the table,
    except for a reserved reason. ``step`` is where the run stood, ``limit`` the number that was
    reached; both only fill the message. A table message is kept under another class only while
    the category stays the same, so that a failure never reads like a success.
    """
    row = _row(reason)
    known = _TABLE.get(row)
    if row in RESERVED:
        edge_class = edge_message = None
    class_: ExitClass = edge_class or (known[0] if known else "error")
    category = _CATEGORY[class_]
    message = edge_message
    if message is None and known and _CATEGORY[known[0]] == category:
        message = _fill(known[1], reason, step, limit)
    return Exit(
        reason=reason,
        category=category,
        class_=class_,
        message=message or _DEFAULT_MESSAGE[category].format(reason=reason),
        detail=detail,
    )


def _row(reason: str) -> str:
    """Return the table's key for ``reason``: the reason, without the step that some name."""
    return VISITS_EXCEEDED if reason.startswith(VISITS_EXCEEDED + ":") else reason


def _fill(message: str, reason: str, step: str | None, limit: int | None) -> str:
    """Put the step and the limit into a table message; an unknown number is left out."""
    if limit is None:
        message = message.replace(" ({limit} steps)", "").replace(" ({limit})", "")
    _, colon, named = reason.partition(":")
    where = named if colon else step or "a gate"
    return message.replace("{limit}", str(limit)).replace("{step}", where)
