"""``podium agent try`` that is ended by a signal, as by the end of its terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from podiumd.tools.process.processes import Identity, alive, start_of
from tests.doctor.patient import program
from tests.patience import HANG_SECONDS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", ["podiumd try", "podium agent try"])
def test_nothing_of_a_trial_outlives_it(tmp_path: Path, words: str, number: signal.Signals) -> None:
    begun, home = tmp_path / "begun", tmp_path / "home"
    os.mkfifo(begun)
    (tmp_path / "trials").mkdir()
    (home / "bin").mkdir(parents=True)
    silent = program(home, "silent", f"echo $$ > {begun}; exec sleep 600")
    (home / "config.toml").write_text(
        f'[agents.mine]\ndriver = "acp"\ncommand = ["{silent}"]\nask_mode = "default"\n'
    )
    trial = subprocess.Popen(
        [sys.executable, "-m", *words.split(), "mine"],
        env={
            "HOME": str(home),
            "PODIUM_HOME": str(home),
            "PATH": f"{home / 'bin'}:/usr/bin:/bin",
            "TMPDIR": str(tmp_path / "trials"),
        },
    )
    pid = int(begun.read_text())
    agent = Identity(pid, start_of(pid) or 0)
    trial.send_signal(number)
    assert trial.wait(HANG_SECONDS) == 130
    assert not alive(agent) and [*(tmp_path / "trials").iterdir()] == []
