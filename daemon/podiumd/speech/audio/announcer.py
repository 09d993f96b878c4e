"""Announcements that the daemon speaks at the machine by itself: ``[voice] speak``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterable, Callable
from typing import Final, Literal

from podiumd.core.run import facts as f
from podiumd.core.voice.summary import plain, summary
from podiumd.speech.audio.speaker import Speaker
from podiumd.wire.event import Event
from podiumd.wire.events import Snapshot, TurnOutput

TYPES: Final = frozenset(
    {"turn.ended", "edge.taken", "question.opened", "question.closed", "run.parked", "run.ended"}
)
"""The events that are wanted."""

MOST_RUNS: Final = 64

Mode = Literal["off", "summary", "full"]


async def speak_events(
    events: AsyncIterable[Event], speaker: Speaker, mode: Callable[[], Mode]
) -> None:
    """Say what happens, until the events end.

    Args:
        events: the events of ``TYPES``, as they come.
        speaker: says it.
        mode: how much is wanted at the moment: nothing, summaries, or the agents' answers in full.
    """
    answers: OrderedDict[str, str] = OrderedDict()
    async for event in events:
        how = mode()
        match event.fact:
            case TurnOutput() | Snapshot():
                pass  # they are not asked for here
            case f.TurnEnded(text=text):
                answers[event.run_id] = text
                while len(answers) > MOST_RUNS:
                    answers.popitem(last=False)
                if how == "full":
                    speaker.say(plain(text))
            case f.QuestionClosed():
                if how != "off":
                    speaker.stop()  # the answer is given: it need not be played to its end
            case fact:
                over = isinstance(fact, f.RunEnded)
                answer = (answers.pop if over else answers.get)(event.run_id, "")
                told = how == "full" and event.run is not None and event.run.kind == "prompt"
                if how != "off" and not (told and answer):
                    speaker.say(summary(fact, event.run, answer))
