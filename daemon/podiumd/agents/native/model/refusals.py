"""The meaning of a server's refusal, in words on what to do; the same for both protocols."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from podiumd.agents.native.model.base import Kind, ModelError
from podiumd.agents.native.model.endpoint import Endpoint
from podiumd.agents.native.model.retry import retry_after, worth_another
from podiumd.observe.redaction import HIDDEN, escape, snippet

_LONGEST_WORDS: Final = 300
_TOO_LONG: Final = re.compile(
    r"prompt is too long|maximum context length|context.{0,12}(?:length|window|size|limit)"
    r"|context_length_exceeded|exceed_context_size|too many (?:input )?tokens|input is too long"
    r"|request_too_large|context the overflows",
    re.IGNORECASE,
)
_WINDOW: Final = re.compile(
    r"(?:maximum context length is|context length is only|> |context size \(|n_ctx[\"' :=]{1,4})"
    r"\s*([0-9]{3,9})",
    re.IGNORECASE,
)
# A model, not a path such as /v1/models.
_OF_A_MODEL: Final = re.compile(r"(?<![\w/.])model(?![a-z])", re.IGNORECASE)
_NO_CREDIT: Final = re.compile(r"insufficient_quota|credit balance|payment required", re.IGNORECASE)
# Types of error events within a stream, and the status they would have had by themselves.
_STATUS_OF: Final = {
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class _Said(NamedTuple):
    """The message of the server: ``words`` for people, ``all`` of it for recognising."""

    words: str
    all: str
    type: str


def refused(
    endpoint: Endpoint, model: str, status: int, headers: Mapping[str, str], body: bytes
) -> ModelError:
    """Build the error for an answer that is no success."""
    return _error(endpoint, model, status, headers, _said(endpoint, _loaded(body)))


def broke_off(endpoint: Endpoint, model: str, error: Any) -> ModelError:
    """Build the error for one that the server reports in the middle of a reply."""
    said = _said(endpoint, {"error": error})
    code = error.get("code") if isinstance(error, Mapping) else None
    own = code if isinstance(code, int) and 400 <= code < 600 else 500
    return _error(endpoint, model, _STATUS_OF.get(said.type, own), {}, said)


def _error(
    endpoint: Endpoint, model: str, status: int, headers: Mapping[str, str], said: _Said
) -> ModelError:
    kind, sentence = _judged(endpoint, model, status, said)
    return ModelError(
        kind,
        sentence,
        status=status,
        retry_after=retry_after(headers),
        window=_window(said) if kind == "context" else None,
        again=kind in ("rate", "overloaded") and worth_another(status, headers),
    )


def clean(endpoint: Endpoint, text: str) -> str:
    """Clean a server's text for people and logs: short, one line, without keys."""
    if endpoint.key:
        text = text.replace(endpoint.key, HIDDEN)
    return escape(snippet(" ".join(text.split()), _LONGEST_WORDS))


def _loaded(body: bytes) -> Any:
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # A page of a proxy: its markup means nothing.
        return {"message": "" if text.lstrip().startswith("<") else text}


def _said(endpoint: Endpoint, answer: Any) -> _Said:
    whole = answer if isinstance(answer, Mapping) else {"message": str(answer)}
    error = whole.get("error", whole)
    if not isinstance(error, Mapping):
        error = {"message": error}
    words = error.get("message") or error.get("detail") or whole.get("message") or ""
    found = " ".join(str(error.get(name, "")) for name in ("message", "type", "code", "n_ctx"))
    if "n_ctx" in error:
        found += f" n_ctx: {error['n_ctx']}"
    return _Said(clean(endpoint, str(words)[:4096]), found[:4096], str(error.get("type", "")))


def _window(said: _Said) -> int | None:
    found = _WINDOW.search(said.all)
    return int(found[1]) if found else None


def _judged(endpoint: Endpoint, model: str, status: int, said: _Said) -> tuple[Kind, str]:
    """Return the kind of a refusal and its sentence."""
    host, words = endpoint.host, f": {said.words}" if said.words else ""
    if 300 <= status < 400:
        return "refused", (
            f"{host} sends us elsewhere ({status}) and podium does not follow;"
            f" set {endpoint.url_name} to where it is now"
        )
    if status in (401, 403):
        return "auth", _no_entry(endpoint, status, words)
    if status == 402 or _NO_CREDIT.search(said.all):
        return "refused", f"the account at {host} has no credit left ({status}){words}"
    if status == 413 or (status != 429 and _TOO_LONG.search(said.all)):
        return "context", f"the conversation is too long for the model '{model}'{words}"
    if status == 404:
        return "refused", _not_there(endpoint, model, words)
    if status == 429:
        return "rate", f"{host} limits how much may be asked ({status}){words}"
    if status == 529 or said.type == "overloaded_error":
        return "overloaded", f"{host} is overloaded ({status}){words}"
    if status >= 500 or status in (408, 409, 425):
        return "overloaded", f"{host} failed ({status}){words}"
    return "refused", f"{host} refused the request ({status}){words}"


def _no_entry(endpoint: Endpoint, status: int, words: str) -> str:
    host, name = endpoint.host, endpoint.key_name
    if not endpoint.key:
        return (
            f"{host} wants a key ({status}){words}; set {name} in the daemon's environment, or"
            f" name another variable by api_key_env in {endpoint.table}, and start the daemon anew"
        )
    return (
        f"{host} does not accept the key in {name} ({status}){words}; put a valid one there in"
        " the daemon's environment and start the daemon anew"
    )


def _not_there(endpoint: Endpoint, model: str, words: str) -> str:
    named = model and re.search(rf"(?<!\w){re.escape(model)}(?!\w)", words)
    if model and (named or _OF_A_MODEL.search(words)):
        return (
            f"{endpoint.host} does not offer the model '{model}' (404){words}; set model in"
            f" {endpoint.table} to one that it has"
        )
    if endpoint.own:
        return (
            f"there is no such API at {endpoint.url} (404){words}; check model and provider in"
            f" {endpoint.table}"
        )
    return (
        f"{endpoint.url_name} does not lead to a model's API: there is none at {endpoint.url}"
        f" (404){words}; check its path, and provider in {endpoint.table}"
    )
