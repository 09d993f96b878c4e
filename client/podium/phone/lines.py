"""The lines that drive a phone: each a command of the person at the app."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from podium.errors import USAGE, Failure
from podium.phone import requests, show
from podium.phone.fields import Json
from podium.phone.model import PhoneModel

After = Callable[[], str]
DEFAULT_WAIT_SECONDS = 120.0

FORMATS = ("wav", "m4a", "mp4", "webm", "ogg", "caf")
RAW = ("raw", "pcm")
RAW_RATE = 16_000
PIECE_BYTES = 16 * 1024
"""Of a recording at a time: half a second of speech that is not compressed."""


class Wait(NamedTuple):
    """A frame of a type is to come, or to have come since the line before."""

    kind: str
    seconds: float


class Line(NamedTuple):
    """One command: how it is written, what it does, and how many words it needs, of which the
    last takes the rest of the line."""

    usage: str
    help: str
    words: int

    @property
    def name(self) -> str:
        """The first word."""
        return self.usage.split()[0]


LINES = (
    Line("sessions", "list the sessions", 0),
    Line("open ID", "show a session: its messages, then what is added", 1),
    Line("leave", "go back to the list", 0),
    Line("reload", "show the session anew", 0),
    Line("say TEXT", "send a message to the session that is shown, or to its phase", 1),
    Line("new DIR TEXT", "begin a session in a directory", 2),
    Line("recipes", "list the recipes", 0),
    Line("start ID RECIPE", "start a recipe in a session ('-': a new one, here)", 2),
    Line("exit", "end the recipe of the session that is shown", 0),
    Line("pause", "pause that recipe", 0),
    Line("resume", "let it go on", 0),
    Line("steer TEXT", "a word into its running turn", 1),
    Line("questions", "list the open questions", 0),
    Line("answer QUESTION ANSWER", "answer a question: a choice, several (A,B), words or JSON", 2),
    Line("commands", "list the commands of the project", 0),
    Line("run COMMAND", "run one of them", 1),
    Line("upload FILE", "upload a file into the project", 1),
    Line("speak FILE", "say a recording to the session that is shown", 1),
    Line("dictate FILE", "have a recording read, to look at what was understood", 1),
    Line("hush", "forget what was said last", 0),
    Line("kill", "end what the agent of this session does", 0),
    Line("compact", "compact this session", 0),
    Line("ping", "ask whether the gateway is there", 0),
    Line("send JSON", "send any frame", 1),
    Line("wait [TYPE] [SECONDS]", "wait for a frame since the line before (turn_complete, 120)", 0),
    Line("reconnect", "hang up and connect again", 0),
    Line("help", "this list", 0),
    Line("quit", "leave", 0),
)
KNOWN = {line.name: line for line in LINES}


class Person:
    """Acts on a phone as its lines say. ``leaving`` and ``reconnecting`` are for the console."""

    def __init__(self, model: PhoneModel) -> None:
        self._model = model
        self.leaving = False
        self.reconnecting = False

    def do(self, line: str) -> After | Wait | None:
        """Do one line. What it returns is shown, or waited for, when the gateway has handled it.

        Raises:
            Failure: the line is no command, or cannot be done now.
        """
        name, _, rest = line.strip().partition(" ")
        known = KNOWN.get(name)
        if known is None:
            raise Failure(f"There is no command '{name}': 'help' lists them.", USAGE)
        words = rest.split(maxsplit=max(0, known.words - 1)) if known.words else rest.split()
        if len(words) < known.words or (not known.words and words and name != "wait"):
            raise Failure(f"It is written '{known.usage}'.", USAGE)
        act: Callable[..., After | Wait | None] = getattr(self, f"_{name}")
        return act(*words)

    def _shown(self) -> str:
        if self._model.screen is None:
            raise Failure("No session is shown: 'open ID' shows one.", USAGE)
        return self._model.screen

    def _about(self, kind: str, **more: object) -> None:
        self._model.send(requests.of_session(kind, self._shown(), **more))

    def _directory(self) -> str:
        screen = self._model.screen
        known = self._model.session(screen).directory if screen is not None else ""
        return known or os.getcwd()

    def _sessions(self) -> After:
        self._model.send({"type": "refresh_sessions"})
        return lambda: show.sessions(self._model)

    def _open(self, beginning: str) -> None:
        self._model.sync.open(self._named(beginning, list(self._model.sync.sessions)))

    def _named(self, beginning: str, ids: list[str]) -> str:
        """The one id that begins so; else the words, for the gateway to judge."""
        found = [one for one in ids if one.startswith(beginning)]
        return found[0] if len(found) == 1 else beginning

    def _leave(self) -> None:
        self._model.sync.leave()

    def _reload(self) -> None:
        self._shown()
        self._model.sync.reload()

    def _say(self, words: str) -> None:
        self._shown()
        self._model.say(words)

    def _new(self, directory: str, words: str) -> None:
        self._model.new(os.path.abspath(os.path.expanduser(directory)), words)

    def _recipes(self) -> After:
        self._model.send({"type": "get_available_recipes"})
        return lambda: show.recipes(self._model)

    def _start(self, session: str, recipe: str) -> None:
        frame: Json = {"type": "start_recipe", "recipe_id": recipe}
        if session == "-":
            frame["working_directory"] = self._directory()
        else:
            frame["session_id"] = self._named(session, list(self._model.sync.sessions))
        self._model.send(frame)

    def _exit(self) -> None:
        self._about("exit_recipe")

    def _pause(self) -> None:
        self._about("pause_recipe")

    def _resume(self) -> None:
        self._about("resume_recipe")

    def _steer(self, words: str) -> None:
        self._about("steer", text=words)

    def _questions(self) -> After:
        return lambda: show.questions(self._model)

    def _answer(self, question: str, answer: str) -> None:
        question_id = self._named(question, list(self._model.board.questions))
        self._model.send({"type": "answer_question", "question_id": question_id, "answer": answer})

    def _commands(self) -> After:
        return lambda: show.commands(self._model)

    def _run(self, command_id: str) -> None:
        self._model.send(
            {
                "type": "execute_command",
                "command_id": command_id,
                "working_directory": self._directory(),
            }
        )

    def _upload(self, file: str) -> None:
        path = Path(file).expanduser()
        content = _content(file, path)
        self._model.send(
            {
                "type": "upload_file",
                "filename": path.name,
                "content": base64.b64encode(content).decode("ascii"),
                "storage_location": self._directory(),
            }
        )

    def _speak(self, file: str) -> None:
        self._talk(file, session_id=self._shown(), deliver="prompt")

    def _dictate(self, file: str) -> None:
        screen = self._model.screen
        self._talk(file, **({} if screen is None else {"session_id": screen}))

    def _talk(self, file: str, **more: object) -> None:
        path = Path(file).expanduser()
        kind = path.suffix.lower().removeprefix(".")
        if kind in RAW:
            more["sample_rate"] = RAW_RATE
        elif kind not in FORMATS:
            raise Failure(f"{file} is none of: {', '.join((*FORMATS, *RAW))}.", USAGE)
        recorded = _content(file, path)
        voice = self._model.voice
        said = voice.begin(self._model.new_id(), "pcm16" if kind in RAW else kind, **more)
        for at in range(0, len(recorded), PIECE_BYTES):
            voice.add(said, recorded[at : at + PIECE_BYTES])
        voice.end(said)

    def _hush(self) -> None:
        said = list(self._model.voice.utterances.values())
        if not said or said[-1].over:
            raise Failure("Nothing is being said.", USAGE)
        self._model.voice.cancel(said[-1])

    def _kill(self) -> None:
        self._about("kill_session")

    def _compact(self) -> None:
        self._about("compact_session")

    def _ping(self) -> After:
        return lambda: "pong"

    def _send(self, given: str) -> None:
        try:
            frame = json.loads(given)
        except ValueError as error:
            raise Failure(f"That is no JSON: {error}.", USAGE) from error
        if not isinstance(frame, dict):
            raise Failure("A frame is a JSON object.", USAGE)
        self._model.send(frame)

    def _wait(self, kind: str = "turn_complete", seconds: str = "") -> Wait:
        try:
            return Wait(kind, float(seconds) if seconds else DEFAULT_WAIT_SECONDS)
        except ValueError as error:
            raise Failure(f"'{seconds}' is no number of seconds.", USAGE) from error

    def _reconnect(self) -> None:
        self.reconnecting = True

    def _help(self) -> After:
        width = max(len(line.usage) for line in LINES)
        return lambda: "\n".join(f"  {line.usage:<{width}}  {line.help}" for line in LINES)

    def _quit(self) -> None:
        self.leaving = True


def _content(file: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"Cannot read {file}: {error.strerror}.") from error
