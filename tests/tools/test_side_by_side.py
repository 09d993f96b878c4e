"""Commands at once in one repository, or in trees within each other: none mounts or removes for
another what it was not meant to.

One exchanges a directory for a link at the worst moment, which is chosen here: after another's
sandbox was planned and before it is set up, or in the midst of putting right what it left.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from podiumd.tools.confine import mount_gate
from podiumd.tools.confine import places as sandbox_places
from podiumd.tools.confine.mount_gate import Gate, gated
from podiumd.tools.confine.places import Places, is_own_worktree, places_for
from podiumd.tools.files import owner_rights
from podiumd.tools.git.nested_repositories import RepositoryLook
from podiumd.tools.sandbox import boundary
from podiumd.tools.sandbox.boundary import Boundary, Placeholders, tidy
from podiumd.tools.sandbox.sandbox import Enclosure
from podiumd.tools.sandbox.shell import ShellResult, run_arguments
from tests.tools.boxed_project import Inside
from tests.tools.fresh_turn import fresh_turn
from tests.tools.git_repository import make_repository, run_git

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


def exchanged(inside: Inside, path: Path, target: Path, enclosure: Enclosure) -> Enclosure:
    """The same sandbox, whose bubblewrap finds a link to ``target`` in the place of ``path`` when
    it asks what it is to mount, and the directory itself again at once after that."""
    program = inside.state / "bwrap"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "words = sys.argv[1:]\n"
        "for place in range(words.index('--')):\n"
        f"    if words[place - 1] in ('--bind', '--ro-bind') and words[place] == {f'{path}'!r}:\n"
        f"        words[place] = {f'{target}'!r}\n"
        f"os.execv({enclosure.prefix[0]!r}, ['bwrap', *words])\n"
    )
    program.chmod(0o700)
    return msgspec.structs.replace(enclosure, prefix=(f"{program}", *enclosure.prefix[1:]))


async def enclosed(inside: Inside, root: Path) -> Enclosure:
    enclosure, _ = await inside.sandbox.enclose(root, inside.state)
    assert enclosure is not None
    return enclosure


async def run(enclosure: Enclosure, root: Path, command: str) -> ShellResult:
    return await run_arguments(
        ["/bin/sh", "-c", command],
        cwd=f"{root}",
        environment={"PATH": "/usr/bin:/bin"},
        turn_id=fresh_turn(),
        enclosure=enclosure,
        limit_seconds=60,
    )


async def test_a_directory_of_the_repository_that_became_a_link_is_not_mounted(
    inside: Inside,
) -> None:
    """It came into being after the other command began, so that may exchange it."""
    side, module = inside.home / "side", inside.project / ".git/modules/new"
    run_git(inside.project, "worktree", "add", "-q", f"{side}")
    make_repository(inside.home / "made")
    module.parent.mkdir()
    (inside.home / "made/.git").rename(module)
    enclosure = await enclosed(inside, side)
    command = f"echo x > {module}/planted; cat {module}/diary.txt"

    exchanging = exchanged(inside, module, inside.home, enclosure)
    done = await run(exchanging, side, command)
    again = await run(enclosure, side, command)

    assert not (inside.home / "planted").exists() and "[secret]" not in done.output
    assert done.exit_status is None and "was exchanged while the sandbox was set up" in done.message
    assert f"'{module}'" in done.message
    assert "No such file" in again.output and (module / "planted").exists()


async def test_nor_is_it_written_to_before(inside: Inside) -> None:
    side, module = inside.home / "side", inside.project / ".git/modules/new"
    run_git(inside.project, "worktree", "add", "-q", f"{side}")
    make_repository(inside.home / "made")
    module.parent.mkdir()
    (inside.home / "made/.git").rename(module)
    enclosure = await enclosed(inside, side)
    module.rename(module.with_name("kept"))
    module.symlink_to(inside.home)

    with pytest.raises(OSError, match="Not a directory"):
        await run(enclosure, side, "true")

    assert not (inside.home / "commondir").exists()
    assert not (inside.project / ".git/commondir").exists()


async def test_a_tree_within_another_that_became_a_link_is_not_mounted(inside: Inside) -> None:
    within = inside.project / "within"
    within.mkdir()
    enclosure = await enclosed(inside, within)

    exchanging = exchanged(inside, within, inside.home / ".ssh", enclosure)
    done = await run(exchanging, within, "echo x > id_rsa")

    assert (inside.home / ".ssh/id_rsa").read_text() == "[secret]\n"
    assert done.exit_status is None and f"'{within}' was exchanged" in done.message


async def test_nor_for_a_filter_that_git_starts(inside: Inside) -> None:
    within = inside.project / "within"
    within.mkdir()
    enclosure = await enclosed(inside, within)
    command = ["/bin/sh", "-c", "cat; echo x > id_rsa; exit 3"]
    exchanging = exchanged(inside, within, inside.home / ".ssh", enclosure)
    enclosure.prepare()

    refused, done = (
        subprocess.run(one.guarded(command), input=b"in\n", capture_output=True, check=False)
        for one in (exchanging, enclosure)
    )

    assert (inside.home / ".ssh/id_rsa").read_text() == "[secret]\n"
    assert refused.returncode != 0 and refused.stdout == b"" and b"exchanged" in refused.stderr
    assert (done.returncode, done.stdout) == (3, b"in\n")


async def test_where_the_look_does_not_come_to_its_end_nothing_begins(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the daemon is killed just then: the connection to it breaks."""

    def killed(*_: object) -> str:
        raise MemoryError

    enclosure = await enclosed(inside, inside.project)
    enclosure.prepare()
    gate = Gate(enclosure.prefix[1:-1])
    monkeypatch.setattr(mount_gate, "strayed", killed)
    process = subprocess.Popen(
        [*gated(enclosure.prefix, gate), "/bin/sh", "-c", "echo x > began"],
        pass_fds=gate.descriptors,
        stderr=subprocess.PIPE,
    )
    with pytest.raises(MemoryError):
        gate.admit()

    with process:
        assert b"Connection reset" in process.communicate()[1] and process.returncode != 0
    assert not (inside.project / "began").exists()


def test_no_placeholder_is_put_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    placeholders = Placeholders()

    with pytest.raises(OSError, match="Not a directory"):
        placeholders.put([f"{tmp_path}/link/commondir"])

    assert list((tmp_path / "there").iterdir()) == []


def planned(root: Path, home: Path) -> Places:
    places = places_for(root, home=home, closed=[], environ={})
    assert isinstance(places, Places)
    return places


def test_no_directory_is_made_through_a_link(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = inside.project / ".git/modules/one"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    real = sandbox_places.modules_of

    def exchanged(common: Path) -> list[Path]:
        found = real(common)
        module.rename(module.with_name("kept"))
        module.symlink_to(inside.home / ".ssh")
        return found

    monkeypatch.setattr(sandbox_places, "modules_of", exchanged)

    planned(inside.project, inside.home)

    assert [path.name for path in (inside.home / ".ssh").iterdir()] == ["id_rsa"]


def test_a_worktree_is_of_the_repository_that_it_lies_in_alone(inside: Inside) -> None:
    """Not of any directory above that has ``worktrees`` below it."""
    side, claimed = inside.home / "side", inside.home / "worktrees/a/.git/worktrees/side"
    side.mkdir()
    claimed.mkdir(parents=True)
    (side / ".git").write_text(f"gitdir: {claimed}\n")
    (claimed / "gitdir").write_text(f"{side}/.git\n")
    (claimed / "commondir").write_text(f"{inside.home}\n")
    for name in ("HEAD", "objects", "refs"):
        (inside.home / name).mkdir()

    assert planned(side, inside.home).writable[:2] == (f"{side}", f"{claimed}")
    assert not is_own_worktree(side / ".git", [inside.home])

    beside = inside.home / "worktrees/side"  # right below, and that is no repository
    claimed.rename(beside)
    (side / ".git").write_text(f"gitdir: {beside}\n")
    (inside.home / "refs").rmdir()
    assert planned(side, inside.home).writable[:2] == (f"{side}", f"{beside}")


def test_modules_that_are_a_link_are_nobody_s(inside: Inside) -> None:
    within, away = inside.project / "sub", inside.home / "away/sub"
    within.mkdir()
    away.mkdir(parents=True)
    (away / "HEAD").write_text("ref: refs/heads/main\n")
    (inside.project / ".git/modules").symlink_to(away.parent)
    (within / ".git").write_text("gitdir: ../.git/modules/sub\n")

    assert f"{away}" not in planned(within, inside.home).writable


def test_a_root_that_became_a_link_is_not_believed(inside: Inside) -> None:
    within = inside.project / "within"
    within.symlink_to(inside.home / ".ssh")

    told = places_for(within, home=inside.home, closed=[], environ={})

    assert isinstance(told, str) and "reached by a link" in told


@pytest.mark.parametrize("made", ["a link in the repository", "a pipe", "a repository", "settings"])
def test_what_is_put_right_is_not_beyond_a_link(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """The other command exchanges the directory of what is to be removed: nothing that lies where
    the link leads is removed or named anew."""
    home, project = inside.home, inside.project
    where = {
        "a link in the repository": project / ".git/place/documents",
        "a pipe": project / "place/.gitignore",
        "a repository": project / "place/HEAD",
        "settings": project / ".git/place/commondir",
    }[made]
    target = make_repository(home / "repository") / ".git"
    (target / where.name).unlink(missing_ok=True)
    if made == "a repository":
        (target / "HEAD").write_text("ref: refs/heads/main\n")
    else:
        (target / where.name).mkdir()
        (target / where.name / "kept").write_text("[secret]\n")
    where.parent.mkdir()
    edge = Boundary(
        root=f"{project}",
        repositories=(f"{project}/.git",),
        unwanted=(f"{where}",) * (made == "settings"),
    )
    if made == "a link in the repository":
        where.symlink_to("/nowhere")
    elif made == "a pipe":
        os.mkfifo(where)
    elif made == "a repository":
        for name in ("objects", "refs"):
            (where.parent / name).mkdir()
        where.write_text("ref: refs/heads/main\n")
    else:
        where.write_text("/elsewhere\n")

    def after(real: Callable[[str], bool]) -> Callable[[str], bool]:
        def exchanging(path: str) -> bool:
            if not where.parent.is_symlink():
                where.parent.rename(where.parent.with_name("aside"))
                where.parent.symlink_to(target)
            return real(path)

        return exchanging

    disarmed = boundary._is_disarmed
    monkeypatch.setattr(boundary, "is_removed", after(owner_rights.is_removed))
    monkeypatch.setattr(boundary, "_is_disarmed", after(lambda path: disarmed(Path(path))))

    told = tidy(edge, RepositoryLook(project))

    assert owner_rights.is_gone(f"{where}") is False
    assert where.name == "HEAD" or (target / where.name / "kept").read_text() == "[secret]\n"
    assert told.left and f"'{where}'" in told.left[0]


LED_ASTRAY = """
mkdir evil; cp -r .git/HEAD .git/objects .git/refs evil/
git config -f evil/config core.fsmonitor 'touch {canary}'
for tree in one two; do cd .git/worktrees/$tree; {deed}; cd ../../..; done
"""


@pytest.mark.parametrize(
    "deed",
    [
        "echo ../../../evil > commondir",
        "rm commondir; cp -r ../../../evil/config ../../../evil/objects ../../../evil/refs .",
        "cp ../../../evil/config config.worktree",
        "mkfifo pipe; mv pipe commondir; chmod 500 .",
    ],
)
async def test_a_worktree_that_was_made_meanwhile_leads_nowhere_after_the_command(
    inside: Inside, deed: str
) -> None:
    """As a run with a worktree is started while another works in the repository; what is kept of
    the command's own (``two``) is put right as well."""
    project, canary = inside.project, inside.home / "canary"
    run_git(project, "config", "extensions.worktreeConfig", "true")
    run_git(project, "worktree", "add", "-q", f"{inside.home}/before")
    enclosure = await enclosed(inside, project)
    run_git(project, "worktree", "add", "-q", f"{inside.home}/one")
    own = "git worktree add -q two 2>/dev/null; "

    done = await run(enclosure, project, own + LED_ASTRAY.format(canary=canary, deed=deed))

    name = "config.worktree" if "config.worktree" in deed else "commondir"
    told = {f"{project}/.git/worktrees/{tree}/{name}" for tree in ("one", "two")}
    assert done.tidied.left == () and told <= set(done.tidied.removed), done.output
    for tree in (inside.home / "one", inside.home / "before"):
        assert run_git(tree, "status", "--porcelain") == ""
        assert run_git(tree, "log", "-1", "--format=%s") == "first"
    run_git(project, "status", "--porcelain")
    assert not canary.exists()
