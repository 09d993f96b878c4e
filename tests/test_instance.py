"""One daemon on one state directory: the lock decides."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from podiumd.host.instance import AlreadyRunning, hold_lock

RACER = """
import sys
from pathlib import Path
from podiumd.host.instance import AlreadyRunning, hold_lock
sys.stdin.readline()
try:
    with hold_lock(Path(sys.argv[1])):
        print("won", flush=True)
        sys.stdin.read()
except AlreadyRunning as error:
    print("lost", error.pid, flush=True)
"""


def racer(path: Path) -> subprocess.Popen[str]:
    root = Path(__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", RACER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(root / "daemon")},
    )


def test_the_lock_file_is_private_and_holds_our_pid(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_lock(path) as descriptor:
        assert path.read_text() == f"{os.getpid()}\n"
        assert path.stat().st_mode & 0o777 == 0o600
        assert not os.get_inheritable(descriptor)
    assert path.exists()


def test_a_second_holder_is_refused_and_told_the_firsts_pid(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "lock"):
        with (
            pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}") as caught,
            hold_lock(tmp_path / "lock"),
        ):
            pass
        assert caught.value.pid == os.getpid()
    with hold_lock(tmp_path / "lock"):
        pass


@pytest.mark.parametrize("text", ["", "2147483646\n", "not a pid", "9" * 30])
def test_a_holder_that_has_not_written_its_pid_yet_is_not_misnamed(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("podiumd.host.instance.time.sleep", waited.append)
    with hold_lock(tmp_path / "lock"):
        (tmp_path / "lock").write_text(text)
        with (
            pytest.raises(AlreadyRunning, match="its pid is not known yet") as caught,
            hold_lock(tmp_path / "lock"),
        ):
            pass
    assert caught.value.pid is None and 0 < sum(waited) < 1


def test_a_pid_of_another_user_counts_as_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_ours(pid: int, signal: int) -> None:
        raise PermissionError

    with hold_lock(tmp_path / "lock"):
        monkeypatch.setattr(os, "kill", not_ours)
        with pytest.raises(AlreadyRunning) as caught, hold_lock(tmp_path / "lock"):
            pass
    assert caught.value.pid == os.getpid()


def test_a_killed_holder_leaves_the_lock_free(tmp_path: Path) -> None:
    with racer(tmp_path / "lock") as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write("go\n")
        child.stdin.flush()
        assert child.stdout.readline() == "won\n"
        child.kill()
        child.wait()
    with hold_lock(tmp_path / "lock"):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_of_racing_starts_one_wins_and_the_others_name_it(tmp_path: Path) -> None:
    for _ in range(2):
        racers = [racer(tmp_path / "lock") for _ in range(3)]
        for child in racers:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        said = {child.pid: child.stdout.readline().split() for child in racers if child.stdout}
        (winner,) = [pid for pid, words in said.items() if words == ["won"]]
        assert [words for words in said.values() if words != ["won"]] == [["lost", str(winner)]] * 2
        for child in racers:
            child.communicate()


def test_a_lock_file_that_was_exchanged_is_locked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody removes the file between our opening and locking it."""
    import fcntl

    path, real, rounds = tmp_path / "lock", fcntl.flock, []

    def remove_first(descriptor: int, how: int) -> None:
        real(descriptor, how)
        rounds.append(descriptor)
        if len(rounds) == 1:
            path.unlink()

    monkeypatch.setattr(fcntl, "flock", remove_first)
    with hold_lock(path):
        assert len(rounds) == 2 and path.read_text() == f"{os.getpid()}\n"


def test_a_link_in_place_of_the_lock_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic links"), hold_lock(tmp_path / "lock"):
        pass
    assert not (tmp_path / "victim").exists()


def test_a_lock_that_cannot_be_asked_for_is_no_rival(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("podiumd.host.instance.fcntl.flock", fail)
    with pytest.raises(OSError, match="No locks available"), hold_lock(tmp_path / "lock"):
        pass
