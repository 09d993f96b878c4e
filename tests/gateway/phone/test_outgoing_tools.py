"""What a phone is told of commands, files and speech."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from podiumd.gateway.phone.protocol import outgoing_tools as tools
from tests.gateway.phone.samples import SESSION, UUID, Json, a_command, a_file, read

RUN = f"cmd-{UUID}"


def test_the_commands_that_can_be_run() -> None:
    """P-13.1"""
    project: list[Json] = [
        {"id": "build", "label": "Build", "type": "command", "description": "Make it", "argv": []},
        {
            "id": "docker",
            "label": "Docker",
            "type": "group",
            "description": None,
            "children": [{"id": "docker-up", "label": "Up", "type": "command"}],
        },
    ]
    general = [{"id": "git.status", "label": "Git Status", "type": "command"}]

    assert read(tools.available_commands("/home/ada/gate", project, general)) == {
        "type": "available_commands",
        "working_directory": "/home/ada/gate",
        "project_commands": [
            {"id": "build", "label": "Build", "type": "command", "description": "Make it"},
            {
                "id": "docker",
                "label": "Docker",
                "type": "group",
                "children": [{"id": "docker-up", "label": "Up", "type": "command"}],
            },
        ],
        "general_commands": general,
    }


def test_no_directory_is_no_null() -> None:
    """P-13.1"""
    assert read(tools.available_commands(None, [], [])) == {
        "type": "available_commands",
        "working_directory": "",
        "project_commands": [],
        "general_commands": [],
    }


def test_a_command_that_starts_or_does_not() -> None:
    """P-13.2"""
    assert read(tools.command_started(RUN, "build", "make build")) == {
        "type": "command_started",
        "command_session_id": RUN,
        "command_id": "build",
        "shell_command": "make build",
    }
    assert read(tools.command_error("build", "No.")) == {
        "type": "command_error",
        "command_id": "build",
        "error": "No.",
    }


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_line_of_output(stream: Literal["stdout", "stderr"]) -> None:
    """P-13.3"""
    assert read(tools.command_output(RUN, stream, "built")) == {
        "type": "command_output",
        "command_session_id": RUN,
        "stream": stream,
        "text": "built",
    }


def test_a_command_that_is_over() -> None:
    """P-13.4"""
    assert read(tools.command_complete(RUN, -15, 1200)) == {
        "type": "command_complete",
        "command_session_id": RUN,
        "exit_code": -15,
        "duration_ms": 1200,
    }


def test_the_commands_that_were_run() -> None:
    """P-13.5"""
    assert read(tools.command_history([a_command(log="/x")], 50)) == {
        "type": "command_history",
        "sessions": [
            {
                "command_session_id": RUN,
                "command_id": "build",
                "shell_command": "make build",
                "working_directory": "/home/ada/gate",
                "timestamp": "2026-01-02T03:04:05.000Z",
                "exit_code": 0,
                "duration_ms": 1200,
                "output_preview": "built",
            }
        ],
        "limit": 50,
    }


@pytest.mark.parametrize(("preview", "shown"), [(None, ""), ("", ""), ("x" * 201, "x" * 200)])
def test_a_preview_is_never_null(preview: str | None, shown: str) -> None:
    """P-13.6"""
    running = a_command(
        output_preview=preview, exit_code=None, duration_ms=None, working_directory=None
    )
    row = read(tools.command_history([running], 50))["sessions"][0]

    assert row["output_preview"] == shown
    assert row["working_directory"] == ""
    assert not {"exit_code", "duration_ms"} & row.keys()


def test_all_that_a_command_printed() -> None:
    """P-13.7"""
    assert read(tools.command_output_full(a_command(exit_code=2), "one\ntwo")) == {
        "type": "command_output_full",
        "command_session_id": RUN,
        "output": "one\ntwo",
        "exit_code": 2,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "duration_ms": 1200,
        "command_id": "build",
        "shell_command": "make build",
        "working_directory": "/home/ada/gate",
    }


@pytest.mark.parametrize(
    ("output", "shown"), [("one", "one\n[still running]"), ("", "[still running]")]
)
def test_a_command_that_runs_can_be_shown(output: str, shown: str) -> None:
    """P-13.7, P-13.8"""
    running = a_command(exit_code=None, duration_ms=None, working_directory=None)
    full = read(tools.command_output_full(running, output))

    assert (full["output"], full["exit_code"], full["duration_ms"]) == (shown, -1, 0)
    assert None not in full.values()


def test_a_file_that_was_uploaded() -> None:
    """P-14.1, P-14.3"""
    shown = {
        "filename": "plan.pdf",
        "path": "/home/ada/gate/.untethered/resources/plan.pdf",
        "size": 7,
        "timestamp": "2026-01-02T03:04:05Z",
    }
    assert read(tools.file_uploaded(a_file())) == {"type": "file_uploaded", **shown}
    assert read(tools.upload_error("the disk is full")) == {
        "type": "error",
        "message": "Failed to upload file: the disk is full",
    }


def test_the_files_that_were_uploaded() -> None:
    """P-14.2, P-14.3"""
    listed = read(tools.resources_list([a_file(), a_file(filename="b")], "~/gate"))

    assert listed.keys() == {"type", "resources", "storage_location"}
    assert listed["storage_location"] == "~/gate"
    assert [file["filename"] for file in listed["resources"]] == ["plan.pdf", "b"]
    assert {file["timestamp"] for file in listed["resources"]} == {"2026-01-02T03:04:05Z"}


def test_a_file_that_was_removed() -> None:
    """P-14.4"""
    assert read(tools.resource_deleted("a.txt", "/x/a.txt")) == {
        "type": "resource_deleted",
        "filename": "a.txt",
        "path": "/x/a.txt",
    }


def test_speech_that_can_come() -> None:
    """P-15.2"""
    ready = {"type": "voice_ready", "utterance_id": "u", "next_frame": 3, "state": "ready"}

    assert read(tools.voice_ready("u", 3, "ready")) == ready
    assert read(tools.voice_ready("u", 3, "unavailable", "no model")) == {
        **ready,
        "state": "unavailable",
        "message": "no model",
    }


def test_what_was_heard() -> None:
    """P-15.5"""
    heard: dict[str, Any] = {
        "type": "voice_transcript",
        "utterance_id": "u",
        "text": "hello",
        "language": "en",
        "duration_ms": 900,
        "latency_ms": 200,
        "delivered": False,
    }
    frame = tools.voice_transcript(
        "u", "hello", language="en", duration_ms=900, latency_ms=200, delivered=False
    )
    delivered = tools.voice_transcript(
        "u",
        "hello",
        language="en",
        duration_ms=900,
        latency_ms=200,
        delivered=True,
        session_id=SESSION,
    )

    assert read(frame) == heard
    assert read(delivered) == {**heard, "delivered": True, "session_id": SESSION}
    assert read(tools.voice_partial("u", "hel")) == {
        "type": "voice_partial",
        "utterance_id": "u",
        "text": "hel",
    }


def test_a_command_that_was_spoken() -> None:
    """P-15.6"""
    command = {
        "type": "voice_command",
        "utterance_id": "u",
        "command": "approve",
        "state": "confirm",
        "read_back": "Allow make test?",
    }
    plain = tools.voice_command("u", "approve", "confirm", "Allow make test?")
    about = tools.voice_command(
        "u", "approve", "confirm", "Allow make test?", question_id="q-1", choice="allow"
    )

    assert read(plain) == command
    assert read(about) == {**command, "question_id": "q-1", "choice": "allow"}


@pytest.mark.parametrize("utterance_id", ["u", None])
def test_speech_that_failed(utterance_id: str | None) -> None:
    """P-15.7"""
    assert read(tools.voice_error(utterance_id, "no_model", "No model is there.")) == {
        "type": "voice_error",
        "utterance_id": utterance_id,
        "code": "no_model",
        "message": "No model is there.",
    }


def test_words_to_be_spoken() -> None:
    """P-15.8"""
    assert read(tools.speak(SESSION, "Done.")) == {
        "type": "speak",
        "session_id": SESSION,
        "text": "Done.",
    }


def test_a_text_that_is_too_long_for_a_frame_is_cut_in_the_middle() -> None:
    """P-7.10"""
    words = "word " * 20_000
    told = tools.voice_transcript(
        "u", words, language="en", duration_ms=1, latency_ms=1, delivered=False, frame_bytes=16_384
    )
    assert len(told) <= 16_384 and "[truncated" in read(told)["text"]
    assert len(tools.voice_partial("u", words, 16_384)) <= 16_384
