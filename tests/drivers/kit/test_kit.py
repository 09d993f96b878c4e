"""Every driver plays every case of the kit; what it need not pass is in its file, and must fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from trio.testing import MockClock

from podiumd.drivers import spooled
from podiumd.drivers.spool import SpoolWatch
from tests.drivers.kit import death, free, prompt, start, stop, tools, trouble
from tests.drivers.kit.bench import Bench
from tests.drivers.kit.registry import CASES, Case
from tests.drivers.kit.subjects import SUBJECTS, Subject

MODULES: Final = (free, start, prompt, tools, stop, trouble, death)
EXCUSED_IDLE_SECONDS: Final = 2.0
"""How long an agent may be silent in a case that need not be passed."""


def played(*, still: bool) -> list[Any]:
    """Each case with each driver."""
    return [
        pytest.param(
            subject, case, id=f"{name}-{case.name}", marks=[pytest.mark.long] if case.long else []
        )
        for name, subject in SUBJECTS.items()
        for case in CASES.values()
        if case.still is still
    ]


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of an ending take 0.3 s, not 2."""
    monkeypatch.setattr(spooled, "STEP_SECONDS", 0.3)


async def judged(bench: Bench, case: Case) -> None:
    """Play a case; one that is excused must fail."""
    excuse = bench.subject.excuses.get(case.name.partition("-")[0])
    if excuse is None:
        await case.play(bench)
        return
    bench.idle_seconds = EXCUSED_IDLE_SECONDS
    try:
        await case.play(bench)
    except Exception:  # noqa: BLE001 - whatever it is, the case has failed
        return
    pytest.fail(f"excused, and passes: {excuse.because}")


@pytest.mark.parametrize(("subject", "case"), played(still=False))
async def test_case(subject: Subject, case: Case, tmp_path: Path, watch: SpoolWatch) -> None:
    await judged(Bench(subject, tmp_path, watch), case)


@pytest.mark.parametrize(("subject", "case"), played(still=True))
async def test_case_of_time(
    subject: Subject, case: Case, tmp_path: Path, watch: SpoolWatch, mock_clock: MockClock
) -> None:
    await judged(Bench(subject, tmp_path, watch, mock_clock), case)


def test_there_are_sixty_cases_and_more() -> None:
    assert len(CASES) > 60
    assert {case.play.__module__ for case in CASES.values()} == {one.__name__ for one in MODULES}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=list(SUBJECTS))
async def test_each_excuse_is_for_a_case_and_is_one(subject: Subject, watch: SpoolWatch) -> None:
    numbers = {name.partition("-")[0] for name in CASES}
    capabilities = subject.make(watch, lambda: 1).capabilities
    for number, excuse in subject.excuses.items():
        assert number in numbers and excuse.because, number
        assert excuse.fault(capabilities, subject.unspoken) == "", number


def test_an_excuse_that_names_what_the_driver_can_do_is_none() -> None:
    subject = SUBJECTS["claude"]
    excuse = next(one for one in subject.excuses.values() if one.unspoken is not None)
    assert excuse.unspoken is not None
    assert excuse.fault(None, frozenset()) != ""  # type: ignore[arg-type]
