"""What a step hands to other threads, and stores, counted: beside fifty runs that is most of what
it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.scripted.driver import ScriptedDriver
from podiumd.agents.scripted.script import parse_script
from podiumd.store.facts import Store
from podiumd.store.records import NewFact, RunRow
from podiumd.tools.git import honest_index, pinned_settings, process
from tests.in_threads import in_threads
from tests.runtime.harness import Machine, running
from tests.tools.git_repository import commit, make_repository

ROUND = """
format = 1
id = "round"
label = "Round"
description = "Goes round"
initial = "work"
[limits]
max_step_visits = 99
max_total_steps = {steps}
[steps.work]
prompt = "Do it."
[steps.work.on]
again = {{ to = "work" }}
complete = {{ exit = "turn-complete" }}
"""
MORE = 10


async def test_a_step_in_a_repository_takes_two_threads_one_program_and_two_transactions(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One for what the scripted agent notes down, one for all that is looked at before a git."""
    for module in (honest_index, pinned_settings):
        monkeypatch.setattr(module, "_SETTLED_NS", 0)
    pins = pinned_settings.Pins()
    pins.keep_in(tmp_path / "pins")
    monkeypatch.setattr(process, "PINS", pins)
    script = {"turns": [{"times": 0, "text": "Done.", "outcome": {"outcome": "again"}}]}
    machine.drivers["scripted"] = ScriptedDriver(parse_script(script, "test"))
    place = make_repository(tmp_path / "repository")
    (place / "a.txt").write_text("one\n")
    commit(place, "first")

    taken, stored, append = [], list[str](), Store.append

    async def counted(store: Store, run: RunRow, facts: Sequence[NewFact], **more: Any) -> Any:
        stored.append(" ".join(fact.type for fact in facts))
        return await append(store, run, facts, **more)

    monkeypatch.setattr(Store, "append", counted)
    async with running(machine) as daemon:
        threads = in_threads(monkeypatch)
        for steps in (2, 2, 2 + MORE):  # the first looks at all for the first time
            machine.recipe(ROUND.format(steps=steps), "round")
            threads.clear()
            stored.clear()
            run_id = await daemon.start("round", agent="scripted", working_directory=str(place))
            assert (await daemon.ended(run_id))["exit"]["class"] == "guardrail"
            taken.append(Counter(threads))

    more = (taken[2] - taken[1]).items()  # what a run itself takes may be counted with the next
    step = {name: count / MORE for name, count in more if count >= MORE / 2}
    assert step == {"_write": 1, "_recalled": 1, "program": 1}
    assert stored.count("step.entered turn.intended") == 1 + MORE  # the first is with a look
    assert len(stored) == 2 + 2 * (2 + MORE)
