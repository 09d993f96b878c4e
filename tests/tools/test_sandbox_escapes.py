"""Ways out of the sandbox that lead over what the daemon, or a person, does outside of it later."""

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
import trio

from podiumd.tools.confine.places import Places, places_for
from podiumd.tools.sandbox.sandbox import Enclosure, Probe, Sandbox, SandboxRefused
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import commit, make_repository, run_git

pytestmark = pytest.mark.needs("bwrap")

CONNECT = (
    'python3 -c "import socket, sys; '
    "socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('connected')\" "
)


def closing(inside: Inside, *closed: Path) -> None:
    inside.sandbox = Sandbox(
        "required",
        home=inside.home,
        closed=closed,
        environ={"PATH": os.environ["PATH"]},
        probe=Probe(),
    )


async def test_a_socket_of_the_daemon_cannot_be_connected_to_wherever_it_is(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests' directory is in /tmp, which is empty inside: here it stands for any other place.
    within, beside = inside.project / "in.sock", tmp_path / "beside"
    beside.mkdir()
    monkeypatch.setattr("podiumd.tools.confine.bubblewrap.BASE", _base_showing(tmp_path))
    monkeypatch.setattr("podiumd.tools.confine.places._EMPTY", ())
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        for listening, path in ((one, within), (other, beside / "podium.sock")):
            listening.bind(f"{path}")
            listening.listen()
        closing(inside)
        reached = await inside.run(f"{CONNECT}{within}; {CONNECT}{beside}/podium.sock")
        closing(inside, within, beside / "podium.sock")
        kept = await inside.run(f"{CONNECT}{within}; {CONNECT}{beside}/podium.sock")

    assert reached.output.count("connected\n") == 2
    assert "connected" not in kept.output and kept.output.count("Connection refused") == 2


def _base_showing(folder: Path) -> tuple[str, ...]:
    from podiumd.tools.confine.bubblewrap import BASE

    return (*BASE, "--bind", f"{folder}", f"{folder}")


async def test_what_is_kept_cannot_be_moved_away_with_its_directory(inside: Inside) -> None:
    """Something else would then stand at its path, for git or Podium to believe."""
    run_git(inside.project, "worktree", "add", "-q", f"{inside.home}/side")
    module = inside.project / ".git/modules/deep/name"
    module.parent.mkdir(parents=True)
    run_git(inside.project, "init", "-q", "--bare", f"{module}")
    own = inside.project / "own/podium"
    own.mkdir(parents=True)
    (own / "config.toml").write_text("# the user's\n")
    closing(inside, own / "config.toml")

    names = (
        *(f".git/{name}" for name in ("worktrees", "worktrees/side", "modules", "modules/deep")),
        *(".git/modules/deep/name", "own", "own/podium"),
    )
    done = await inside.run(
        'python3 -c "import os, sys\n'
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        os.rename(name, name + str(1))\n"
        "    except OSError as error:\n"
        f'        print(error.strerror)" {" ".join(names)}'
    )

    assert done.output == "Device or resource busy\n" * len(names)
    assert all((inside.project / name).is_dir() for name in names)
    assert (module / "config").exists() and (own / "config.toml").exists()


async def test_a_file_of_podium_that_is_not_there_yet_is_not_made(
    inside: Inside, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text("kept\n")
    (inside.project / "dots").mkdir()
    closing(inside, inside.project / "dots/config.toml", inside.project / "more/config.toml")

    done = await inside.run(f"echo evil > dots/config.toml; ln -s {outside} more")

    assert done.tidied.removed == (f"{inside.project}/dots/config.toml", f"{inside.project}/more")
    assert not (inside.project / "dots/config.toml").exists()
    assert (outside / "config.toml").read_text() == "kept\n"


async def test_git_is_not_led_to_write_outside_by_links(inside: Inside, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    git = inside.project / ".git"
    (git / "refs/old").symlink_to("heads/main")

    done = await inside.run(
        f"for name in logs/HEAD index COMMIT_EDITMSG logs/refs/objects refs/heads/x; do "
        f"rm -rf .git/$name; mkdir -p .git/logs/refs; ln -s {profile} .git/$name; done; "
        "mkfifo .git/packed-refs"
    )

    names = ("COMMIT_EDITMSG", "index", "logs/HEAD", "logs/refs/objects", "packed-refs")
    assert done.tidied.removed == tuple(f"{git / name}" for name in (*names, "refs/heads/x"))
    assert (git / "refs/old").is_symlink()  # it was there before
    run_git(inside.project, "reset", "-q")
    commit(inside.project, "second")
    assert not profile.exists()


async def test_a_new_repository_with_a_link_in_it_is_removed(
    inside: Inside, tmp_path: Path
) -> None:
    tree = inside.home / "new"
    tree.mkdir()

    done = await inside.run(
        f"git init -q; mkdir .git/logs; ln -s {tmp_path}/profile .git/logs/HEAD", tree
    )

    assert done.tidied.removed == (f"{tree}/.git",)


async def test_what_may_not_stay_is_removed_after_a_cancelled_command_too(inside: Inside) -> None:
    tree = inside.home / "new"
    tree.mkdir()
    made = tree / "made"
    os.mkfifo(made)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inside.run, "ln -s / .git; echo > made; sleep 60", tree)
        await trio.to_thread.run_sync(made.read_bytes)
        nursery.cancel_scope.cancel()

    assert not os.path.lexists(tree / ".git")


async def test_repositories_within_the_tree_keep_their_hooks_and_settings(inside: Inside) -> None:
    """A folder of projects may be worked in, or a project with submodules."""
    inner = make_repository(inside.project / "libs/inner")
    module = inside.project / "module"
    (inner / "a.txt").write_text("a\n")
    commit(inner, "first")
    run_git(inner, "worktree", "add", "-q", f"{module}")
    before = (inner / ".git/config").read_bytes(), (module / ".git").read_bytes()

    done = await inside.run(
        "cd libs/inner; echo evil > .git/hooks/pre-commit; git config core.fsmonitor evil; "
        "mv ../inner ../gone; rm -f ../../module/.git; echo 'gitdir: ../x' > ../../module/.git; "
        "echo a > a; git add a; git -c user.name=m -c user.email=m@x commit -qm ok; "
        "ln -s /x .git/logs/refs/y"
    )

    assert done.tidied.removed == (f"{inner}/.git/logs/refs/y",)
    assert not (inner / ".git/hooks/pre-commit").exists()
    assert ((inner / ".git/config").read_bytes(), (module / ".git").read_bytes()) == before
    assert run_git(inner, "log", "-1", "--format=%s") == "ok"


async def test_a_tree_that_cannot_be_shut_in_runs_nothing_by_auto_either(tmp_path: Path) -> None:
    """Else a command could see to it that the next one runs without a sandbox."""
    sandbox = Sandbox("auto", home=tmp_path / "home", environ={}, probe=Probe())
    (tmp_path / "home").mkdir()
    linked = make_repository(tmp_path / "linked")
    (linked / ".git/hooks").rename(linked / "hooks")
    (linked / ".git/hooks").symlink_to("../hooks")

    with pytest.raises(SandboxRefused, match=r"holds your home.*sandbox in .* is 'off'"):
        await sandbox.enclose(tmp_path, tmp_path)
    with pytest.raises(SandboxRefused, match=r"'\.git/hooks' is a link"):
        await sandbox.enclose(linked, tmp_path)


def test_a_directory_of_path_that_holds_the_home_or_the_state_is_not_shown(tmp_path: Path) -> None:
    home, tree = tmp_path / "home", tmp_path / "tree"
    for path in (home / "bin", home / "podium/state", tree):
        path.mkdir(parents=True)
    names = (home, home / "podium", home / "bin")

    places = places_for(
        tree,
        home=home,
        closed=[home / "podium/state"],
        environ={"PATH": os.pathsep.join(map(str, names))},
    )

    assert isinstance(places, Places)
    assert [one for one in places.shown if one.startswith(f"{home}")] == [f"{home}/bin"]


async def test_it_outlives_the_thread_that_has_started_it(inside: Inside) -> None:
    """Threads come and go; a command may take an hour."""
    enclosure, _ = await inside.sandbox.enclose(inside.project, inside.state)
    assert isinstance(enclosure, Enclosure)
    enclosure.prepare()
    started: list[subprocess.Popen[bytes]] = []
    argv = enclosure.command(["/bin/sh", "-c", "read line && echo $line"])

    def start() -> None:
        started.append(
            subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
        )

    thread = threading.Thread(target=start)
    thread.start()
    await trio.to_thread.run_sync(thread.join)
    said, _ = await trio.to_thread.run_sync(started[0].communicate, b"alive\n", 30)

    enclosure.tidy()

    assert (started[0].returncode, said) == (0, b"alive\n")
