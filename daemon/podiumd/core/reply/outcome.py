"""The word a turn ended with: how it is asked for, found in a reply, and asked for again.

An answer counts only when it is certain: a wrong outcome sends a run down the wrong edge, a
missing one costs a retry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from podiumd.core.recipe.model import OTHER
from podiumd.core.reply.lenient_json import Found, Value, is_strict, scan, tidy
from podiumd.core.reply.quoted import without_quotations
from podiumd.core.reply.report import TurnReport

Source = Literal["structured", "tool", "text", "check", "command", "person"]
ErrorKind = Literal[
    "no-json",
    "bad-json",
    "missing-outcome",
    "unknown-outcome",
    "missing-description",
    "ambiguous",
    "not-so",
]

_EXCERPT: Final = 200
_PROSE_BYTES: Final = 8192

_BLOCK: Final = """\
End your response with a JSON block on the last line:
{"outcome": "<outcome>"}

or if needed:

{"outcome": "other", "otherDescription": "<brief description>"}

Your possible outcomes for this step: """

# Spelling that does not distinguish one name from another.
_SPELLING: Final = re.compile(r"[-_\s]+")
# An outcome such as "<outcome>", "complete|blocked" or "..." repeats the instructions.
_PLACEHOLDER: Final = re.compile(r"[<>|,]|\.\.\.|…|\w/\w")
_BLANK_TO_FILL: Final = re.compile(r"\s*(<[^<>]*>|\.\.\.|…)\s*")
# Text between two objects that makes them members of one list.
_BETWEEN: Final = re.compile(r"(?:[^\w{}]|\bor\b)*", re.IGNORECASE)
_BROKEN_ANSWER: Final = re.compile(r"\{[^{}]{0,200}?outcome", re.IGNORECASE)
_BROKEN_OBJECT: Final = re.compile(r"\{\s{0,200}\"|^[ \t`*]{0,20}\{[^\n]*\s*\Z", re.MULTILINE)


class Outcome(msgspec.Struct, frozen=True):
    """The outcome that a step ended with.

    ``description`` is the ``otherDescription``, ``detail`` what the next prompts may quote.
    ``repaired``: strict JSON parsing alone would have failed.
    """

    outcome: str
    description: str | None = None
    source: Source = "text"
    repaired: bool = False
    detail: str | None = None


class OutcomeError(msgspec.Struct, frozen=True):
    """The reason why a reply has no certain outcome, or (``not-so``) one that is not true.

    ``excerpt`` is the place in the reply, at most 200 characters; ``returned`` the outcome that is
    not among the step's own.
    """

    error: ErrorKind
    message: str
    excerpt: str = ""
    returned: str | None = None


class _Answer(NamedTuple):
    """An object of the reply, judged: ``outcome`` is ``None`` where it is not in the set."""

    found: Found
    name: str | None
    outcome: str | None
    description: str | None
    detail: str | None
    echo: bool


def outcome_block(outcomes: Sequence[str]) -> str:
    """Return the text that ends each prompt of a recipe; ``other`` is added, last."""
    return _BLOCK + ", ".join(_with_other(outcomes))


def retry_prompt(error: OutcomeError, outcomes: Sequence[str]) -> str:
    """Return the prompt that asks again after a reply without a certain outcome, or a wrong one."""
    if error.error == "not-so":
        return (
            f"You answered '{error.returned}'. Podium has looked, and that is not so: "
            f"{error.message}.\n\nPut it right as this step asks, or answer what is true, and say "
            "why.\n\n" + outcome_block(outcomes)
        )
    return (
        "Please respond again with JSON per the instructions.\n\n"
        f"What was wrong with the last response: {error.message}.\n\n" + outcome_block(outcomes)
    )


def recipe_schema(recipe_outcomes: Sequence[str]) -> dict[str, Any]:
    """Return the one JSON Schema of a recipe, for agents with structured output.

    It allows the outcomes of all steps, since a schema that changed from step to step would cost
    the agent's prompt cache; the step's own set is checked when the answer is judged.
    """
    return {
        "type": "object",
        "properties": {
            "outcome": {"type": "string", "enum": list(_with_other(recipe_outcomes))},
            "otherDescription": {"type": "string"},
            "detail": {"type": "string"},
        },
        "required": ["outcome"],
        "additionalProperties": False,
    }


def extract(report: TurnReport, allowed: Sequence[str]) -> Outcome | OutcomeError:
    """Judge a finished turn: structured output, else a reported outcome, else its own text.

    The first that names an outcome decides, right or wrong.
    """
    if _names_outcome(report.structured):
        return from_structured(report.structured or {}, allowed)
    if _names_outcome(report.tool_outcome):
        return from_structured(report.tool_outcome or {}, allowed, source="tool")
    return _from_texts(report.texts or (report.result_text,), allowed)


def from_structured(
    obj: Mapping[str, Any],
    allowed: Sequence[str],
    source: Literal["structured", "tool"] = "structured",
) -> Outcome | OutcomeError:
    """Judge an object that the agent returned outside its text."""
    members = {
        str(key): tidy(value) if isinstance(value, str) else None for key, value in obj.items()
    }
    answer = _judge(Found(0, 0, members), allowed)
    excerpt = tidy(json.dumps(obj, ensure_ascii=False, default=str))[:_EXCERPT]
    if answer.outcome is None:
        if answer.name is None:
            return _error("missing-outcome", allowed, excerpt)
        return _error("unknown-outcome", allowed, excerpt, answer.name)
    return _accept(answer, allowed, excerpt, source=source, repaired=False)


def _from_texts(texts: Sequence[str], allowed: Sequence[str]) -> Outcome | OutcomeError:
    """Judge the messages of a turn, the last one first, each by itself: a quote or a fence that
    one leaves open reaches into no other."""
    missed: list[OutcomeError] = []
    for text in reversed(texts):
        found = from_text(text, allowed)
        if isinstance(found, Outcome) or found.error in ("missing-description", "ambiguous"):
            return found
        missed.append(found)
    plain = _error("no-json", allowed, "").message
    return next((each for each in missed if each.message != plain), missed[0])


def from_text(text: str, allowed: Sequence[str]) -> Outcome | OutcomeError:
    """Find the outcome in the text of one turn: the last object that is an answer.

    An object that the text quotes is another's answer.
    """
    found = scan(text)
    answers = [_judge(each, allowed) for each in without_quotations(text, found)]
    valid = _without_lists(text, answers, allowed)
    if not valid:
        if len(answers) < len(found) and all(answer.name is None for answer in answers):
            return _error("no-json", allowed, text.strip()[-_EXCERPT:], only_quoted=True)
        return _explain(text, answers, allowed)
    last = valid[-1]
    written = text[last.found.start : last.found.end]
    for earlier, later in zip(valid[-2::-1], valid[:0:-1], strict=True):
        if "\n" in text[earlier.found.end : later.found.start]:
            break
        if earlier.outcome != last.outcome:
            excerpt = text[earlier.found.start : last.found.end]
            return _error("ambiguous", allowed, excerpt[:_EXCERPT])
    return _accept(last, allowed, written, source="text", repaired=not is_strict(written))


def prose(texts: Sequence[str], outcome: Outcome) -> str:
    """Return the turn's final prose without its outcome: at most the last 8 KB."""
    for text in reversed(texts):
        rest = text
        for found in reversed(without_quotations(text, scan(text))):
            if _judge(found, (outcome.outcome,)).outcome is not None:
                rest = _cut(text, found)
                break
        if rest.strip():
            return rest.strip().encode("utf-8", "replace")[-_PROSE_BYTES:].decode("utf-8", "ignore")
    return ""


def _with_other(outcomes: Sequence[str]) -> tuple[str, ...]:
    return (*dict.fromkeys(name for name in outcomes if name != OTHER), OTHER)


def _names_outcome(obj: Mapping[str, Any] | None) -> bool:
    return obj is not None and isinstance(obj.get("outcome"), str)


def _squeeze(name: str) -> str:
    return _SPELLING.sub("", name).casefold()


def _match(name: str, allowed: Sequence[str]) -> str | None:
    """Return the allowed outcome that ``name`` spells, if it is exactly one."""
    choices = _with_other(allowed)
    if name in choices:
        return name
    matches = [choice for choice in choices if _squeeze(choice) == _squeeze(name)]
    return matches[0] if len(matches) == 1 else None


def _judge(found: Found, allowed: Sequence[str]) -> _Answer:
    """Read one object as an answer."""
    members: dict[str, Value] = {}
    for key, value in found.members.items():
        members.setdefault(_squeeze(key), value)
    name = (members.get("outcome") or "").strip() or None
    description = (members.get("otherdescription") or "").strip() or None
    echo = bool(name and _PLACEHOLDER.search(name)) or bool(
        description and _BLANK_TO_FILL.fullmatch(description)
    )
    outcome = _match(name, allowed) if name and not echo else None
    return _Answer(found, name, outcome, description, members.get("detail") or None, echo)


def _without_lists(text: str, answers: Sequence[_Answer], allowed: Sequence[str]) -> list[_Answer]:
    """Return the valid answers, without those that only list what could be answered.

    A list names each outcome of the step once, with no other words in between, and leaves the
    description of ``other`` to be filled in.
    """
    groups: list[list[_Answer]] = []
    for answer in answers:
        if groups:
            between = text[groups[-1][-1].found.end : answer.found.start]
            if len(between) <= _EXCERPT and _BETWEEN.fullmatch(between):
                groups[-1].append(answer)
                continue
        groups.append([answer])
    listed = sorted(name for name in _with_other(allowed) if name != OTHER)
    valid: list[_Answer] = []
    for group in groups:
        named = [answer for answer in group if answer.outcome is not None]
        is_list = len(named) > 1 and any(answer.echo for answer in group)
        if not (is_list and sorted(answer.outcome or "" for answer in named) == listed):
            valid += named
    return valid


def _accept(
    answer: _Answer, allowed: Sequence[str], written: str, *, source: Source, repaired: bool
) -> Outcome | OutcomeError:
    """Turn a valid answer into an outcome; ``other`` must say what it means."""
    if answer.outcome == OTHER and answer.description is None:
        return _error("missing-description", allowed, written)
    return Outcome(
        outcome=answer.outcome or OTHER,
        description=answer.description,
        source=source,
        repaired=repaired,
        detail=answer.detail,
    )


def _explain(text: str, answers: Sequence[_Answer], allowed: Sequence[str]) -> OutcomeError:
    """Say what came nearest to an answer in a text without one."""
    for answer in reversed(answers):
        if answer.name is not None and answer.outcome is None and not answer.echo:
            written = text[answer.found.start : answer.found.end]
            return _error("unknown-outcome", allowed, written, answer.name)
    ends = [0, *(answer.found.end for answer in answers)]
    starts = [*(answer.found.start for answer in answers), len(text)]
    rest = " ".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    broken = _BROKEN_ANSWER.search(rest)
    nameless = [answer.found for answer in answers if answer.name is None]
    if broken is None and nameless:
        found = nameless[-1]
        return _error("missing-outcome", allowed, text[found.start : found.end])
    broken = broken or _BROKEN_OBJECT.search(rest)
    if broken is not None:
        return _error("bad-json", allowed, rest[broken.start() :].strip())
    return _error("no-json", allowed, text.strip()[-_EXCERPT:])


def _error(
    kind: ErrorKind,
    allowed: Sequence[str],
    excerpt: str,
    returned: str | None = None,
    only_quoted: bool = False,
) -> OutcomeError:
    names = ", ".join(_with_other(allowed))
    returned = returned[:_EXCERPT] if returned else None
    message = {
        "no-json": "it holds no JSON object with an outcome",
        "bad-json": "its JSON object with the outcome cannot be read",
        "missing-outcome": 'its JSON object has no "outcome" with a text',
        "unknown-outcome": f"the outcome '{returned}' is none of: {names}",
        "missing-description": 'the outcome "other" needs an "otherDescription"',
        "ambiguous": "its last line holds two different outcomes; give exactly one",
    }[kind]
    if only_quoted:
        message += " of its own; one in a quote, in code or in HTML is not taken"
    return OutcomeError(
        error=kind, message=message, excerpt=tidy(excerpt)[:_EXCERPT], returned=returned
    )


def _cut(text: str, found: Found) -> str:
    """Take an object out of a text, with the fence or the marks that stood around it."""
    before, after = text[: found.start].rstrip(), text[found.end :].lstrip()
    fence = re.search(r"```+[ \t]*\w*\Z", before)
    if fence:
        before = before[: fence.start()]
        after = after.removeprefix("```")
    elif before.endswith(("`", "*")):
        before, after = before.rstrip("`*"), after.lstrip("`*")
    return before + "\n" + after.lstrip(".,;:!")
