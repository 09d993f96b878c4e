"""A question as a person reads it: what is asked, what the agent would do, how to answer.

An agent's intended act is shown as it would be done, every parameter of it: permission is given for
the call, not for the agent's own description of the call.
"""

from __future__ import annotations

from podium import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from podium import protocol

    Asked = protocol.Question | protocol.QuestionOpenedData
LISTED_LINES = 12
"""Lines of one question in a list; ``podium answer ID`` shows more."""

SHOWN_LINES = 200
SHOWN_CHARACTERS = 16_000

_FILES = ("file_path", "notebook_path", "path")
_OLD_AND_NEW = (("old_string", "- "), ("new_string", "+ "))
_CONTENTS = ("content", "new_source")
_CHANGES = ("write_file", "patch")
_CHANGED = {"path", "before", "after"}


def choices_of(question: Asked) -> list[tuple[str, str]]:
    """Return the choices of a question as (id, label)."""
    return [
        (str(choice.get("id", "")), str(choice.get("label") or ""))
        for choice in question.get("choices") or []
    ]


def answer_command(question: Asked) -> str:
    """Build the command that answers a question."""
    return f"podium answer {text.short(question.get('question_id'))} {answers_of(question)}"


def answers_of(question: Asked) -> str:
    """Describe the answers that a question takes: ``yes|no``, ``a[,b]|TEXT``, ``JSON``."""
    import shlex

    values = [shlex.quote(text.fold(value)) for value, _ in choices_of(question)]
    if question.get("columns"):
        values = ["JSON"]
    elif question.get("multi") and values:
        values = ["[,".join(values) + "]" * (len(values) - 1)]
    if question.get("free_text") or not values:
        values.append("TEXT")
    return "|".join(values)


def choice_lines(question: Asked) -> list[str]:
    """List the choices as numbered lines: what to answer with, and what it means."""
    choices = choices_of(question)
    if question.get("kind") == "ask":
        described = _descriptions(question)
        return [
            f"  {number}) {text.fold(described.get(label, label))}"
            for number, (_, label) in enumerate(choices, 1)
        ]
    width = max((len(text.fold(value)) for value, _ in choices), default=0)
    lines = []
    for number, (value, label) in enumerate(choices, 1):
        said = label if label.casefold() != value.casefold() else ""
        lines.append(f"  {number}) {text.fold(value).ljust(width)}  {text.fold(said)}".rstrip())
    return lines


def listed(question: Asked, most: int) -> list[str]:
    """List ``body``, and what an agent's own question takes.

    That is the choices by the words that a command answers with, and the columns of a table.
    """
    lines = body(question, most)
    if question.get("kind") != "ask":
        return lines
    described, choices = _descriptions(question), choices_of(question)
    width = max((text.cells(text.fold(value)) for value, _ in choices), default=0)
    for value, label in choices:
        means = text.fold(described.get(label, label))
        same = means == text.fold(value)
        lines.append(means if same else f"{text.padded(text.fold(value), width)}  {means}")
    if columns := question.get("columns"):
        from podium.render.table_entry import described as named

        lines.append(f"rows, as a JSON list of objects: {named(columns)}")
    return lines


def _descriptions(question: Asked) -> dict[str, str]:
    """Return the choices that the question's detail describes, with its line about each."""
    if question.get("kind") != "ask":
        return {}
    lines = str(question.get("detail") or "").splitlines()
    labels = [label for _, label in choices_of(question)]
    return {
        label: line for label in labels for line in lines if label and line.startswith(f"{label}: ")
    }


def answer_words(answer: object) -> str:
    """Format an answer as people say it: several choices joined by commas."""
    said = text.fold(answer)
    if not said.startswith('["'):
        return said
    import json

    try:
        chosen = json.loads(str(answer))
    except ValueError:
        return said
    return text.fold(", ".join(map(str, chosen)))


def how(question: Asked) -> str:
    """Describe in a few words the answer that an agent's own question takes; empty for others."""
    if question.get("kind") != "ask":
        return ""
    if question.get("columns"):
        return "row by row: an empty line ends the table, '-' leaves a cell empty; or paste JSON"
    if not question.get("choices"):
        return "in your own words"
    number = "numbers, such as 1,3" if question.get("multi") else "a number"
    return f"{number}, or your own words" if question.get("free_text") else number


def asked(question: Asked) -> str:
    """Return the question's text, in a line or a few: ``May the agent use Bash?``."""
    if _call(question) is not None:
        # The text repeats the beginning of the call, which follows whole.
        return f"May the agent use {text.fold(question['tool'])}?"
    return text.clean(question.get("text"))


def heading(question: Asked) -> str:
    """Return the kind of the question, and its text: ``approval: May the agent use Bash?``."""
    return f"{text.fold(question.get('kind'))}: {asked(question)}"


def body(question: Asked, most: int = SHOWN_LINES) -> list[str]:
    """Describe the subject of the answer: at most ``most`` lines, and one that counts the rest.

    For an approval that is the whole call, for any other question its detail.
    """
    if diff := diff_of(question):
        lines = [f"file: {text.fold((_call(question) or {}).get('path'))}", *_lines(diff)]
    elif (call := _call(question)) is not None:
        lines = call_lines(call)
    else:
        described = set(_descriptions(question).values())  # they stand at their choices
        lines = [one for one in _lines(question.get("detail")) if one not in described]
    shown, left = [], SHOWN_CHARACTERS
    for line in lines[:most]:
        shown.append(line[:left])
        left -= len(line)
        if left < 0:
            break
    if shown != lines:
        return [*shown, _rest(question, len(lines) - len(shown), most)]
    return shown


def _rest(question: Asked, lines: int, most: int) -> str:
    how = "" if most < SHOWN_LINES else " --json"
    what = text.counted(lines, "more line") if lines else "more"
    identifier = text.short(question.get("question_id"))
    return f"… {what} not shown here: 'podium answer {identifier}{how}' shows all."


def _call(question: Asked) -> dict[str, Any] | None:
    """Return the call of a tool that permission is asked for; ``None`` for any other question."""
    asks = question.get("kind") == "approval" and question.get("tool")
    return question.get("input") if asks else None


def diff_of(question: Asked) -> str:
    """Return the change to a file that the native agent asks permission for; empty otherwise.

    The daemon itself has made it, from the file as it is and as it would be, whose digests are the
    call. It stands in the question's detail before these.
    """
    call = _call(question)
    if call is None or question["tool"] not in _CHANGES or call.keys() != _CHANGED:
        return ""
    return question["detail"].rpartition("\n{\n")[0].rstrip("\n")


def call_lines(given: dict[str, Any]) -> list[str]:
    """List a tool's call: command, file, text taken out and put in, and every other parameter."""
    lines: list[str] = []
    rest = dict(given)
    if isinstance(rest.get("command"), str):
        first, *more = _lines(rest.pop("command")) or [""]
        lines += [f"$ {first}", *(f"  {line}" for line in more)]
    for name in _FILES:
        if isinstance(rest.get(name), str):
            lines.append(f"file: {text.fold(rest.pop(name))}")
    for name, sign in _OLD_AND_NEW:
        if isinstance(rest.get(name), str):
            lines += [f"{sign}{line}" for line in _lines(rest.pop(name))]
    for name in _CONTENTS:
        if isinstance(rest.get(name), str):
            held = _lines(rest.pop(name))
            lines += [f"content ({text.counted(len(held), 'line')}):"]
            lines += [f"| {line}" for line in held]
    if not lines:
        return _pretty(given) if given else []
    for name, value in rest.items():
        lines += _parameter(name, value)
    return lines


def _parameter(name: str, value: object) -> list[str]:
    """Format a parameter that no form is known for."""
    first, *more = _lines(value) or [""] if isinstance(value, str) else _pretty(value)
    return [f"{text.fold(name)}: {first}", *(f"  {line}" for line in more)]


def _pretty(value: object) -> list[str]:
    import json

    return _lines(json.dumps(value, indent=2, ensure_ascii=False))


def _lines(words: object) -> list[str]:
    return text.clean(words or "").removesuffix("\n").split("\n") if words else []
