"""Commits what a turn has changed, that and nothing else.

The commit is made of the contents that the turn wrote, in an index of its own: neither the files
in the tree nor the user's index decide what is in it. The user's index gets the same change with
it or there is no commit, so that what they had staged, and what differs in their files, is what it
was before.

It is the user's commit: their name and address, their signature where they sign, their hooks. Where
git does not know who they are nothing is committed under another name.

The commit's id is stored before the branch moves to it; one that the branch has already is adopted,
not made again. Who made it does not follow from its words: its trailers are for people.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import trio

from podiumd.core.run.native_loop_facts import FileChange
from podiumd.tools.commit.changes import PLAIN_MODE, Snapshot, TreeWatch
from podiumd.tools.commit.hooks import (
    HookFailed,
    Hooks,
    placed_hooks,
    read_message,
    write_message,
)
from podiumd.tools.commit.identity import NOBODY, identity_variables, is_somebody
from podiumd.tools.commit.index import (
    Differences,
    Entries,
    Entry,
    LeftOut,
    Porter,
    committed_entries,
    in_the_way,
    parents_of,
    staged_entries,
    tree_changes,
    write_entries,
)
from podiumd.tools.commit.index_lock import HeldIndex, held_index
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.record import CommitRecord
from podiumd.tools.commit.result import (
    CommitOrder,
    Committed,
    in_another,
    kinds_of,
    message_of,
    not_committed,
    not_made,
    under_way,
    with_trailers,
)
from podiumd.tools.failpoints import failpoint
from podiumd.tools.git import queries as looking
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.git.process import Confines, GitCall
from podiumd.tools.git.queries import GitError, entries

__all__ = ["CommitOrder", "Committed", "commit_changes"]

SIGNING_SECONDS = 600.0
TOO_SLOW = (
    "git took more than {:g} s to make the commit. Where it signs commits, the program that signs "
    "may be waiting for a passphrase that nobody is asked for. What was changed is in the working "
    "tree as it is: commit it yourself, or set commit.gpgSign to false for this repository"
)

_TRIES = 3


class _Moved(Exception):
    """Signal that another process committed meanwhile."""


class _Nothing(Exception):
    """There is nothing to commit, or no place to; carries the sentence."""


async def commit_changes(
    order: CommitOrder,
    originals: Originals,
    hooks: Hooks | None = None,
    committing: LineUp | None = None,
    confines: Confines | None = None,
) -> Committed:
    """Make the commit of a turn, or find it where it was made before a crash.

    Parameters: ``originals`` hold the contents; ``hooks`` says how hooks are run, its ``top`` and
    ``directory`` are filled in here; ``None`` runs none. ``committing``: turns of one repository
    that share it commit one after the other. ``confines`` runs the filters that the repository
    names; without it a file that needs one is left out.
    Never raises for what git or a hook says: that is a result. How long to wait is the caller's.
    """
    left_out: dict[str, str] = {}
    try:
        maker = await _Maker.at(order, originals, hooks, confines)
        line = LineUp() if committing is None else committing
        async with line.turn(await maker.repository()):
            for _ in range(_TRIES):
                with suppress(_Moved):
                    left_out.clear()
                    return await maker.make(left_out)
        raise GitError("the branch moved each time; another program is committing")
    except _Nothing as error:
        return not_made("nothing", f"{error}", left_out)
    except HookFailed as error:
        return not_made("refused", f"{error}", left_out)
    except (GitError, OSError) as error:
        return not_made("failed", f"nothing was committed: {error}", left_out)


class _Maker:
    """Makes one commit."""

    def __init__(
        self, order: CommitOrder, git: GitCall, originals: Originals, confines: Confines | None
    ) -> None:
        self._order = order
        self._changes = order.changes
        self._git = git
        self._porter = Porter(git, originals)
        self._watch = TreeWatch(Path(order.root), originals, confines)
        self._before_hook: Snapshot | None = None
        self._hooks: Hooks | None = None
        self._prefix = ""
        self._directory = self._index = self._message = ""
        self._own = git
        self._record = CommitRecord(order.record)

    @classmethod
    async def at(
        cls,
        order: CommitOrder,
        originals: Originals,
        hooks: Hooks | None,
        confines: Confines | None,
    ) -> _Maker:
        """Build a maker for the repository of ``order``. Raises ``_Nothing`` where this is no
        repository."""
        top = await looking.top_level(order.root)
        if top is None:
            raise _Nothing("nothing was committed: this is not a git repository")
        git = GitCall(top, identity_variables(os.environ), confines)
        maker = cls(order, git, originals, confines)
        maker._prefix = await GitCall(order.root).line("rev-parse", "--show-prefix")
        maker._directory = directory = await maker._git.line("rev-parse", "--absolute-git-dir")
        maker._index = f"{Path(directory, f'podium-index-{order.turn_id}')}"
        maker._message = f"{Path(directory, f'podium-message-{order.turn_id}')}"
        maker._own = maker._git.with_environment(GIT_INDEX_FILE=maker._index)
        if hooks is not None:
            maker._hooks = await placed_hooks(maker._git, hooks)
        return maker

    async def repository(self) -> str:
        """Return the real path of the git directory that a repository's working trees share."""
        common = await self._git.line("rev-parse", "--git-common-dir")
        return await trio.to_thread.run_sync(os.path.realpath, f"{Path(self._git.top, common)}")

    async def make(self, left_out: dict[str, str]) -> Committed:
        """Make it. A hook that refuses and mends the files, as formatters do, is asked again."""
        try:
            return await self._attempt(left_out)
        except HookFailed as failure:
            refused = failure
        mended = await self._mended()
        if not mended:
            raise refused
        self._changes = (*self._changes, *mended)
        left_out.clear()
        return await self._attempt(left_out)

    async def _mended(self) -> tuple[FileChange, ...]:
        """List the changes that a hook has made in the files that it refused."""
        ours = {change.path for change in self._changes}
        changes, _ = await self._watch.between(self._before_hook)
        return tuple(change for change in changes if change.path in ours)

    async def _attempt(self, left_out: dict[str, str]) -> Committed:
        self._tidy()  # an earlier attempt may have been killed
        head = await looking.head(self._git.top)
        made = await self._record.made(self._git) if head else None
        if made is not None:
            return await self._adopted(made, head)
        busy = under_way(self._directory)
        if busy:
            raise _Nothing(f"nothing was committed: {busy} is in progress")
        base = await self._tree_of(head)
        wanted = await self._wanted(base, left_out)
        try:
            return await self._commit(head, base, wanted, left_out)
        finally:
            self._tidy()

    def _tidy(self) -> None:
        for path in (self._index, f"{self._index}.lock", self._message):
            Path(path).unlink(missing_ok=True)

    async def _commit(
        self, head: str | None, base: str, wanted: Entries, left_out: dict[str, str]
    ) -> Committed:
        await self._own.out("read-tree", base)
        await write_entries(self._own, wanted)
        await self._written_tree(base)
        if not await is_somebody(self._git):
            raise GitError(NOBODY)
        await self._hook("pre-commit")
        tree = await self._written_tree(base)
        differences = await tree_changes(self._git, base, tree)
        sha, subject = await self._commit_tree(head, tree, differences)
        await self._move(head, sha, subject, differences)
        with suppress(HookFailed, GitError):  # it can refuse nothing any more
            await self._hook("post-commit")
        return self._committed(sha, differences, left_out)

    async def _move(
        self, head: str | None, sha: str, subject: str, differences: Differences
    ) -> None:
        """Move the branch to the commit, and the user's index with it. Raises ``_Moved`` where
        one of them is no longer what the commit was made for."""
        async with held_index(self._directory, self._order.turn_id, sha) as index:
            if await self._stage(index, differences):
                raise _Moved
            with trio.CancelScope(shield=True):  # all, or none
                await self._record.store(sha)
                failpoint("commit.before-move")
                try:
                    await self._move_branch(head, sha, subject)
                except (_Moved, GitError):
                    self._record.forget()
                    raise
                failpoint("commit.after-move")
                index.finish()

    async def _written_tree(self, base: str) -> str:
        tree = await self._own.line("write-tree")
        if tree == base:
            raise _Nothing("nothing was committed: nothing differs from the last commit")
        return tree

    async def _tree_of(self, head: str | None) -> str:
        if head is None:
            return await self._git.line("mktree")  # the empty one
        return await self._git.line("rev-parse", "--verify", f"{head}^{{tree}}")

    async def _wanted(self, base: str, left_out: dict[str, str]) -> Entries:
        """Compute what the commit shall hold of the files that were changed."""
        steps: dict[str, list[FileChange]] = {}
        for change in self._changes:
            steps.setdefault(self._prefix + change.path, []).append(change)
        for path in [path for path in steps if in_another(self._git.top, path)]:
            left_out[path] = "it belongs to a repository of its own"
            del steps[path]
        for path in await self._ignored(list(steps)):
            left_out[path] = "git ignores it"
            del steps[path]
        wanted: Entries = {}
        committed = await committed_entries(self._git, base, list(steps))
        staged = await staged_entries(self._git, list(steps))
        await self._porter.prepare(steps)
        for path, changes in steps.items():
            try:
                there = staged.at(path)
                entry = await self._porter.port(path, changes, committed[path])
                if entry != committed[path]:
                    # The staged version must be able to take the change, too.
                    await self._added(there, committed[path], entry)
                    wanted[path] = entry
            except LeftOut as error:
                left_out[path] = f"{error}"
        blocked = await in_the_way(self._git, base, wanted)
        for path in [path for path in wanted if blocked & parents_of(path)]:
            left_out[path] = "a file of your own has the name of its directory"
            del wanted[path]
        return wanted

    async def _ignored(self, paths: list[str]) -> list[str]:
        names = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        git = self._git.with_environment(GIT_LITERAL_PATHSPECS="0")  # it refuses to know it
        done = await git.run("check-ignore", "-z", "--stdin", stdin=names)
        if done.returncode not in (0, 1):  # 1: none is
            said = done.stderr.decode("utf-8", "replace").strip()
            raise GitError(f"git cannot say what it ignores: {said}")
        return [os.fsdecode(name.removeprefix(b"./")) for name in entries(done.stdout)]

    async def _added(
        self, staged: Entry | None, old: Entry | None, new: Entry | None
    ) -> Entry | None:
        """Merge our change into what the user has staged of a file."""
        mode = new.mode if new else PLAIN_MODE
        old_oid, new_oid = (entry.oid if entry else None for entry in (old, new))
        return await self._porter.merged(staged, old_oid, new_oid, mode)

    async def _hook(self, name: str, *arguments: str) -> None:
        if self._hooks is not None and await self._hooks.has(name):
            self._before_hook = await self._watch.snapshot()
            await self._hooks.run(name, *arguments, index=self._index)

    async def _commit_tree(
        self, head: str | None, tree: str, differences: Differences
    ) -> tuple[str, str]:
        """Make the commit, which nothing points to yet; returns its subject too."""
        message = await self._worded(differences)
        signed = await self._git.run("config", "--type=bool", "--get", "commit.gpgSign")
        sign = ["-S"] if signed.stdout.strip() == b"true" else []
        parents = ["-p", head] if head else []
        arguments = ("commit-tree", *sign, *parents, "-F", "-", tree)
        try:
            with trio.fail_after(SIGNING_SECONDS):
                sha = await self._git.line(*arguments, stdin=message.encode())
        except trio.TooSlowError:
            raise GitError(TOO_SLOW.format(SIGNING_SECONDS)) from None
        return sha, message.partition("\n")[0]

    async def _move_branch(self, head: str | None, sha: str, subject: str) -> None:
        moved = await self._git.run(
            "update-ref", "-m", f"commit: {subject}", "HEAD", sha, head or ""
        )
        if moved.returncode != 0:
            now = await looking.head(self._git.top)
            if now == sha:  # it had moved, and git failed at what came after
                return
            if now != head:
                raise _Moved
            said = moved.stderr.decode("utf-8", "replace").strip()
            raise GitError(f"the branch could not be moved: {said}")

    async def _worded(self, differences: Differences) -> str:
        """Write the message and return it as the hooks for it leave it."""
        order = self._order
        message = message_of(
            kinds_of(differences), run_id=order.run_id, turn_id=order.turn_id, note=order.note
        )
        await trio.to_thread.run_sync(write_message, self._message, message)
        await self._hook("prepare-commit-msg", self._message, "message")
        await self._hook("commit-msg", self._message)
        message = await trio.to_thread.run_sync(read_message, self._message)
        if not message:
            raise HookFailed("a hook emptied the message, which refuses the commit")
        return with_trailers(f"{message}\n", order.run_id, order.turn_id)

    async def _stage(self, index: HeldIndex, differences: Differences) -> list[str]:
        """Give what is to be the user's index the same change; returns what does not take it."""
        git = self._git.with_environment(GIT_INDEX_FILE=f"{index.draft}")
        staged = await staged_entries(git, list(differences))
        changed: Entries = {}
        missed = []
        for path, (old, new) in differences.items():
            try:
                changed[path] = await self._added(staged.at(path), old, new)
            except LeftOut:
                missed.append(path)
        await write_entries(git, changed)
        await git.run("update-index", "-q", "--refresh")
        return missed

    async def _into_index(self, sha: str, differences: Differences) -> str:
        """Bring the user's index up to a commit that is there; returns what went wrong."""
        try:
            async with held_index(self._directory, self._order.turn_id, sha) as index:
                missed = await self._stage(index, differences)
                index.finish()
        except GitError as error:
            return f"the index was not brought up to date ({error}); run: git reset -q"
        return f"the index was not brought up to date for {', '.join(missed)}" if missed else ""

    async def _adopted(self, sha: str, head: str | None) -> Committed:
        parent = await self._git.run("rev-parse", "--verify", "-q", f"{sha}^")
        base = await self._tree_of(parent.stdout.decode().strip() or None)
        differences = await tree_changes(self._git, base, await self._tree_of(sha))
        problem = await self._into_index(sha, differences) if sha == head else ""
        return self._committed(sha, differences, {}, problem)

    def _committed(
        self, sha: str, differences: Differences, left_out: dict[str, str], problem: str = ""
    ) -> Committed:
        said = [*filter(None, (problem, f"committed {sha[:12]}")), *not_committed(left_out)]
        below = f"{self._git.top}/{self._prefix}"
        files = tuple(
            (os.path.relpath(f"{self._git.top}/{path}", below), kind)
            for path, kind in kinds_of(differences)
        )
        return Committed(
            state="committed",
            sha=sha,
            detail="\n".join(said),
            files=files,
            left_out=tuple(left_out.items()),
        )
