"""What each app's decoder has to find in each message: a table an app, read off the apps' code.

A message that is not in an app's table is ignored by it. ``PODIUM`` has those that no app knows
yet, as the protocol defines them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.phone.decoders.shapes import Shape

Table = Mapping[str, Shape]

COMMAND: Final[Shape] = {
    "command_session_id": "str",
    "command_id": "str",
    "shell_command": "str",
}
OUTPUT: Final[Shape] = {"command_session_id": "str", "stream": "stdout|stderr", "text": "str"}
COMPLETE: Final[Shape] = {"command_session_id": "str", "exit_code": "int", "duration_ms": "int"}
WHOLE_OUTPUT: Final[Shape] = {
    **COMMAND,
    "output": "str",
    "exit_code": "int",
    "timestamp": "time",
    "duration_ms": "int",
    "working_directory": "str",
}

ROWS: Final[Table] = {
    "listed": {
        "session_id": "id",
        "name": "str",
        "working_directory": "str",
        "last_modified": "ms",
        "message_count": "count",
    },
    "recent": {
        "session_id": "id",
        "name": "str",
        "working_directory": "str",
        "last_modified": "fraction",
    },
    "known": {"session_id": "str"},
    "message": {
        "session_id": "str",
        "seq": "count",
        "offset": "int",
        "uuid": "filled",
        "role": "user|assistant",
        "text": "str",
        "timestamp": "time",
    },
    "kotlin message": {"id": "filled", "role": "user|assistant", "text": "str"},
    "untyped message": {
        "uuid": "filled",
        "type": "user|assistant",
        "text": "str",
        "timestamp": "time",
    },
    "item": {
        "id": "str",
        "label": "str",
        "type": "command|group",
        "description": "str?",
        "children": "[item]?",
    },
    "ran": {
        **COMMAND,
        "working_directory": "str",
        "timestamp": "time",
        "exit_code": "int?",
        "duration_ms": "int?",
        "output_preview": "str",
    },
    "file": {"filename": "str", "path": "str", "size": "int", "timestamp": "whole"},
    "recipe": {"id": "str", "label": "str", "description": "str"},
    "choice": {"id": "str", "label": "str"},
}

SWIFT: Final[Table] = {
    "hello": {"version": "version", "auth_version": "int?"},
    "connected": {"negotiated_protocol_version": "0.4.0|0.5.0"},
    "auth_error": {},
    "pong": {},
    "ack": {"message": "str?"},
    "error": {"message": "filled", "code": "str?", "session_id": "str?"},
    "session_list": {"sessions": "[listed]", "total_count": "int?"},
    "recent_sessions": {"sessions": "[recent]"},
    "session_created": ROWS["listed"],
    "session_ready": {"session_id": "id"},
    "session_history": {
        "session_id": "str",
        "messages": "[message]",
        "next_seq": "count",
        "is_complete": "bool",
        "first_seq": "int?",
        "last_seq": "int?",
        "gap": "object?",
        "next_offset": "int",
        "end_of_file": "bool",
        "file_signature": "str?",
        "file_replaced": "bool?",
    },
    "turn_complete": {"session_id": "str", "aborted": "bool?"},
    "response": {"success": "bool?", "text": "str?", "ios_session_id": "str?"},
    "session_killed": {},
    "compaction_complete": {},
    "compaction_error": {"error": "str"},
    "session_name_inferred": {"session_id": "str", "name": "str"},
    "infer_name_error": {"error": "str"},
    "worktree_session_created": {"success": "bool", "session_id": "id"},
    "worktree_session_error": {"success": "bool", "error": "str"},
    "available_commands": {
        "working_directory": "str?",
        "project_commands": "[item]",
        "general_commands": "[item]",
    },
    "command_started": COMMAND,
    "command_output": OUTPUT,
    "command_complete": COMPLETE,
    "command_error": {"command_id": "str", "error": "str"},
    "command_history": {"sessions": "[ran]", "limit": "int"},
    "command_output_full": WHOLE_OUTPUT,
    "file_uploaded": {"filename": "str", "path": "str?", "timestamp": "whole?"},
    "resources_list": {"resources": "[file]", "storage_location": "str?"},
    "resource_deleted": {"filename": "str", "path": "str?"},
    "available_recipes": {"recipes": "[recipe]"},
    "recipe_started": {
        "session_id": "filled",
        "recipe_id": "filled",
        "recipe_label": "filled",
        "current_step": "filled",
        "step_count": "count",
    },
    "recipe_exited": {"session_id": "str", "reason": "str?", "error": "str?"},
}

KOTLIN: Final[Table] = {
    "hello": {
        "message": "str",
        "version": "str",
        "auth_version": "int",
        "instructions": "str",
    },
    "connected": {"message": "str", "session_id": "str?"},  # null only for who has sent none
    "auth_error": {"message": "str"},
    "pong": {},
    "ack": {"message": "str"},
    "error": {"message": "str", "session_id": "str?"},
    "session_list": {"sessions": "[known]"},
    "recent_sessions": {"sessions": "[known]"},
    "session_history": {
        "session_id": "str",
        "messages": "[kotlin message]",
        "total_count": "int",
        "is_complete": "bool",
    },
    "turn_complete": {"session_id": "str"},
    "response": {
        "success": "bool",
        "text": "str?",
        "error": "str?",
        "session_id": "str?",
        "message_id": "str?",
    },
    "compaction_complete": {"session_id": "str"},
    "compaction_error": {"session_id": "str", "error": "str"},
    "available_commands": {
        "working_directory": "str",
        "project_commands": "[item]",
        "general_commands": "[item]",
    },
    "command_started": COMMAND,
    "command_output": OUTPUT,
    "command_complete": COMPLETE,
    "command_history": {"sessions": "list", "limit": "int?"},
    "command_output_full": WHOLE_OUTPUT,
}

REACT_NATIVE: Final[Table] = {
    "session_list": {"sessions": "[listed]"},
    "recent_sessions": {"sessions": "[recent]"},
    "session_created": {"session_id": "str", "name": "str", "working_directory": "str"},
    "session_ready": {"session_id": "str"},
    "session_history": {"session_id": "str", "messages": "[untyped message]"},
    "turn_complete": {"session_id": "str"},
    "response": {"success": "bool"},
    "error": {"message": "str"},
    "session_killed": {"session_id": "str"},
    "session_name_inferred": {"session_id": "str", "name": "str"},
    "worktree_session_created": {
        "session_id": "str",
        "worktree_path": "str",
        "branch_name": "str",
    },
    "worktree_session_error": {"error": "str"},
    "compaction_complete": {"session_id": "str"},
    "compaction_error": {"session_id": "str", "error": "str"},
    "available_commands": {"project_commands": "[item]", "general_commands": "[item]"},
    "command_started": COMMAND,
    "command_output": {"command_session_id": "str", "text": "str"},
    "command_complete": {"command_session_id": "str", "exit_code": "int"},
    "available_recipes": {"recipes": "[recipe]"},
    "recipe_started": {"session_id": "str", "recipe_id": "str"},
    "recipe_step_started": {"session_id": "str", "step": "str", "step_count": "int"},
    "recipe_exited": {"session_id": "str"},
}

PODIUM: Final[Table] = {
    "recipe_step_started": {"session_id": "str", "step": "str", "step_count": "int"},
    "recipe_step_transition": {"session_id": "str", "from_step": "str", "to_step": "str"},
    "orchestration_retry": {"session_id": "str", "step": "str", "error": "str"},
    "recipe_error": {"session_id": "str?", "error": "filled"},
    "recipe_paused": {"session_id": "str"},
    "recipe_resumed": {"session_id": "str"},
    "recipe_exited": {
        "reason": "filled",
        "category": "completed|guardrail|error",
        "class": "filled",
        "message": "filled",
    },
    "steer_result": {"session_id": "str", "state": "queued|too_late"},
    "question": {
        "question_id": "str",
        "kind": "str",
        "text": "str",
        "choices": "[choice]",
        "free_text": "bool",
        "session_id": "str?",
        "detail": "str?",
    },
    "question_closed": {"question_id": "str", "answer": "str?", "by": "str?"},
    "voice_ready": {
        "utterance_id": "str",
        "next_frame": "int",
        "state": "loading|ready|unavailable",
        "message": "str?",
    },
    "voice_partial": {"utterance_id": "str", "text": "str"},
    "voice_transcript": {
        "utterance_id": "str",
        "text": "str",
        "language": "str",
        "duration_ms": "int",
        "latency_ms": "int",
        "delivered": "bool",
        "session_id": "str?",
    },
    "voice_command": {
        "utterance_id": "str",
        "command": "approve|deny|choose|confirm|stop|next|repeat",
        "question_id": "str?",
        "choice": "str?",
        "state": "applied|confirm|refused",
        "read_back": "str",
    },
    "voice_error": {"utterance_id": "str?", "code": "str", "message": "str"},
    "speak": {"session_id": "str", "text": "str"},
}

APPS: Final[Mapping[str, Table]] = {
    "Swift": SWIFT,
    "Kotlin": KOTLIN,
    "React Native": REACT_NATIVE,
    "Podium": PODIUM,
}
