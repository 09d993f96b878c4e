"""A peer of bench_voice in a process of its own: reads paths of PCM16 files, answers with text.

    python voice_peer.py faster-whisper DIRECTORY THREADS | whisper.cpp FILE THREADS

For each line, a path, it prints {"seconds", "text"}. It stands alone: another Python may run it.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def faster_whisper(model: str, threads: int) -> Callable[[Any], str]:
    """Its defaults: beam of 5, windows of 30 s; the language is told, as ours is."""
    from faster_whisper import WhisperModel

    loaded = WhisperModel(model, device="cpu", compute_type="int8", cpu_threads=threads)

    def hear(audio: Any) -> str:
        segments, _ = loaded.transcribe(audio, language="en")
        return " ".join(segment.text.strip() for segment in segments)

    return hear


def whisper_cpp(model: str, threads: int) -> Callable[[Any], str]:
    """Its defaults: greedy, windows of 30 s."""
    from pywhispercpp.model import Model

    loaded = Model(model, redirect_whispercpp_logs_to=None, n_threads=threads, language="en")

    def hear(audio: Any) -> str:
        return " ".join(segment.text.strip() for segment in loaded.transcribe(audio))

    return hear


def main(kind: str, model: str, threads: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print
    hear = {"faster-whisper": faster_whisper, "whisper.cpp": whisper_cpp}[kind](model, int(threads))
    for line in sys.stdin:
        samples = np.fromfile(line.strip(), np.int16).astype(np.float32) / 32768.0
        began = time.perf_counter()
        text = hear(samples)
        said = {"seconds": time.perf_counter() - began, "text": text}
        answers.write(json.dumps(said) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
