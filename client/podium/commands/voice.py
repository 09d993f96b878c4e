"""``podium transcribe``, ``podium listen`` and ``podium voice``: speech at this machine."""

from __future__ import annotations

import os
import sys
from typing import Any

from podium import text
from podium.errors import INTERRUPTED, OK, USAGE, Failure
from podium.given import present
from podium.plain_file import open_plain
from podium.rpc.connection import call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from podium import protocol

    Format = Literal["wav", "m4a", "mp4", "webm", "ogg", "caf", "mp3", "flac", "pcm16"]


MOST_PIPED = 11 * 1024 * 1024
"""Bytes of a recording on standard input: what fits into one request, in base64."""

FORMATS = ("wav", "m4a", "mp4", "webm", "ogg", "caf", "mp3", "flac", "pcm16")


def transcribe(
    file: str, language: str | None, audio_format: Format | None, session: str | None, json: bool
) -> int:
    """``podium transcribe``."""
    answer = _transcript(file, language, audio_format, session)
    if json:
        text.emit_json(answer)
    elif answer.get("text"):
        text.say(f"{text.clean(answer['text'])}")
    else:
        text.tell("podium: no speech in the recording.")
    return OK


def _transcript(
    file: str, language: str | None, audio_format: Format | None, session: str | None
) -> protocol.Transcribed:
    request: protocol.Transcribe = {
        "language": language,
        "format": audio_format,
        "session_id": session,
    }
    request = present(request)
    if file == "-":
        request["audio"] = _piped(audio_format)
    else:
        request["path"] = _readable(file)
    return call("voice.transcribe", request, seconds=None)


def _readable(file: str) -> str:
    """Return the absolute path of a readable file, as the daemon has another directory.

    Raises:
        Failure: it cannot be read.
    """
    path = os.path.abspath(file)
    try:
        with open_plain(path) as found:
            found.read(1)
    except OSError as error:
        raise Failure(f"{text.fold(file)} cannot be read: {error.strerror}.", USAGE) from None
    return path


def _piped(audio_format: Format | None) -> str:
    from binascii import b2a_base64

    if audio_format is None:
        known = ", ".join(FORMATS)
        raise Failure(f"Say what standard input holds with --format: {known}.", USAGE)
    data = sys.stdin.buffer.read(MOST_PIPED + 1)
    if not data:
        raise Failure("Standard input is empty: give a recording.", USAGE)
    if len(data) > MOST_PIPED:
        limit = f"{MOST_PIPED // 2**20} MiB"
        raise Failure(f"The recording has more than {limit}: save it, and name the file.", USAGE)
    return b2a_base64(data, newline=False).decode("ascii")


# -- the microphone --------------------------------------------------------------------------


def listen(
    language: str | None, session: str | None, seconds: str | None, send: bool, json: bool
) -> int:
    """``podium listen``."""
    from podium.audio.dictation import record

    if send and json:
        raise Failure("--send shows an answer, and --json the text: give one of them.", USAGE)
    try:
        answer = record(language, session, given_seconds(seconds))
    except KeyboardInterrupt:
        text.tell("podium: nothing was taken down.")
        return INTERRUPTED
    if json:
        return text.emit_json(answer)
    said = str(answer.get("text") or "")
    if not said:
        text.tell("podium: no speech.")
        return OK
    command: protocol.SpokenCommand | None = answer.get("command")
    if command is not None:
        # The daemon has carried it out: there is no text to print or send.
        text.tell(f"podium: {text.fold(command.get('read_back') or command.get('command'))}")
        return OK
    if not send:
        text.say(f"{text.clean(said)}")
        return OK
    from podium.commands.start import prompt

    text.tell(f"You said: {text.clean(said)}")
    return prompt(
        said, session, None, None, None, None, (), False, None, False, False, False, False
    )


def given_seconds(words: str | None) -> float | None:
    """Parse the value of --seconds.

    Raises:
        Failure: it is no such number.
    """
    if words is None:
        return None
    try:
        seconds = float(words)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 600:
        raise Failure(f"--seconds takes 0.1 to 600, not '{text.fold(words, 40)}'.", USAGE)
    return seconds


def voice_test(file: str | None, language: str | None, seconds: str | None, json: bool) -> int:
    """``podium voice test``."""
    from podium.audio.dictation import record

    if file is not None and seconds is not None:
        raise Failure("--seconds goes without a file: a file has its own length.", USAGE)
    if file is not None:
        answer = _transcript(file, language, None, None)
    else:
        answer = record(language, None, given_seconds(seconds))
    if json:
        text.emit_json(answer)
    else:
        text.emit(_figures(answer))
    return OK if answer.get("text") else 1


def _figures(answer: protocol.Heard | protocol.Transcribed) -> str:
    length, latency = answer["duration_ms"], answer["latency_ms"]
    times = f" ({length / latency:.0f} times as fast as it was spoken)" if latency else ""
    rows = [
        ("heard", text.clean(answer["text"]) or "(no speech)"),
        ("audio", _seconds(length)),
        ("answered in", f"{_seconds(latency)}{times}"),
        ("language", text.fold(answer["language"] or "-")),
        ("engine", text.fold(f"{answer['engine'] or '-'} {answer['model'] or ''}")),
        ("terms", text.fold(", ".join(answer["terms_used"]) or "none")),
    ]
    return "".join(f"{name:<12} {value}\n" for name, value in rows)


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.2f} s"


# -- what there is ---------------------------------------------------------------------------

STATES = {
    "off": "off (voice.enabled)",
    "not-installed": "not installed",
    "no-model": "no model",
    "idle": "ready when it is needed",
    "loading": "loading",
    "ready": "ready",
    "failed": "failed",
}


def status(json: bool) -> int:
    """``podium voice status``."""
    answer: protocol.SpeechStatus = call("voice.status")
    if json:
        return text.emit_json(answer)
    state = str(answer.get("state"))
    told = [f"voice: {STATES.get(state, text.fold(state))}"]
    if state != "not-installed":  # before it is there, what would be used means nothing
        told += [text.fold(answer[name]) for name in ("engine", "model") if answer.get(name)]
    text.say(", ".join(told))
    if answer.get("problem"):
        text.say(f"{text.fold(answer['problem'])}")
    return OK


def models(json: bool) -> int:
    """``podium voice models``."""
    answer: list[protocol.SpeechModel] = call("voice.models")
    if json:
        return text.emit_json(answer)
    headings = ("MODEL", "", "SIZE", "LANGUAGES", "FROM")
    text.emit(text.table(headings, map(_model, answer), text.columns()))
    if any(row.get("configured") for row in answer):
        text.say("\n* is the one in use: voice.model in the configuration.")
    return OK


def _model(row: protocol.SpeechModel) -> tuple[str, ...]:
    size = row.get("megabytes")
    name = f"{row.get('name')}{' *' if row.get('configured') else ''}"
    return (
        name,
        "installed" if row.get("installed") else "",
        f"{size:.0f} MB" if isinstance(size, (int, float)) else "-",
        "all" if row.get("multilingual") else "English",
        str(row.get("path") or row.get("source") or ""),
    )


def install(model: str | None, json: bool) -> int:
    """``podium voice install``: the model that is named, else the one that is set."""
    if model is None:
        listed: list[protocol.SpeechModel] = call("voice.models")
        chosen = [str(row.get("name")) for row in listed if row.get("configured")]
        if not chosen:
            words = "No model of 'podium voice models' is set: name one, or set voice.model."
            raise Failure(words, USAGE)
        (model,) = chosen
    answer = _installed(model)
    place = f" in {text.fold(answer['path'])}" if answer["path"] else ""
    words = f"{text.fold(answer['name'])} is installed{place}."
    return text.report(answer, words, json=json)


def _installed(name: str) -> protocol.SpeechModel:
    """Have a model installed, and show the daemon's reports of its progress."""
    from podium.render.screen import Screen

    screen = Screen(sys.stderr)
    show = screen.status if screen.live else screen.line

    def heed(message: dict[str, Any]) -> None:
        if message["method"] == "voice.progress":
            show(_progress(message["params"]))

    try:
        model: protocol.SpeechModel = call("voice.install", {"name": name}, None, heed)
    finally:
        screen.clear()
    return model


def _progress(progress: protocol.Progress) -> str:
    size, whole = progress.get("bytes"), progress.get("total")
    done = ""
    if size is not None:
        done = (
            f" {size / 1e6:.0f} MB"
            if whole is None
            else f" {size / 1e6:.0f} of {whole / 1e6:.0f} MB"
        )
    return f"{text.fold(progress['message'] or progress['phase'])}{done}"


def vocabulary(session: str | None, cwd: str | None, json: bool) -> int:
    """``podium voice vocabulary``."""
    request: protocol.FindTerms = {"session_id": session} if session else {}
    if cwd is not None or not session:
        request["working_directory"] = os.path.abspath(cwd or os.getcwd())
    answer = call("voice.vocabulary", request)
    if json:
        return text.emit_json(answer)
    terms = answer.get("terms") or []
    if not terms:
        text.say("No terms: there is nothing here to name.")
        return OK
    rows = [(str(one.get("term")), str(one.get("source"))) for one in terms]
    text.emit(text.table(("TERM", "FROM"), rows, text.columns()))
    if answer.get("complete") is False:
        text.tell("podium: the search timed out; the list is incomplete.")
    return OK
