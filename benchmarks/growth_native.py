"""What a request of a native turn costs to put together, however long the turn is by then."""

from __future__ import annotations

import argparse
import statistics
import time

from benchmarks.growth import Growth
from podiumd.core.prompts.context_window import Gauge, Material, compose, prompt_tokens
from podiumd.core.prompts.kept_texts import KeptTexts
from podiumd.core.reply.actions import Action
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.native_loop_state import ActionState, LoopState, Round

ACTIONS = (100, 950)
REQUESTS = 60
"""The last of a turn, of which the middle one counts."""
WINDOWS = {"200,000 tokens": 200_000, "32,768 tokens": 32_768, "8,192 tokens": 8_192}
MOST_LOOKED_AT = 64

_DIGEST = "a" * 64
_LINES = "".join(f"{number}\tvalue_{number} = {number}\n" for number in range(1, 13))


def _round(number: int) -> Round:
    path = f"src/module_{number}.py"
    result = lf.Result(
        action="read_file",
        success=True,
        message="read",
        output=f"{path}: lines 1 to 12 of 12, sha256 {_DIGEST}\n{_LINES}",
    )
    action = ActionState(action=Action("read_file", {"path": path}), result=result)
    text = f'I read.\n```json\n{{"action": "read_file", "path": "{path}"}}\n```'
    return Round(number=number, text=text, stop="end", actions=(action,))


def _request_ms(actions: int, window: int) -> float:
    """CPU of one request near the end of a turn of so many actions, a reading each."""
    rounds = tuple(map(_round, range(1, actions + 1)))
    room = Gauge().size(prompt_tokens(window, min(8_192, window // 4)))
    texts, took = KeptTexts(), []
    for count in range(actions - REQUESTS, actions + 1):
        loop = LoopState(rounds=rounds[:count])
        began = time.process_time_ns()
        known = texts.working_set(loop)
        digests = {path: known[path].digest for path in list(known)[-MOST_LOOKED_AT:]}
        compose(Material(goal="Tidy up.", loop=loop, digests=digests), room, texts)
        took.append((time.process_time_ns() - began) / 1e6)
    return statistics.median(took[1:])  # the first makes what earlier requests would have made


def measure(options: argparse.Namespace) -> list[Growth]:
    """A request by the model's window; in a small one most of a long turn is summarised."""
    del options
    told = []
    for name, window in WINDOWS.items():
        at = {f"{count}": _request_ms(count, window) for count in ACTIONS}
        goal = 3.0 if window == max(WINDOWS.values()) else None
        told.append(Growth(f"a request of a native turn, {name}", "CPU ms", at, goal, 10.0))
    return told
