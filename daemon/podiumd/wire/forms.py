"""Printed forms of the protocol: its document, or the types of a language."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Literal

from podiumd.wire.document import document
from podiumd.wire.fields import JsonObject
from podiumd.wire.typed_dicts import typed_dicts
from podiumd.wire.typescript import typescript

Form = Literal["openrpc", "typescript", "python"]

INDENT: Final = 2


def printed(form: Form) -> str:
    """Return the protocol in a form."""
    return _FORMS[form](document())


def _openrpc(document: JsonObject) -> str:
    return json.dumps(document, indent=INDENT, ensure_ascii=False) + "\n"


_FORMS: Final[dict[Form, Callable[[JsonObject], str]]] = {
    "openrpc": _openrpc,
    "typescript": typescript,
    "python": typed_dicts,
}
