"""A question in a chat: how it is shown, and what a person's words mean as its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from podium import text
from podium.dialog.ask import chosen
from podium.render.question import body, choice_lines, choices_of, diff_of, heading, how
from podium.render.screen import Screen
from podium.render.table_entry import described

if TYPE_CHECKING:
    from podium.render.question import Asked

YES = ("y", "yes", "ok", "allow")
NO = ("n", "no", "deny")
ALWAYS = ("a", "always")
LIKE = ("p", "prefix")

REFUSALS = {"approval": "deny", "gate": "no", "limit": "stop"}
"""Choice that stands for no, by the kind of the question; the others cannot be declined."""


class Answer(NamedTuple):
    """Chosen answer to a question, and the words that the person added."""

    choice: str
    note: str | None = None


def refusal(question: Asked) -> Answer | None:
    """Return the answer of an empty line or the end of input; ``None`` for no answer."""
    choice = REFUSALS.get(str(question.get("kind")))
    known = [value for value, _ in choices_of(question)]
    return Answer(choice) if choice in known else None


def meaning(question: Asked, words: str) -> Answer | None:
    """Parse a person's words as an answer; ``None`` where they are none to this question."""
    words = words.strip()
    if not words:
        return refusal(question)
    if question.get("kind") == "approval":
        return _of_approval(question, words)
    choices = [value for value, _ in choices_of(question)]
    answer = chosen(question, words)
    several = question.get("multi") and set(answer.split(",")) <= set(choices)
    if answer in choices or several:
        return Answer(answer)
    if words.casefold() in NO and (declined := refusal(question)):
        return declined
    return Answer(words) if question.get("free_text") else None


def _of_approval(question: Asked, words: str) -> Answer:
    """Yes, no and always, with words after them as a note. Anything else is no, and why."""
    first, _, rest = words.partition(" ")
    said, note = first.strip(".,:;!").casefold(), rest.strip() or None
    if said in YES:
        return Answer("allow", note)
    if said in ALWAYS and "always" in [value for value, _ in choices_of(question)]:
        return Answer("always", note)
    if said in LIKE and "always-like" in [value for value, _ in choices_of(question)]:
        return Answer("always-like", note)
    if said in NO:
        return Answer("deny", note)
    if words.isdecimal():
        return Answer(chosen(question, words))
    return Answer("deny", words)


def show(question: Asked, screen: Screen) -> None:
    """Show what is asked: the change or the command that leave is asked for, or the choices."""
    style = screen.style
    screen.fresh_line()
    screen.line()
    screen.line(style("yellow", f"? {heading(question)}"))
    for line in _coloured(question, style):
        screen.line(f"    {line}".rstrip())
    approval = question.get("kind") == "approval"
    for line in _approval_lines(question) if approval else choice_lines(question):
        screen.line(line)
    if question.get("columns"):
        screen.line(f"  columns: {described(question['columns'])}")


def _keys(question: Asked) -> list[tuple[str, str]]:
    """Return the letters that answer a permission request, and the meaning of each."""
    tool, known = text.fold(question.get("tool") or "this"), dict(choices_of(question))
    keys = [("y", "yes"), ("n", "no, with why after it; Enter alone is no too")]
    if like := text.fold(known.get("always-like") or ""):
        keys.append(("p", f"{like[:1].lower()}{like[1:]}"))
    if "always" in known:
        keys.append(("a", f"always: every {tool} in this run"))
    return keys


def _approval_lines(question: Asked) -> list[str]:
    return [f"  {key}: {meaning}" for key, meaning in _keys(question)]


def hint(question: Asked) -> str:
    """Describe in a few words what may be typed."""
    if question.get("kind") == "approval":
        return "/".join(key for key, _ in _keys(question))
    declined = refusal(question)
    if said := how(question):
        return said
    return "a choice" + (f" · Enter: {declined.choice}" if declined else "")


def _coloured(question: Asked, style: text.Style) -> list[str]:
    """Colour the subject of the question, a diff or a call."""
    of_line = _of_diff if diff_of(question) else _of_call
    return [of_line(line, style) for line in body(question)]


def _of_diff(line: str, style: text.Style) -> str:
    if line.startswith(("+++", "---")):
        return style("bold", line)
    for sign, colour in (("+", "green"), ("-", "red"), ("@@", "cyan")):
        if line.startswith(sign):
            return style(colour, line)
    return line


def _of_call(line: str, style: text.Style) -> str:
    """Colour a line of a tool's call, as ``question.call_lines`` writes it."""
    for sign, colour in (("$ ", "bold"), ("+ ", "green"), ("- ", "red")):
        if line.startswith(sign):
            return style(colour, line)
    return line
