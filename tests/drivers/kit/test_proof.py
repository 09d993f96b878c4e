"""Each case of the kit fails where just the thing is broken that it is about."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from trio.testing import MockClock

from podiumd.drivers import spooled
from podiumd.drivers.spool import SpoolWatch
from podiumd.tools.process.processes import sweep
from tests.drivers.kit import bench as bench_module
from tests.drivers.kit import death, free, prompt, start, stop, tools, trouble
from tests.drivers.kit.bench import Bench
from tests.drivers.kit.broken import BROKEN, Broken
from tests.drivers.kit.registry import CASES, Case
from tests.drivers.kit.subjects import SUBJECTS
from tests.long import spread

MODULES: Final = (free, start, prompt, tools, stop, trouble, death)
BY_NUMBER: Final = {name.partition("-")[0]: case for name, case in CASES.items()}
IDLE_SECONDS: Final = 1.0
HANGS_SECONDS: Final = 10.0
"""How long a broken turn may hang: it has shown then what it was to show."""


def proofs(*, still: bool) -> list[Any]:
    """Each case with what it must notice."""
    return [
        pytest.param(broken, BY_NUMBER[number], id=f"{number}-{broken.name}")
        for broken in BROKEN
        for number in broken.cases
        if BY_NUMBER[number].still is still
    ]


@pytest.fixture
async def swept(tmp_path: Path) -> AsyncIterator[None]:
    """What a broken driver leaves is ended after it."""
    yield
    for turn in (tmp_path / "turns").iterdir():
        await sweep(turn.name)


async def fails(bench: Bench, broken: Broken, case: Case, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(spooled, "STEP_SECONDS", 0.2)
    patch.setattr(bench_module, "HANG_SECONDS", HANGS_SECONDS)
    bench.idle_seconds = IDLE_SECONDS
    with patch.context() as breaking:
        broken.by(breaking)
        try:
            await case.play(bench)
        except Exception:  # noqa: BLE001 - whatever it is, the case has noticed
            return
    pytest.fail("the case passes all the same")


@pytest.mark.parametrize(("broken", "case"), spread(proofs(still=False), 8))
async def test_a_case_fails_where_that_is_broken(
    broken: Broken,
    case: Case,
    tmp_path: Path,
    watch: SpoolWatch,
    monkeypatch: pytest.MonkeyPatch,
    swept: None,
) -> None:
    await fails(Bench(SUBJECTS[broken.subject], tmp_path, watch), broken, case, monkeypatch)


@pytest.mark.parametrize(("broken", "case"), spread(proofs(still=True), 1))
async def test_a_case_of_time_fails_where_that_is_broken(
    broken: Broken,
    case: Case,
    tmp_path: Path,
    watch: SpoolWatch,
    mock_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    swept: None,
) -> None:
    mock_clock.rate = 1.0  # what is broken may have to be waited for
    await fails(
        Bench(SUBJECTS[broken.subject], tmp_path, watch, mock_clock), broken, case, monkeypatch
    )


def test_each_case_that_is_passed_is_proved() -> None:
    proved = {number for broken in BROKEN for number in broken.cases}
    excused = set.intersection(*(set(subject.excuses) for subject in SUBJECTS.values()))

    assert proved == BY_NUMBER.keys() - excused
