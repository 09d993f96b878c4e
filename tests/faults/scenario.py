"""The run that the campaign kills: its recipe, what the model says in it, what it must leave.

The model has no memory: what it says follows from the last prompt and the last tool's result, so
it says the same to an agent that was killed and started again. A step's tool adds one line to a
ledger and leaves a process behind; told that it was interrupted, the model adds the line only
where it is missing. So each line stands there once at the end, unless Podium itself had a tool
run twice, and nothing lives, unless Podium has forgotten it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

RECIPE = "campaign"
LEDGER = "ledger"
SUBJECT = "Finish the campaign"
STEER_WORDS = "Mind the ledger, please."
STEER_GATE = "steer"
AWAY_GATE = "away"

HEAD = """
initial = "survey"

[limits]
max_step_visits = 2
max_total_steps = 9
"""
BODY = {
    "survey": 'prompt = "Survey the project."\ntools = ["Bash"]\nallow = ["Bash"]\n',
    "build": (
        'gate = "Build it now?"\nprompt = "Build it."\ntools = ["Bash"]\n'
        f'checks = [{{ run = ["grep", "-qx", "build", "{LEDGER}"], timeout_seconds = 20 }}]\n'
    ),
    "review": 'session = "fresh"\nprompt = "Review it."\ntools = "read-only"\n',
    "fix": 'prompt = "Fix what was found."\ntools = ["Bash"]\nallow = ["Bash"]\n',
    # Run again where it was cut off, so it must find out itself whether it has done its work.
    "measure": f'shell = "grep -qx measure {LEDGER} || echo measure >> {LEDGER}"\n',
    "document": 'prompt = "Document it."\ntools = ["Bash"]\nallow = ["Bash"]\n',
    "commit": (
        'prompt = "Commit it."\ntools = ["Bash"]\nallow = ["Bash"]\n'
        "commits = true\nirreversible = true\n"
    ),
}
OUTCOMES = {
    "survey": "surveyed",
    "build": "built",
    "review": "reviewed",
    "fix": "fixed",
    "measure": "passed",
    "document": "documented",
    "commit": "committed",
}
ALL_STEPS = tuple(BODY)
PROMPTED = tuple(name for name in ALL_STEPS if name != "measure")
"""The steps in which an agent works."""
TWO_STEPS = ("survey", "commit")

_COMMIT = f"git add --all && git commit --quiet --allow-empty --message='{SUBJECT}'"
# In a session of its own: nothing but a search for the turn's marker finds it.
_LEFT_BEHIND = "{ setsid sleep 600 < /dev/null > /dev/null 2>&1 & }"
CUT_OFF = r"^(You were interrupted|Go on with this step)"


@dataclass(frozen=True)
class Scenario:
    """What happens in a trial beside the kill.

    ``away``: the step in whose answer the model waits at ``AWAY_GATE``; ``cancels``: the person
    cancels in the first step; ``steered``: the person says something in the first step;
    ``native``: the agent is the daemon's own.
    """

    steps: tuple[str, ...] = ALL_STEPS
    worktree: bool = False
    cancels: bool = False
    steered: bool = True
    away: str = ""
    native: bool = False

    @property
    def name(self) -> str:
        """The name of whose turns are played."""
        return "native" if self.native else "claude"

    @property
    def measured_by(self) -> str:
        """The name of the agent whose undisturbed run moments are a part of."""
        return "claude"

    @property
    def commits(self) -> int:
        """How many commits a completed run leaves."""
        return 1

    @property
    def says_when_asked(self) -> bool:
        """Whether the person speaks while she is asked, not while the model answers."""
        return False

    def answer(self, question: dict[str, Any]) -> str | None:
        """What the person answers; ``None`` to what nobody should have asked."""
        return {"approval": "allow", "gate": "yes", "ask": "Yes"}.get(question["kind"])

    @property
    def documents(self) -> dict[str, Any]:
        """What the run's own document has to say; empty where it writes none."""
        return {}

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the real agent."""
        return {}

    @property
    def subject(self) -> str:
        """The subject of the commit that the run makes."""
        return SUBJECT

    @property
    def recipe(self) -> str:
        """The recipe's text, less its head."""
        return HEAD + "".join(self._step(name) for name in self.steps)

    def _step(self, name: str) -> str:
        at = self.steps.index(name) + 1
        last = at == len(self.steps)
        edge = '{ exit = "changes-committed" }' if last else f'{{ to = "{self.steps[at]}" }}'
        on = f"{OUTCOMES[name]} = {edge}\n"
        if name == "measure":
            on += 'failed = { exit = "cannot-measure", class = "error" }\n'
        return f"\n[steps.{name}]\n{BODY[name]}\n[steps.{name}.on]\n{on}"

    @property
    def exit_reason(self) -> str:
        """How the run has to end."""
        return "user-requested" if self.cancels else "changes-committed"

    @property
    def ledger(self) -> list[str]:
        """The lines that a completed run leaves in the ledger, in order."""
        return [name for name in self.steps if name not in ("review", "commit")]

    @property
    def script(self) -> dict[str, Any]:
        """What the model says."""
        prompts = [name for name in self.steps if name in PROMPTED]
        rules = [rule for name in prompts for rule in self._rules(name)]
        outcome = {"structured": {"outcome": OUTCOMES["survey"]}}
        steer = [
            {"when": {"prompt": STEER_WORDS, "result": "noted survey"}, **outcome},
            {"when": {"prompt": STEER_WORDS}, **bash(once("survey"))},
        ]
        return {"rules": [*rules, *steer], "default": {"text": "I was not told what to say."}}

    def _rules(self, name: str) -> list[dict[str, Any]]:
        asked = f"possible outcomes for this step: {OUTCOMES[name]},"
        right: dict[str, Any] = {"structured": {"outcome": OUTCOMES[name]}}
        if self.away == name:
            right["hold"] = AWAY_GATE
        if name == "review":
            # A word that only another step knows: it is asked again.
            wrong = {"structured": {"outcome": OUTCOMES["build"]}}
            again = {"when": {"prompt": f"^(Please respond again|{CUT_OFF[2:]}.*{asked}"}, **right}
            return [again, {"when": {"prompt": asked}, **wrong}]
        tool = bash(plainly(name))
        if name == "survey" and (self.steered or self.cancels):
            tool["hold"] = STEER_GATE
        return [
            {"when": {"prompt": asked, "result": f"noted {name}"}, **right},
            {"when": {"prompt": f"{CUT_OFF}.*{asked}"}, **bash(once(name))},
            {"when": {"prompt": asked}, **tool},
        ]


def bash(command: str) -> dict[str, Any]:
    call = {"name": "Bash", "input": {"command": command, "description": "Note it"}}
    return {"tools": [call]}


def plainly(name: str) -> str:
    """What the model does at first: blindly, so that doing it twice shows."""
    act = _COMMIT if name == "commit" else f"echo {name} >> {LEDGER} && {_LEFT_BEHIND}"
    return f"{act} && echo noted {name}"


def once(name: str) -> str:
    """What it does after an interruption: it looks, as it is told to."""
    if name == "commit":
        look = f"git log --format=%s | grep -qx {json.dumps(SUBJECT)}"
        return f"{look} || {{ {_COMMIT}; }} && echo noted {name}"
    look = f"grep -qx {name} {LEDGER} 2>/dev/null"
    return f"{look} || echo {name} >> {LEDGER}; echo noted {name}"
