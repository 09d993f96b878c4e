"""Speech as the edges use it: the service that makes text, and the terms that it should expect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from weakref import WeakKeyDictionary

import trio

from podiumd.observe.logs import log
from podiumd.runtime.errors import InvalidParameter, PodiumError
from podiumd.runtime.service import Service
from podiumd.runtime.voice.spoken_control import Said, SpokenControl
from podiumd.speech.audio.announcer import TYPES, Mode, speak_events
from podiumd.speech.audio.speaker import Speaker
from podiumd.speech.service import Speech
from podiumd.speech.utterance import Utterance
from podiumd.speech.words.vocabulary import Vocabulary, vocabulary
from podiumd.wire.voice import SpokenCommand as Command
from podiumd.wire.voice import Transcribed

LOCAL: Final = "local"
"""Speaker at the machine itself."""

MOST_RECIPES: Final = 20

AGAIN_SECONDS: Final = 1.0
"""Until events are read again after that failed."""


class Microphone:
    """A microphone that was opened in a session: what is spoken into it may be a command, once."""

    def __init__(self, session_id: str, open_questions: frozenset[str]) -> None:
        self.session_id = session_id
        self.open_questions = open_questions
        self.began = trio.current_time()
        self.command: Command | None = None
        self.heard = False
        self.lock = trio.Lock()


class Microphones:
    """The microphones at this machine, by their utterances."""

    def __init__(self, control: SpokenControl) -> None:
        self._control = control
        self._open: WeakKeyDictionary[Utterance, Microphone] = WeakKeyDictionary()

    def opened(self, utterance: Utterance, session_id: str | None) -> None:
        """Note that a person begins to speak, or goes on."""
        if session_id is not None and utterance not in self._open:
            self._open[utterance] = Microphone(session_id, self._control.open_questions())

    async def command(self, utterance: Utterance, transcript: Transcribed) -> Command | None:
        """Obey an utterance, if it is a command and was spoken in a session.

        The result is the same when it is asked for again.
        """
        microphone = self._open.get(utterance)
        if microphone is None or transcript.no_speech:
            return None
        async with microphone.lock:
            if not microphone.heard:
                microphone.heard = True
                said = Said(
                    device=LOCAL,
                    utterance_id=utterance.id,
                    session_id=microphone.session_id,
                    text=transcript.text,
                    language=transcript.language,
                    began=microphone.began,
                    open_questions=microphone.open_questions,
                )
                microphone.command = await self._control.obey(said)
        return microphone.command


class Voice:
    """``control`` obeys spoken commands, ``speaker`` speaks at the machine."""

    def __init__(self, speech: Speech, speaker: Speaker, service: Service) -> None:
        self.speech = speech
        self.speaker = speaker
        self.control = SpokenControl(service, trio.current_time)
        self.microphones = Microphones(self.control)
        self._service = service

    async def vocabulary(self, session_id: str | None, working_directory: str | None) -> Vocabulary:
        """List the terms that may come up in a session or a directory; takes a second at most.

        Raises:
            NotFound: there is no such session.
            InvalidParameter: neither is given, or the session has no directory.
        """
        running = ""
        if session_id is not None:
            row = await self._service.sessions_get(session_id)
            working_directory = working_directory or row.working_directory
            running = "" if row.active_recipe is None else row.active_recipe.recipe_id
        if not working_directory:
            words = "Name a session_id or a working_directory: every project has its own words."
            raise InvalidParameter("working_directory", words)
        recipes = await self._recipes(working_directory, running)
        return await vocabulary(working_directory, recipes)

    async def terms(self, session_id: str | None) -> tuple[str, ...]:
        """List the terms alone; none for a session that is new, or not named."""
        if session_id is None:
            return ()
        try:
            return (await self.vocabulary(session_id, None)).words
        except PodiumError:
            return ()
        except Exception as error:  # noqa: BLE001 - speech goes without
            log("Vocabulary not found", "warning", exception=error)
            return ()

    async def _recipes(self, directory: str, running: str) -> list[tuple[str, list[str]]]:
        """Recipes and their steps, the one that runs first."""
        listed = [row.id for row in await self._service.recipes.list(directory) if row.ok]
        listed.sort(key=lambda name: name != running)
        found: list[tuple[str, list[str]]] = []
        for name in listed[:MOST_RECIPES]:
            with suppress(PodiumError):  # one that has just been changed is left out
                recipe = await self._service.recipes.get(name, directory)
                found.append((name, list(recipe.steps)))
        return found


async def speak_aloud(service: Service, speaker: Speaker, mode: Callable[[], Mode]) -> None:
    """Say at the machine what happens, as far as it is wanted, until the daemon stops."""
    while True:
        try:
            async with service.subscribe(TYPES, None) as events:
                await speak_events(events, speaker, mode)
            return
        except Exception as error:  # noqa: BLE001 - a voice that fails is no fault of the daemon's
            log("Events cannot be spoken", "error", exception=error)
            await trio.sleep(AGAIN_SECONDS)
