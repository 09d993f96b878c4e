"""The place of Claude Code's transcript of a session, and its content."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from pathlib import Path

import trio

from podiumd.drivers.dialect import Aftermath
from podiumd.formats.claude_transcript import (
    PromptTrace,
    find_prompt,
    has_steer,
    last_record_uuid,
    project_directory_name,
)
from podiumd.tools.files.plain_file import open_plain


def find_transcript(
    session_id: str, working_directory: str, environment: Mapping[str, str]
) -> Path | None:
    """Return the session's file, ``None`` where the agent has written none.

    A session that is resumed elsewhere goes on in its first file, so every project is looked at
    where the predicted one has none; of several the last written counts.
    """
    configured = environment.get("CLAUDE_CONFIG_DIR")
    base = Path(configured) if configured else Path(environment.get("HOME", "~"), ".claude")
    projects = base.expanduser() / "projects"
    name = f"{session_id}.jsonl"
    predicted = projects / project_directory_name(str(Path(working_directory).resolve())) / name
    if predicted.exists():
        return predicted
    found = projects.glob(f"*/{glob.escape(name)}")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def size_of(transcript: Path | None) -> int:
    """Return the file's length in bytes, 0 where there is none."""
    return 0 if transcript is None else transcript.stat().st_size


async def look_back(transcript: Path | None, prompt_uuid: str, since: int) -> Aftermath:
    """Say how the transcript ends and whether the prompt stands in it.

    ``since`` is where it ended before the turn: only what came later is searched.
    """
    if transcript is None:
        return Aftermath(mark=None, prompt_recorded=False)
    path = transcript

    def read() -> Aftermath:
        with open_plain(path) as file:
            data = file.read()
        lines = data[since:].split(b"\n")
        last = last_record_uuid(lines) or last_record_uuid(data.split(b"\n"))
        return Aftermath(
            mark={"size": len(data), "last_uuid": last},
            prompt_recorded=find_prompt(lines, prompt_uuid).recorded,
        )

    return await trio.to_thread.run_sync(read)


async def trace(
    transcript: Path | None, prompt_uuid: str, steers: tuple[str, ...]
) -> tuple[PromptTrace, tuple[str, ...]]:
    """Say what the transcript knows of a prompt, and which of the steers reached it."""
    if transcript is None:
        return PromptTrace(recorded=False, followed=False), ()
    path = transcript

    def read() -> tuple[PromptTrace, tuple[str, ...]]:
        with open_plain(path) as file:
            lines = file.read().split(b"\n")
        delivered = tuple(uuid for uuid in steers if has_steer(lines, uuid))
        return find_prompt(lines, prompt_uuid), delivered

    return await trio.to_thread.run_sync(read)
