"""An action that a crash has cut off: what the leave that was given for it still allows."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from podiumd.core.run.native_loop_commands import LoopCommand, PlanAction
from podiumd.core.run.native_loop_state import LoopState
from podiumd.drivers.base import ApprovalRequested, Decision, Turn, TurnEvent
from tests.drivers.native.bench import ENDS, Bench, PlayedJournal, act
from tests.drivers.rig import ALLOW, answering, approvals, follow, play
from tests.patience import HANG_SECONDS


class CutJournal(PlayedJournal):
    """Once the plan of a change is stored, nothing comes of it until the daemon is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.planned = trio.Event()

    async def record(self, command: LoopCommand) -> LoopState:
        loop = await super().record(command)
        if isinstance(command, PlanAction) and not self.planned.is_set():
            self.planned.set()
            await trio.sleep_forever()
        return loop


async def allowed_and_cut_off(bench: Bench) -> None:
    """Have the turn's action allowed, and the daemon gone before anything came of it."""
    bench.journal = journal = CutJournal()
    with trio.fail_after(HANG_SECONDS):
        async with bench.driver.turn(bench.request()) as turn, trio.open_nursery() as nursery:
            nursery.start_soon(follow, turn, answering(ALLOW))
            await journal.planned.wait()
            await turn.leave()


@pytest.mark.parametrize(
    ("found", "at_the_answer", "asked", "left"),
    [
        (None, None, [], "x\n"),
        ("theirs", None, ["what now"], "x\n"),
        ("theirs", "theirs, too", ["what now", "leave"], "theirs, too"),
    ],
    ids=["as it was", "another's, known to who wants it", "another's since"],
)
async def test_leave_for_a_change_that_a_crash_cut_off_is_leave_for_no_other(
    tmp_path: Path, found: str | None, at_the_answer: str | None, asked: list[str], left: str
) -> None:
    write = {"action": "write_file", "path": "a.txt", "content": "x\n"}
    bench = Bench(tmp_path, ENDS, act(write), mode="confirm")
    await allowed_and_cut_off(bench)
    file = bench.rig.work / "a.txt"
    if found is not None:
        file.write_text(found)
    heard: list[str] = []

    async def react(turn: Turn, event: TurnEvent) -> None:
        if not isinstance(event, ApprovalRequested):
            return
        heard.append("what now" if event.asks_person else "leave")
        if not event.asks_person:
            assert await turn.answer(event.request_id, Decision("deny"))
            return
        if at_the_answer is not None:
            file.write_text(at_the_answer)
        answers = {one["question"]: "retry" for one in event.input["questions"]}
        again = Decision("allow", updated_input={**event.input, "answers": answers})
        assert await turn.answer(event.request_id, again)

    await play(bench.driver, bench.request(), react)

    assert heard == asked
    assert file.read_text() == left


async def test_a_command_that_is_found_anew_after_a_crash_is_asked_for_again(
    tmp_path: Path,
) -> None:
    bench = Bench(
        tmp_path, ENDS, act({"action": "run_tests"}), mode="confirm", test_command="touch ran"
    )
    await allowed_and_cut_off(bench)

    _, events = await play(bench.driver, bench.request(), answering(Decision("deny")))

    assert approvals(events) == ["run_tests"]
    assert not (bench.rig.work / "ran").exists()
