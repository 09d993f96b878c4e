"""Drift of Codex's protocol: the definitions that we use, against those of another version. Pure.

Codex writes the JSON schema of its protocol itself. Of the version that Podium is tried with, the
part that is used lies beside this file (``used.json``): a section of what we send, one of what we
receive, each of definitions by name. Another version may add whatever it likes; what it must not do
is take less of what we send, or no longer give what we read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

Definitions = Mapping[str, Any]

SENT: Final = "sent"
RECEIVED: Final = "received"

_NEWER: Final = "v2"
"""The name under which a written schema nests the definitions of its newer half."""

_REFERENCE: Final = "$ref"
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf")


def definitions_of(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definitions of a written schema by name, those of its newer half before others."""
    outer = _object(written.get("definitions"))
    return {**outer, **_object(outer.get(_NEWER))}


def lacking(used: Mapping[str, Definitions], theirs: Definitions) -> tuple[str, ...]:
    """List the names of the used definitions that another version lacks or has narrowed.

    Args:
        used: ours, in the sections ``SENT`` and ``RECEIVED``. Of an empty schema nothing is used.
        theirs: all those of the other version.
    """
    return tuple(
        name
        for section in (SENT, RECEIVED)
        for name, ours in used[section].items()
        if name not in theirs or not _covers(ours, theirs[name], sent=section == SENT)
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _covers(ours: Any, theirs: Any, *, sent: bool) -> bool:
    """Return whether each value that ours describes is one that theirs describes too."""
    others = list(alternatives(theirs))
    return all(any(_fits(one, other, sent=sent) for other in others) for one in alternatives(ours))


def alternatives(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the alternatives of a schema, each whole; of a list of types each is one."""
    schema = _object(schema)
    nested = [one for key in _ALTERNATIVES for one in schema.get(key, ())]
    if nested:
        outer = {key: value for key, value in schema.items() if key not in _ALTERNATIVES}
        for one in nested:
            yield from (_joined(outer, inner) for inner in alternatives(one))
    elif isinstance(schema.get("type"), list):
        yield from ({**schema, "type": one} for one in schema["type"])
    else:
        yield schema


def _joined(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """Add to an alternative what stands beside all of them."""
    both = {**outer, **inner}
    if "properties" in outer:
        both["properties"] = {**outer["properties"], **_object(inner.get("properties"))}
    if "required" in outer:
        both["required"] = [*outer["required"], *inner.get("required", ())]
    return both


def _fits(ours: dict[str, Any], theirs: dict[str, Any], *, sent: bool) -> bool:
    if not ours or not theirs:
        return True
    if _REFERENCE in ours or _REFERENCE in theirs:
        # What it refers to is a definition, and compared under its own name if it is used.
        return _last(ours) == _last(theirs)
    if "type" in theirs and ours.get("type") != theirs["type"]:
        return False
    if "enum" in theirs and not {*ours.get("enum", (None,))} <= {*theirs["enum"]}:
        return False
    return _fits_inside(ours, theirs, sent=sent)


def _fits_inside(ours: dict[str, Any], theirs: dict[str, Any], *, sent: bool) -> bool:
    """Compare properties and items; what theirs demands beyond ours counts where we send it."""
    wanted, known = _object(ours.get("properties")), _object(theirs.get("properties"))
    if not all(n in known and _covers(one, known[n], sent=sent) for n, one in wanted.items()):
        return False
    if sent and not {*theirs.get("required", ())} <= {*ours.get("required", ())}:
        return False
    return _covers(ours.get("items"), theirs.get("items"), sent=sent)


def _last(schema: dict[str, Any]) -> str:
    """Return the name that a reference ends with; that of the half it is in may change."""
    return str(schema.get(_REFERENCE, "")).rpartition("/")[2]
