"""The tools of an agent in a working tree: what they are called, take, risk and do.

One registry for all who offer tools. Using one has two steps: ``plan`` looks and changes nothing,
and says what would be done, for a person or a policy to decide on; ``Plan.perform`` does it.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import trio

from podiumd.core.decide.policy import Risk
from podiumd.core.reply import action_args as args
from podiumd.core.reply.actions import Action
from podiumd.core.run.native_loop_facts import FileChange, Result
from podiumd.tools.agent import edit
from podiumd.tools.agent.search import search
from podiumd.tools.agent.test_command import detect_test_command
from podiumd.tools.agent.workspace import Refused, Workspace
from podiumd.tools.commit.changes import Earlier, TreeWatch, with_earlier
from podiumd.tools.commit.commit import CommitOrder, Committed, commit_changes
from podiumd.tools.commit.confined_filters import ConfinedFilters
from podiumd.tools.commit.hooks import Hooks
from podiumd.tools.commit.identity import unknown_committer
from podiumd.tools.commit.originals import Originals
from podiumd.tools.commit.record import RECORD as COMMIT_RECORD
from podiumd.tools.git.line_up import LineUp
from podiumd.tools.git.queries import GitError
from podiumd.tools.sandbox.boundary import HEAD_ASIDE, LEFT, SET_ASIDE
from podiumd.tools.sandbox.sandbox import Enclosure, Sandbox, SandboxRefused
from podiumd.tools.sandbox.shell import ShellResult, command_environment, run_arguments

COMMAND_SECONDS, TEST_SECONDS, MOST_SECONDS = 120.0, 600.0, 3600.0
"""Seconds that a command and a test run may take by default, and at most."""

NOT_ASKED = (
    "an agent may have written what it runs, there is no sandbox for it here, and commands are "
    "asked about; commit yourself, or set up the sandbox"
)
"""Why no hook of a repository is run; the name of one stands before it."""

UNSEEN = "what it changed is not known, and is in no commit of this turn: {}"
"""Note on a command where git could not look at the tree; why not stands in it."""
UNCOVERED = (
    "git ignored these before the command and no longer does; they do not count as its work and "
    "are in no commit of this turn: {}"
)
_MOST_NAMED = 5

OnOutput = Callable[[str], None]


class Done(msgspec.Struct, frozen=True):
    """The result of a tool's use, and the files that it changed, in order."""

    result: Result
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A use of a tool, ready to be decided on.

    ``preview`` is what a person decides by: a unified diff, or the command line; empty for what
    only reads. ``command`` is the command line where there is one. ``changes`` are the files that
    will be written, as they are and as they will be; what a command changes is not known before.
    """

    action: str
    risk: Risk
    preview: str = ""
    command: str | None = None
    changes: tuple[FileChange, ...] = ()
    perform: Callable[[OnOutput | None], Awaitable[Done]] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """The resources that tools work with, for one turn.

    ``environment`` is the environment of commands before keys are taken out; ``hidden_names`` are
    names of further variables that hold keys; ``scratch`` is a directory of the turn's own, beside
    which its records lie; ``unasked``: its commands may be run without a question; ``inherited``
    are descriptors that commands outside a sandbox keep open; ``test_command`` is the configured
    one. ``committing`` is where turns of one repository wait for each other.
    """

    workspace: Workspace
    originals: Originals
    sandbox: Sandbox
    environment: Mapping[str, str]
    turn_id: str
    scratch: Path
    test_command: str = ""
    hidden_names: tuple[str, ...] = ()
    inherited: tuple[int, ...] = ()
    unasked: bool = False
    committing: LineUp = field(default_factory=LineUp)


@dataclass(frozen=True)
class Tool:
    """A tool. ``parameters`` is a struct; ``critical``: a failure ends the batch it is in."""

    name: str
    description: str
    risk: Risk
    parameters: type[msgspec.Struct]
    plan: Callable[[Any], Awaitable[Plan]]
    critical: bool = False

    def describe(self) -> dict[str, Any]:
        """Describe the tool for a model: name, description, risk, and JSON schema of parameters."""
        _, components = msgspec.json.schema_components([self.parameters], ref_template="#/{name}")
        schema = components[self.parameters.__name__]
        return {
            "name": self.name,
            "description": self.description,
            "risk": self.risk,
            "parameters": {key: value for key, value in schema.items() if key != "title"},
        }


class Toolbox:
    """The tools of the contract for one turn in one working tree.

    ``tools`` may be added to: an owner that offers more tools gives each the same two steps.
    """

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._watch = TreeWatch(context.workspace.root, context.originals)
        self.tools: dict[str, Tool] = {tool.name: tool for tool in self._all()}

    def describe(self) -> list[dict[str, Any]]:
        """Describe all tools; see ``Tool.describe``."""
        return [tool.describe() for tool in self.tools.values()]

    async def plan(self, action: Action) -> Plan | Result:
        """Plan an action; return a failed result where that is not possible."""
        tool = self.tools.get(action.name)
        if tool is None:
            message = args.unknown(action.name, self.tools)
            return Result(action=action.name, success=False, message=message)
        try:
            checked = args.checked(action)
            if isinstance(checked, str):
                return _failed(tool, checked)
            return await tool.plan(checked or msgspec.convert(action.args, tool.parameters))
        except (Refused, msgspec.ValidationError) as error:
            return _failed(tool, f"{error}")

    async def commit(
        self,
        changes: tuple[FileChange, ...],
        *,
        run_id: str,
        note: str = "",
        earlier: Earlier | None = None,
    ) -> Committed:
        """Commit what this turn has changed, and what ``earlier`` ones have left; see
        ``commit_changes``."""
        context = self._context
        root = context.workspace.root
        try:
            enclosure, _ = await context.sandbox.enclose(root, context.scratch)
        except SandboxRefused as error:
            return Committed(state="failed", detail=f"nothing was committed: {error}")
        if earlier is not None:
            self._watch.confines = self._confines(enclosure)
            try:
                changes = await with_earlier(self._watch, changes, earlier)
            except (GitError, OSError) as error:
                return Committed(state="failed", detail=f"nothing was committed: {error}")
        hooks = Hooks(
            environment=self._environment(),
            turn_id=context.turn_id,
            enclosure=enclosure,
            pass_fds=self._leases(enclosure),
            shut="" if enclosure is not None or context.unasked else NOT_ASKED,
        )
        order = CommitOrder(
            root=f"{root}",
            record=f"{context.scratch.with_name(COMMIT_RECORD)}",
            changes=changes,
            run_id=run_id,
            turn_id=context.turn_id,
            note=note,
        )
        return await commit_changes(
            order, context.originals, hooks, context.committing, self._confines(enclosure)
        )

    def _confines(self, enclosure: Enclosure | None) -> ConfinedFilters | None:
        context = self._context
        if enclosure is None:
            return None
        return ConfinedFilters(enclosure, context.turn_id, context.scratch.with_name("filters"))

    async def unknown_committer(self) -> str:
        """Return why git would commit nothing of this turn; see ``unknown_committer``."""
        return await unknown_committer(f"{self._context.workspace.root}")

    def _environment(self) -> dict[str, str]:
        context = self._context
        return command_environment(context.environment, context.turn_id, context.hidden_names)

    def _leases(self, enclosure: Enclosure | None) -> tuple[int, ...]:
        """Return the locks that a command keeps held should it outlive the daemon.

        A command in the sandbox gets none: it could release them, or write into their files. The
        next daemon ends what is left of the turn before anything else, with or without them.
        """
        return () if enclosure is not None else self._context.inherited

    def _all(self) -> list[Tool]:
        return [
            Tool("read_file", "Read a text file, or lines of it; lines count from 1.", "read",
                 args.ReadFile, self._read_file),
            Tool("write_file", "Create a file, or replace the whole of one.", "write",
                 args.WriteFile, self._write_file, critical=True),
            Tool("patch", "Insert, delete or replace lines of a file. Lines count from 1 in the "
                 "file as it was read; every operation speaks of those lines.", "write",
                 args.Patch, self._patch, critical=True),
            Tool("search", "Search the files for a text, or a regular expression.", "read",
                 args.Search, self._search),
            Tool("run_command", "Run a command line by sh in the working directory.", "exec",
                 args.RunCommand, self._run_command),
            Tool("run_tests", "Run the project's tests, or those that a pattern names.", "exec",
                 args.RunTests, self._run_tests),
            Tool("done", "Say that the work is done.", "read", args.Done, self._done),
        ]  # fmt: skip

    async def _read_file(self, given: args.ReadFile) -> Plan:
        async def perform(_: OnOutput | None) -> Done:
            text = await trio.to_thread.run_sync(
                edit.read_text, self._context.workspace, given.path, given.first or 1, given.last
            )
            head, _newline, _rest = text.partition("\n")
            return Done(Result(action="read_file", success=True, message=head, output=text))

        return self._planned("read_file", perform)

    async def _write_file(self, given: args.WriteFile) -> Plan:
        plan = await trio.to_thread.run_sync(
            edit.plan_write, self._context.workspace, given.path, given.content
        )
        said = f"{plan.kind} {plan.path}, {len(plan.data)} bytes"
        return self._file_plan("write_file", plan, said)

    async def _patch(self, given: args.Patch) -> Plan:
        plan = await trio.to_thread.run_sync(
            edit.plan_patch, self._context.workspace, given.file, given.operations, given.base
        )
        return self._file_plan("patch", plan, f"patched {plan.path}, sha256 {plan.after}")

    def _file_plan(self, action: str, plan: edit.FilePlan, said: str) -> Plan:
        change = FileChange(path=plan.path, before=plan.before, after=plan.after)
        changes = () if plan.kind == "unchanged" else (change,)

        def write() -> None:
            # Kept before the file is touched: the commit is made of these.
            for content, digest in ((plan.original, plan.before), (plan.data, plan.after)):
                if content is not None and changes:
                    self._context.originals.keep(content, digest)
            edit.do_plan(self._context.workspace, plan)

        async def perform(_: OnOutput | None) -> Done:
            await trio.to_thread.run_sync(write)
            return Done(Result(action=action, success=True, message=said), changes)

        return self._planned(action, perform, preview=plan.diff, changes=changes)

    async def _search(self, given: args.Search) -> Plan:
        async def perform(_: OnOutput | None) -> Done:
            found = await search(
                self._context.workspace,
                given.query,
                pattern=given.pattern,
                regex=given.regex,
                environ=self._context.environment,
            )
            count = len(found.lines)
            said = f"{count} {'line matches' if count == 1 else 'lines match'}"
            return Done(Result(action="search", success=True, message=said, output=found.text))

        return self._planned("search", perform)

    async def _run_command(self, given: args.RunCommand) -> Plan:
        if "\0" in given.command:
            raise Refused("the command holds a NUL character")
        limit = min(given.timeout or COMMAND_SECONDS, MOST_SECONDS)
        argv = ["/bin/sh", "-c", given.command]
        return self._command_plan("run_command", argv, given.command, limit)

    async def _run_tests(self, given: args.RunTests) -> Plan:
        context = self._context
        argv = await trio.to_thread.run_sync(
            detect_test_command,
            context.workspace,
            context.test_command,
            given.pattern,
            context.environment,
        )
        return self._command_plan("run_tests", argv, shlex.join(argv), TEST_SECONDS)

    def _command_plan(self, action: str, argv: list[str], line: str, limit: float) -> Plan:
        async def perform(on_output: OnOutput | None) -> Done:
            return await self._run(action, argv, limit, on_output)

        return self._planned(action, perform, preview=line, command=line)

    async def _run(
        self, action: str, argv: list[str], limit: float, on_output: OnOutput | None
    ) -> Done:
        context = self._context
        enclosure, notice = await context.sandbox.enclose(context.workspace.root, context.scratch)
        self._watch.confines = self._confines(enclosure)
        before = await self._watch.snapshot()
        done = await run_arguments(
            argv,
            cwd=f"{context.workspace.root}",
            environment=self._environment(),
            turn_id=context.turn_id,
            enclosure=enclosure,
            limit_seconds=limit,
            pass_fds=self._leases(enclosure),
            on_output=on_output,
        )
        if done.tidied.left:  # no git looks there any more
            return Done(_of_command(action, done, notice, 0))
        unseen = self._watch.trouble
        changes, more = await self._watch.between(before)
        unseen = unseen or self._watch.trouble
        if unseen:
            notice = "; ".join(filter(None, (notice, UNSEEN.format(unseen))))
        if self._watch.uncovered:
            notice = "; ".join(filter(None, (notice, _uncovered(self._watch.uncovered))))
        return Done(_of_command(action, done, notice, more), changes)

    async def _done(self, given: args.Done) -> Plan:
        async def perform(_: OnOutput | None) -> Done:
            await trio.lowlevel.checkpoint()
            return Done(Result(action="done", success=True, message=given.summary or "done"))

        return self._planned("done", perform)

    def _planned(
        self,
        action: str,
        perform: Callable[[OnOutput | None], Awaitable[Done]],
        *,
        preview: str = "",
        command: str | None = None,
        changes: tuple[FileChange, ...] = (),
    ) -> Plan:
        async def performed(on_output: OnOutput | None) -> Done:
            tool = self.tools[action]
            try:
                return await perform(on_output)
            except SandboxRefused as error:
                return Done(Result(action=action, success=False, message=f"{error}", critical=True))
            except Refused as error:
                return Done(_failed(tool, f"{error}"))
            except OSError as error:  # no room for what is kept of a file
                return Done(_failed(tool, f"{error.strerror or error}"))

        return Plan(
            action=action,
            risk=self.tools[action].risk,
            preview=preview,
            command=command,
            changes=changes,
            perform=performed,
        )


def _failed(tool: Tool, message: str) -> Result:
    return Result(action=tool.name, success=False, message=message, critical=tool.critical)


def _uncovered(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    named = ", ".join(names[:_MOST_NAMED])
    return UNCOVERED.format(f"{named} and {more} more" if more > 0 else named)


def _of_command(action: str, done: ShellResult, notice: str, more: int) -> Result:
    """Build the result that a model gets for a command that has ended."""
    if done.exit_status is None:
        said = done.message
    elif done.exit_status < 0:
        said = f"ended by signal {-done.exit_status} after {done.seconds:.1f} s"
    else:
        said = f"exit code {done.exit_status} after {done.seconds:.1f} s"
    left = LEFT.format("; ".join(done.tidied.left))
    parts = [left, said] if done.tidied.left else [said]
    if done.stopped:
        parts.append(f"what it had left running was ended: {', '.join(done.stopped[:5])}")
    if done.tidied.removed:
        removed = ", ".join(done.tidied.removed)
        words = f"removed, for git would be led astray by it: {removed}"
        if any(one.endswith(("/.git", "/HEAD")) for one in done.tidied.removed):
            words += f" (what is below has its HEAD as {HEAD_ASIDE}, a .git as {SET_ASIDE}-...)"
        parts.append(words)
    if done.tidied.changed:
        changed = ", ".join(done.tidied.changed[:5])
        parts.append(f"settings or hooks that the sandbox does not keep were changed: {changed}")
    if more:
        parts.append(f"it changed {more} files more than can be committed")
    if notice:
        parts.append(notice)
    return Result(
        action=action,
        success=done.exit_status == 0 and not done.tidied.left,
        critical=bool(done.tidied.left),
        message="; ".join(parts),
        output=done.output,
    )
