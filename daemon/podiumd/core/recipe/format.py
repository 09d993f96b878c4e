"""The keys of the recipe format, table by table: what the loader reads and the schema publishes."""

from __future__ import annotations

from typing import Final

from podiumd.core.recipe.fields import (
    ANY_TEXT,
    ARGV,
    COUNT,
    FLAG,
    NAMES,
    NUMBER,
    TEXT,
    TEXTS,
    TOOLS,
    TRUE,
    Expected,
    one_of,
    some_of,
)
from podiumd.core.recipe.model import Kind

#: What a recipe may say that its agents have to be able to do: capabilities, by their names.
NEEDS: Final = (
    "approvals",
    "cost",
    "exactly_once",
    "fork",
    "hooks",
    "interrupt",
    "own_tools",
    "read_only_tools",
    "resume",
    "steer",
    "structured_output",
    "survives_daemon",
    "system_text",
    "tool_lists",
)
_NEEDS: Final = some_of(*NEEDS)

#: The top of the file; ``params``, ``limits``, ``context`` and ``steps`` are tables.
TOP_FIELDS: Final[dict[str, Expected]] = {
    "id": TEXT,
    "label": TEXT,
    "description": ANY_TEXT,
    "initial": TEXT,
    "needs": _NEEDS,
}
TOP_KEYS: Final = ("format", *TOP_FIELDS, "params", "limits", "context", "steps")

#: A parameter; what its ``default`` can be depends on its type.
PARAM_FIELDS: Final[dict[str, Expected]] = {
    "type": one_of("string", "integer", "boolean", "choice", "path", "agent"),
    "choices": TEXTS,
    "description": ANY_TEXT,
    "needed": one_of("new-session"),
}
PARAM_KEYS: Final = (*PARAM_FIELDS, "default")

LIMIT_FIELDS: Final[dict[str, Expected]] = {
    "max_step_visits": COUNT,
    "max_total_steps": COUNT,
    "max_minutes": NUMBER,
    "max_cost_usd": NUMBER,
    "max_retries": COUNT,
    "max_restarts": COUNT,
    "on_limit": one_of("exit", "ask"),
}

#: Types of single values in a step; ``on``, ``checks``, ``hooks`` and ``params`` are tables.
STEP_FIELDS: Final[dict[str, Expected]] = {
    "prompt": TEXT,
    "prompt_file": TEXT,
    "talk": TRUE,
    "system": TEXT,
    "opening": TEXT,
    "auto": FLAG,
    "run": ARGV,
    "shell": TEXT,
    "ask": TEXT,
    "choices": NAMES,
    "recipe": TEXT,
    "outcomes": NAMES,
    "session": one_of("same", "fresh", "fork"),
    "agent": TEXT,
    "needs": _NEEDS,
    "model": TEXT,
    "tools": TOOLS,
    "allow": TEXTS,
    "permission_mode": TEXT,
    "timeout_minutes": NUMBER,
    "gate": TEXT,
    "commits": FLAG,
    "irreversible": FLAG,
}
_COMMON: Final = ("on", "gate", "commits", "irreversible")
_AGENT: Final = ("session", "agent", "needs", "model", "tools", "allow", "permission_mode")
STEP_KEYS: Final[dict[Kind, tuple[str, ...]]] = {
    "turn": (
        *("prompt", "prompt_file", "outcomes", "checks", "timeout_minutes"),
        *_COMMON,
        *_AGENT,
    ),
    "talk": ("talk", "system", "opening", "auto", "hooks", "timeout_minutes", *_COMMON, *_AGENT),
    "command": ("run", "shell", "timeout_minutes", *_COMMON),
    "gate": ("ask", "choices", "on"),
    "call": ("recipe", "params", "outcomes", *_COMMON),
}
#: The key that makes a step what it is; a step has exactly one of them.
MARKS: Final[dict[str, Kind]] = {
    "prompt": "turn",
    "prompt_file": "turn",
    "talk": "talk",
    "run": "command",
    "shell": "command",
    "ask": "gate",
    "recipe": "call",
}

EDGE_FIELDS: Final[dict[str, Expected]] = {
    "to": TEXT,
    "exit": TEXT,
    "class": one_of("completed", "needs-user", "blocked", "error"),
    "message": TEXT,
    "requires": TEXTS,
    "claims": one_of("commit", "clean", "none"),
}
CHECK_FIELDS: Final[dict[str, Expected]] = {"run": ARGV, "timeout_seconds": NUMBER}
HOOK_FIELDS: Final[dict[str, Expected]] = {
    "event": one_of("before-tool", "after-tool", "turn-end"),
    "match": TEXT,
    "run": ARGV,
}


def edge_keys(kind: Kind) -> tuple[str, ...]:
    """Return the keys of an edge: only a conversation can be asked to save something first, and
    what a person chooses, or a called recipe ends with, claims nothing itself."""
    never = {"requires"} if kind != "talk" else set()
    never |= {"claims"} if kind in ("gate", "call") else set()
    return tuple(key for key in EDGE_FIELDS if key not in never)
