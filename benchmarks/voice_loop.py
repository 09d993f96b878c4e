"""What speech costs the process that asks for it: a daemon's loop that does nothing else.

    python -m benchmarks.voice_loop MODEL PCM COUNT

Says pieces of the PCM16 file COUNT times while a task wakes every millisecond, and prints one JSON
document: ``late_ms`` {p50, p99, most} of the waking, idle and while speech is read, ``grown_mb`` of
resident memory from after the third utterance on, ``heavy``: modules that have no place here.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from pathlib import Path

import trio

from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import UtteranceRequest
from podiumd.speech.service import Speech, open_speech

TICK_SECONDS = 0.001
BIN_SECONDS, BINS = 0.000_05, 20_000
HEAVY = ("faster_whisper", "ctranslate2", "av", "numpy", "onnxruntime", "httpx2")


class Ticker:
    """Wakes each millisecond and counts how often it is how late; needs no memory for that."""

    def __init__(self) -> None:
        self._counts = [0] * BINS

    async def run(self) -> None:
        while True:
            due = trio.current_time() + TICK_SECONDS
            await trio.sleep_until(due)
            late = int((trio.current_time() - due) / BIN_SECONDS)
            self._counts[min(late, BINS - 1)] += 1

    def take(self) -> dict[str, float]:
        """Milliseconds at ranks, since the last time this was asked."""
        counts, self._counts = self._counts, [0] * BINS
        total, ranks = sum(counts), {"p50": 0.5, "p99": 0.99, "most": 1.0}
        return {name: _at(counts, rank * total) for name, rank in ranks.items()}


def _at(counts: list[int], rank: float) -> float:
    passed = 0
    for number, count in enumerate(counts):
        passed += count
        if passed >= rank:
            return round(number * BIN_SECONDS * 1000, 2)
    raise ValueError("nothing was counted")


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_048_576


async def say(speech: Speech, id: str, pcm: bytes) -> str:
    utterance = await speech.open(UtteranceRequest(id=id, partials=False))
    for start in range(0, len(pcm), 3200):
        await utterance.feed(pcm[start : start + 3200])
    text = (await utterance.end()).text
    utterance.release()
    return text


async def main(model: str, pcm: bytes, count: int) -> None:
    settings = VoiceSettings(model=model, language="en")
    with tempfile.TemporaryDirectory() as state:
        async with trio.open_nursery() as nursery:
            ticker = Ticker()
            nursery.start_soon(ticker.run)
            await trio.sleep(1)  # a second's lateness is what is measured
            idle = ticker.take()
            async with open_speech(settings, Path(state), os.environ) as speech:
                texts = {await say(speech, f"first {number}", pcm) for number in range(3)}
                gc.collect()
                before = resident_mb()
                ticker.take()
                for number in range(count):
                    texts.add(await say(speech, str(number), pcm))
                busy = ticker.take()
                gc.collect()
                grown = resident_mb() - before
            nursery.cancel_scope.cancel()
    found = {
        "late_ms": {"idle": idle, "busy": busy},
        "grown_mb": round(grown, 2),
        "resident_mb": round(before, 1),
        "heavy": [name for name in HEAVY if name in sys.modules],
        "texts": sorted(texts),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    trio.run(main, sys.argv[1], Path(sys.argv[2]).read_bytes(), int(sys.argv[3]))
