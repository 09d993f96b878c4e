"""Server messages about commands, files and speech. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from podiumd.gateway.phone.protocol import budget, dates, outgoing
from podiumd.gateway.phone.protocol.wire import Json, frame
from podiumd.projects.menu import Item
from podiumd.projects.records import CommandRecord
from podiumd.projects.resources import Resource

UPLOAD_FAILED: Final = "Failed to upload file"
"""Apps know an upload that failed by how its error begins."""
STILL_RUNNING: Final = "[still running]"

_PREVIEW_CHARACTERS: Final = 200


def available_commands(
    working_directory: str | None,
    project: Sequence[Item],
    general: Sequence[Item],
    frame_bytes: int = budget.DEFAULT_BYTES,
) -> bytes:
    """Build the list of a directory's commands. The general ones precede the project's."""
    message = {
        "type": "available_commands",
        "working_directory": working_directory or "",
        "project_commands": [],
        "general_commands": [_command(item) for item in general],
    }
    items = [_command(item) for item in project]
    return budget.listed(message, "project_commands", items, frame_bytes)


def _command(item: Item) -> Json:
    command: Json = {"id": item.id, "label": item.label, "type": item.type}
    if item.description:
        command["description"] = item.description
    if item.type == "group":
        command["children"] = [_command(child) for child in item.children]
    return command


def command_started(command_session_id: str, command_id: str, shell_command: str) -> bytes:
    return frame(
        "command_started",
        command_session_id=command_session_id,
        command_id=command_id,
        shell_command=shell_command,
    )


def command_output(
    command_session_id: str,
    stream: Literal["stdout", "stderr"],
    text: str,
    frame_bytes: int = budget.DEFAULT_BYTES,
) -> bytes:
    """Build one line of a command's output, without its end."""
    return budget.fit(
        lambda line: frame(
            "command_output", command_session_id=command_session_id, stream=stream, text=line
        ),
        text,
        frame_bytes,
    )


def command_complete(command_session_id: str, exit_code: int, duration_ms: int) -> bytes:
    return frame(
        "command_complete",
        command_session_id=command_session_id,
        exit_code=exit_code,
        duration_ms=duration_ms,
    )


def command_error(command_id: str, message: str) -> bytes:
    """Report that the command could not be started."""
    return frame("command_error", command_id=command_id, error=message)


def command_history(
    records: Iterable[CommandRecord], limit: int, frame_bytes: int = budget.DEFAULT_BYTES
) -> bytes:
    """Commands that were run, newest first; one that runs has no exit code and no duration."""
    message = {"type": "command_history", "sessions": [], "limit": limit}
    return budget.listed(message, "sessions", [_history(record) for record in records], frame_bytes)


def _history(record: CommandRecord) -> Json:
    ended = {"exit_code": record.exit_code, "duration_ms": record.duration_ms}
    return {
        "command_session_id": record.command_session_id,
        "command_id": record.command_id,
        "shell_command": record.shell_command,
        "working_directory": record.working_directory,
        "timestamp": dates.fractional(record.timestamp),
        **{name: value for name, value in ended.items() if value is not None},
        "output_preview": record.output_preview[:_PREVIEW_CHARACTERS],
    }


def command_output_full(
    record: CommandRecord, output: str, frame_bytes: int = budget.DEFAULT_BYTES
) -> bytes:
    """Build all that a command printed, cut in the middle where it is too long for the phone.

    No field may be null, so a command that runs has exit code -1 and says in its output that it
    does.
    """
    if record.exit_code is None:
        output = f"{output}\n{STILL_RUNNING}" if output else STILL_RUNNING

    def build(text: str) -> bytes:
        return frame(
            "command_output_full",
            command_session_id=record.command_session_id,
            output=text,
            exit_code=-1 if record.exit_code is None else record.exit_code,
            timestamp=dates.fractional(record.timestamp),
            duration_ms=record.duration_ms or 0,
            command_id=record.command_id,
            shell_command=record.shell_command,
            working_directory=record.working_directory,
        )

    return budget.fit(build, output, frame_bytes)


def file_uploaded(file: Resource) -> bytes:
    return frame("file_uploaded", **_file(file))


def upload_error(message: str) -> bytes:
    return outgoing.error(f"{UPLOAD_FAILED}: {message}")


def resources_list(
    files: Iterable[Resource], storage_location: str, frame_bytes: int = budget.DEFAULT_BYTES
) -> bytes:
    """Build the list of the uploaded files, in the order given, as many as fit."""
    message = {"type": "resources_list", "resources": [], "storage_location": storage_location}
    return budget.listed(message, "resources", [_file(file) for file in files], frame_bytes)


def resource_deleted(filename: str, path: str) -> bytes:
    return frame("resource_deleted", filename=filename, path=path)


def _file(file: Resource) -> Json:
    return {
        "filename": file.filename,
        "path": file.path,
        "size": file.size,
        "timestamp": dates.whole(file.timestamp),
    }


def voice_ready(
    utterance_id: str, next_frame: int, state: str, message: str | None = None
) -> bytes:
    """``next_frame`` is the number of the piece that is missing first."""
    said = {} if message is None else {"message": message}
    return frame(
        "voice_ready", utterance_id=utterance_id, next_frame=next_frame, state=state, **said
    )


def voice_partial(utterance_id: str, text: str, frame_bytes: int = budget.DEFAULT_BYTES) -> bytes:
    """Build the text of an utterance so far."""
    return budget.fit(
        lambda words: frame("voice_partial", utterance_id=utterance_id, text=words),
        text,
        frame_bytes,
    )


def voice_transcript(
    utterance_id: str,
    text: str,
    *,
    language: str,
    duration_ms: int,
    latency_ms: int,
    delivered: bool,
    session_id: str | None = None,
    frame_bytes: int = budget.DEFAULT_BYTES,
) -> bytes:
    """``delivered``: the words went to an agent, in the session named."""
    where = {} if session_id is None else {"session_id": session_id}
    return budget.fit(
        lambda words: frame(
            "voice_transcript",
            utterance_id=utterance_id,
            text=words,
            language=language,
            duration_ms=duration_ms,
            latency_ms=latency_ms,
            delivered=delivered,
            **where,
        ),
        text,
        frame_bytes,
    )


def voice_command(
    utterance_id: str,
    command: str,
    state: Literal["applied", "confirm", "refused"],
    read_back: str,
    *,
    question_id: str | None = None,
    choice: str | None = None,
) -> bytes:
    """Report that an utterance was no prompt but a command; ``read_back`` is to be spoken."""
    about = {"question_id": question_id, "choice": choice}
    return frame(
        "voice_command",
        utterance_id=utterance_id,
        command=command,
        **{name: value for name, value in about.items() if value is not None},
        state=state,
        read_back=read_back,
    )


def voice_error(utterance_id: str | None, code: str, message: str) -> bytes:
    return frame("voice_error", utterance_id=utterance_id, code=code, message=message)


def speak(session_id: str, text: str, frame_bytes: int = budget.DEFAULT_BYTES) -> bytes:
    """Build words to be spoken aloud."""
    return budget.fit(
        lambda words: frame("speak", session_id=session_id, text=words), text, frame_bytes
    )
