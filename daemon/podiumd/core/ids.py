"""Identifiers that follow from what they name, so that a replay names the same things the same.

Two prompts never share a uuid: an agent silently drops a prompt whose uuid it has seen with
another text.
"""

from __future__ import annotations

import uuid

_NAMESPACE = uuid.UUID("5d0b5a1e-3f0c-5c53-9a34-6d1f3a9f0c11")


def derive(run_id: str, *parts: str | int) -> str:
    """Derive the identifier of a part of a run.

    ``parts`` are, in order and as far as they apply: restart, step, visit, kind, number.
    """
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join([run_id, *map(str, parts)])))
