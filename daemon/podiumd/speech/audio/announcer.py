"""What the daemon says at the machine by itself: ``[voice] speak``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterable, Callable
from typing import Any, Final, Literal

from podiumd.core.voice.summary import plain, summary
from podiumd.speech.audio.speaker import Speaker

TYPES: Final = frozenset(
    {"turn.ended", "edge.taken", "question.opened", "question.closed", "run.parked", "run.ended"}
)
"""The events that are wanted."""

MOST_RUNS: Final = 64

Mode = Literal["off", "summary", "full"]
Json = dict[str, Any]


async def speak_events(
    events: AsyncIterable[Json], speaker: Speaker, mode: Callable[[], Mode]
) -> None:
    """Say what happens, until the events end.

    Args:
        events: the public events of ``TYPES``, as they come.
        speaker: says it.
        mode: how much is wanted at the moment: nothing, summaries, or the agents' answers in full.
    """
    answers: OrderedDict[str, str] = OrderedDict()
    async for event in events:
        how, run_id = mode(), str(event.get("run_id"))
        data: Json = event.get("data") or {}
        if event.get("type") == "turn.ended":
            answers[run_id] = str(data.get("text") or "")
            while len(answers) > MOST_RUNS:
                answers.popitem(last=False)
            if how == "full":
                speaker.say(plain(answers[run_id]))
        elif event.get("type") == "question.closed":
            if how != "off":
                speaker.stop()  # the answer is given: the question need not be heard to its end
        else:
            answer = answers.get(run_id, "")
            over = event.get("type") == "run.ended"
            if over:
                answers.pop(run_id, None)
            told = how == "full" and over and _is_prompt(data) and answer
            if how != "off" and not told:
                speaker.say(summary(event, answer))


def _is_prompt(data: Json) -> bool:
    return (data.get("run") or {}).get("kind") == "prompt"
