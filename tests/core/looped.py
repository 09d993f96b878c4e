"""A native turn to play with: replies written as a model would, and what comes of them."""

from __future__ import annotations

import json
from typing import Any

from podiumd.core.recipe.model import Recipe
from podiumd.core.reply.actions import NAMES
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from tests.core.builders import Play

OLD, NEW, NEWER = "a" * 64, "b" * 64, "c" * 64


def block(*actions: dict[str, Any], info: str = "json") -> str:
    """A fenced block with these actions: one as an object, several as a list."""
    value = actions[0] if len(actions) == 1 else list(actions)
    return f"```{info}\n{json.dumps(value)}\n```"


def read(path: str = "a.py") -> dict[str, Any]:
    return {"action": "read_file", "path": path}


def write(path: str = "a.py", content: str = "x\n") -> dict[str, Any]:
    return {"action": "write_file", "path": path, "content": content}


def run(command: str = "make") -> dict[str, Any]:
    return {"action": "run_command", "command": command}


DONE: dict[str, Any] = {"action": "done"}


def change(path: str = "a.py", before: str | None = OLD, after: str | None = NEW) -> lf.FileChange:
    return lf.FileChange(path=path, before=before, after=after)


class Looped:
    """A run whose first turn, a native one, has begun with these settings."""

    def __init__(
        self,
        *,
        max_iterations: int = 10,
        commit: bool = False,
        since: str | None = None,
        budget_usd: float | None = None,
        recipe: Recipe | None = None,
        served: tuple[str, ...] = (),
        tools: tuple[str, ...] = NAMES,
        **start: Any,
    ) -> None:
        self.play = Play(recipe, agent="native", **start)
        self.play.go()
        settings = lf.LoopSettings(
            max_iterations=max_iterations,
            tools=tools,
            commit=commit,
            since=since,
            budget_usd=budget_usd,
            served=served,
        )
        self.tell(lc.Begin(settings=settings))

    @property
    def loop(self) -> ls.LoopState:
        assert self.play.state.turn is not None
        return self.play.state.turn.loop

    def due(self) -> ls.Next:
        """What is to be done now."""
        return self.loop.next

    @property
    def ending(self) -> lf.LoopEnded:
        due = self.due()
        assert isinstance(due, ls.Over), due
        return due.ending

    @property
    def results(self) -> list[lf.Result | None]:
        """What came of the actions of the last reply."""
        return [action.result for action in self.loop.rounds[-1].actions]

    @property
    def messages(self) -> list[str | None]:
        return [None if result is None else result.message for result in self.results]

    def tell(self, step: lc.LoopCommand, turn_id: str | None = None) -> list[str]:
        """The driver tells what happened; returns the kinds of the facts that follow."""
        return self.play.do(c.LoopStep, turn_id=turn_id or self.play.turn.turn_id, step=step)

    def reply(self, text: str, **more: Any) -> list[str]:
        """The model replies."""
        return self.tell(lc.ReportReply(text=text, **more))

    def says(self, *actions: dict[str, Any], **more: Any) -> list[str]:
        """The model replies with these actions."""
        return self.reply("I go on.\n" + block(*actions), **more)

    def over(
        self,
        success: bool = True,
        message: str = "done so",
        *changes: lf.FileChange,
        critical: bool = False,
        output: str = "",
    ) -> list[str]:
        """The action that is due comes to its end."""
        due = self.due()
        assert isinstance(due, ls.Act), due
        result = lf.Result(
            action="", success=success, message=message, output=output, critical=critical
        )
        return self.tell(lc.ReportActionEnd(index=due.index, result=result, changes=changes))

    def refuse(self, note: str = "") -> list[str]:
        """A person says no to the action that is due."""
        due = self.due()
        assert isinstance(due, ls.Act), due
        return self.tell(lc.RefuseAction(index=due.index, note=note))

    def wrote(self, path: str = "a.py", before: str | None = OLD, after: str | None = NEW) -> None:
        """The model writes a file, and it is written."""
        self.says(write(path))
        made = change(path, before, after)
        self.tell(lc.PlanAction(index=0, changes=(made,)))
        self.over(True, "written", made)

    def report(self, **more: Any) -> list[str]:
        """The turn is reported as its loop says it ends."""
        ending = self.ending
        return self.play.over(
            ending.kind,
            detail=ending.detail,
            reason=ending.reason,
            limit=ending.limit,
            **more,
        )

    def last(self, kind: type[Any]) -> Any:
        return self.play.last(kind)

    def facts(self) -> list[str]:
        return [f.type_of(fact) for fact in self.play.facts]
