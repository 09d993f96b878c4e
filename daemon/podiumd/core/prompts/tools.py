"""The tools that Podium itself serves to the agent of a step: what they are called, take and do.

Which there are follows from the recipe alone. What a call does is a fact (``tool.used``); what it
asks for, a question or another phase, happens when the turn is over.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec

from podiumd.core.prompts import prompts
from podiumd.core.recipe.context import TYPES, ContextKey, Unfit, declared, is_set, taken
from podiumd.core.recipe.model import RESTART, Edge, Recipe, Step
from podiumd.core.recipe.rules import templates
from podiumd.core.recipe.served_tools import plain_name, served
from podiumd.core.reply.outcome import Outcome, from_structured
from podiumd.core.run import questions
from podiumd.core.run.state import ActiveTurn, RunState

__all__ = ["ToolSpec", "Use", "plain_name", "served", "specs", "use"]

MOST_BYTES: Final = 256 * 1024
"""The most that a call may hold, as JSON."""

_NUL: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""In JSON: after backslashes in pairs, which are backslashes themselves."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as an agent is offered it; ``schema`` is the JSON Schema of its parameters."""

    name: str
    description: str
    schema: dict[str, Any]


class Use(NamedTuple):
    """The result of a call: ``message`` is the answer to the agent, ``args`` are as taken."""

    success: bool
    message: str
    args: dict[str, Any]


def specs(state: RunState) -> tuple[ToolSpec, ...]:
    """List the tools of the present step as its agent is offered them."""
    recipe, step = state.recipe, state.current
    if recipe is None or step is None:
        return ()
    return tuple(_spec(name, recipe, step) for name in served(recipe, step))


def _spec(name: str, recipe: Recipe, step: Step) -> ToolSpec:
    if name == "save":
        return _save_spec(declared(recipe.context))
    if name == "transition":
        return _transition_spec(step)
    if name == "report_outcome":
        return _report_spec(recipe)
    if name == "ask":
        return ToolSpec("ask", questions.DESCRIPTION, questions.SCHEMA)
    text = "Tell the person something that cannot wait. It changes nothing in the conversation."
    return ToolSpec(
        "notify", text, _object({"message": {"type": "string", "minLength": 1}}, ("message",))
    )


def _object(properties: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_JSON_TYPES: Final = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "list": "array",
    "object": "object",
}


SAVE: Final = (
    "Save something that was found out, under one of these keys; it replaces what was there:"
)


def _save_spec(keys: dict[str, ContextKey]) -> ToolSpec:
    lines = [
        f"- {name}: {TYPES[key.type]}{f'. {key.description}' if key.description else ''}"
        for name, key in keys.items()
    ]
    text = "\n".join([SAVE, *lines])
    types = list(dict.fromkeys(_JSON_TYPES.get(key.type, "") for key in keys.values()))
    value = {} if "" in types else {"type": types[0] if len(types) == 1 else types}
    properties = {"key": {"type": "string", "enum": list(keys)}, "value": value}
    return ToolSpec("save", text, _object(properties, ("key", "value")))


TRANSITION: Final = (
    "Go on to another phase of the conversation when this one is finished. It takes effect when "
    "you end your turn. Where you can go:"
)


def _transition_spec(step: Step) -> ToolSpec:
    lines = []
    for outcome in step.outcomes:
        edge = step.on[outcome]
        needs = f"; first save: {', '.join(edge.requires)}" if edge.requires else ""
        lines.append(f"- {outcome}: {_where(edge)}{needs}")
    text = "\n".join([TRANSITION, *lines])
    properties = {
        "to": {"type": "string", "enum": list(step.outcomes)},
        "summary": {"type": "string", "description": "What this phase has come to"},
    }
    return ToolSpec("transition", text, _object(properties, ("to",)))


def _where(edge: Edge) -> str:
    if edge.exit is not None:
        return f"ends the conversation ({edge.exit})"
    return "begins again" if edge.to == RESTART else f"leads to '{edge.to}'"


def _report_spec(recipe: Recipe) -> ToolSpec:
    """Build the ``report_outcome`` tool, the same in each step of a recipe.

    Another tool would cost the agent's prompt cache, and a session goes on with the tools of its
    first turn. A step's own outcomes are in its prompt.
    """
    text = (
        "Report how this step went, once, when it is finished, with one of the outcomes that its "
        "prompt names. 'other' needs an otherDescription."
    )
    properties = {
        "outcome": {"type": "string", "enum": list(recipe.union_outcomes())},
        "otherDescription": {"type": "string"},
        "detail": {"type": "string", "description": "What whoever goes on from here must know"},
    }
    return ToolSpec("report_outcome", text, _object(properties, ("outcome",)))


def use(state: RunState, turn: ActiveTurn, tool: str, args: dict[str, Any]) -> Use:
    """Return the effect of a call of the running turn, with the answer to its agent."""
    fault = _unfit(args)
    if fault is not None:
        return Use(False, fault, {})
    try:
        if turn.asked is not None:
            question = turn.asked.args["question"]
            raise Unfit(f"you have asked '{question[:200]}': end your turn now")
        if tool not in turn.intent.served:
            names = ", ".join(turn.intent.served) or "none"
            raise Unfit(f"there is no tool '{tool[:80]}' in this step; it has: {names}")
        recipe, step = state.recipe, state.current
        assert recipe is not None and step is not None
        message, taken_args = _USES[tool](_Call(state, turn, recipe, step), args)
    except Unfit as refusal:
        return Use(False, str(refusal), args)
    return Use(True, message, taken_args)


def _unfit(args: dict[str, Any]) -> str | None:
    """Return why a call cannot even be recorded."""
    try:
        encoded = msgspec.json.encode(args)
    except UnicodeEncodeError:
        return "the call holds characters that are none"
    if len(encoded) > MOST_BYTES:
        return f"the call is over {MOST_BYTES} bytes: say it shorter"
    if _NUL.search(encoded):
        # A system text, or a command, that a value is filled into is an argument of a program.
        return "the call holds a NUL, which no program is handed"
    return None


class _Call(NamedTuple):
    """The place where a call is made."""

    state: RunState
    turn: ActiveTurn
    recipe: Recipe
    step: Step


def _only(args: dict[str, Any], *names: str) -> None:
    """Refuse a parameter that the tool does not have. Raises ``Unfit``."""
    unknown = [name for name in args if name not in names]
    if unknown:
        raise Unfit(f"there is no parameter '{unknown[0][:80]}'; there are: {', '.join(names)}")


def _text(args: dict[str, Any], name: str) -> str:
    """Return a parameter that must be a text with something in it. Raises ``Unfit``."""
    value = args.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unfit(f"'{name}' has to be a text that is not empty")
    return value


def _save(call: _Call, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    _only(args, "key", "value")
    name = _text(args, "key")
    keys = declared(call.recipe.context)
    if name not in keys:
        raise Unfit(f"there is no key '{name[:80]}'; the keys are: {', '.join(keys)}")
    if "value" not in args:
        raise Unfit("'value' is missing")
    try:
        value = taken(keys[name].type, args["value"])
    except Unfit as wrong:
        raise Unfit(f"'{name}' cannot have this value: {wrong}") from None
    going = call.turn.transition
    if going is not None and not is_set(value):
        outcome = edge_named(call.step, going.args["to"])
        if outcome is not None and name in call.step.on[outcome].requires:
            raise Unfit(f"'{name}' cannot be empty: the transition you asked for needs it")
    return f"'{name}' is saved", {"key": name, "value": value}


def edge_named(step: Step, to: str) -> str | None:
    """Resolve ``to`` to an outcome: an outcome's name, else a target step, else an exit reason."""
    if to in step.outcomes:
        return to
    targets = [name for name in step.outcomes if step.on[name].to == to]
    exits = [name for name in step.outcomes if step.on[name].exit == to]
    return next(iter((*targets, *exits)), None)


def _transition(call: _Call, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    _only(args, "to", "summary")
    to = _text(args, "to")
    outcome = edge_named(call.step, to)
    if outcome is None:
        allowed = ", ".join(call.step.outcomes)
        raise Unfit(f"from here no way leads to '{to[:80]}'; the ways are: {allowed}")
    summary = args.get("summary") or ""
    if not isinstance(summary, str):
        raise Unfit("'summary' has to be a text")
    edge = call.step.on[outcome]
    empty = [key for key in edge.requires if not is_set(call.state.ctx.get(key))]
    if empty:
        names = ", ".join(f"'{key}'" for key in empty)
        raise Unfit(f"'{outcome}' needs {names}: save that first")
    target = call.recipe.initial if edge.to == RESTART else edge.to
    if target is not None and edge.to != RESTART:
        texts = [text for _, text in templates(target, call.recipe.steps[target])]
        missing = prompts.missing(call.state, texts)
        if missing is not None:
            raise Unfit(f"'{target}' needs '{missing}', which nothing has saved: save it first")
    told = f"'{outcome}' takes effect when you end your turn: end it now"
    return told, {"to": outcome, "summary": summary}


def _report(call: _Call, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    _only(args, "outcome", "otherDescription", "detail")
    found = from_structured(args, call.turn.intent.outcomes, source="tool")
    if not isinstance(found, Outcome):
        allowed = ", ".join(call.turn.intent.outcomes)
        raise Unfit(f"{found.message}; the outcomes are: {allowed}")
    reported = call.turn.reported
    if reported is not None and reported.args != args:
        raise Unfit(f"you have reported '{reported.args['outcome']}' already: that stands")
    return f"'{found.outcome}' is recorded: end your turn now", args


def _ask(call: _Call, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    _only(args, *questions.PARAMETERS)
    going = call.turn.transition
    if going is not None:
        to = going.args["to"]
        raise Unfit(f"you go on to '{to}' when you end your turn, so ask there: end it now")
    return "your question is put to the person: end your turn now", questions.taken(args)


def _notify(_call: _Call, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    _only(args, "message")
    return "the person is told", {"message": _text(args, "message")}


_USES: Final = {
    "save": _save,
    "transition": _transition,
    "report_outcome": _report,
    "ask": _ask,
    "notify": _notify,
}
