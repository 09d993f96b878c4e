"""Cases of the kit that send no prompt: those that 'podium agent try' plays."""

from __future__ import annotations

from pathlib import Path

from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import TurnEvent, TurnRequest
from podiumd.drivers.free_cases import FREE_CASES, FreeCase
from tests.drivers.kit.bench import Bench
from tests.drivers.kit.registry import Play, case

WRONG = {"13c": {"model_unknown": True}}
"""What the agent does wrong in a case."""


class OnBench:
    """The bench, as a free case works with it."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    @property
    def root(self) -> Path:
        return self._bench.rig.root

    @property
    def capabilities(self) -> Capabilities:
        return self._bench.driver.capabilities

    def request(self) -> TurnRequest:
        return self._bench.request(opens_only=True)

    async def play(self, request: TurnRequest) -> tuple[TurnReport, list[TurnEvent]]:
        return await self._bench.play(request)


def on_bench(free: FreeCase) -> Play:
    async def play(bench: Bench) -> None:
        bench.script({"text": "Hello."}, **WRONG.get(free.number, {}))
        why = await free.play(OnBench(bench))
        assert not why, why
        assert bench.asked == [], "the model was asked"

    play.__name__ = getattr(free.play, "__name__", "")
    return play


for _free in FREE_CASES:
    case(_free.number)(on_bench(_free))
