"""A model's command is bounded in time, output and resources, and leaves nothing behind."""

import os
import resource
from pathlib import Path

import pytest
import trio

from podiumd.tools.process.processes import carriers
from podiumd.tools.sandbox.shell import (
    HEAD_BYTES,
    TAIL_BYTES,
    ShellResult,
    command_environment,
    run_arguments,
)
from tests.patience import HANG_SECONDS
from tests.tools.fresh_turn import fresh_turn

PLAIN = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


async def run(
    command: str, folder: Path, *, turn: str | None = None, limit: float = 60.0
) -> ShellResult:
    with trio.fail_after(HANG_SECONDS):
        return await run_arguments(
            ["/bin/sh", "-c", command],
            cwd=f"{folder}",
            environment=PLAIN,
            turn_id=turn or fresh_turn(),
            limit_seconds=limit,
        )


async def test_a_command_line_runs_in_its_directory(tmp_path: Path) -> None:
    done = await run("echo one; pwd; echo two >&2; exit 7", tmp_path)

    assert done.exit_status == 7
    assert done.output == f"one\n{tmp_path}\ntwo\n"
    assert (done.timed_out, done.dropped, done.stopped) == (False, 0, ())


async def test_input_is_empty_and_there_is_no_terminal(tmp_path: Path) -> None:
    done = await run("cat; test -t 0 || echo none; (: </dev/tty) 2>/dev/null || echo no", tmp_path)

    assert done.output == "none\nno\n"


async def test_arguments_are_never_read_by_a_shell(tmp_path: Path) -> None:
    word = "$(touch x); `touch y` 'q' \"d\" ; rm -rf . \\"

    done = await run_arguments(
        ["printf", "%s", word], cwd=f"{tmp_path}", environment=PLAIN, turn_id=fresh_turn()
    )

    assert done.output == word
    assert list(tmp_path.iterdir()) == []


def test_no_key_is_in_a_commands_environment() -> None:
    base = {
        "PATH": "/bin", "HOME": "/home/me", "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "u",
        "OPENAI_API_KEY": "k", "PODIUM_HOME": "/x", "MY_MODEL_KEY": "k", "PODIUM_TURN": "other",
    }  # fmt: skip

    assert command_environment(base, "t1", ["MY_MODEL_KEY"]) == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "PODIUM_TURN": "t1",
    }


async def test_the_environment_is_what_is_given_and_the_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted")
    turn = fresh_turn()

    done = await run("env | sort", tmp_path, turn=turn)

    names = {line.partition("=")[0] for line in done.output.splitlines()}
    assert names - {"_", "OLDPWD", "SHLVL"} == {"PATH", "LANG", "PWD", "PODIUM_TURN"}
    assert f"PODIUM_TURN={turn}\n" in done.output


async def test_a_command_has_limits_on_its_resources(tmp_path: Path) -> None:
    done = await run("ulimit -c; ulimit -n; cat /proc/self/limits", tmp_path)

    core, files, *rest = done.output.splitlines()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert core == "0"
    assert int(files) == 8192 if most >= 8192 else int(files) <= most
    processes = next(line for line in rest if line.startswith("Max processes"))
    assert int(processes.split()[2]) <= 8192


async def test_at_its_time_limit_a_command_is_ended_with_all_it_started(tmp_path: Path) -> None:
    turn = fresh_turn()

    line = "echo begun; (trap '' TERM; sleep 1000) & sleep 1000"
    done = await run(line, tmp_path, turn=turn, limit=0.5)

    assert done.timed_out and done.exit_status is None
    assert done.message == "ended at its time limit of 0.5 s"
    assert done.output == "begun\n"
    assert carriers(turn) == []


async def test_what_forks_away_into_other_sessions_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    child = "setsid sleep 1000 & echo > f; sleep 1000"
    line = (
        f"exec 3<>f; for i in 1 2 3; do setsid sh -c '{child}' >/dev/null 2>&1 3<&- & done; "
        "read x <&3; read x <&3; read x <&3; echo done"
    )

    turn = fresh_turn()

    done = await run(line, tmp_path, turn=turn)

    assert (done.exit_status, done.output) == (0, "done\n")
    # The three shells have said that they live. What each began may be seen as the sleeper that it
    # is to be, as what comes before it, or, in the middle of becoming it, not by name.
    assert len([command for command in done.stopped if "sleep 1000" in command]) >= 3
    assert carriers(turn) == []


async def test_when_the_caller_cancels_nothing_is_left(tmp_path: Path) -> None:
    begun, turn = trio.Event(), fresh_turn()

    async with trio.open_nursery() as nursery:

        async def command() -> None:
            await run_arguments(
                ["/bin/sh", "-c", "setsid sleep 1000 & echo begun; sleep 1000"],
                cwd=f"{tmp_path}",
                environment=PLAIN,
                turn_id=turn,
                on_output=lambda _: begun.set(),
            )

        nursery.start_soon(command)
        await begun.wait()
        nursery.cancel_scope.cancel()

    assert carriers(turn) == []


async def test_output_is_handed_on_while_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    os.mkfifo(tmp_path / "gate")
    pieces: list[str] = []

    def opened(piece: str) -> None:
        pieces.append(piece)
        if "one" in piece:  # the command waits for this
            os.close(os.open(tmp_path / "gate", os.O_WRONLY))

    with trio.fail_after(HANG_SECONDS):
        await run_arguments(
            ["/bin/sh", "-c", "echo one é; read x < gate; echo two"],
            cwd=f"{tmp_path}", environment=PLAIN, turn_id=fresh_turn(), on_output=opened,
        )  # fmt: skip

    assert pieces == ["one é\n", "two\n"]


async def test_of_five_megabytes_the_head_and_the_tail_are_kept(tmp_path: Path) -> None:
    done = await run("seq 1 760000", tmp_path)

    size = sum(len(f"{number}\n") for number in range(1, 760001))
    assert size > 5_000_000
    assert done.dropped == size - HEAD_BYTES - TAIL_BYTES
    head, notice, tail = done.output.partition(
        f"\n[... {done.dropped} bytes of output left out ...]\n"
    )
    assert head.startswith("1\n2\n") and tail.endswith("759999\n760000\n") and notice
    assert (len(head), len(tail)) == (HEAD_BYTES, TAIL_BYTES)


@pytest.mark.long("test_of_five_megabytes_the_head_and_the_tail_are_kept")
@pytest.mark.slow
async def test_five_gigabytes_of_output_do_not_grow_the_daemon(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    done = await run("head -c 5368709120 /dev/zero", tmp_path, limit=300)

    assert done.dropped == 5 * 1024**3 - HEAD_BYTES - TAIL_BYTES
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # in KiB on Linux
    assert grown < 16 * 1024


async def test_what_cannot_be_run_is_a_result(tmp_path: Path) -> None:
    missing = await run("no-such-program", tmp_path)
    nul = await run("echo a\0b", tmp_path)
    nowhere = await run("echo", tmp_path / "gone")

    assert missing.exit_status == 127 and "no-such-program" in missing.output
    assert nul.message == "the command cannot be run: embedded null byte"
    assert "is not there" in nowhere.message
