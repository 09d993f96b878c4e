"""What cannot be carried over to the last commit stays out of it, and is said."""

import subprocess
from pathlib import Path

import pytest
import trio

from podiumd.core.run.loop_facts import FileChange
from podiumd.tools.process.processes import identity_of, wait_gone
from tests.patience import HANG_SECONDS
from tests.tools.git_repository import commit, set_for_person
from tests.tools.turn_repository import TEN, Turn


@pytest.fixture
def turn(tmp_path: Path) -> Turn:
    return Turn(tmp_path)


async def test_lines_that_the_user_has_staged_otherwise(turn: Turn) -> None:
    """The file is as committed again, but what is staged of it is not."""
    turn.write("a.py", TEN.replace("line 5\n", "staged\n"))
    turn.git("add", "a.py")
    turn.write("a.py", TEN)
    turn.change("a.py", TEN.replace("line 5\n", "ours\n"))

    done = await turn.commit()

    assert done.state == "nothing" and "in the same lines" in done.detail
    assert "staged" in turn.git("diff", "--cached") and "ours" not in turn.git("diff", "--cached")


async def test_a_file_that_the_user_has_staged_for_removal(turn: Turn) -> None:
    turn.git("rm", "--cached", "-q", "a.py")
    turn.change("a.py", TEN + "ours\n")

    done = await turn.commit()

    assert [path for path, _ in done.left_out] == ["a.py"]
    assert turn.git("diff", "--cached", "--name-status") == "D\ta.py"


async def test_a_binary_file_with_changes_of_the_user(turn: Turn) -> None:
    (turn.top / "image").write_bytes(b"\0one")
    commit(turn.top, "image")
    (turn.top / "image").write_bytes(b"\0two")
    before = turn.originals.keep(b"\0two")
    after = turn.originals.keep(b"\0three")
    (turn.top / "image").write_bytes(b"\0three")
    turn.changes.append(FileChange(path="image", before=before, after=after))

    done = await turn.commit()

    assert "and is no text" in done.left_out[0][1]


async def test_a_file_with_conflicts(turn: Turn) -> None:
    turn.write("a.py", "theirs\n")
    turn.git("stash", "-q")
    turn.write("a.py", "other\n")
    commit(turn.top, "other")
    with pytest.raises(subprocess.CalledProcessError):
        turn.git("stash", "pop")
    turn.change("a.py", "resolved\n")
    turn.change("c.py", "c\n")

    done = await turn.commit()

    # An index with conflicts is not for us to complete.
    assert done.files == (("c.py", "created"),)
    assert done.left_out == (("a.py", "it has conflicts that are not resolved"),)
    assert turn.git("ls-files", "--unmerged")


async def test_a_file_where_a_directory_is_committed(turn: Turn) -> None:
    turn.write("pkg/m.py", "m\n")
    commit(turn.top, "pkg")
    (turn.top / "pkg/m.py").unlink()
    (turn.top / "pkg").rmdir()
    turn.change("pkg", "a file\n")

    done = await turn.commit()

    assert done.state == "nothing"
    assert done.left_out == (("pkg", "a directory of that name is staged"),)


async def test_a_file_below_what_is_committed_as_a_file(turn: Turn) -> None:
    (turn.top / "b.py").unlink()
    turn.change("b.py/inner.py", "x\n")
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert done.files == (("a.py", "modified"),)
    assert done.left_out == (("b.py/inner.py", "a file of your own has the name of its directory"),)
    assert turn.shown("b.py") == "b"


async def test_files_where_the_user_has_staged_others(turn: Turn) -> None:
    turn.write("new", "mine\n")
    turn.write("dir/mine", "mine\n")
    turn.git("add", "new", "dir/mine")
    staged = turn.git("diff", "--cached")
    (turn.top / "new").unlink()
    (turn.top / "dir/mine").unlink()
    (turn.top / "dir").rmdir()
    turn.change("new/inner.py", "x\n")
    turn.change("dir", "x\n")

    done = await turn.commit()

    assert done.state == "nothing" and len(done.left_out) == 2
    assert turn.git("diff", "--cached") == staged


async def test_a_link_that_was_written_through_is_its_target(turn: Turn) -> None:
    (turn.top / "link").symlink_to("a.py")
    commit(turn.top, "link")
    turn.changes.append(FileChange(path="link", after=turn.originals.keep(b"x")))

    done = await turn.commit()

    assert done.left_out == (("link", "it is a link in the last commit"),)


async def test_a_message_that_a_hook_empties_is_a_refusal(turn: Turn) -> None:
    turn.hook("prepare-commit-msg", ': > "$1"')
    turn.change("a.py", "x\n")

    done = await turn.commit()

    assert (done.state, done.detail) == (
        "refused",
        "a hook emptied the message, which refuses the commit",
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's, with their own settings."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", f"{path}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return path


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
