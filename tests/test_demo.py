"""What ``make run`` says at its end."""

from __future__ import annotations

import tomllib
from pathlib import Path

from podiumd.daemon import demo
from podiumd.daemon.demo import NEXT, RECIPE
from podiumd.doctor.ready import unready
from tests.doctor.patient import subject, with_settings


def test_no_line_of_the_words_at_its_end_is_broken_at_eighty_columns() -> None:
    said = NEXT.format(recipe=RECIPE, repository="/tmp/podium-demo-abcdefgh/shop")
    assert max(map(len, said.splitlines())) <= 80


def test_no_agent_is_missed_that_the_demo_has_no_use_for(tmp_path: Path) -> None:
    """A person without one would read of it in the second line."""
    patient = subject(tmp_path)
    assert unready(patient) != ""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    home = demo._environment(scratch)["PODIUM_HOME"]
    written = tomllib.loads(Path(home, "config.toml").read_text())
    provider = written["agents"]["native"]["provider"]
    assert unready(with_settings(patient, agents__native__provider=provider)) == ""
