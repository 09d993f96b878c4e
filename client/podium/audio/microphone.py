"""The machine's microphone, through any installed program that records from it.

A recorder writes PCM of 16 bits, little-endian, one channel, 16 kHz to its standard output. The
first that is installed is used; one that ends without a sound gives way to the next.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack

from podium import text
from podium.errors import Failure

SAMPLE_RATE = 16_000
BYTES_A_SECOND = 2 * SAMPLE_RATE

OWN = "PODIUM_RECORDER"
"""Names a recorder of the person's own: a command line that writes such PCM."""

END_SECONDS = 2.0

FIRST_SOUND_SECONDS = 5.0
"""How long a recorder that is stopped at once is given to show whether it records at all."""

ADVICE = f"Connect one, or name a recorder in {OWN} (docs/voice.md)."

_SOX = ("-t", "raw", "-r", "16000", "-e", "signed-integer", "-b", "16", "-c", "1", "-")
_FFMPEG = ("-ac", "1", "-ar", "16000", "-f", "s16le", "-")

LINUX: tuple[tuple[str, ...], ...] = (
    ("parec", "--raw", "--rate=16000", "--channels=1", "--format=s16le", "--latency-msec=50"),
    ("pw-record", "--rate", "16000", "--channels", "1", "--format", "s16", "-"),
    ("arecord", "-q", "-t", "raw", "-f", "S16_LE", "-r", "16000", "-c", "1"),
    ("rec", "-q", *_SOX),
    ("sox", "-q", "-d", *_SOX),
    ("ffmpeg", "-loglevel", "error", "-nostdin", "-f", "pulse", "-i", "default", *_FFMPEG),
    ("ffmpeg", "-loglevel", "error", "-nostdin", "-f", "alsa", "-i", "default", *_FFMPEG),
)
MACOS: tuple[tuple[str, ...], ...] = (
    ("rec", "-q", *_SOX),
    ("sox", "-q", "-d", *_SOX),
    ("ffmpeg", "-loglevel", "error", "-nostdin", "-f", "avfoundation", "-i", ":default", *_FFMPEG),
)
TO_INSTALL = {
    "darwin": "install sox ('brew install sox')",
    "linux": "install a recorder: pipewire-bin, pulseaudio-utils, alsa-utils, sox or ffmpeg",
}


def recorders() -> list[Sequence[str]]:
    """Return the recorders installed here, the best first.

    Raises:
        Failure: there is none.
    """
    own = os.environ.get(OWN, "").strip()
    if own:
        try:
            return [shlex.split(own)]
        except ValueError as error:
            raise Failure(f"{OWN} is no command line ({error}): {text.fold(own, 80)}.") from None
    known = MACOS if sys.platform == "darwin" else LINUX
    here: list[Sequence[str]] = [recorder for recorder in known if shutil.which(recorder[0])]
    if not here:
        advice = TO_INSTALL.get(sys.platform, TO_INSTALL["linux"])
        raise Failure(f"No program that records is here: {advice}, or name one in {OWN}.")
    return here


class Microphone:
    """A microphone, open within the block: wait on it, and ``read``.

    Raises:
        Failure: nothing here records.
    """

    def __init__(self) -> None:
        self._left = list(recorders())
        self._problems: list[str] = []
        self._pcm = _Pcm()
        self._heard = False

    def __enter__(self) -> Microphone:
        with ExitStack() as stack:
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            self._process = self._start()
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._open.close()

    def fileno(self) -> int:
        """Return the descriptor to wait on for sound."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def read(self) -> bytes:
        """Read the sound that has arrived, perhaps none yet; block until something arrives.

        Raises:
            Failure: the recorder, and all that could take its place, ended.
        """
        data = os.read(self.fileno(), 65536)
        if data:
            sound = self._pcm.sound(data)
            self._heard = self._heard or bool(sound)
            return sound
        self._note_end()
        if self._heard or not self._left:
            what = "stopped" if self._heard else "could not be opened"
            told = "; ".join(dict.fromkeys(self._problems))
            raise Failure(f"The microphone {what}: {told}. {ADVICE}")
        self._process = self._start()
        return b""

    def close(self) -> bytes:
        """Stop recording and return the rest of the sound.

        Raises:
            Failure: nothing has ever come from it; the message says why.
        """
        sound = bytearray()
        deadline = time.monotonic() + FIRST_SOUND_SECONDS
        while not self._heard and (left := deadline - time.monotonic()) > 0:
            if select.select([self], [], [], left)[0]:
                sound += self.read()
        if not self._heard:
            program = text.fold(str(self._process.args[0]))  # type: ignore[index]
            raise Failure(f"The microphone is silent: {program} records nothing. {ADVICE}")
        self._process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + END_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self], [], [], left)[0]:
                break
            data = os.read(self.fileno(), 65536)
            if not data:
                break
            sound += self._pcm.sound(data)
        self._end()
        return bytes(sound)

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the next recorder.

        Raises:
            Failure: none can be started.
        """
        while True:
            recorder = self._left.pop(0)
            self._errors.seek(0)
            self._errors.truncate()
            self._pcm = _Pcm()
            try:
                return subprocess.Popen(
                    recorder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    start_new_session=True,  # a Ctrl-C is for us: we end it ourselves
                )
            except OSError as error:
                self._problems.append(f"{text.fold(recorder[0])}: {error.strerror}")
                if not self._left:
                    raise Failure(f"Nothing could be recorded: {self._problems[-1]}.") from None

    def _note_end(self) -> None:
        self._end()
        self._errors.seek(0)
        lines = self._errors.read(16_000).decode("utf-8", "replace").split("\n")
        said = text.fold(next((line for line in reversed(lines) if line.strip()), ""), 160)
        program = text.fold(str(self._process.args[0]))  # type: ignore[index]
        self._problems.append(f"{program}: {said or f'status {self._process.returncode}'}")

    def _end(self) -> None:
        process = self._process
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()


class _Pcm:
    """Takes the head off what a recorder writes that cannot leave it away.

    ``pw-record`` writes to a pipe as an ``.au`` file, whose samples are big-endian; others may
    write a ``.wav`` head. The sound of a microphone begins with neither.
    """

    def __init__(self) -> None:
        self._head: bytes | None = b""
        self._swapped = False
        self._odd = b""

    def sound(self, data: bytes) -> bytes:
        """Return the whole samples in the next bytes."""
        if self._head is not None:
            data = self._head + data
            size = _head_size(data)
            if size is None:
                self._head = data
                return b""
            self._head, self._swapped = None, data[:4] == b".snd"
            data = data[size:]
        data = self._odd + data
        whole = len(data) - len(data) % 2
        self._odd = data[whole:]
        return _swapped(data[:whole]) if self._swapped else data[:whole]


def _head_size(data: bytes) -> int | None:
    """Return the length of the head; ``None`` while it is not known."""
    if len(data) < 4:
        return None
    if data[:4] == b".snd":
        size = int.from_bytes(data[4:8], "big")
        return size if len(data) >= max(8, size) else None
    if data[:4] != b"RIFF":
        return 0
    at = data.find(b"data", 12)
    return None if at < 0 or len(data) < at + 8 else at + 8


def _swapped(data: bytes) -> bytes:
    swapped = bytearray(len(data))
    swapped[0::2], swapped[1::2] = data[1::2], data[0::2]
    return bytes(swapped)
