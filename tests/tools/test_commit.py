"""A turn's commit holds what the turn changed, leaves all that is the user's as it was, and says
what it left out; how it is made, with which hooks, once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.commit import CommitOrder, commit_changes
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.result import (
    FALLBACK,
    SUBJECT_CHARACTERS,
    Kind,
    message_of,
    subject_of,
    with_trailers,
)
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.process.processes import identity_of, wait_gone
from tests.long import sampled
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import begun, commit, set_for_person
from tests.tools.turn_repository import TEN, Turn


async def test_a_commit_names_every_file_and_the_turn(turn: Turn) -> None:
    turn.change("a.py", TEN + "more\n")
    turn.change("new/c.py", "c\n")
    turn.change("b.py", None)

    done = await turn.commit()

    assert done.state == "committed" and done.sha == turn.git("rev-parse", "HEAD")
    assert done.files == (("a.py", "modified"), ("b.py", "deleted"), ("new/c.py", "created"))
    assert turn.git("log", "-1", "--format=%s") == (
        "AI: modified a.py, deleted b.py, created new/c.py"
    )
    assert turn.git("log", "-1", "--format=%b").splitlines() == [
        "- modified a.py",
        "- deleted b.py",
        "- created new/c.py",
        "",
        "Podium-Run: r1",
        f"Podium-Turn: {turn.turn}",
    ]
    assert turn.git("log", "-1", "--format=%an <%ae> %cn") == "A Person <a@example.org> A Person"
    assert turn.git("status", "--porcelain") == ""


def signs(diff: str) -> list[str]:
    """What a diff adds and takes away, without line numbers and the names of objects."""
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in "+++---"]


async def test_what_is_the_users_is_neither_committed_nor_touched(turn: Turn) -> None:
    for name in ("dirty.py", "staged.py", "between.py", "since.py"):
        turn.write(name, TEN)
    commit(turn.top, "second")
    turn.write("staged.py", TEN.replace("line 1\n", "the user's\n"))
    turn.write("b.py", "staged by the user\n")
    turn.git("add", "staged.py", "b.py")
    turn.write("b.py", "and more\n")
    turn.write("notes.txt", "untracked\n")
    turn.write("dirty.py", TEN.replace("line 1\n", "the user's\n"))
    staged = turn.git("diff", "--cached", "--unified=0")
    for name in ("dirty.py", "staged.py"):
        turn.change(name, turn.text(name).replace("line 9\n", "ours\n"))
    turn.change("between.py", TEN.replace("line 1\n", "ours 1\n"))
    turn.write("between.py", turn.text("between.py").replace("line 5\n", "the user's\n"))
    turn.change("between.py", turn.text("between.py").replace("line 9\n", "ours 9\n"))
    turn.change("since.py", TEN + "ours\n")
    turn.write("since.py", "all new\n")
    turn.change("gone.py", "ours\n")
    (turn.top / "gone.py").unlink()

    done = await turn.commit()

    names = ("between.py", "dirty.py", "gone.py", "since.py", "staged.py")
    assert (done.state, done.left_out) == ("committed", ())
    assert [path for path, _ in done.files] == list(names)
    for name in ("dirty.py", "staged.py"):
        assert turn.shown(name) + "\n" == TEN.replace("line 9\n", "ours\n")
    assert turn.shown("between.py") == TEN.replace("line 1\n", "ours 1\n").replace(
        "line 9\n", "ours 9\n"
    ).strip("\n")
    assert turn.shown("since.py").endswith("ours") and turn.shown("gone.py") == "ours"
    assert signs(turn.git("diff", "--cached", "--unified=0")) == signs(staged)
    for name in ("dirty.py", "between.py"):
        changed = turn.git("diff", "--unified=0", name)
        assert "+the user's" in changed and "ours" not in changed
    assert (turn.text("b.py"), turn.text("since.py")) == ("and more\n", "all new\n")
    assert turn.git("status", "--porcelain").splitlines() == [
        "MM b.py",
        " M between.py",
        " M dirty.py",
        " D gone.py",
        " M since.py",
        "M  staged.py",
        "?? notes.txt",
    ]


def leave_one_of_each_kind(turn: Turn) -> None:
    """Leave the person's own state of files that no commit of the turn may take over."""
    names = ("conflict.py", "removed.py", "elsewhere.py", "pkg/m.py", "plain")
    for name in names:
        turn.write(name, TEN)
    turn.write(".gitignore", "build/\n")
    (turn.top / "image").write_bytes(b"\0one")
    (turn.top / "link").symlink_to("a.py")
    commit(turn.top, "second")
    turn.write("conflict.py", "theirs\n")
    turn.git("stash", "-q")
    turn.write("conflict.py", "other\n")
    commit(turn.top, "other")
    with pytest.raises(subprocess.CalledProcessError):
        turn.git("stash", "pop")
    begun(turn.top / "sub", {"x.txt": "x\n"}, "inner")
    turn.git("rm", "--cached", "-q", "removed.py")
    turn.write("elsewhere.py", TEN.replace("line 5\n", "staged\n"))
    turn.write("new", "mine\n")
    turn.write("dir/mine", "mine\n")
    turn.git("add", "elsewhere.py", "new", "dir/mine")
    turn.write("elsewhere.py", TEN)  # as committed again, but what is staged of it is not
    for name in ("new", "dir/mine", "pkg/m.py", "plain"):
        (turn.top / name).unlink()
    for name in ("dir", "pkg"):
        (turn.top / name).rmdir()
    turn.write("a.py", TEN.replace("line 5\n", "the user's\n"))
    turn.write("notes.txt", "mine\n")


async def test_what_cannot_be_carried_over_stays_out_and_is_said(turn: Turn) -> None:
    """One of each kind, beside a file that is committed."""
    leave_one_of_each_kind(turn)
    staged = turn.git("diff", "--cached")

    turn.change("conflict.py", "resolved\n")
    turn.change("removed.py", TEN + "ours\n")
    turn.change("elsewhere.py", TEN.replace("line 5\n", "ours\n"))
    turn.change("a.py", turn.text("a.py").replace("the user's\n", "ours\n"))
    for name in ("notes.txt", "build/out.txt", "sub/x.txt", "pkg", "plain/inner.py", "dir"):
        turn.change(name, "ours\n")
    turn.change("new/inner.py", "ours\n")
    (turn.top / "image").write_bytes(b"\0three")
    before, after = (turn.originals.keep(b"\0" + word) for word in (b"two", b"three"))
    turn.changes.append(FileChange(path="image", before=before, after=after))
    turn.changes.append(FileChange(path="link", after=turn.originals.keep(b"x")))
    turn.change("lost.py", "lost\n")
    lost = turn.changes[-1].after
    assert lost is not None
    Path(turn.originals.path(lost)).unlink()
    turn.change("c.py", "c\n")

    done = await turn.commit()

    left = dict(done.left_out)
    assert done.files == (("c.py", "created"),)
    assert left.pop("a.py").startswith("it had changes of your own")
    assert "in the same lines" in left.pop("elsewhere.py")
    assert "and is no text" in left.pop("image")
    assert "not known any more" in left.pop("lost.py")
    assert all(left.pop(name) for name in ("removed.py", "notes.txt", "new/inner.py", "dir"))
    assert left == {
        "conflict.py": "it has conflicts that are not resolved",
        "build/out.txt": "git ignores it",
        "sub/x.txt": "it belongs to a repository of its own",
        "pkg": "a directory of that name is staged",
        "plain/inner.py": "a file of your own has the name of its directory",
        "link": "it is a link in the last commit",
    }
    assert "not committed: a.py: it had changes of your own" in done.detail
    assert turn.git("ls-files", "--unmerged")  # an index with conflicts is not for us to complete
    assert turn.git("diff", "--cached") == staged
    assert "ours" in turn.text("a.py") and turn.shown("plain") + "\n" == TEN


async def test_nothing_is_committed_where_nothing_is_to_be(turn: Turn) -> None:
    turn.change("a.py", "other\n")
    turn.change("a.py", TEN)
    done = await turn.commit()
    assert (done.state, done.sha) == ("nothing", None)

    turn.write("notes.txt", "mine\n")
    turn.change("notes.txt", "mine and ours\n")
    done = await turn.commit()
    assert done.state == "nothing" and "notes.txt" in done.detail
    assert turn.git("status", "--porcelain") == "?? notes.txt"

    turn.change("a.py", "x\n")
    for name, what in (
        ("MERGE_HEAD", "a merge"),
        ("rebase-merge", "a rebase"),
        ("REVERT_HEAD", "a revert"),
    ):
        (turn.top / ".git" / name).write_text(f"{turn.first}\n")
        done = await turn.commit()
        assert done.state == "nothing" and f"{what} is in progress" in done.detail
        (turn.top / ".git" / name).unlink()
    assert turn.git("rev-parse", "HEAD") == turn.first


@pytest.mark.parametrize("order", sampled([lambda paths: paths, lambda paths: paths[::-1]]))
async def test_every_kind_of_file_is_committed_as_that(
    turn: Turn, order: Callable[[list[FileChange]], list[FileChange]]
) -> None:
    """With its mode, as a link, with a hostile name, as a directory where a file was."""
    turn.write("run.sh", "#!/bin/sh\n")
    (turn.top / "run.sh").chmod(0o755)
    commit(turn.top, "script")
    turn.change("run.sh", "#!/bin/sh\necho\n")
    (turn.top / "link").symlink_to("a.py")
    turn.changes.append(FileChange(path="link", after=turn.originals.keep(b"a.py"), mode="120000"))
    hostile = ["with space.txt", "-leading.txt", "a..b.txt", ":(top)x", "*.txt", "ünï.txt", '"q"']
    for name in hostile:
        turn.change(name, f"{name}\n")
    turn.change("b.py", None)
    turn.change("b.py/inner.py", "x\n")
    turn.changes = order(turn.changes)

    done = await turn.commit()

    assert dict(done.files) == {
        "run.sh": "modified",
        "b.py": "deleted",
        **dict.fromkeys(["link", "b.py/inner.py", *hostile], "created"),
    }
    modes = turn.git("ls-tree", "HEAD", "run.sh", "link").splitlines()
    assert [line.split()[0] for line in modes] == ["120000", "100755"]
    assert turn.git("status", "--porcelain") == ""


async def test_outside_git_a_sentence_says_so(tmp_path: Path) -> None:
    order = CommitOrder(
        root=f"{tmp_path}", record=f"{tmp_path}/commit", changes=(), run_id="r", turn_id="t"
    )

    done = await commit_changes(order, Originals(tmp_path / "o"))

    assert done.state == "nothing"
    assert done.detail == "nothing was committed: this is not a git repository"


async def test_the_first_commit_of_a_repository_can_be_ours(tmp_path: Path) -> None:
    turn = Turn(tmp_path)
    turn.git("update-ref", "-d", "HEAD")
    turn.git("rm", "--cached", "-q", "a.py", "b.py")
    turn.change("c.py", "c\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.git("ls-tree", "--name-only", "HEAD") == "c.py"
    assert turn.git("rev-list", "--count", "main") == "1"


async def test_a_detached_head_moves_and_no_branch_does(turn: Turn) -> None:
    turn.git("checkout", "--quiet", "--detach")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert turn.git("rev-parse", "HEAD") == done.sha
    assert turn.git("rev-parse", "main") == turn.first


async def test_in_a_folder_of_the_repository_paths_are_those_of_the_folder(turn: Turn) -> None:
    turn.root = turn.top / "pkg"
    turn.change("pkg/m.py", "m\n")

    done = await turn.commit()

    assert done.files == (("m.py", "created"),)
    assert turn.shown("pkg/m.py") == "m"


async def test_a_commit_is_made_once_and_each_turn_makes_its_own(turn: Turn) -> None:
    """What a killed attempt left does not stand in the way; what one had made is adopted."""
    turn.change("a.py", "x\n")
    for name in (
        f"podium-index-{turn.turn}",
        f"podium-index-{turn.turn}.lock",
        f"podium-message-{turn.turn}",
    ):
        (turn.top / ".git" / name).write_text("torn")
    first = await turn.commit()
    assert first.state == "committed"
    assert not list((turn.top / ".git").glob("podium-*"))
    # As if the daemon had been killed before the index was brought up to date.
    turn.git("read-tree", turn.first)

    again = await turn.commit()

    assert (again.sha, again.files) == (first.sha, first.files)
    assert turn.git("rev-list", "--count", "HEAD") == "2"
    assert turn.git("status", "--porcelain") == ""
    turn.changes.clear()
    turn.change("a.py", "y\n")
    assert (await turn.commit("t2")).files == (("a.py", "modified"),)
    assert turn.git("rev-list", "--count", "HEAD") == "3"


async def test_a_branch_that_moved_meanwhile_is_built_upon(turn: Turn) -> None:
    """The hook stands for a person who commits while we do."""
    turn.change("a.py", "x\n")
    turn.hook(
        "pre-commit",
        "unset GIT_INDEX_FILE; [ -e moved ] && exit 0; touch moved; echo mine > b.py; "
        "git -c core.hooksPath=/dev/null commit -q -m theirs b.py",
    )

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.git("log", "--format=%s") == "AI: modified a.py\ntheirs\nfirst"
    assert turn.shown("b.py") == "mine" and turn.shown("a.py") == "x"


async def test_turns_of_one_repository_that_end_at_once_all_have_their_commit(
    tmp_path: Path,
) -> None:
    """In two working trees of it, and each with a file of its own."""
    turn = Turn(tmp_path)
    turn.git("worktree", "add", "-q", f"{tmp_path}/tree")
    line = LineUp()
    states = []

    async def one(number: int) -> None:
        top = turn.top if number % 2 else tmp_path / "tree"
        (top / f"f{number}").write_text("x\n")
        change = FileChange(path=f"f{number}", after=turn.originals.keep(b"x\n"))
        name = f"t{number}"
        order = CommitOrder(
            root=f"{top}", record=turn.record(name), changes=(change,), run_id="r", turn_id=name
        )
        done = await commit_changes(order, turn.originals, None, line)
        states.append((done.state, done.detail))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(one, number)

    assert [state for state, _ in states] == ["committed"] * 3, states
    assert turn.git("status", "--porcelain") == ""
    assert turn.git("rev-list", "--count", "--all") == "4"
    assert not line.names


async def test_a_failing_hook_is_a_result_with_its_words(turn: Turn) -> None:
    turn.hook("pre-commit", "echo the linter is unhappy; exit 3")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "refused"
    assert "pre-commit refused the commit: status 3" in done.detail
    assert "the linter is unhappy" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first
    assert turn.git("status", "--porcelain") == "M a.py"
    assert not list((turn.top / ".git").glob("podium-*"))


async def test_hooks_see_what_is_to_be_committed_and_edit_the_message(turn: Turn) -> None:
    turn.write("b.py", "the user's\n")
    turn.git("add", "b.py")
    turn.hook("pre-commit", "git diff --cached --name-only > seen")
    turn.hook("commit-msg", 'sed -i "1s/^/[x] /;/Podium/d" "$1"')
    turn.hook("post-commit", "git log -1 --format=%s > after; exit 1")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.text("seen") == "a.py\n"
    assert turn.text("after") == "[x] AI: modified a.py\n"
    assert turn.git("log", "-1", "--format=%(trailers:key=Podium-Turn,valueonly)") == turn.turn


async def test_a_hook_that_mends_the_files_and_refuses_is_asked_again(turn: Turn) -> None:
    mend = 'if grep -q tidy a.py; then exit 0; fi; echo "tidy" >> a.py; exit 1'
    turn.hook("pre-commit", mend)
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert turn.shown("a.py") == "x\ntidy"
    assert turn.git("status", "--porcelain") == ""


async def test_hooks_in_the_tree_do_not_run_by_themselves(turn: Turn) -> None:
    """Git would run this one at any change of an index, outside of every sandbox."""
    turn.git("config", "core.hooksPath", ".hooks")
    turn.write(".hooks/post-index-change", "#!/bin/sh\ntouch ../escaped\n")
    (turn.top / ".hooks/post-index-change").chmod(0o755)
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.state == "committed"
    assert not (turn.top.parent / "escaped").exists()


async def test_a_message_that_a_hook_empties_is_a_refusal(turn: Turn) -> None:
    turn.hook("prepare-commit-msg", ': > "$1"')
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert (done.state, done.detail) == (
        "refused",
        "a hook emptied the message, which refuses the commit",
    )


async def test_a_person_who_signs_gets_signed_commits_or_is_told(turn: Turn, home: Path) -> None:
    turn.git("config", "commit.gpgSign", "true")
    set_for_person(home, "gpg.program", "false")
    turn.change("a.py", "x\n")

    refused = await turn.commit()
    signer = turn.top.parent / "signer"
    signer.write_text(
        "#!/bin/sh\ncat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2\n"
        "echo '-----BEGIN PGP SIGNATURE-----'; echo x; echo '-----END PGP SIGNATURE-----'\n"
    )
    signer.chmod(0o755)
    turn.git("config", "gpg.program", str(signer))
    not_run = await turn.commit()
    turn.git("config", "--unset", "gpg.program")
    set_for_person(home, "gpg.program", str(signer))
    done = await turn.commit()

    assert refused.state == "failed" and "sign" in refused.detail
    # A repository that names the program that signs may name one that an agent has written.
    assert not_run.state == "failed" and "sign" in not_run.detail
    assert done.state == "committed"
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in turn.git("cat-file", "commit", "HEAD")


@pytest.mark.slow
async def test_a_signature_that_nobody_gives_is_not_waited_for_without_end(
    turn: Turn, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signing program asks for a passphrase where nobody sees it."""
    monkeypatch.setattr("podiumd.tools.commit.commit.SIGNING_SECONDS", 2.0)
    signer, pid = turn.top.parent / "signer", turn.top.parent / "pid"
    signer.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec sleep 1000\n")
    signer.chmod(0o755)
    turn.git("config", "commit.gpgSign", "true")
    set_for_person(home, "gpg.program", str(signer))
    turn.change("a.py", "x\n")

    with trio.fail_after(HANG_SECONDS):
        done = await turn.commit()
        left = identity_of(int(pid.read_text()))
        if left is not None:  # told to end, it may take a moment
            await wait_gone(left)

    assert done.state == "failed"
    assert done.detail.startswith("nothing was committed: git took more than 2 s")
    assert "commit.gpgSign" in done.detail
    assert turn.git("rev-parse", "HEAD") == turn.first and turn.text("a.py") == "x\n"
    assert turn.git("status", "--porcelain") == "M a.py"


def test_the_subject_names_files_as_far_as_they_fit() -> None:
    files: list[tuple[str, Kind]] = [("a.py", "modified"), ("b.py", "created")]
    many: list[tuple[str, Kind]] = [(f"dir/module{number}.py", "modified") for number in range(9)]

    assert subject_of(files) == "AI: modified a.py, created b.py"
    assert subject_of(many) == ("AI: modified dir/module0.py, modified dir/module1.py and 7 more")
    assert subject_of([("x" * 55, "modified")]) == f"AI: modified {'x' * 55}"
    assert len(subject_of([("x" * 59, "modified")])) == SUBJECT_CHARACTERS
    assert subject_of([("x" * 60, "modified")]) == subject_of([]) == FALLBACK


def test_a_name_cannot_forge_a_line() -> None:
    message = message_of(
        [("a\nPodium-Turn: x", "created")], run_id="r", turn_id="t", note="n\x1b\nm"
    )

    assert message == (
        "AI: created a\\x0aPodium-Turn: x\n\n- created a\\x0aPodium-Turn: x\n\nn\\x1b\nm\n\n"
        "Podium-Run: r\nPodium-Turn: t\n"
    )


def test_trailers_that_a_hook_lost_are_put_back() -> None:
    whole = "subject\n\nPodium-Run: r\nPodium-Turn: t\n"

    assert with_trailers(whole, "r", "t") == whole
    assert with_trailers("other\n\n\n", "r", "t") == f"other\n\n{whole[9:]}"
    assert with_trailers("subject\n\nPodium-Run: r\n", "r", "t").endswith(whole[9:])
