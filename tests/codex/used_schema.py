"""The used part of the schema that the pinned Codex writes of its protocol.

``python -m tests.codex.used_schema`` writes it anew, where what is used has changed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from podiumd.formats.codex import calls, drift, wire
from tests.e2e.install_codex import install

FILE = Path(drift.__file__).with_name("used.json")
KEPT = {"type", "enum", "properties", "required", "items", "$ref", "anyOf", "oneOf", "allOf"}
ALTERNATIVES = ("anyOf", "oneOf", "allOf")


def written(binary: Path) -> dict[str, Any]:
    """Return the whole schema that a Codex writes of itself."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [str(binary), "app-server", "generate-json-schema", "--experimental", "--out", folder],
            env={"PATH": "/usr/bin:/bin", "HOME": folder},
            check=True,
            capture_output=True,
        )
        text = Path(folder, "codex_app_server_protocol.schemas.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def used(theirs: dict[str, Any]) -> dict[str, Any]:
    """Return what Podium uses of these definitions, in the sections of ``used.json``."""
    names = {*calls.TAKEN, *calls.CHOSEN, *wire.GIVEN}
    sent = {name: trimmed(theirs[name], kept, names) for name, kept in calls.TAKEN.items()}
    chosen = {name: picked(theirs[name], kept, names) for name, kept in calls.CHOSEN.items()}
    received = {}
    for name, shape in wire.GIVEN.items():
        kept = tuple(field.encode_name for field in msgspec.structs.fields(shape))
        one = picked(theirs[name], wire.ITEMS, names) if name == "ThreadItem" else theirs[name]
        received[name] = trimmed(one, kept, names)
    return {drift.SENT: dict(sorted((sent | chosen).items())), drift.RECEIVED: received}


def trimmed(schema: Any, kept: Collection[str] | None, names: Collection[str]) -> Any:
    """Keep of a schema what says which values there are, and of its properties those."""
    if not isinstance(schema, dict):
        return {}
    if "$ref" in schema and schema["$ref"].rpartition("/")[2] not in names:
        return {}
    found = {key: value for key, value in schema.items() if key in KEPT}
    for key in ALTERNATIVES:
        if key in found:
            found[key] = [trimmed(one, kept, names) for one in found[key]]
    if "properties" in found:
        found["properties"] = {
            name: trimmed(one, None, names)
            for name, one in found["properties"].items()
            if kept is None or name in kept or name == "type"
        }
        found["required"] = [n for n in found.get("required", ()) if n in found["properties"]]
    if "items" in found:
        found["items"] = trimmed(found["items"], None, names)
    return found


def picked(schema: dict[str, Any], kept: Collection[str], names: Collection[str]) -> dict[str, Any]:
    """Keep those alternatives: words, or objects by their ``type``."""
    found = []
    for one in drift.alternatives(schema):
        words = one.get("enum") or one.get("properties", {}).get("type", {}).get("enum", ())
        if chosen := [word for word in words if word in kept]:
            kept_words = {"enum": chosen} if "enum" in one else {}
            found.append(trimmed({**one, **kept_words}, None, names))
    return {"oneOf": found}


if __name__ == "__main__":
    whole = used(drift.definitions_of(written(install())))
    FILE.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")
