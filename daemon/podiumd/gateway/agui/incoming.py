"""Input of an AG-UI client: one ``RunAgentInput``, made out field by field. Pure.

Fields that we do not know are passed over, as the protocol wants it; so is what an agent of ours
has no use for (``tools``, ``context``, pictures beside a text), and the person gets a notice.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from podiumd.gateway.fields import Id, Place, check_size
from podiumd.gateway.routes.body import decoded, made_out
from podiumd.runtime.errors import InvalidParameter
from podiumd.wording import shown

Json = dict[str, Any]

MOST_RESUMED: Final = 100

Name = Annotated[
    str,
    Meta(
        pattern=r"\A[^\0-\x1f\x7f]{1,256}\Z",
        description="a text of 1 to 256 characters, without control characters",
    ),
]
_Objects = list[dict[str, Any]]


class Props(msgspec.Struct, frozen=True):
    """``forwardedProps``, as far as they are for Podium: how a thread begins."""

    recipe: Id | None = None
    params: dict[str, Any] = {}
    working_directory: Place | None = None
    agent: Id | None = None
    session_id: Id | None = None


class Resumed(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of ``resume``: what a person says to an interrupt. ``where`` names it."""

    interrupt_id: Name
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class Message(msgspec.Struct, frozen=True):
    """The person's last message in the thread."""

    id: str
    text: str


class RunInput(msgspec.Struct, frozen=True):
    """``RunAgentInput``. ``message``: the person's words in it, if there are any. ``unused`` names
    what is in it and does nothing."""

    thread_id: str
    run_id: str
    props: Props
    message: Message | None = None
    resume: tuple[Resumed, ...] = ()
    unused: tuple[str, ...] = ()


class _Body(msgspec.Struct, frozen=True, rename="camel"):
    thread_id: Name
    run_id: Name
    messages: _Objects
    forwarded_props: Any = None
    resume: Annotated[_Objects, Meta(max_length=MOST_RESUMED)] | None = None
    tools: list[Any] | None = None
    context: list[Any] | None = None


class _UserMessage(msgspec.Struct, frozen=True):
    id: Name
    content: str | _Objects


def run_input(raw: bytes) -> RunInput:
    """Parse the body of a request.

    Raises:
        Problem: 400, it is no JSON object.
        InvalidParameter: a field is missing, or not what it has to be.
    """
    body = decoded(raw, _Body, tolerant=True)
    unused = [name for name in ("tools", "context") if getattr(body, name)]
    message, parts = _last_said(body.messages)
    props = body.forwarded_props if isinstance(body.forwarded_props, dict) else {}
    return RunInput(
        thread_id=body.thread_id,
        run_id=body.run_id,
        props=made_out(props, Props, tolerant=True, where="forwardedProps."),
        message=message,
        resume=_resumed(body.resume or []),
        unused=(*unused, *parts),
    )


def _resumed(entries: _Objects) -> tuple[Resumed, ...]:
    found = [
        made_out(entry, Resumed, tolerant=True, where=f"resume[{number}].")
        for number, entry in enumerate(entries)
    ]
    if len({entry.interrupt_id for entry in found}) < len(found):
        words = "'resume': an interrupt has more than one answer in it; one is expected."
        raise InvalidParameter("resume", words)
    return tuple(found)


def _last_said(messages: _Objects) -> tuple[Message | None, list[str]]:
    """Return the user's last message, unless an agent has spoken after it; and what of it is no
    text."""
    for number in reversed(range(len(messages))):
        role = messages[number].get("role")
        if not isinstance(role, str):
            words = f"'messages[{number}].role': expected a string, got {shown(role)}."
            raise InvalidParameter(f"messages[{number}].role", words)
        if role == "user":
            return _said(messages[number], f"messages[{number}].")
        if role in ("assistant", "tool"):
            break
    return None, []


def _said(message: Json, where: str) -> tuple[Message, list[str]]:
    made = made_out(message, _UserMessage, tolerant=True, where=where)
    text, others = _text_of(made.content, f"{where}content")
    if not text.strip():
        held = f"nothing but {', '.join(others)}" if others else "no words"
        words = f"'{where}content': expected a text, got {held}."
        raise InvalidParameter(f"{where}content", words)
    if "\0" in text:
        words = f"'{where}content': expected a text without NUL."
        raise InvalidParameter(f"{where}content", words)
    try:
        check_size(text)
    except InvalidParameter as refusal:
        raise InvalidParameter(f"{where}content", refusal.message) from None
    return Message(made.id, text), others


def _text_of(content: str | _Objects, where: str) -> tuple[str, list[str]]:
    """Return the text in the parts of a message, and the types of the other parts."""
    if isinstance(content, str):
        return content, []
    texts, others = [], []
    for number, part in enumerate(content):
        kind = part.get("type")
        if kind != "text":
            others.append(f"{kind[:40]} part" if isinstance(kind, str) else "unknown part")
            continue
        text = part.get("text")
        if not isinstance(text, str):
            words = f"'{where}[{number}].text': expected a string, got {shown(text)}."
            raise InvalidParameter(f"{where}[{number}].text", words)
        texts.append(text)
    return "\n".join(texts), sorted(set(others))
