"""The recipe format as JSON Schema (draft 2020-12), for editors: built from the loader's tables.

The schema knows each table by itself. That targets exist, outcomes are handled and cycles are
bounded is for the checker to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podiumd.core.recipe.exits import KNOWN, RESERVED
from podiumd.core.recipe.fields import NAME_SCHEMA, SCALAR, VARIABLE_SCHEMA, Expected
from podiumd.core.recipe.format import (
    CHECK_FIELDS,
    EDGE_FIELDS,
    HOOK_FIELDS,
    LIMIT_FIELDS,
    MARKS,
    PARAM_FIELDS,
    STEP_FIELDS,
    STEP_KEYS,
    TOP_FIELDS,
    edge_keys,
)
from podiumd.core.recipe.model import RESTART, Kind, Limits

_TITLE: Final[dict[Kind, str]] = {
    "turn": "Prompts an agent; its outcome is the last word of its answer",
    "talk": "A conversation of a person with an agent",
    "command": "Runs a command: outcomes 'passed' and 'failed'",
    "gate": "Asks a person: the choices are the outcomes",
    "call": "Runs another recipe: its exit reasons are the outcomes",
}
#: Text that an editor shows for each key, by the table it stands in.
TEXTS: Final[dict[str, dict[str, str]]] = {
    "top": {
        "format": "The version of this format: 1",
        "id": "The recipe's name: lower-case words joined by hyphens",
        "label": "What people see; default: the id",
        "description": "What the recipe does, in a sentence",
        "initial": "The first step",
        "needs": "What every agent of the recipe has to be able to do, where its steps do not show "
        "it",
        "params": "Values given at the start, used as {{name}}",
        "limits": "The bounds of a run; a recipe with a cycle needs max_step_visits or "
        "max_total_steps",
        "context": "What is saved on the way, used as {{ctx.name}}: each key with the name of its "
        "type, or a table with 'type', 'default' and 'description', or its first value",
        "steps": "The steps of the machine",
    },
    "param": {
        "type": "What kind of value it is",
        "default": "The value where none is given; without it one must be given",
        "choices": "What a parameter of type 'choice' can be",
        "description": "What the value means",
        "needed": "Where it must be given although it has a default: 'new-session', where there is "
        "no conversation yet that could stand for it",
    },
    "limits": {
        "max_step_visits": "The most entries into one step",
        "max_total_steps": "The most entries into steps altogether",
        "max_minutes": "The most minutes of work; waiting for people does not count",
        "max_cost_usd": "The most US dollars, as agents tell them",
        "max_retries": "The most repeated questions for an outcome",
        "max_restarts": "The most uses of '@restart'",
        "on_limit": "At a limit: 'exit' ends the run, 'ask' asks for the same again, once",
    },
    "step": {
        "prompt": "What the agent is told; {{name}} and {{last.STEP.detail}} are filled in",
        "prompt_file": "The file beside the recipe that holds the prompt",
        "talk": "Makes the step a conversation: true",
        "system": "The system text of the conversation's agent",
        "opening": "What the agent is told first, so that it has the first word",
        "auto": "The conversation goes on without waiting for the person",
        "hooks": "Commands run around the conversation's tools and at the end of its turns",
        "run": "The command: a program and its arguments, no shell",
        "shell": "The command, read by a shell; takes no variables",
        "ask": "The question to a person",
        "choices": "The answers to choose from, which are the outcomes; default: yes, no",
        "recipe": "The id of the recipe to run",
        "params": "The values for that recipe's parameters",
        "outcomes": "The outcomes in order; default: the keys of 'on'",
        "session": "same: the run's conversation; fresh: a new one each visit; fork: a copy",
        "agent": "The agent that takes the step, or {{NAME}} of a parameter of type 'agent'",
        "needs": "What the agent has to be able to do, where the step does not show it",
        "model": "The agent's own word for a model",
        "tools": "What exists in the step: all, read-only, none, or tool names (then Podium's own "
        "too: save, ask, transition, report_outcome, notify)",
        "allow": "What the agent may use unasked; for the rest it asks",
        "permission_mode": "The agent's own word",
        "timeout_minutes": "The most minutes of one turn or command",
        "checks": "Commands that must succeed after an outcome, else it is 'checks-failed'",
        "gate": "A question to a person before the step starts",
        "commits": "The step commits, so the recipe wants a clean tree to start from",
        "irreversible": "Never repeated after a crash without asking",
        "on": "Where each outcome leads; a conversation without it is the last phase",
    },
    "edge": {
        "to": f"The next step, or '{RESTART}' to begin again in a fresh session",
        "exit": "Ends the run with this reason",
        "class": "What such an end means; needed where the reason is not a known one",
        "message": "The sentence that people see at such an end",
        "requires": "What the conversation must have saved before",
        "claims": "What it says of the working tree, which is looked at first; commit: there is a "
        "new commit, and nothing that the run changed is left over; clean: nothing is changed; "
        "default: what a known reason says, else 'clean' for a successful exit of a 'commits' step",
    },
    "check": {
        "run": "The command: a program and its arguments; exit status 0 is success",
        "timeout_seconds": "The most seconds it may take; default: 600",
    },
    "hook": {
        "event": "When the command runs: around a tool, or at the end of each turn",
        "match": "The tool it runs for; default: every tool",
        "run": "The command: a program and its arguments, or a built-in check such as "
        "podium:saved; exit status 2 refuses",
    },
}


_EDGES: Final[dict[Kind, str]] = {
    "talk": "talk-edge",
    "gate": "chosen-edge",
    "call": "chosen-edge",
}


def recipe_schema() -> dict[str, Any]:
    """Return the schema, ready to be written as JSON."""
    tables = {
        "params": _free_names(VARIABLE_SCHEMA, {"$ref": "#/$defs/param"}),
        "limits": {"$ref": "#/$defs/limits"},
        "context": _free_names(VARIABLE_SCHEMA, {}),
        "steps": {**_free_names(NAME_SCHEMA, {"$ref": "#/$defs/step"}), "minProperties": 1},
    }
    top = {"format": {"const": 1}, **_schemas(TOP_FIELDS), **tables, "id": NAME_SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Podium recipe",
        "description": "A state machine for coding agents",
        **_table("top", top, required=("format", "id", "initial", "steps")),
        "$defs": {
            "param": _param(),
            "limits": _limits(),
            "step": {"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in STEP_KEYS]},
            **{kind: _step(kind) for kind in STEP_KEYS},
            "edge": _edge("turn"),
            "chosen-edge": _edge("gate"),
            "talk-edge": _edge("talk"),
            "check": _table("check", _schemas(CHECK_FIELDS), required=("run",)),
            "hook": _table("hook", _schemas(HOOK_FIELDS), required=("event", "run")),
        },
    }


def _schemas(fields: Mapping[str, Expected]) -> dict[str, Any]:
    return {key: dict(expected.schema) for key, expected in fields.items()}


def _table(kind: str, properties: Mapping[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """Describe a table: these keys, each with its text, and no others."""
    return {
        "type": "object",
        "properties": {
            key: {"description": TEXTS[kind][key], **schema} for key, schema in properties.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }


def _free_names(names: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a table whose keys are names that the author chooses."""
    return {"type": "object", "propertyNames": dict(names), "additionalProperties": dict(values)}


def _param() -> dict[str, Any]:
    """Describe a parameter: its type decides what default and choices can be."""
    kinds = {
        "string": {"type": "string"},
        "integer": {"type": "integer"},
        "boolean": {"type": "boolean"},
        "choice": {"type": "string"},
        "path": STEP_FIELDS["prompt_file"].schema,
        "agent": {"type": "string"},
    }
    table = _table("param", {**_schemas(PARAM_FIELDS), "default": SCALAR.schema}, ("type",))
    table["properties"]["choices"]["minItems"] = 1
    chosen = {"required": ["choices"]}
    rules = [
        {
            "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
            "then": {
                "properties": {"default": dict(schema)},
                **(chosen if kind == "choice" else {"not": chosen}),
            },
        }
        for kind, schema in kinds.items()
    ]
    return {**table, "dependentRequired": {"needed": ["default"]}, "allOf": rules}


def _limits() -> dict[str, Any]:
    table = _table("limits", _schemas(LIMIT_FIELDS), ())
    for key in ("max_retries", "max_restarts", "on_limit"):
        table["properties"][key]["default"] = getattr(Limits(), key)
    return table


def _step(kind: Kind) -> dict[str, Any]:
    """Describe one kind of step: its keys, and exactly one of those that make it this kind."""
    edge = {"$ref": f"#/$defs/{_EDGES.get(kind, 'edge')}"}
    tables = {
        "on": {**_free_names(NAME_SCHEMA, edge), "minProperties": 1},
        "checks": {"type": "array", "items": {"$ref": "#/$defs/check"}},
        "hooks": {"type": "array", "items": {"$ref": "#/$defs/hook"}},
        "params": _free_names({}, SCALAR.schema),
    }
    every = {**_schemas(STEP_FIELDS), **tables}
    marks = [mark for mark, its in MARKS.items() if its == kind]
    required = () if kind == "talk" else ("on",)  # the last phase of a conversation leads nowhere
    return {
        "description": _TITLE[kind],
        **_table("step", {key: every[key] for key in STEP_KEYS[kind]}, required),
        "oneOf": [{"required": [mark]} for mark in marks],
    }


def _edge(kind: Kind) -> dict[str, Any]:
    """Describe an edge: on to a step, or out with a reason whose meaning is known."""
    every = {**_schemas(EDGE_FIELDS), "exit": {**NAME_SCHEMA, "not": {"enum": sorted(RESERVED)}}}
    known = {"properties": {"exit": {"enum": sorted(KNOWN - RESERVED)}}}
    onward = {"required": ["to"]}
    outward = [{"required": [key]} for key in ("exit", "class", "message")]
    return {
        **_table("edge", {key: every[key] for key in edge_keys(kind)}, ()),
        "oneOf": [
            {**onward, "not": {"anyOf": outward}},
            {"required": ["exit"], "not": onward, "anyOf": [known, {"required": ["class"]}]},
        ],
    }
