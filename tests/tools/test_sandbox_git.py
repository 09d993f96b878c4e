"""In the sandbox git works, and nothing that it runs outside can be put into it."""

import os

import pytest

from podiumd.tools.sandbox.sandbox import SandboxRefused
from tests.tools.boxed_project import Inside
from tests.tools.git_repository import make_repository, run_git

pytestmark = pytest.mark.needs("bwrap")


async def test_git_can_commit_but_its_hooks_and_settings_stay(inside: Inside) -> None:
    (inside.project / ".git/hooks/pre-push").write_text("#!/bin/sh\n")
    before = (inside.project / ".git/config").read_text()

    done = await inside.run(
        "echo b > b.txt; git add b.txt; "
        "git -c user.name=m -c user.email=m@x commit -qm inside && echo committed; "
        "echo evil > .git/hooks/post-commit; echo evil > .git/hooks/pre-push; rm -r .git/hooks; "
        "git config core.fsmonitor evil; echo evil >> .git/config; mv .git gone; "
        "mv .git/hooks .git/h2; echo .. > .git/commondir"
    )

    assert "committed\n" in done.output
    assert run_git(inside.project, "log", "-1", "--format=%s") == "inside"
    assert (inside.project / ".git/config").read_text() == before
    assert (inside.project / ".git/hooks/pre-push").read_text() == "#!/bin/sh\n"
    assert not (inside.project / ".git/hooks/post-commit").exists()
    assert not (inside.project / "gone").exists()
    assert "cannot create .git/commondir" in done.output and done.tidied.removed == ()
    assert not (inside.project / ".git/commondir").exists()


async def test_a_repository_without_hooks_gets_none(inside: Inside) -> None:
    hooks = inside.project / ".git/hooks"
    for path in hooks.iterdir():
        path.unlink()
    hooks.rmdir()

    await inside.run("mkdir -p .git/hooks; echo evil > .git/hooks/post-commit")

    assert list(hooks.iterdir()) == []


async def test_a_new_repository_stays_only_if_it_runs_nothing(inside: Inside) -> None:
    """Git is used in it outside: by us, and by the person."""
    evil = (
        "git config core.fsmonitor 'touch ~/evil'", "git config filter.x.clean evil",
        "git config include.path ../evil", "echo x > .git/hooks/post-commit",
        "printf '[core]\\n\\tfsmonitor=evil\\n' >> .git/config", "echo .. > .git/commondir",
        "mv .git g; ln -s g .git", "mv .git/config c; ln -s ../c .git/config",
        "mv .git g; echo 'gitdir: g' > .git",
    )  # fmt: skip
    for number, line in enumerate(evil):
        tree = inside.home / f"new{number}"
        tree.mkdir()
        done = await inside.run(f"git init -q; {line}", tree)
        assert done.tidied.removed[0] == f"{tree}/.git", line
        # One that it has put elsewhere keeps all but its HEAD.
        assert set(done.tidied.removed[1:]) <= {f"{tree}/g/HEAD"}, line
        assert not os.path.lexists(tree / ".git"), line
    tree = inside.home / "new"
    tree.mkdir()

    done = await inside.run(
        "git init -q -b main; git config user.name m; git config user.email m@example.org; "
        "echo a > a; git add a; git commit -qm first",
        tree,
    )

    assert (done.exit_status, done.tidied.removed) == (0, ())
    assert run_git(tree, "log", "--format=%s") == "first"


async def test_a_git_that_is_a_link_cannot_be_shut_in(inside: Inside) -> None:
    (inside.project / ".git").rename(inside.project / "real")
    (inside.project / ".git").symlink_to("real")

    with pytest.raises(SandboxRefused, match=r"'\.git' is a link"):
        await inside.run("true")


async def test_in_a_worktree_git_works_and_its_pointers_stay(inside: Inside) -> None:
    tree = inside.home / "trees/side"
    run_git(inside.project, "worktree", "add", "-q", "-b", "side", f"{tree}")
    gitdir = inside.project / ".git/worktrees/side"
    before = {name: (gitdir / name).read_text() for name in ("commondir", "gitdir")}

    done = await inside.run(
        "echo b > b.txt; git add -A; git -c user.name=m -c user.email=m@x commit -qm inside && "
        f"echo committed; cat {inside.project}/a.txt; "
        f"echo evil > {gitdir}/commondir; echo evil > {gitdir}/gitdir; echo 'gitdir: /x' > .git; "
        f"echo evil > {inside.project}/.git/hooks/pre-commit",
        tree,
    )

    assert "committed\n" in done.output
    assert {name: (gitdir / name).read_text() for name in before} == before
    assert run_git(tree, "log", "-1", "--format=%s") == "inside"
    # The main working tree is another place, in the home: only its repository is shown.
    assert f"{inside.project}/a.txt: No such file" in done.output


async def test_a_git_file_that_points_elsewhere_is_not_believed(inside: Inside) -> None:
    """A tree may come from anywhere; it must not open another repository, or a home."""
    tree = inside.home / "stranger"
    tree.mkdir()
    for target in (inside.project / ".git", inside.home / ".ssh", inside.home):
        (tree / ".git").write_text(f"gitdir: {target}\n")
        done = await inside.run(f"ls -A {target}; cat {target}/config {target}/id_rsa", tree)
        shown = [line for line in done.output.splitlines() if "No such file" not in line]
        assert set(shown) <= {"stranger"}, target


async def test_below_the_top_of_a_repository_the_rest_is_read_only(inside: Inside) -> None:
    (inside.project / "pkg").mkdir()

    done = await inside.run(
        "cat ../a.txt; touch x; touch ../y; git status --short", inside.project / "pkg"
    )

    assert done.output.startswith("a\n") and "?? ./\n" in done.output
    assert (inside.project / "pkg/x").exists() and not (inside.project / "y").exists()


async def test_a_home_that_is_a_repository_itself_stays_hidden(inside: Inside) -> None:
    make_repository(inside.home / "repo")
    (inside.home / "repo/.git").rename(inside.home / ".git")
    plain = inside.home / "plain"
    plain.mkdir()

    done = await inside.run("cat ../diary.txt; ls -A ..", plain)

    assert "[secret]" not in done.output and ".ssh" not in done.output
