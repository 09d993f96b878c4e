"""Conversations to play with: phases as data, and ``Conversation``, a play in which agents
use tools."""

from __future__ import annotations

from typing import Any

from podiumd.core.recipe.model import Edge, Hook, Limits, Recipe, Step
from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from tests.core.builders import Play, a_recipe, leave, to

CONTEXT: dict[str, Any] = {
    "goal": "string",
    "people": "list",
    "size": {"type": "integer", "default": 3, "description": "How large it is"},
    "notes": [],
}


def a_talk(on: dict[str, Edge] | None = None, **more: Any) -> Step:
    """A phase; its outcomes are the keys of ``on``, and without any it is the last one."""
    on = on or {}
    return Step(kind="talk", on=on, outcomes=tuple(key for key in on if key != "declined"), **more)


def a_hook(*run: str, event: Any = "turn-end", match: str | None = None) -> Hook:
    return Hook(event=event, run=run or ("./guard",), match=match)


def phases(limits: Limits | None = None, **more: Any) -> Recipe:
    """A goal is found, the agent sets itself up, the design is made: three phases and an end."""
    steps = {
        "goal": a_talk(
            {"agreed": Edge(to="setup", requires=("goal",)), "stop": leave("clarification-needed")},
            system="You ask for the goal.",
        ),
        "setup": a_talk({"ready": to("design")}, auto=True, system="The goal: {{ctx.goal}}"),
        "design": a_talk(
            {"written": to("end"), "other-goal": to("goal")}, opening="Let us design it."
        ),
        "end": a_talk(),
    }
    return a_recipe(more.pop("steps", steps), limits, **{"context": CONTEXT, **more})


class Conversation(Play):
    """A run of a conversation."""

    def __init__(self, recipe: Recipe | None = None, **start: Any) -> None:
        self.calls = 0
        super().__init__(recipe or phases(), **start)
        self.go()

    def tell(self, text: str, uuid: str = "", **more: Any) -> list[str]:
        """A person says something."""
        return self.do(c.Say, uuid=uuid or f"say-{text}", text=text, **more)

    def call(self, tool: str, call_id: str = "", **args: Any) -> f.ToolUsed:
        """The agent of the running turn, which is begun first, calls a tool."""
        if self.state.turn is None:
            self.begin()
        self.calls += 1
        name = call_id or f"call-{self.calls}"
        self.do(c.ReportToolCall, turn_id=self.turn.turn_id, call_id=name, tool=tool, args=args)
        assert self.state.turn is not None
        return self.state.turn.calls[name]

    def hook(self, exit_status: int | None = 0, **more: Any) -> list[str]:
        """The hook that is due ends."""
        move = self.state.next
        assert move is not None and move.kind == "hook"
        return self.do(c.ReportHookEnd, index=move.index, exit_status=exit_status, **more)

    def answers(self, text: str = "I see.", **more: Any) -> list[str]:
        """The agent ends its turn, which is begun first, with words."""
        return self.reply(text, **more)

    @property
    def prompts(self) -> list[str]:
        """Every prompt so far."""
        return [intent.prompt for intent in self.all(f.TurnIntended)]
