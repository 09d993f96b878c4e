"""A worker that hears nothing: it speaks the wire, and fails in the ways that it is told to.

    python fake_worker.py BEHAVIOUR [FILE]

``well``: partials and an answer that tells how much audio came. ``die``, ``hang``, ``nonsense``,
``endless``: instead of its first answer. With FILE it does so only once: the next one does well.
``broken``: the model cannot be used. ``refuse``: the audio is at fault, at its first byte.
``deaf``: takes no audio at all.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from podiumd.speech.api import Heard
from podiumd.speech.engines import wire


def say(line: wire.Line) -> None:
    os.write(1, wire.encode_line(line) + b"\n")


def frames() -> object:
    stdin = sys.stdin.buffer
    while head := stdin.read(wire.HEAD_BYTES):
        yield wire.take_apart(stdin.read(int.from_bytes(head, "big")))


def behaviour() -> str:
    wanted = sys.argv[1]
    if len(sys.argv) < 3 or wanted == "well":
        return wanted
    mark = Path(sys.argv[2])
    if mark.exists():
        return "well"
    mark.touch()
    return wanted


def fail(how: str) -> None:
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how in ("hang", "deaf"):
        signal.pause()
    if how == "nonsense":
        os.write(1, b"no JSON\n")
        signal.pause()
    if how == "endless":
        while True:
            os.write(1, bytes(65_536))


def main() -> None:
    how = behaviour()
    heard: dict[int, int] = {}
    asked: dict[int, wire.Opened] = {}
    for kind, job, content in frames():  # type: ignore[attr-defined]
        if kind == wire.SETUP:
            sys.stderr.write("loading\n")
            if how == "broken":
                say(wire.Broken("The model is no model."))
                return
            if how == "deaf":
                fail(how)
            say(wire.Ready(True))
        elif kind == wire.OPEN:
            heard[job], asked[job] = 0, msgspec.json.decode(content, type=wire.Opened)
        elif kind == wire.CANCEL:
            del heard[job]
        elif kind == wire.DATA:
            heard[job] += len(content)
            if how == "refuse":
                say(wire.Refused(job, "too_long", "It is too long."))
            elif asked[job].partials:
                say(wire.Partial(job, f"{heard[job]} so far"))
        elif kind == wire.END:
            fail(how)
            say(wire.Working(job))
            terms = msgspec.json.decode(content, type=wire.Ended).hotwords
            text = f"{heard.pop(job)} bytes of {asked[job].format} in {asked[job].language}"
            say(wire.Answered(job, Heard(text=text, language="en", terms=terms)))


if __name__ == "__main__":
    main()
