"""From the end of speech to its text, and how right that is: our worker and three peers.

All have the same weights (Whisper base) and the same recordings, and take turns; the peers have two
threads, ours has as many as it takes by itself. Ours goes the whole way, from the last byte fed to
the transcript in the daemon's loop; the peers are given whole recordings. ``--rounds`` is how often
each recording is heard.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import trio

if not __package__:  # run as a program: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import CACHE, ROOT, CannotMeasure, Figure, Result, arguments, run
from benchmarks.voice_peers import Peer, Wyoming, install_peers, peer, wyoming
from podiumd.config.settings import VoiceSettings
from podiumd.speech.api import UtteranceRequest
from podiumd.speech.models import Models
from podiumd.speech.service import Speech, open_speech
from podiumd.wire.voice import Transcribed
from tests.speech import assets
from tests.speech.voice.sound import errors, pcm_of, spoken, words_of
from tests.speech.voice.worker import Worker

THREADS = 2  # of the peers
VOICES = ("slt", "rms", "awb")
TERMS = (
    "session_lock", "review-and-commit", "gateway.py", "pytest-trio", "worktree", "podiumd",
    "implement-step", "run_actor.py", "lint-imports", "phone_link", "msgspec", "test_restarts.py",
    "recipe", "hotwords", "trio", "config.toml", "outbox", "transcript", "json-rpc", "nursery",
    "fact_log.py", "mypy", "ruff", "websocket",
)  # fmt: skip
PROMPTS = (
    ("Run review and commit on this branch.", ("review-and-commit",)),
    ("Look at session lock in gateway dot pie.", ("session_lock", "gateway.py")),
    ("Why does pie test trio hang in test restarts dot pie?", ("pytest-trio", "test_restarts.py")),
    ("Start implement step in a new work tree.", ("implement-step", "worktree")),
    ("Let my pie and ruff pass, then run lint imports.", ("mypy", "ruff", "lint-imports")),
    ("The web socket closes before the outbox is empty.", ("websocket", "outbox")),
    ("Move the nursery into run actor dot pie.", ("nursery", "run_actor.py")),
    ("Add a field to config dot tommel and read it with message spec.", ("config.toml",)),
    ("Rename phone link and its transcript.", ("phone_link", "transcript")),
    ("Append it to fact log dot pie through json r p c.", ("fact_log.py", "json-rpc")),
)


class Clip(NamedTuple):
    """A recording and its words; ``terms`` that must be written as the project writes them."""

    path: Path
    pcm: bytes
    words: str
    terms: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return len(self.pcm) / 32_000


class Heard(NamedTuple):
    """What one contender made of one clip."""

    seconds: float
    text: str


def clips(folder: Path) -> list[Clip]:
    """The recordings with known words."""
    wanted = {name: one for name, one in assets.RECORDINGS.items() if one.words} | assets.JFK
    found = []
    for name, path in assets.recordings(wanted).items():
        pcm = pcm_of(path)
        found.append(Clip(_stored(folder, name, pcm), pcm, wanted[name].words))
    return found


def prompts(folder: Path) -> list[Clip]:
    """Made voices that say what one says to an agent."""
    found = []
    for voice in VOICES:
        for number, (text, terms) in enumerate(PROMPTS):
            pcm = spoken(text, voice)
            found.append(Clip(_stored(folder, f"{voice}-{number}", pcm), pcm, text, terms))
    return found


def _stored(folder: Path, name: str, pcm: bytes) -> Path:
    path = folder / f"{name}.pcm"
    path.write_bytes(pcm)
    return path


class Ours:
    """The service, in this process, with its worker."""

    def __init__(self, speech: Speech) -> None:
        self._speech = speech
        self._number = 0

    async def hear(
        self, clip: Clip, *, hotwords: tuple[str, ...] = (), live: bool = False
    ) -> Transcribed:
        """Speak a clip; ``live``: at the pace at which it was spoken, with partial texts."""
        self._number += 1
        request = UtteranceRequest(id=str(self._number), hotwords=hotwords, partials=live)
        utterance = await self._speech.open(request)
        for start in range(0, len(clip.pcm), 3200):
            await utterance.feed(clip.pcm[start : start + 3200])
            if live:
                await trio.sleep(0.1)  # the pace of speech: 3200 bytes are a tenth of a second
        found = await utterance.end()
        utterance.release()
        return found


async def take_turns(
    model: Path,
    rounds: int,
    recorded: list[Clip],
    made: list[Clip],
    peers: dict[str, Peer | Wyoming],
) -> dict[str, Any]:
    """Everything that is timed, interleaved clip by clip."""
    heard: dict[str, list[list[Heard]]] = {name: [] for name in ("ours", *peers)}
    settings = VoiceSettings(model=str(model), language="en")
    with tempfile.TemporaryDirectory() as state:
        async with open_speech(settings, Path(state), os.environ) as speech:
            ours = Ours(speech)
            await ours.hear(recorded[0])
            for one in peers.values():
                await one.hear(recorded[0].path, recorded[0].pcm)
            for _ in range(rounds):
                turn: dict[str, list[Heard]] = {name: [] for name in heard}
                for clip in recorded:
                    found = await ours.hear(clip)
                    turn["ours"].append(Heard(found.latency_ms / 1000, found.text))
                    for name, one in peers.items():
                        turn[name].append(Heard(*await one.hear(clip.path, clip.pcm)))
                for name, of_round in turn.items():
                    heard[name].append(of_round)
            live = [(await ours.hear(clip, live=True)).latency_ms / 1000 for clip in recorded]
            plain = [(await ours.hear(clip)).text for clip in made]
            named = [(await ours.hear(clip, hotwords=TERMS)).text for clip in made]
    return {"heard": heard, "live": live, "plain": plain, "named": named}


def word_errors(recorded: list[Clip], texts: list[str]) -> float:
    """Per cent of the words that are wrong, over all clips."""
    wrong = sum(errors(clip.words, text) for clip, text in zip(recorded, texts, strict=True))
    return 100 * wrong / sum(len(words_of(clip.words)) for clip in recorded)


def terms_right(made: list[Clip], texts: list[str]) -> float:
    """Per cent of the terms that are written as the project writes them."""
    found = [
        term.lower() in text.lower()
        for clip, text in zip(made, texts, strict=True)
        for term in clip.terms
    ]
    return 100 * sum(found) / len(found)


def lean(model: Path, clip: Clip) -> dict[str, Any]:
    """What it costs a loop that does nothing else; see ``benchmarks.voice_loop``."""
    command = [sys.executable, "-m", "benchmarks.voice_loop", str(model), str(clip.path), "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=600)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def seconds_to_ready(model: Path) -> float:
    """From the opening of a microphone to a loaded model with its hashes compared."""
    models = Models(model.parents[1], {})
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        with Worker(model, hashes=models.expected(model.name, model)):
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)


@contextlib.contextmanager
def all_peers(model: Path) -> Iterator[dict[str, Peer | Wyoming]]:
    python, ggml = install_peers(model)
    with (
        peer(Path(sys.executable), "faster-whisper", model, THREADS) as defaults,
        peer(python, "whisper.cpp", ggml, THREADS) as cpp,
        wyoming(python, model, THREADS) as server,
    ):
        yield {"faster-whisper": defaults, "wyoming-faster-whisper": server, "whisper.cpp": cpp}


def measure(options: Namespace) -> Result:
    try:
        model = assets.model("base")
        folder = CACHE / "voice-clips"
        folder.mkdir(parents=True, exist_ok=True)
        recorded, made = clips(folder), prompts(folder)
    except (assets.AssetError, FileNotFoundError) as error:
        raise CannotMeasure(f"{error} (recordings need apt and npm, made voices flite)") from error
    with all_peers(model) as peers:
        found = trio.run(take_turns, model, options.rounds, recorded, made, peers)
    found["ready"] = seconds_to_ready(model)
    return report(found, recorded, made, lean(model, recorded[0]))


def report(
    found: dict[str, Any], recorded: list[Clip], made: list[Clip], cost: dict[str, Any]
) -> Result:
    heard = found["heard"]
    rounds = {
        name: [sum(h.seconds for h in one) / len(one) for one in heard[name]] for name in heard
    }
    wrong = {name: word_errors(recorded, [one.text for one in heard[name][0]]) for name in heard}

    def ratio(name: str) -> float:
        pairs = zip(rounds["ours"], rounds[name], strict=True)
        return float(statistics.median(ours / theirs for ours, theirs in pairs))

    terms = terms_right(made, found["named"])
    worse = wrong["ours"] - wrong["faster-whisper"]
    late = cost["late_ms"]["busy"]["p99"]
    figures = [
        Figure("end of speech to text, against faster-whisper", ratio("faster-whisper"), "", 0.5),
        Figure("against wyoming-faster-whisper", ratio("wyoming-faster-whisper"), "", 0.4),
        Figure("against whisper.cpp", ratio("whisper.cpp"), "", 0.25),
        Figure("wrong words more than faster-whisper's", worse, "points", 0.5),
        Figure("terms of the project right, named", terms, "%", 85, at_least=True),
        Figure("microphone open to model ready", found["ready"], "s", 1),
        Figure("loop late while speech is read, p99", late, "ms", 5),
        Figure("memory that the daemon keeps of it", cost["grown_mb"], "MB", 0.5),
    ]
    rows = [
        [name, statistics.median(rounds[name]), min(rounds[name]), wrong[name]] for name in heard
    ]
    details = {
        "clips": len(recorded),
        "clip_seconds": sum(clip.seconds for clip in recorded) / len(recorded),
        "seconds": rounds,
        "word_errors": wrong,
        "live_seconds": statistics.median(found["live"]),
        "terms_right_unnamed": terms_right(made, found["plain"]),
        "terms_right": terms,
        "daemon": cost,
    }
    rows.append(
        [
            "ours, live with partial texts",
            statistics.median(found["live"]),
            min(found["live"]),
            wrong["ours"],
        ]
    )
    header = ["engine", "s a clip, median", "best", "wrong words %"]
    return Result(figures, header, rows, details)


if __name__ == "__main__":
    sys.exit(run("bench_voice", arguments(__doc__, 5).parse_args(), measure))
