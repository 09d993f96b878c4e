"""``POST /v1/prompt`` as a form: the fields of the JSON as text, and a recording of the words."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from podiumd.core.recipe.model import Recipe
from podiumd.gateway.http.exchange import Problem
from podiumd.gateway.http.form import File, Form
from podiumd.gateway.routes.voice import Recordings, language_of
from podiumd.runtime.errors import InvalidParameter

MOST_KNOWN: Final = 256
_NUMBER: Final = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")
_SWITCHES: Final = {"true": True, "false": False}


def fields_of(form: Form) -> dict[str, Any]:
    """Return the fields as the JSON of a prompt would have them. Raises ``InvalidParameter``."""
    fields: dict[str, Any] = {n: text for n, text in form.fields.items() if n != "language"}
    wait = fields.get("wait")
    if wait in _SWITCHES:
        fields["wait"] = _SWITCHES[wait]
    elif wait and _NUMBER.fullmatch(wait):
        fields["wait"] = float(wait)
    if fields.get("params"):
        try:
            fields["params"] = msgspec.json.decode(fields["params"])
        except (msgspec.DecodeError, RecursionError):
            words = "'params': expected an object in JSON."
            raise InvalidParameter("params", words) from None
    return fields


def texts_left(recipe: Recipe, given: Mapping[str, Any]) -> list[str]:
    """Return the parameters of text that a recipe has and that are not given."""
    return [n for n, param in recipe.params.items() if param.type == "string" and n not in given]


class Spoken:
    """The words of recordings; those that came under a token are the same when they come again."""

    def __init__(self, recordings: Recordings) -> None:
        self.recordings = recordings
        self._known: OrderedDict[str, tuple[bytes, str]] = OrderedDict()

    def knows(self, token: str) -> bool:
        """Return whether a recording came under this token, of the last ``MOST_KNOWN`` of this
        daemon."""
        return token in self._known

    async def words(
        self, form: Form, file: File, device: str, session_id: str | None, token: str | None
    ) -> str:
        """Return the words of a form's recording.

        Raises:
            Problem: it cannot be read, or there are no words in it (422).
            InvalidParameter: the token came with another recording before.
        """
        digest = hashlib.sha256(file.data).digest()
        if token is not None and token in self._known:
            before, text = self._known[token]
            if before != digest:
                raise InvalidParameter("client_token", "It came with another recording before.")
            return text
        heard = await self.recordings.text_of(file, device, language_of(form), session_id)
        if heard.no_speech:
            words = "Nothing is said in the recording."
            raise Problem(422, detail=words, parameter="file", code="no_speech")
        if token is not None:
            self._known[token] = (digest, heard.text)
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return heard.text
