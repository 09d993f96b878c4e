"""Spoken commands, from the sound to what they do: made voices, the real model, the grammar."""

from __future__ import annotations

from pathlib import Path

import pytest

from podiumd.core.voice.grammar import Asked, Heard, hear
from podiumd.speech.words.languages import spoken_languages
from tests.core.spoken_corpus import lines, question
from tests.speech.voice.sound import pcm_of, silence, spoken
from tests.speech.voice.worker import Worker

VOICES = ("slt", "rms", "awb")

COMMANDS = [
    tuple(one.split("="))
    for one in lines(
        """
Yes, approve it.=allow|Please approve it.=allow|I approve.=allow|Okay, approve.=allow
Approve that, please.=allow|Go ahead.=allow|Permission granted.=allow|Yes, please.=allow
Yes.=allow|No.=deny|Deny it.=deny|No, thanks.=deny|Reject it.=deny|Do not approve that.=deny
Don't do that.=deny|No, deny it, please.=deny|Stop.=stop|Stop it now.=stop|Please stop.=stop
No, stop!=stop|Okay, stop.=stop|Next question, please.=next|The next one.=next
Go to the next question.=next|Skip this question.=next|Repeat that, please.=repeat
Can you repeat that?=repeat|Repeat the question.=repeat|Say it again.=repeat
Yes, always allow it.=always|Option two.=deny|The second one.=deny|The last option.=always
Answer number two.=deny
"""
    )
]

NEAR_MISSES = lines(
    """
I would not approve that.|Improve it.|Prove it.|Remove it.|I disapprove of that.|Approve it later.
Yes, but not now.|Never allow it.|Hello there.|The yellow one.|Move it.|Follow it.|Say less.
Take a guess.|Go home.|Go ahead of me.|The confirmation.|Not yet.|Maybe.|Wait a moment.
Fix the test.|Next week.|All right.|Thank you.|Sure.|Fine.|Yeah, right.|I do not know.
Should I approve it?|He said that he would approve it tomorrow.|Ask me before you allow it.
What does it do?|Show me the difference.|If the tests pass, approve it.|Yes and no.|Is that a yes?
"""
)


def heard(text: str, asked: Asked) -> Heard:
    return hear(
        text,
        language=spoken_languages()["en"],
        asked=asked,
        pending=None,
        device="phone",
        utterance_id="u",
        began=1.0,
        now=2.0,
    )


def test_at_least_95_of_100_spoken_commands_are_understood(base_worker: Worker) -> None:
    wrong = []
    for voice in VOICES:
        for said, wanted in COMMANDS:
            text = base_worker.hear(spoken(said, voice), language="en").text
            did = heard(text, question())
            if (did.choice or did.command) != wanted:
                wrong.append((voice, said, text))
    count = len(VOICES) * len(COMMANDS)

    assert count >= 100
    assert len(wrong) <= 0.05 * count, wrong


@pytest.mark.parametrize("voice", VOICES)
def test_no_spoken_near_miss_gives_leave(base_worker: Worker, voice: str) -> None:
    for said in NEAR_MISSES:
        text = base_worker.hear(spoken(said, voice), language="en").text
        did = heard(text, question())
        assert (did.state, did.choice) not in (("applied", "allow"), ("applied", "always")), text


@pytest.mark.parametrize("which", ["worker", "base_worker"])
def test_no_noise_gives_leave(
    request: pytest.FixtureRequest, recordings: dict[str, Path], which: str
) -> None:
    model: Worker = request.getfixturevalue(which)
    clips = [pcm_of(recordings[name]) for name in ("noise.wav", "monkeys.g722")]
    clips += [
        clip[start : start + 32_000] for clip in clips for start in range(0, len(clip), 32_000)
    ]
    for clip in [*clips, silence(2)]:
        assert heard(model.hear(clip).text, question()).choice not in ("allow", "always")
