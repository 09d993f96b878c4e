"""A stream of AG-UI, judged by the published models and the order that the protocol demands."""

from __future__ import annotations

from typing import Any, Final

from ag_ui.core import PROTOCOL_VERSION, Event, RunStartedEvent
from pydantic import BaseModel, TypeAdapter

from tests.plain import plain

Json = dict[str, Any]

_ADAPTER: Final[TypeAdapter[Any]] = TypeAdapter(Event)
_TERMINAL: Final = ("RUN_FINISHED", "RUN_ERROR")
_FAMILIES: Final = {
    "TEXT_MESSAGE_START": ("text", "open", "messageId"),
    "TEXT_MESSAGE_CONTENT": ("text", "content", "messageId"),
    "TEXT_MESSAGE_END": ("text", "close", "messageId"),
    "REASONING_START": ("span", "open", "messageId"),
    "REASONING_END": ("span", "close", "messageId"),
    "REASONING_MESSAGE_START": ("thought", "open", "messageId"),
    "REASONING_MESSAGE_CONTENT": ("thought", "content", "messageId"),
    "REASONING_MESSAGE_END": ("thought", "close", "messageId"),
    "TOOL_CALL_START": ("call", "open", "toolCallId"),
    "TOOL_CALL_ARGS": ("call", "content", "toolCallId"),
    "TOOL_CALL_END": ("call", "close", "toolCallId"),
    "STEP_STARTED": ("step", "open", "stepName"),
    "STEP_FINISHED": ("step", "close", "stepName"),
}


def frames(body: bytes) -> list[Json]:
    """The events of a body of server-sent events; comments are passed over."""
    assert b"\r" not in body and body.endswith(b"\n\n")
    found = []
    for block in body.decode().split("\n\n")[:-1]:
        if block.startswith(":"):
            continue
        line = block.removeprefix("data: ")
        assert line != block and "\n" not in line, block
        found.append(TypeAdapter(Json).validate_json(line))
    return found


def checked(events: list[Json], *, whole: bool = True) -> list[Json]:
    """The events, all of them valid and in order; ``whole``: up to the run's end."""
    events = plain(events)
    for event in events:
        _valid(event)
    assert events[0]["type"] == "RUN_STARTED"
    ends = [number for number, event in enumerate(events) if event["type"] in _TERMINAL]
    assert ends == ([len(events) - 1] if whole else [])
    assert sum(event["type"] == "RUN_STARTED" for event in events) == 1
    _in_order(events)
    return events


def _valid(event: Json) -> None:
    model = _ADAPTER.validate_python(event)
    _nothing_unknown(model)
    told = model.model_dump(mode="json", by_alias=True)
    assert told == event, "what the models would send is just what was sent"
    assert None not in event.values()
    if isinstance(model, RunStartedEvent):
        assert model.protocol_version == PROTOCOL_VERSION


def _nothing_unknown(model: BaseModel) -> None:
    """The models take what they do not know; we send none of it."""
    assert not model.model_extra, (model, model.model_extra)
    for name in type(model).model_fields:
        value = getattr(model, name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, BaseModel):
                _nothing_unknown(each)


def _in_order(events: list[Json]) -> None:
    is_open: dict[tuple[str, str], bool] = {}
    answered: set[str] = set()
    for event in events:
        family, does, key = _FAMILIES.get(event["type"], ("", "", ""))
        if family:
            item = (family, event[key])
            assert is_open.get(item, False) is (does != "open"), event
            if family in ("text", "thought") and does == "content":
                assert event["delta"], "no piece is empty"
            if family != "step" and does == "open":
                assert item not in is_open, "no message or call is opened twice"
            is_open[item] = does != "close"
        elif event["type"] == "TOOL_CALL_RESULT":
            assert is_open[("call", event["toolCallId"])] is False
            assert event["toolCallId"] not in answered
            answered.add(event["toolCallId"])
    if events[-1]["type"] in _TERMINAL:
        assert not [item for item, still in is_open.items() if still]
        calls = {name for family, name in is_open if family == "call"}
        assert calls == answered, "a call without a result is one that the client has to make"


def text_of(events: list[Json]) -> str:
    """All that the agent said."""
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def types(events: list[Json]) -> list[str]:
    return [event["type"] for event in events]


def custom(events: list[Json], name: str) -> list[Json]:
    """The values of our own events of one name."""
    return [e["value"] for e in events if e["type"] == "CUSTOM" and e["name"] == name]
