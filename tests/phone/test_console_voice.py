"""``podium phone`` with recordings: a script that speaks."""

from __future__ import annotations

from pathlib import Path

from podium.phone.fields import Json
from tests.phone.fake_gateway import SESSION, fake_gateway
from tests.phone.test_console import played


async def test_a_recording_is_said_piece_by_piece(tmp_path: Path) -> None:
    (tmp_path / "note.wav").write_bytes(b"s" * 20_000)
    (tmp_path / "note.raw").write_bytes(b"r")

    def ready(frame: Json) -> list[Json]:
        said = {"utterance_id": frame["utterance_id"]}
        return [{"type": "voice_ready", "next_frame": 0, "state": "loading", **said}]

    def transcript(frame: Json) -> list[Json]:
        heard = {"text": "go on", "language": "en", "duration_ms": 900, "latency_ms": 90}
        said = {"utterance_id": frame["utterance_id"]}
        return [{"type": "voice_transcript", "delivered": True, **heard, **said}]

    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        gateway.answers |= {"voice_start": ready, "voice_end": transcript}
        script = (
            f"open {SESSION}\nspeak note.wav\nwait voice_transcript\ndictate note.raw\n"
            "wait voice_transcript\n"
        )
        done = await played(gateway, script, cwd=tmp_path)
        spoken, dictated = [one for one in gateway.heard if one["type"] == "voice_start"]
        pieces = gateway.pieces

    assert (done.returncode, done.stderr) == (0, "")
    assert (spoken["format"], spoken["deliver"], spoken["session_id"]) == (
        "wav",
        "prompt",
        SESSION,
    )
    assert (dictated["format"], dictated["sample_rate"]) == ("pcm16", 16_000)
    assert "deliver" not in dictated
    assert [(one[:4], len(one) - 4) for one in pieces] == [
        (b"\0\0\0\0", 16_384),
        (b"\0\0\0\1", 3616),
        (b"\0\0\0\0", 1),
    ]
    assert done.stdout.count("heard: go on") == 2


async def test_what_is_being_said_can_be_forgotten(tmp_path: Path) -> None:
    (tmp_path / "note.ogg").write_bytes(b"sound")
    async with fake_gateway() as gateway:
        done = await played(gateway, "dictate note.ogg\nhush\n", cwd=tmp_path)
        kinds = [one["type"] for one in gateway.heard if one["type"].startswith("voice")]

    assert (done.returncode, kinds) == (0, ["voice_start", "voice_cancel"])
