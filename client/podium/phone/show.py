"""What a phone shows, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium import text
from podium.phone.fields import Json
from podium.phone.histories import Message
from podium.phone.model import PhoneModel

WHO = {"user": "you", "assistant": "agent"}


def message(one: Message) -> str:
    """One message of a conversation."""
    return f"{WHO.get(one.role, text.fold(one.role))}: {text.clean(one.text)}"


def frame(one: Json) -> str:
    """What a person has to know of a frame at once; empty: nothing."""
    kind = one["type"]
    maker = FRAMES.get(kind)
    return "" if maker is None else maker.format_map(_Words(one))


class _Words(dict[str, str]):
    """A frame's fields as words; what it does not have is left blank."""

    def __init__(self, one: Json) -> None:
        super().__init__({name: text.fold(value) for name, value in one.items() if value != ""})

    def __missing__(self, name: str) -> str:
        return "-"


FRAMES = {
    "auth_error": "refused: {message}",
    "error": "error: {message}",
    "ack": "ok: {message}",
    "session_created": "new session {session_id}: {name}",
    "session_ready": "session {session_id} is ready",
    "turn_complete": "turn complete in {session_id}",
    "session_killed": "killed: {message}",
    "compaction_complete": "compacted {session_id}",
    "compaction_error": "not compacted: {error}",
    "command_started": "started {command_id}: {shell_command} ({command_session_id})",
    "command_output": "{stream}: {text}",
    "command_complete": "ended with status {exit_code} after {duration_ms} ms",
    "command_error": "cannot run {command_id}: {error}",
    "file_uploaded": "uploaded {filename} to {path}",
    "recipe_started": "recipe {recipe_label} in {session_id}: step {step_count}, {current_step}",
    "recipe_exited": "recipe ended in {session_id}: {reason}. {message}",
    "recipe_error": "recipe error in {session_id}: {error}",
    "recipe_paused": "recipe paused in {session_id}",
    "recipe_resumed": "recipe resumed in {session_id}",
    "steer_result": "steered: {state}",
    "question_closed": "question {question_id} closed: {answer} by {by}",
    "voice_ready": "speech {state}: {message}",
    "voice_partial": "hears: {text}",
    "voice_transcript": "heard: {text}",
    "voice_command": "command {command}, {state}: {read_back}",
    "voice_error": "not heard, {code}: {message}",
    "speak": "says: {text}",
}


def question(one: Json) -> Iterator[str]:
    """An open question, its choices, and what else it takes."""
    yield f"? {text.fold(one['question_id'])} ({text.fold(one['kind'])}): {text.clean(one['text'])}"
    for choice in one["choices"]:
        if isinstance(choice, dict):
            yield f"    {text.fold(choice.get('id'))}  {text.fold(choice.get('label') or '')}"
    if one.get("multi"):
        yield "    or several of them, joined by commas"
    if one.get("columns"):
        named = ", ".join(text.fold(column.get("name")) for column in one["columns"])
        yield f"    rows as a JSON list of objects with {named}"
    if one.get("free_text"):
        yield "    or your own words" if one["choices"] else "    in your own words"


def sessions(model: PhoneModel) -> str:
    """The sessions that the server listed last."""
    rows = [model.session(session_id) for session_id in model.listed]
    if not rows:
        return "There are no sessions."
    lines = [(one.session_id, str(one.message_count), one.directory, one.name) for one in rows]
    return text.table(("SESSION", "MESSAGES", "DIRECTORY", "NAME"), lines).rstrip("\n")


def recipes(model: PhoneModel) -> str:
    """The recipes that the server offered last."""
    rows = [
        (str(one["id"]), f"{one['label']}: {one['description']}") for one in model.board.recipes
    ]
    return text.table(("RECIPE", "WHAT IT DOES"), rows).rstrip("\n") if rows else "No recipes."


def commands(model: PhoneModel) -> str:
    """The commands that the server offered last."""
    offered = model.board.commands
    groups = (offered.get("project_commands", ()), offered.get("general_commands", ()))
    rows = [row for group in groups for row in _flat(group)]
    return text.table(("COMMAND", "LABEL"), rows).rstrip("\n") if rows else "No commands."


def _flat(items: Iterable[Json]) -> Iterator[tuple[str, str]]:
    for item in items:
        if item["type"] == "command":
            yield str(item["id"]), str(item["label"])
        yield from _flat(item.get("children") or ())


def questions(model: PhoneModel) -> str:
    """The questions that are open."""
    lines = [line for one in model.board.questions.values() for line in question(one)]
    return "\n".join(lines) or "No open questions."
