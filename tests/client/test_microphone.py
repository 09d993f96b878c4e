"""The machine's microphone: which recorder, what it writes, and how it ends."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from podium.audio.microphone import _Pcm
from tests.client.fake_daemon import FakeDaemon, podium
from tests.client.listeners import Listener
from tests.client.recorders import Recorders, tone


def test_a_recorder_without_a_microphone_gives_way_to_the_next(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("parec", b"", ends=True, complaint="Connection refused\n", code=1)
    recorders.add("arecord", b"", ends=True, complaint="no soundcards found...\n", code=1)
    recorders.add("rec", tone(0.2))
    done = podium(daemon, "listen", "--seconds", "1", settings=recorders.environment)

    assert done.stdout == "fix the session_lock\n"
    assert recorders.started == ["parec", "arecord", "rec"]


def test_where_none_has_a_microphone_each_says_why(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", b"", ends=True, complaint="no soundcards found...\n", code=1)
    recorders.add("ffmpeg", b"", ends=True, code=7)
    done = podium(daemon, "listen", "--seconds", "5", settings=recorders.environment)

    assert done.returncode == 1
    assert done.stderr.endswith(
        "podium: The microphone could not be opened: arecord: no soundcards found...; "
        "ffmpeg: status 7. Connect one, or name a recorder in PODIUM_RECORDER (docs/voice.md).\n"
    )
    assert daemon.params_of("voice.cancel")


def test_a_recorder_that_dies_in_the_middle_is_told(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.2), ends=True, complaint="overrun\n")
    recorders.add("rec", tone(0.2))
    done = podium(daemon, "listen", "--seconds", "5", settings=recorders.environment)
    assert done.returncode == 1
    assert "The microphone stopped: arecord: overrun." in done.stderr
    assert recorders.started == ["arecord"]


def test_without_a_recorder_it_is_said_what_to_install(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    done = podium(daemon, "listen", settings=recorders.environment)
    assert done.returncode == 1
    assert "No program that records is here: install" in done.stderr
    assert daemon.calls == []


def test_a_recorder_of_the_persons_own_wins(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.2))
    own = recorders.add("own", tone(0.4))
    done = podium(
        daemon,
        *("listen", "--seconds", "0.5"),
        settings=recorders.environment,
        PODIUM_RECORDER=f"{own} --mic 'second one'",
    )
    assert done.returncode == 0
    assert recorders.log.read_text() == f"{own} --mic second one\n"
    assert listener.heard == tone(0.4)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("/nowhere/rec -x", "Nothing could be recorded: /nowhere/rec: No such file"),
        ("rec 'x", "PODIUM_RECORDER is no command line (No closing quotation)"),
    ],
)
def test_a_wrong_recorder_of_the_persons_own_is_told(
    daemon: FakeDaemon, listener: Listener, own: str, said: str
) -> None:
    done = podium(daemon, "listen", "--seconds", "1", PODIUM_RECORDER=own)
    assert done.returncode == 1
    assert said in done.stderr


def au(sound: bytes) -> bytes:
    swapped = struct.pack(f">{len(sound) // 2}h", *struct.unpack(f"<{len(sound) // 2}h", sound))
    return struct.pack(">4sIIIII", b".snd", 28, 0xFFFFFFFF, 3, 16000, 1) + bytes(4) + swapped


def wav(sound: bytes) -> bytes:
    head = struct.pack("<4sI4s", b"RIFF", 0xFFFFFFFF, b"WAVE")
    shape = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 16000, 32000, 2, 16)
    return head + shape + struct.pack("<4sI", b"data", 0xFFFFFFFF) + sound


@pytest.mark.parametrize("container", [au, wav])
def test_the_head_of_a_file_is_no_sound(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders, container: Any
) -> None:
    clip = tone(0.25)
    recorders.add("pw-record", container(clip))
    done = podium(daemon, "listen", "--seconds", "0.5", settings=recorders.environment)
    assert done.returncode == 0, done.stderr
    assert listener.heard == clip


@pytest.mark.parametrize("size", [1, 3, 7, 11])
def test_sound_that_comes_in_odd_pieces_is_the_same_sound(size: int) -> None:
    for container in (bytes, au, wav):
        pcm, data = _Pcm(), container(tone(0.01))
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        assert b"".join(pcm.sound(piece) for piece in pieces) == tone(0.01)


def test_a_recorder_that_will_not_end_is_killed(
    daemon: FakeDaemon, listener: Listener, tmp_path: Path
) -> None:
    program = tmp_path / "stubborn"
    program.write_text(
        "#!/bin/sh\ntrap '' INT TERM\necho $$ > " + str(tmp_path / "pid") + "\n"
        "while :; do printf '1234'; read -r _ < " + str(tmp_path / "never") + " ; done\n"
    )
    os.mkfifo(tmp_path / "never")
    program.chmod(0o700)
    done = podium(daemon, "listen", "--seconds", "0.3", PODIUM_RECORDER=str(program))
    assert done.returncode == 0, done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
