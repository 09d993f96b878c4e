"""What the Swift app (iPhone and Mac) needs to find in each message of a server."""

from __future__ import annotations

from collections.abc import Callable

from tests.phone_app.fields import (
    BOOL,
    FRAME_DROPPED,
    INT,
    LIST,
    MISREAD,
    NUMBER,
    ROW_DROPPED,
    Fault,
    Field,
    Json,
    Unusable,
    has_fraction,
    is_kind,
    is_time,
    is_uuid,
    is_whole,
    optional,
    require,
    shown,
)

SESSION = Field("session_id")

# type -> the fields without which the app drops the frame. Types that are not here are ignored.
FRAMES: dict[str, tuple[Field, ...]] = {
    "hello": (optional("auth_version", INT),),
    "connected": (),
    "connect_ack": (),
    "auth_error": (),
    "pong": (),
    "error": (Field("message"), optional("code"), optional("session_id")),
    "ack": (optional("message"),),
    "session_list": (Field("sessions", LIST),),
    "recent_sessions": (Field("sessions", LIST),),
    "session_created": (SESSION,),
    "session_ready": (SESSION,),
    "session_history": (),  # histories decodes it
    "turn_complete": (SESSION, optional("aborted", BOOL)),
    "response": (optional("ios_session_id"), optional("text"), optional("success", BOOL)),
    "replay": (Field("message_id"), Field("message", "object")),
    "session_killed": (),
    "compaction_complete": (),
    "compaction_error": (Field("error"),),
    "session_name_inferred": (SESSION, Field("name")),
    "infer_name_error": (Field("error"),),
    "worktree_session_created": (Field("success", BOOL), SESSION),
    "worktree_session_error": (Field("error"),),
    "available_commands": (
        optional("working_directory"),
        Field("project_commands", LIST),
        Field("general_commands", LIST),
    ),
    "command_started": (
        Field("command_session_id"),
        Field("command_id"),
        Field("shell_command"),
    ),
    "command_output": (Field("command_session_id"), Field("stream"), Field("text")),
    "command_complete": (
        Field("command_session_id"),
        Field("exit_code", INT),
        Field("duration_ms", INT),
    ),
    "command_error": (Field("command_id"), Field("error")),
    "command_history": (Field("sessions", LIST), Field("limit", INT)),
    "command_output_full": (
        Field("command_session_id"),
        Field("output"),
        Field("exit_code", INT),
        Field("timestamp"),
        Field("duration_ms", INT),
        Field("command_id"),
        Field("shell_command"),
        Field("working_directory"),
    ),
    "file_uploaded": (Field("filename"), optional("path"), optional("timestamp")),
    "resources_list": (Field("resources", LIST), optional("storage_location")),
    "resource_deleted": (Field("filename"), optional("path")),
    "available_recipes": (Field("recipes", LIST),),
    "recipe_started": (
        Field("session_id", filled=True),
        Field("recipe_id", filled=True),
        Field("recipe_label", filled=True),
        Field("current_step", filled=True),
        Field("step_count", INT, filled=True),
    ),
    "recipe_exited": (SESSION, optional("reason"), optional("error")),
}

_RECENT = (SESSION, Field("name"), Field("working_directory"), Field("last_modified"))
_HISTORY_ROW = (
    Field("command_session_id"),
    Field("command_id"),
    Field("shell_command"),
    Field("working_directory"),
    Field("timestamp"),
    optional("exit_code", INT),
    optional("duration_ms", INT),
    Field("output_preview"),
)
_OLDEST_MS = 100_000_000_000
"""A number below it was meant as seconds: the app would show a day of 1970 to 1973."""


def decode(frame: Json, faults: list[Fault]) -> Json | None:
    """What the app keeps of a frame: bad rows left out; ``None`` where it drops the whole.

    ``type`` is known to ``FRAMES``. Everything dropped or misread is added to ``faults``.
    """
    kind = frame["type"]
    try:
        require(frame, FRAMES[kind])
        reader = _INNER.get(kind)
        return frame if reader is None else reader(frame, faults)
    except Unusable as bad:
        faults.append(Fault(kind, bad.field, bad.reason, FRAME_DROPPED))
        return None


def _list(frame: Json, faults: list[Fault]) -> Json:
    rows = []
    for at, row in enumerate(frame["sessions"]):
        try:
            rows.append(_listed(row, frame["type"], faults, f"sessions[{at}]"))
        except Unusable as bad:
            faults.append(Fault(frame["type"], bad.field, bad.reason, ROW_DROPPED))
    return frame | {"sessions": rows}


def _created(frame: Json, faults: list[Fault]) -> Json:
    return _listed(frame, frame["type"], faults, "")


def _listed(row: object, kind: str, faults: list[Fault], where: str) -> Json:
    """A row of ``session_list``; what is only ignored becomes a fault, and the row stays."""
    read = require(row, (SESSION,), where)
    prefix = f"{where}." if where else ""
    if not is_uuid(read["session_id"]):
        raise Unusable(f"{prefix}session_id", f"is {shown(read['session_id'])}, no UUID")

    def wrong(name: str, reason: str) -> None:
        faults.append(Fault(kind, f"{prefix}{name}", reason, MISREAD))

    for field in (Field("last_modified", NUMBER), Field("message_count", INT), *_NAMED):
        try:
            require(read, (field,), where)
        except Unusable as bad:
            wrong(field.name, f"{bad.reason}; {_INSTEAD[field.name]}")
    stamp = read.get("last_modified")
    if is_kind(stamp, NUMBER) and 0 < read["last_modified"] < _OLDEST_MS:
        wrong("last_modified", f"is {shown(stamp)}, read as milliseconds that is 1970")
    return read


_NAMED = (Field("name"), Field("working_directory"))
_INSTEAD = {
    "last_modified": "the app takes the present time",
    "message_count": "the app takes the session for a new one and would send new_session_id",
    "name": "the app shows none",
    "working_directory": "the app shows none",
}


def _recents(frame: Json, faults: list[Fault]) -> Json:
    rows = []
    for at, row in enumerate(frame["sessions"]):
        where = f"sessions[{at}]"
        try:
            read = require(row, _RECENT, where)
            if not has_fraction(read["last_modified"]):
                found = shown(read["last_modified"])
                raise Unusable(f"{where}.last_modified", f"is {found}, without a fraction")
            rows.append(read)
        except Unusable as bad:
            faults.append(Fault("recent_sessions", bad.field, bad.reason, ROW_DROPPED))
    return frame | {"sessions": rows}


def _commands(frame: Json, faults: list[Fault]) -> Json:
    for group in ("project_commands", "general_commands"):
        _items(frame[group], group)
    return frame


def _items(items: list[object], where: str) -> None:
    for at, item in enumerate(items):
        here = f"{where}[{at}]"
        demanded = (Field("id"), Field("label"), Field("type"))
        read = require(item, (*demanded, optional("description"), optional("children", LIST)), here)
        if read["type"] not in ("command", "group"):
            raise Unusable(f"{here}.type", f"is {shown(read['type'])}")
        _items(read.get("children") or [], f"{here}.children")


def _output(frame: Json, faults: list[Fault]) -> Json:
    if frame["stream"] not in ("stdout", "stderr"):
        raise Unusable("stream", f"is {shown(frame['stream'])}")
    return frame


def _ran(frame: Json, faults: list[Fault]) -> Json:
    for at, row in enumerate(frame["sessions"]):
        require(row, _HISTORY_ROW, f"sessions[{at}]")
        _timed(row, f"sessions[{at}].")
    return frame


def _ran_whole(frame: Json, faults: list[Fault]) -> Json:
    _timed(frame, "")
    return frame


def _timed(holder: Json, prefix: str) -> None:
    if not is_time(holder["timestamp"]):
        raise Unusable(f"{prefix}timestamp", f"is {shown(holder['timestamp'])}, no ISO time")


def _replay(frame: Json, faults: list[Fault]) -> Json:
    require(frame["message"], (Field("role"), Field("text")), "message")
    return frame


def _uploaded(frame: Json, faults: list[Fault]) -> Json:
    _dated(frame, "", frame["type"], faults)
    return frame


def _resources(frame: Json, faults: list[Fault]) -> Json:
    for at, row in enumerate(frame["resources"]):
        where = f"resources[{at}]"
        demanded = (Field("filename"), Field("path"), Field("size", INT), optional("timestamp"))
        _dated(require(row, demanded, where), f"{where}.", frame["type"], faults)
    return frame


def _dated(holder: Json, prefix: str, kind: str, faults: list[Fault]) -> None:
    stamp = holder.get("timestamp")
    if stamp is None or not is_whole(stamp):
        reason = f"is {shown(stamp)}, no ISO time without a fraction; the app shows 'now'"
        faults.append(Fault(kind, f"{prefix}timestamp", reason, MISREAD))


def _recipes(frame: Json, faults: list[Fault]) -> Json:
    for at, row in enumerate(frame["recipes"]):
        require(row, (Field("id"), Field("label"), Field("description")), f"recipes[{at}]")
    return frame


_INNER: dict[str, Callable[[Json, list[Fault]], Json]] = {
    "session_list": _list,
    "session_created": _created,
    "recent_sessions": _recents,
    "available_commands": _commands,
    "command_output": _output,
    "command_history": _ran,
    "command_output_full": _ran_whole,
    "replay": _replay,
    "file_uploaded": _uploaded,
    "resources_list": _resources,
    "available_recipes": _recipes,
}
