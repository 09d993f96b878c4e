"""Some of the campaign's histories, and that it finds a service that is broken on purpose."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

from tests.histories import campaign, sabotage
from tests.histories.campaign import ROOT
from tests.histories.history import Step, draw
from tests.histories.shrink import TRIES, shrink
from tests.patience import HANG_SECONDS

HISTORIES = 60


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The campaign as a program: it forks, which a process with tests' threads must not."""
    command = [sys.executable, "-m", "tests.histories.campaign", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False, cwd=ROOT
    )


@pytest.mark.slow
def test_histories_lose_nothing_double_nothing_and_keep_every_number() -> None:
    done = run("--histories", str(HISTORIES), "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"0 went wrong of {HISTORIES}" in done.stdout
    assert "never happened" not in done.stdout
    counts = dict(line.rsplit(None, 1) for line in done.stdout.splitlines() if line[28:].strip())
    for name in ("ledgers read", "rewrites found", "died at point", "resumed", "forks checked"):
        assert int(counts[name]) > 0, name


@pytest.mark.slow
@pytest.mark.parametrize("kind", sabotage.KINDS)
def test_a_broken_service_is_found(kind: str) -> None:
    done = run("--histories", "200", "--seed", "1", "--jobs", "2", "--sabotage", kind)
    assert done.returncode == 1, done.stderr
    assert "FAILED seed" in done.stdout, done.stdout + done.stderr


def test_a_seed_draws_the_same_history_again() -> None:
    assert draw(5) == draw(5)
    assert draw(5) != draw(6)
    assert draw(5)[0].name == "create" and draw(5)[-1].name == "check"


def test_an_action_that_never_happened_is_told() -> None:
    counts = Counter(dict.fromkeys(campaign.never(Counter()), 1))
    assert campaign.never(counts) == []
    del counts["compact"]
    assert campaign.never(counts) == ["compact"]
    assert "compact                              0" in campaign.table(counts)


def test_a_history_is_shrunk_to_the_steps_that_it_takes() -> None:
    steps = [Step(name, 0) for name in "abcdefgh"]

    def wrong(some: list[Step]) -> str | None:
        names = "".join(step.name for step in some)
        return f"wrong: {names}" if "b" in names and "g" in names else None

    left, said = shrink(steps, lambda some: wrong(list(some)))
    assert [step.name for step in left] == ["b", "g"]
    assert said == "wrong: bg"


def test_a_history_that_goes_wrong_now_and_then_is_tried_again() -> None:
    played: list[int] = []

    def wrong(some: object) -> str | None:
        played.append(1)
        return "wrong" if len(played) % TRIES == 0 else None

    left, said = shrink([Step("a", 0), Step("b", 0)], wrong)
    assert said == "wrong" and len(left) == 0


def test_a_history_that_does_not_go_wrong_again_is_told_whole() -> None:
    steps = [Step("a", 0), Step("b", 0)]
    assert shrink(steps, lambda _: None) == (steps, None)
