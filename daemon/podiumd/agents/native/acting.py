"""The actions of a native turn: planned, allowed or not, stored, done, and the result stored.

Nothing is done before the intention is stored, with the digests of the file from before and as
planned. So an action that a crash has cut off can be judged by looking at the file; a command
cannot, and its outcome is reported as unknown.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import trio
from msgspec.structs import replace

from podiumd.agents.native.rules import Rules
from podiumd.agents.native.user_channel import UserChannel
from podiumd.core.decide import policy
from podiumd.core.excerpt import beginning, end
from podiumd.core.prompts.history import TELLING
from podiumd.core.reply.actions import Action
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from podiumd.drivers.base import JournalClosed, ToolCalled, TurnJournal
from podiumd.tools.agent.registry import Plan, Toolbox
from podiumd.tools.agent.workspace import Found, Refused, Workspace
from podiumd.tools.failpoints import failpoint

SHOWN_CHARACTERS: Final = 2000
NOTE_SECONDS: Final = 10.0
"""How long the end of a command may take to be stored once its turn is stopped."""

UNKNOWN: Final = (
    "interrupted, unknown outcome: the daemon ended while this ran. What it had started was ended. "
    "Look at what it has done before you repeat it."
)
DONE_BEFORE: Final = "done; the daemon was started anew meanwhile"
REFUSED_BY_HOOK: Final = "not done: a hook of this step refuses it: {}"
OBJECTED_BY_HOOK: Final = "it was done, and a hook of this step objects: {}"
LEFT: Final = (
    "not done: the daemon ended before it was, the file was changed by another program since, and "
    "a person wants it left as it is"
)
_CHANGED: Final = (
    "{path} was to be changed when the daemon ended. It is neither as it was before nor as it was "
    "to be: another program has changed it. 'retry' makes the agent's change to the file as it is "
    "now, 'continue' leaves the file and goes on."
)


class Acting:
    """Executor of the actions of one turn.

    ``warning`` is shown to people before the first command: why no sandbox holds it, where one is
    wanted, and with whose rights it runs; empty where there is none.
    """

    def __init__(
        self,
        journal: TurnJournal,
        channel: UserChannel,
        toolbox: Toolbox,
        workspace: Workspace,
        rules: Rules,
        warning: str = "",
    ) -> None:
        self._journal = journal
        self._channel = channel
        self._toolbox = toolbox
        self._workspace = workspace
        self._rules = rules
        self._agreed: tuple[lf.FileChange, ...] = ()
        self._untold = warning

    async def act(self, index: int) -> None:
        """Do an action of the present reply; when this returns, its end is stored.

        Raises ``JournalClosed``.
        """
        loop = self._journal.loop
        assert loop.present is not None and loop.settings is not None
        state = loop.present.actions[index]
        if state.action.name in loop.settings.served:
            await self._call(index, state.action)
            return
        begun = state.intended
        if begun is not None and await self._settled(index, state, begun):
            return
        plan = await self._toolbox.plan(state.action)
        await self._channel.show("tool", describe(state.action, plan))
        if isinstance(plan, lf.Result):
            await self._over(index, plan)
        elif self._was_allowed(begun, plan) or await self._allowed(index, state.action, plan):
            await self._do(index, state.action, plan)

    async def _call(self, index: int, action: Action) -> None:
        """Have one of Podium's own tools used. After a crash it is called once more, under the
        same name: what is stored of it by then is its answer."""
        await self._channel.show("tool", describe(action))
        failpoint("tool.before-call")
        call = ToolCalled(self._use(index), action.name, action.args)
        reply = await self._channel.call(call)
        failpoint("tool.after-answer")
        result = lf.Result(action=action.name, success=reply.success, message=reply.text)
        await self._over(index, result)

    def _use(self, index: int) -> str:
        """Return the name of an action within its turn, the same in each life of the daemon."""
        return f"{self._journal.loop.iterations}:{index}"

    def _was_allowed(self, begun: lf.ActionIntended | None, plan: Plan) -> bool:
        """Return whether this very change was allowed before the crash, or has been since.

        A command that is found anew may be another one: that is asked again.
        """
        if begun is None or not plan.changes:
            return False
        return plan.changes in (begun.changes, self._agreed)

    async def _allowed(self, index: int, action: Action, plan: Plan) -> bool:
        """Return whether rules, hooks and people allow it; a no is its result."""
        verdict = self._rules.judge(plan.action, plan.risk, plan.command)
        if isinstance(verdict, policy.Deny):
            await self._over(index, _failed(plan.action, verdict.reason), alone=True)
            return False
        use = self._use(index)
        refusal = await self._channel.hook(use, "before-tool", action.name, action.args)
        if refusal is not None:
            await self._over(index, _failed(plan.action, REFUSED_BY_HOOK.format(refusal)))
            return False
        if plan.command is not None:
            untold, self._untold = self._untold, ""
            await self._channel.show("status", untold)
        if isinstance(verdict, policy.Allow):
            return True
        if plan.risk == "write" and not plan.changes:  # the file is like that already
            return True
        decision = await self._channel.ask(use, plan.action, shown_input(plan), plan.preview)
        if decision.behavior == "allow":
            if decision.rule:
                self._rules.always(decision.rule)
            return True
        await self._journal.record(lc.RefuseAction(index=index, note=decision.note))
        return False

    async def _do(self, index: int, action: Action, plan: Plan) -> None:
        if plan.risk != "read":
            await self._journal.record(lc.PlanAction(index=index, changes=plan.changes))
        streamed = plan.command is not None
        done = await plan.perform(self._channel.stream if streamed else None)
        failpoint("action.after-do")
        try:
            result = await self._looked_at(index, action, done.result)
        except trio.Cancelled:
            # The turn is stopped while a hook has the word. The result of a command is known now
            # and never again; a file can be looked at.
            if streamed:
                over = lc.ReportActionEnd(index=index, result=done.result, changes=done.changes)
                with trio.move_on_after(NOTE_SECONDS, shield=True), suppress(JournalClosed):
                    await self._journal.record(over)
            raise
        await self._over(index, result, done.changes, shown=streamed)

    async def _looked_at(self, index: int, action: Action, result: lf.Result) -> lf.Result:
        """Add to the result of an action the objection of a hook after it."""
        output = outcome(result, output=True)
        objection = await self._channel.hook(
            self._use(index), "after-tool", action.name, action.args, output
        )
        if objection is None:
            return result
        message = f"{result.message}; {OBJECTED_BY_HOOK.format(objection)}"
        return replace(result, success=False, message=message)

    async def _over(
        self,
        index: int,
        result: lf.Result,
        changes: tuple[lf.FileChange, ...] = (),
        *,
        shown: bool = False,
        alone: bool = False,
    ) -> None:
        """Store an end, and show it; ``shown``: but for the output, which people have seen."""
        over = lc.ReportActionEnd(index=index, result=result, changes=changes, alone=alone)
        await self._journal.record(over)
        await self._channel.show("tool_result", outcome(result, output=not shown))

    # -- after a crash -----------------------------------------------------------------------------

    async def _settled(self, index: int, state: ls.ActionState, begun: lf.ActionIntended) -> bool:
        """Find out what became of an action that a crash cut off; ``False``: it is done again."""
        name = state.action.name
        if not begun.changes:
            if name != "run_command":
                return False
            await self._channel.show("tool", describe(state.action))
            await self._over(index, _failed(name, UNKNOWN))
            return True
        (change,) = begun.changes
        try:
            found = await trio.to_thread.run_sync(self._look, change)
        except Refused as refused:
            await self._over(index, _failed(name, str(refused)))
            return True
        if found == "before":
            return False
        if found == "planned":
            result = lf.Result(action=name, success=True, message=f"{change.path}: {DONE_BEFORE}")
            result = await self._looked_at(index, state.action, result)
            await self._over(index, result, begun.changes)
            return True
        if await self._wanted_again(index, state, change):
            return False
        await self._over(index, _failed(name, LEFT))
        return True

    async def note_cut_off(self) -> None:
        """After an interrupt: a change of a file that was made all the same is stored as made."""
        due = self._journal.loop.next
        present = self._journal.loop.present
        if not isinstance(due, ls.Act) or present is None:
            return
        begun = present.actions[due.index].intended
        if begun is None or not begun.changes:
            return
        (change,) = begun.changes
        if await trio.to_thread.run_sync(self._look, change) == "planned":
            result = lf.Result(action=begun.action, success=True, message=f"{change.path}: done")
            over = lc.ReportActionEnd(index=due.index, result=result, changes=begun.changes)
            await self._journal.record(over)

    def _look(self, change: lf.FileChange) -> Found:
        return self._workspace.look(change.path, before=change.before, planned=change.after)

    async def _wanted_again(self, index: int, state: ls.ActionState, change: lf.FileChange) -> bool:
        """Ask what to do with a change whose file another party has changed meanwhile."""
        text = _CHANGED.format(path=change.path)
        options = [{"label": "retry"}, {"label": "continue"}]
        asked = {"questions": [{"question": text, "options": options}], "path": change.path}
        plan = await self._toolbox.plan(state.action)
        preview = plan.message if isinstance(plan, lf.Result) else plan.preview
        decision = await self._channel.ask(
            self._use(index), state.action.name, asked, preview, asks_person=True
        )
        answers = (decision.updated_input or {}).get("answers", {})
        again = decision.behavior == "allow" and answers.get(text) == "retry"
        if again and isinstance(plan, Plan):
            self._agreed = plan.changes
        return again


def _failed(action: str, message: str) -> lf.Result:
    return lf.Result(action=action, success=False, message=message)


def describe(action: Action, plan: Plan | lf.Result | None = None) -> str:
    """Describe an action in one line."""
    if isinstance(plan, Plan) and plan.command is not None:
        what: Any = plan.command
    else:
        what = next((action.args[name] for name in TELLING if name in action.args), "")
    line = f"{action.name} {what}".strip()
    return beginning(line, SHOWN_CHARACTERS)


def outcome(result: lf.Result, *, output: bool) -> str:
    """Describe the result of an action, for people who watch."""
    words = result.message if result.success else f"failed: {result.message}"
    parts = (words, end(result.output, SHOWN_CHARACTERS) if output else "")
    return "\n".join(part for part in parts if part)


def shown_input(plan: Plan) -> dict[str, Any]:
    """Build the subject of a question. A person's answer holds for the same alone.

    For a file that is its content from before and after, which the digests stand for.
    """
    if plan.command is not None:
        return {"command": plan.command}
    (change,) = plan.changes or (lf.FileChange(path=""),)
    return {"path": change.path, "before": change.before, "after": change.after}
