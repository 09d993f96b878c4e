"""Commands from afar: only what was offered, live, in order, bounded, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

import pytest
import trio

from podiumd.projects.commands import MOST_AT_ONCE
from podiumd.projects.errors import (
    BadPlace,
    StorageFailed,
    TooManyCommands,
    UnknownCommand,
    UnknownRun,
)
from podiumd.tools.process.processes import carriers
from tests.projects.book import END, LINE, START, Bench


async def test_a_command_is_told_from_start_to_end_in_order(bench: Bench) -> None:
    bench.make(**{"say-all": "echo out; echo err >&2; printf last; exit 3"})
    async with bench.book() as book:
        record = await book.start(str(bench.project), "say.all")
        assert record.command_session_id.startswith("cmd-")
        assert (record.command_id, record.shell_command) == ("say.all", "make say-all")
        assert record.timestamp == "2026-03-01T12:00:00.005Z"
        assert (record.exit_code, record.duration_ms, record.output_preview) == (None, None, "")
        over = await bench.over(record)
        assert bench.lines("stdout") == ["out", "last"]
        assert bench.lines("stderr")[0] == "err"
        kinds = bench.kinds(record)
        assert (kinds[0], kinds[-1]) == (START, END)
        assert set(kinds[1:-1]) == {LINE}
        assert over.exit_code == 2  # make's own, for a recipe that failed
        assert over.duration_ms is not None and over.duration_ms > 0
        found, text = await book.output(record.command_session_id)
        assert found == over
        assert set(text.splitlines()) == {*bench.lines("stdout"), *bench.lines("stderr")}
        assert over.output_preview == text[:200]


async def test_a_general_command_runs_in_the_directory(bench: Bench) -> None:
    bench.project.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=bench.project, check=True)
    (bench.project / "new").write_text("")
    async with bench.book() as book:
        over = await bench.over(await book.start("~/project", "git.status"))
        assert over.exit_code == 0
        assert over.working_directory == str(bench.project)
        assert "\tnew" in bench.lines("stdout")


@pytest.mark.parametrize(
    "command_id",
    ["build; touch pwned", "build\ntouch pwned", "$(touch pwned)", "git.commit", "git status", "",
     "make:build", "group:build", "../build", "build ", "BUILD", "docker", "-f", "x=$(id)"],
)  # fmt: skip
async def test_an_id_that_was_not_offered_is_never_run(bench: Bench, command_id: str) -> None:
    bench.make(**{"build": "true", "docker-up": "true", "docker-down": "true"})
    before = sorted(bench.project.iterdir())
    async with bench.book() as book:
        with pytest.raises(UnknownCommand, match="offers no command"):
            await book.start(str(bench.project), command_id)
        assert book.history() == []
    assert bench.events == []
    assert sorted(bench.project.iterdir()) == before


async def test_a_command_has_the_environment_of_a_command_and_none_of_our_secrets(
    bench: Bench,
) -> None:
    bench.make(env="env")
    async with bench.book() as book:
        record = await book.start(str(bench.project), "env")
        await bench.over(record)
    said = dict(line.partition("=")[::2] for line in bench.lines("stdout"))
    assert said["PODIUM_TURN"] == record.command_session_id
    assert not {"ANTHROPIC_API_KEY", "PODIUM_X"} & said.keys()


async def test_a_name_with_signs_of_the_shell_is_one_word(bench: Bench) -> None:
    bench.project.mkdir()
    (bench.project / "package.json").write_text('{"scripts": {"a; touch pwned": "x"}}')
    (bench.root / "bin").mkdir()
    npm = bench.root / "bin" / "npm"
    npm.write_text('#!/bin/sh\nfor word; do echo "[$word]"; done\n')
    npm.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(npm.parent), prepend=":")
        async with bench.book() as book:
            await bench.over(await book.start(str(bench.project), "npm:a; touch pwned"))
    assert bench.lines("stdout") == ["[run]", "[a; touch pwned]"]


async def test_a_command_that_cannot_be_started_says_why_and_ends_with_127(bench: Bench) -> None:
    bench.project.mkdir()
    (bench.project / "package.json").write_text('{"scripts": {"a": "x"}}')
    (bench.project / "pnpm-lock.yaml").write_text("")
    async with bench.book() as book:
        record = await book.start(str(bench.project), "npm:a")
        over = await bench.over(record)
        assert over.exit_code == 127
        assert over.output_preview.startswith("the program 'pnpm' was not found on PATH")
        assert bench.lines("stderr") == [over.output_preview.strip()]


async def test_a_signal_shows_in_the_exit_code_as_in_a_shell(bench: Bench) -> None:
    bench.make(die="kill -KILL $$PPID; sleep 1000")
    async with bench.book() as book:
        assert (await bench.over(await book.start(str(bench.project), "die"))).exit_code == 128 + 9


async def test_output_comes_while_the_command_runs_and_what_it_left_is_ended(
    bench: Bench,
) -> None:
    bench.make(dev="(setsid sleep 1000 &) ; echo ready; read line < gate")
    bench.project.joinpath("x").touch()
    subprocess.run(["mkfifo", bench.project / "gate"], check=True)
    async with bench.book() as book:
        record = await book.start(str(bench.project), "dev")
        await bench.said("ready")
        assert (await book.output(record.command_session_id))[1] == "ready\n"
        assert book.history()[0].exit_code is None
        async with await trio.open_file(bench.project / "gate", "w") as gate:
            await gate.write("go\n")
        assert (await bench.over(record)).exit_code == 0
        assert carriers(record.command_session_id) == []


async def test_a_start_that_is_given_up_gives_its_place_back(bench: Bench) -> None:
    """A phone that leaves while its command waits for a thread."""
    bench.make(quick="true")
    threads = trio.to_thread.current_default_thread_limiter()
    async with bench.book() as book:
        await trio.testing.wait_all_tasks_blocked()
        total, threads.total_tokens = threads.total_tokens, 1
        async with threads:
            for _ in range(MOST_AT_ONCE):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(book.start, str(bench.project), "quick")
                    while not threads.statistics().tasks_waiting:
                        await trio.lowlevel.checkpoint()
                    nursery.cancel_scope.cancel()
        threads.total_tokens = total
        assert (await bench.over(await book.start(str(bench.project), "quick"))).exit_code == 0


async def test_sixteen_run_at_once_and_one_more_is_refused(bench: Bench) -> None:
    bench.make(wait="echo here; sleep 1000", quick="true")
    async with bench.book() as book:
        for _ in range(MOST_AT_ONCE):
            await book.start(str(bench.project), "wait")
        with pytest.raises(TooManyCommands, match="16 commands are running"):
            await book.start(str(bench.project), "quick")
        assert len(book.history()) == MOST_AT_ONCE
        await bench.until(lambda _: len(bench.lines("stdout")) == MOST_AT_ONCE)
        victim = book.history()[0]
        for identity in carriers(victim.command_session_id):
            with suppress(ProcessLookupError):  # it went with the one before
                os.kill(identity.pid, signal.SIGKILL)
        await bench.over(victim)
        assert (await bench.over(await book.start(str(bench.project), "quick"))).exit_code == 0


async def test_two_starts_at_once_do_not_share_the_last_place(bench: Bench) -> None:
    bench.make(wait="sleep 1000")
    refused = 0
    async with bench.book() as book:

        async def try_one() -> None:
            nonlocal refused
            try:
                await book.start(str(bench.project), "wait")
            except TooManyCommands:
                refused += 1

        async with trio.open_nursery() as nursery:
            for _ in range(MOST_AT_ONCE + 4):
                nursery.start_soon(try_one)
    assert refused == 4


async def test_a_daemon_that_stops_ends_its_commands_and_records_it(bench: Bench) -> None:
    bench.make(
        polite="trap 'echo bye; exit 0' TERM; echo one; while :; do sleep 0.05; done",
        stubborn="trap '' TERM; echo two; while :; do sleep 1000; done",
    )
    async with bench.book() as book:
        records = [await book.start(str(bench.project), name) for name in ("polite", "stubborn")]
        await bench.said("one")
        await bench.said("two")
    assert "bye" in bench.lines("stdout")
    for record in records:
        assert carriers(record.command_session_id) == []
        assert (await bench.over(record)).exit_code == 143
    async with bench.book() as book:
        assert [one.exit_code for one in book.history()] == [143, 143]
        text = (await book.output(records[1].command_session_id))[1]
        assert text.endswith("[Podium stopped, and ended this command]\n")


async def test_what_cannot_be_recorded_is_not_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.make(touch="touch made")
    async with bench.book() as book:
        (bench.state / "away").mkdir()
        monkeypatch.setattr(book._shelf, "_directory", bench.state / "away" / "gone")
        for _ in range(MOST_AT_ONCE + 1):  # a failed start takes no place
            with pytest.raises(StorageFailed, match="cannot be recorded"):
                await book.start(str(bench.project), "touch")
    assert bench.events == []
    assert not (bench.project / "made").exists()


async def test_bad_places_and_unknown_runs_are_refused_in_words(bench: Bench) -> None:
    async with bench.book() as book:
        for call in (book.offer("rel"), book.start("/nowhere/x", "git.status")):
            with pytest.raises(BadPlace):
                await call
        with pytest.raises(BadPlace):
            book.history("rel")
        with pytest.raises(UnknownRun, match="no command run 'cmd-1'"):
            await book.output("cmd-1")


async def test_a_flood_of_short_lines_leaves_others_their_turn(bench: Bench) -> None:
    """20 MB of ``y``: a pass of the loop tells a piece or two, what is kept and told is bounded."""
    bench.make(flood="yes | head -c 20000000")
    most = 0
    async with bench.book() as book:
        record = await book.start(str(bench.project), "flood")
        done = trio.Event()

        async def beat() -> None:
            nonlocal most
            while not done.is_set():
                before = len(bench.events)
                await trio.lowlevel.checkpoint()
                most = max(most, len(bench.events) - before)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(beat)
            await bench.over(record)
            done.set()
        _, text = await book.output(record.command_session_id)
    assert 10_000_000 < len(text) < 10.1 * 1024 * 1024
    assert "bytes of output are left out here]" in text
    assert len(bench.lines("stdout")) == 50_000
    assert 0 < most <= 2 * 4096 // len("y\n") + 1
