"""The same for a conversation: an agent that asks, saves and goes on, and a person who talks.

What is found out is written into the project at the end of a turn, by a hook of Podium's own; the
last step commits it. So what was said, saved and decided stands in one commit, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tests.faults import native_scenario as native
from tests.faults import scenario as real
from tests.faults.native_scenario import NativeScenario, act, asked, when, word
from tests.faults.scenario import LEDGER, STEER_GATE, STEER_WORDS, Scenario, bash, once, plainly

PLAN = "docs/plan"
GOAL = "A ledger that is kept"
ANSWER = "Yes"
_SYSTEM = "You talk about the campaign."

_RECIPE = f"""
initial = "talk"

[limits]
max_total_steps = 9

[context]
goal = "string"

[steps.talk]
talk = true
opening = "Talk about it."
system = "{_SYSTEM}"
%s
[[steps.talk.hooks]]
event = "before-tool"
match = "save"
run = ["grep", "-q", "before-tool"]

[[steps.talk.hooks]]
event = "turn-end"
run = ["podium:write", "{PLAN}.json", "{PLAN}.md"]

[steps.talk.on]
agreed = {{ to = "commit", requires = ["goal"] }}

[steps.commit]
%s
[steps.commit.on]
committed = {{ exit = "changes-committed" }}
"""
_DOCUMENT = {"phase": "talk", "goal": GOAL}


def _use(tool: str, **args: Any) -> dict[str, Any]:
    return {"tools": [{"name": f"mcp__podium__{tool}", "input": args}]}


def _talking(answer: dict[str, Any], **when: str) -> dict[str, Any]:
    return {"when": {"system": _SYSTEM, **when}, **answer}


@dataclass(frozen=True)
class PhasesScenario(Scenario):
    """A talk with the real agent, and a commit. ``tools``: how it reaches Podium's tools."""

    steps: tuple[str, ...] = ("talk", "commit")
    tools: Literal["in-process", "stdio"] = "in-process"

    @property
    def documents(self) -> dict[str, Any]:
        """What the run's own document has to say."""
        return _DOCUMENT

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the real agent."""
        return {"tools": self.tools}

    @property
    def recipe(self) -> str:
        """The recipe's text, less its head."""
        return _RECIPE % ('allow = ["Bash"]', real.BODY["commit"])

    @property
    def script(self) -> dict[str, Any]:
        """What the model says."""
        tool = bash(plainly("talk"))
        if self.steered:
            tool["hold"] = STEER_GATE
        talk = [
            _talking({"text": "So it is."}, result="put to the person|takes effect|end it now"),
            _talking(_use("transition", to="agreed", summary="Agreed"), result="'goal' is saved"),
            _talking(_use("ask", question="Go on?", options=[ANSWER]), result="noted talk"),
            _talking(_use("save", key="goal", value=GOAL), prompt=f"The answer: {ANSWER}"),
            _talking(bash(once("talk")), prompt=f"{real.CUT_OFF}|{STEER_WORDS}"),
            _talking(tool),
        ]
        rules = [*talk, *self._rules("commit")]
        return {"rules": rules, "default": {"text": "I was not told what to say."}}


@dataclass(frozen=True)
class NativePhases(NativeScenario):
    """The same talk with the native agent, whose turns live and die with the daemon."""

    steps: tuple[str, ...] = ("survey", "commit")

    @property
    def documents(self) -> dict[str, Any]:
        """What the run's own document has to say."""
        return _DOCUMENT

    @property
    def subject(self) -> str:
        """The commit has what the talk has left, too."""
        return f"AI: created {PLAN}.json, created {PLAN}.md and 2 more"

    @property
    def recipe(self) -> str:
        """The recipe's text, less its head."""
        return _RECIPE % ('agent = "native"\nallow = ["Write"]', native.BODY["commit"])

    @property
    def script(self) -> dict[str, Any]:
        """What the model says: what follows on an action's result, else its first action."""
        line = act("write_file", path=LEDGER, content="survey\n")
        ask = act("ask", question="Go on?", options=[ANSWER])
        rules = [
            when('"write_file", "success": true.*notes', word("commit")),
            when('"write_file", "success": true', ask),
            when('"save", "success": true', act("transition", to="agreed", summary="Agreed")),
            when('"transition", "success": true', {"text": "So it is."}),
            when(f"The answer: {ANSWER}", act("save", key="goal", value=GOAL)),
            asked("commit", act("write_file", path="notes", content="All is done.\n")),
            when("Talk about it", line | {"hold": STEER_GATE}),
            when(STEER_WORDS, ask),
        ]
        return {"rules": rules, "default": {"text": "I was not told what to say."}}
