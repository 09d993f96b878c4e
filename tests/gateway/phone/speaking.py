"""A phone that speaks, message by message."""

from __future__ import annotations

from typing import Any

from tests.gateway.phone.phone_server import Json, PhoneClient, PhoneServer

SECOND = b"\1\0" * 16_000
"""A second of PCM16."""


def piece(number: int, sound: bytes) -> bytes:
    """A binary message."""
    return number.to_bytes(4, "big") + sound


async def began(client: PhoneClient, name: str = "u1", **more: Any) -> Json:
    """Press the button; what the phone is answered."""
    count = len(client.of("voice_ready"))
    client.say("voice_start", utterance_id=name, **{"format": "pcm16"} | more)
    return await client.hears("voice_ready", count + 1)


async def spoke(client: PhoneClient, name: str = "u1", **more: Any) -> Json:
    """Say something whole; what the phone is told of it."""
    before = len(results(client))
    await began(client, name, **more)
    client.write(piece(0, SECOND))
    client.say("voice_end", utterance_id=name)
    await client.until(lambda: len(results(client)) > before)
    return results(client)[before]


def results(client: PhoneClient) -> list[Json]:
    """What utterances came to, in order."""
    kinds = ("voice_transcript", "voice_command", "voice_error")
    return [each for each in client.sent if each["type"] in kinds]


async def asked(server: PhoneServer, tool: str = "Bash", **call: Any) -> tuple[str, Json]:
    """An agent asks for leave in a session: the session's id, and the question."""
    run = await server.daemon.prompt("Do it")
    turn = await server.daemon.turn()
    run_id = run["run_id"]
    await server.daemon.until(run_id, lambda s: s.turn is not None and s.turn.started is not None)
    turn.asks(tool=tool, input=call or {"command": "make test"})
    return run["session_id"], await server.daemon.question(run_id)
