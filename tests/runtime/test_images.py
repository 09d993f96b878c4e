"""Images that come with a prompt: checked and copied before it is acknowledged."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from msgspec.structs import replace

from podiumd.core.analysis.check_agents import Images
from podiumd.core.run import facts as f
from podiumd.core.run.fact import RunImage
from podiumd.drivers.base import TurnStatus
from podiumd.runtime.errors import InvalidParameter, Overloaded
from podiumd.runtime.maintenance import housekeeping
from podiumd.tools.failpoints import VARIABLE
from tests.plain import plain
from tests.runtime.fake_agent import done
from tests.runtime.harness import Daemon, Machine, running

PNG: Final = b"\x89PNG\r\n\x1a\n"
HEADS: Final = {
    "png": PNG,
    "jpg": b"\xff\xd8\xff\xe0",
    "gif": b"GIF89a",
    "webp": b"RIFF\x10\x00\x00\x00WEBPVP8 ",
}
KILLED: Final = """
import sys
from pathlib import Path
import trio
from tests.runtime.test_images import one_prompt
trio.run(one_prompt, Path(sys.argv[1]))
"""


def seeing(machine: Machine, how: Images = "inline") -> Machine:
    """A machine whose agent takes images."""
    machine.agent.capabilities = replace(machine.agent.capabilities, images=how)
    return machine


@pytest.fixture
def eyes(machine: Machine) -> Machine:
    return seeing(machine)


def picture(machine: Machine, name: str = "door.png", data: bytes = PNG + b"door") -> str:
    path = machine.project / name
    path.write_bytes(data)
    return str(path)


def kept(machine: Machine) -> list[Path]:
    return sorted(path for path in (machine.state / "images").rglob("*") if path.is_file())


async def refusal(daemon: Daemon, *files: str, **fields: Any) -> str:
    """Why a prompt with these files is refused; nothing is stored of it."""
    with pytest.raises(InvalidParameter) as refused:
        await daemon.prompt("What is it?", files=files, **fields)
    assert plain(refused.value.data)["parameter"] == "files"
    assert kept(daemon.machine) == []
    return str(refused.value)


@pytest.mark.parametrize("kind", HEADS)
async def test_an_agent_gets_a_copy_of_what_the_person_has_named(eyes: Machine, kind: str) -> None:
    data = HEADS[kind] + b"door"
    named = [picture(eyes, "door", data), picture(eyes, "gate", data + b"gate")]
    async with running(eyes) as daemon:
        went = await daemon.prompt("What is it?", files=tuple(named))
        for file in named:
            Path(file).unlink()
        turn = await daemon.turn()
        shown = turn.request.images
        assert [Path(one.path).read_bytes() for one in shown] == [data, data + b"gate"]
        assert {Path(one.path).parent for one in shown} == {eyes.state / "images" / went["run_id"]}
        media = "jpeg" if kind == "jpg" else kind
        assert {one.media_type for one in shown} == {f"image/{media}"}
        (started,) = await daemon.events(went["run_id"], "run.started")
        assert [one["file"] for one in started["images"]] == named
        turn.end(done())


async def test_a_link_is_followed_and_a_prompt_without_images_has_none(eyes: Machine) -> None:
    link = eyes.project / "link"
    link.symlink_to(picture(eyes))
    async with running(eyes) as daemon:
        for files, count in ((None, 0), ((), 0), ((str(link),), 1)):
            await daemon.prompt("Look", files=files)
            turn = await daemon.turn()
            assert len(turn.request.images) == count
            turn.end(done())


def pipe(machine: Machine) -> str:
    path = machine.project / "pipe"
    os.mkfifo(path)
    return str(path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda machine: str(machine.project / "gone.png"), "is not there"),
        (lambda machine: str(machine.project), "is a directory"),
        (pipe, "is no plain file"),
        (lambda machine: picture(machine, "a.png", b"<svg/>"), "is no image"),
        (lambda machine: picture(machine, "a.png", b""), "is no image"),
        (lambda machine: picture(machine, "a.png", PNG + bytes(700 * 1024)), "larger than 700 KB"),
        (lambda machine: "/dev/zero", "is no plain file"),
    ],
)
async def test_what_is_no_image_for_the_agent_is_refused_by_name(
    eyes: Machine, make: Any, words: str
) -> None:
    file = make(eyes)
    async with running(eyes) as daemon:
        said = await refusal(daemon, picture(eyes, "good.png"), file)
        assert words in said and file in said
        assert await daemon.store.runs() == []


async def test_images_are_no_more_together_than_goes_in_one_piece_with_the_words(
    eyes: Machine,
) -> None:
    half = picture(eyes, data=PNG + bytes(350 * 1024))
    async with running(eyes) as daemon:
        assert "700 KB together" in await refusal(daemon, half, half, half)
        with pytest.raises(InvalidParameter, match="in one piece"):
            await daemon.prompt("x" * 800_000, files=(half,))


async def test_an_agent_that_reads_files_gets_larger_ones(machine: Machine) -> None:
    seeing(machine, "path")
    large = picture(machine, data=PNG + bytes(2 * 1024 * 1024))
    async with running(machine) as daemon:
        await daemon.prompt("x" * 800_000, files=(large,))
        turn = await daemon.turn()
        assert Path(turn.request.images[0].path).stat().st_size == len(PNG) + 2 * 1024 * 1024
        turn.end(done())
        huge = picture(machine, "huge.png", PNG + bytes(10 * 1024 * 1024))
        with pytest.raises(InvalidParameter, match="10240 KB"):
            await daemon.prompt("Look", files=(huge,))


async def test_an_agent_without_eyes_and_words_into_a_run_take_none(
    machine: Machine, gated: str
) -> None:
    file = picture(machine)
    async with running(machine) as daemon:
        assert "takes no images" in await refusal(daemon, file)
    seeing(machine)
    async with running(machine) as daemon:
        went = await daemon.prompt("Hello")
        turn = await daemon.turn()
        said = await refusal(daemon, file, session_id=went["session_id"], if_busy="steer")
        assert "go into a run" in said
        turn.end(done())


async def test_a_prompt_that_is_refused_after_its_images_leaves_no_copy(eyes: Machine) -> None:
    eyes.max_agents, eyes.max_queued = 1, 0
    file = picture(eyes)
    async with running(eyes) as daemon:
        await daemon.prompt("Hello")
        turn = await daemon.turn()
        with pytest.raises(Overloaded):
            await daemon.prompt("And this?", files=(file,))
        assert kept(eyes) == []
        turn.end(done())


async def test_a_prompt_that_is_sent_again_after_a_crash_has_the_same_images(
    eyes: Machine,
) -> None:
    file = picture(eyes)
    async with running(eyes) as daemon:
        await daemon.prompt("What is it?", files=(file,))
        turn = await daemon.turn()
    Path(file).write_bytes(PNG + b"another")
    turn.end(done())
    eyes.agent.settled[turn.request.turn_id] = TurnStatus(state="absent")
    async with running(eyes):
        again = await eyes.agent.next_turn()
        assert again.request.images == turn.request.images
        assert Path(again.request.images[0].path).read_bytes() == PNG + b"door"
        again.end(done())


async def test_the_turn_that_goes_on_has_them_where_it_says_the_words_again(eyes: Machine) -> None:
    file = picture(eyes)
    async with running(eyes) as daemon:
        went = await daemon.prompt("What is it?", files=(file,))
        turn = await daemon.turn()
        turn.breaks(recorded=False)
        again = await daemon.turn()
        assert "What is it?" in again.prompt and again.request.images == turn.request.images
        again.breaks()
        last = await daemon.turn()
        assert "What is it?" not in last.prompt and last.request.images == ()
        last.end(done())
        await daemon.ended(went["run_id"])


# -- what is left --------------------------------------------------------------------------------


async def tidied(daemon: Daemon, days: float) -> None:
    """Housekeeping so many days later than the files are."""
    newest = max(path.stat().st_mtime for path in (daemon.machine.state / "images").iterdir())
    wall = daemon.context.clock.wall()
    late = wall + timedelta(seconds=newest + days * 86_400 - wall.timestamp())
    clock = replace(daemon.context.clock, wall=lambda: late)
    await housekeeping.remove_images(replace(daemon.context, clock=clock), daemon.runs.in_use)


async def test_copies_go_a_day_after_they_were_made_once_their_prompt_is_over(
    eyes: Machine,
) -> None:
    async with running(eyes) as daemon:
        went = await daemon.prompt("What is it?", files=(picture(eyes),))
        turn = await daemon.turn()
        await tidied(daemon, 2)
        assert len(kept(eyes)) == 1, "it is at work"
        turn.end(done())
        await daemon.ended(went["run_id"])
        await daemon.forgotten(went["run_id"])
        await tidied(daemon, 0.9)
        assert len(kept(eyes)) == 1
        await tidied(daemon, 1.1)
        assert kept(eyes) == []


async def one_prompt(root: Path) -> None:
    """A prompt with an image, in a process that a failpoint kills."""
    machine = seeing(Machine(root))
    async with running(machine) as daemon:
        await daemon.prompt("What is it?", files=(picture(machine),))


async def test_a_kill_before_the_prompt_is_stored_leaves_copies_that_go(tmp_path: Path) -> None:
    result = await trio.run_process(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
            VARIABLE: "prompt.images-kept",
        },
        check=False,
    )
    assert result.returncode == -signal.SIGKILL
    machine = seeing(Machine(tmp_path))
    assert len(kept(machine)) == 1
    async with running(machine) as daemon:
        assert await daemon.store.runs() == []
        await tidied(daemon, 2)
        assert kept(machine) == []


def test_the_fact_stores_what_was_named_and_not_the_bytes() -> None:
    about = RunImage(file="/d/door.png", name="1.png", media_type="image/png", size=12)
    here: Any = {"session_id": "s", "working_directory": "/d", "agent": "claude"}
    fact = f.RunStarted(run_id="r", kind="prompt", **here, images=(about,))
    assert f.decode(f.encode(fact)) == fact
