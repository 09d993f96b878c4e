"""What the Kotlin app (Android) and the untyped React Native app need to find."""

from __future__ import annotations

from tests.phone_app.fields import (
    BOOL,
    FRAME_DROPPED,
    INT,
    LIST,
    OBJECT,
    Fault,
    Field,
    Json,
    Unusable,
    optional,
    require,
)

SESSION = Field("session_id")
_MESSAGE = Field("message")

KOTLIN: dict[str, tuple[Field, ...]] = {
    "hello": (_MESSAGE, Field("version"), Field("auth_version", INT), Field("instructions")),
    "connected": (_MESSAGE, SESSION),
    "auth_error": (_MESSAGE,),
    "pong": (),
    "ack": (_MESSAGE,),
    "error": (_MESSAGE, optional("session_id")),
    "session_list": (Field("sessions", LIST),),
    "recent_sessions": (Field("sessions", LIST),),
    "session_history": (),  # histories decodes it
    "turn_complete": (SESSION,),
    "response": (
        Field("success", BOOL),
        optional("text"),
        optional("error"),
        optional("session_id"),
        optional("message_id"),
    ),
    "replay": (Field("message_id"), Field("message", OBJECT)),
    "session_locked": (_MESSAGE, SESSION),
    "compaction_complete": (SESSION,),
    "compaction_error": (SESSION, Field("error")),
    "available_commands": (
        Field("working_directory"),
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
}

# A client without types: what it looks at must be there, of whatever form.
REACT: dict[str, tuple[Field, ...]] = {
    "hello": (),
    "connected": (),
    "auth_error": (),
    "pong": (),
    "ack": (),
    "error": (_MESSAGE,),
    "session_list": (Field("sessions", LIST),),
    "recent_sessions": (Field("sessions", LIST),),
    "session_history": (),
    "session_updated": (),
    "turn_complete": (SESSION,),
    "response": (Field("success", BOOL),),
    "session_locked": (SESSION,),
    "available_recipes": (Field("recipes", LIST),),
    "recipe_started": (SESSION, Field("recipe_id")),
    "recipe_step_started": (SESSION, Field("step"), Field("step_count", INT)),
    "recipe_exited": (SESSION,),
    "available_commands": (Field("project_commands", LIST), Field("general_commands", LIST)),
    "command_started": (Field("command_session_id"), Field("command_id")),
    "command_output": (Field("command_session_id"), Field("text")),
    "command_complete": (Field("command_session_id"), Field("exit_code", INT)),
}


def decode(table: dict[str, tuple[Field, ...]], frame: Json, faults: list[Fault]) -> Json | None:
    """The frame, or ``None`` where the app drops it; ``type`` is known to the table."""
    kind = frame["type"]
    try:
        require(frame, table[kind])
        if kind == "replay":
            require(frame["message"], (Field("role"), Field("text")), "message")
        if kind in ("session_list", "recent_sessions"):
            for at, row in enumerate(frame["sessions"]):
                require(row, (SESSION,), f"sessions[{at}]")
    except Unusable as bad:
        faults.append(Fault(kind, bad.field, bad.reason, FRAME_DROPPED))
        return None
    return frame
