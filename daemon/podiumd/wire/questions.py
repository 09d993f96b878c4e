"""Questions that runs ask a person."""

from __future__ import annotations

from podiumd.core.run.facts import QuestionKind
from podiumd.wire.fields import AnyText, Id, JsonObject, Nothing, Params, Result, Text
from podiumd.wire.method import Method

Column = JsonObject
"""A column of rows to be filled in: ``name``, ``type``, ``required``, ``options``."""


class Answer(Params, frozen=True, kw_only=True):
    """``questions.answer``."""

    question_id: Id
    answer: Text
    note: AnyText | None = None


class Choice(Result, frozen=True, kw_only=True):
    """An answer that a question names."""

    id: str
    label: str


class Question(Result, frozen=True, kw_only=True):
    """A question, and its answer once it is ``closed``. ``paused``: its run is, and after the
    answer it goes on only when it is resumed."""

    question_id: str
    run_id: str
    run_name: str
    session_id: str
    kind: QuestionKind
    text: str
    choices: tuple[Choice, ...]
    free_text: bool
    multi: bool
    columns: tuple[Column, ...]
    detail: str
    tool: str | None
    input: JsonObject | None
    opened_at: str
    answer: str | None
    note: str | None
    by: str | None
    closed: str | None
    paused: bool


ANSWER = Method[Answer, Question]("questions.answer", "Answer an open question.", needs="answer")
LIST = Method[Nothing, list[Question]](
    "questions.list", "The open questions.", reads=True, needs="look"
)
