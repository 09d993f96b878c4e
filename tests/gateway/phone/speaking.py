"""A phone that speaks, message by message."""

from __future__ import annotations

from typing import Any

from tests.gateway.phone.office import Json, Line, Office

SECOND = b"\1\0" * 16_000
"""A second of PCM16."""


def piece(number: int, sound: bytes) -> bytes:
    """A binary message."""
    return number.to_bytes(4, "big") + sound


async def began(line: Line, name: str = "u1", **more: Any) -> Json:
    """Press the button; what the phone is answered."""
    count = len(line.of("voice_ready"))
    line.say("voice_start", utterance_id=name, **{"format": "pcm16"} | more)
    return await line.hears("voice_ready", count + 1)


async def spoke(line: Line, name: str = "u1", **more: Any) -> Json:
    """Say something whole; what the phone is told of it."""
    before = len(results(line))
    await began(line, name, **more)
    line.write(piece(0, SECOND))
    line.say("voice_end", utterance_id=name)
    await line.until(lambda: len(results(line)) > before)
    return results(line)[before]


def results(line: Line) -> list[Json]:
    """What utterances came to, in order."""
    kinds = ("voice_transcript", "voice_command", "voice_error")
    return [each for each in line.sent if each["type"] in kinds]


async def asked(office: Office, tool: str = "Bash", **call: Any) -> tuple[str, Json]:
    """An agent asks for leave in a session: the session's id, and the question."""
    run = await office.daemon.prompt("Do it")
    turn = await office.daemon.turn()
    run_id = run["run_id"]
    await office.daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
    turn.asks(tool=tool, input=call or {"command": "make test"})
    return run["session_id"], await office.daemon.question(run_id)
