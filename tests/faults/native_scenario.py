"""The same for the native agent: a run whose turns live and die with the daemon.

Its model has no memory either: what it says follows from the last message alone. Nothing here
looks first whether it was done before, but for the one command that Podium says it cannot know the
outcome of. So each line stands once in the ledger, unless Podium has done an action twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.faults.scenario import LEDGER, STEER_GATE, STEER_WORDS, Scenario

NOTES = "notes"

_STEP = 'agent = "native"\nprompt = "{prompt}"\n'
BODY = {
    "survey": _STEP.format(prompt="Survey the project.") + 'allow = ["Write"]\n',
    "build": 'gate = "Build it now?"\n' + _STEP.format(prompt="Build it."),
    "document": _STEP.format(prompt="Document it.") + 'allow = ["Edit"]\n',
    "commit": _STEP.format(prompt="Commit it.") + 'allow = ["Write"]\ncommits = true\n',
}
_OUTCOMES = {
    "survey": "surveyed",
    "build": "built",
    "document": "documented",
    "commit": "committed",
}
_LEFT_BEHIND = "(setsid sleep 600 > /dev/null 2>&1 &)"


@dataclass(frozen=True)
class NativeScenario(Scenario):
    """Four steps: a file that is made, a command that is asked for, a patch, and a commit."""

    steps: tuple[str, ...] = tuple(BODY)
    native: bool = True

    @property
    def subject(self) -> str:
        """The commit is the daemon's own, of all that the run has changed."""
        return f"AI: created {LEDGER}, created {NOTES}"

    @property
    def ledger(self) -> list[str]:
        """The lines that a completed run leaves in the ledger, in order."""
        return [name for name in self.steps if name != "commit"]

    def _step(self, name: str) -> str:
        at = self.steps.index(name) + 1
        last = at == len(self.steps)
        edge = '{ exit = "changes-committed" }' if last else f'{{ to = "{self.steps[at]}" }}'
        return f"\n[steps.{name}]\n{BODY[name]}\n[steps.{name}.on]\n{_OUTCOMES[name]} = {edge}\n"

    @property
    def script(self) -> dict[str, Any]:
        """What the model says: the end of a step after its action's result, else its action."""
        once = f"grep -qx build {LEDGER} || echo build >> {LEDGER}; echo noted build"
        plainly = f"{_LEFT_BEHIND}; echo build >> {LEDGER} && echo noted build"
        line = {"line": 3, "type": "insert", "content": ["document"]}
        rules = [
            when("interrupted, unknown outcome", _run(once)),
            when("noted build", word("build")),
            when('"write_file", "success": true.*notes', word("commit")),
            when('"write_file", "success": true', word("survey")),
            when('"patch", "success": true', word("document")),
            asked("build", _run(plainly)),
            asked("document", act("patch", file=LEDGER, operations=[line])),
            asked("commit", act("write_file", path=NOTES, content="All is done.\n")),
            asked(
                "survey", act("write_file", path=LEDGER, content="survey\n") | {"hold": STEER_GATE}
            ),
            when(STEER_WORDS, word("survey")),
        ]
        return {"rules": rules, "default": {"text": "I was not told what to say."}}


def when(words: str, answer: dict[str, Any]) -> dict[str, Any]:
    return {"when": {"prompt": words}, **answer}


def asked(step: str, answer: dict[str, Any]) -> dict[str, Any]:
    return when(f"possible outcomes for this step: {_OUTCOMES[step]},", answer)


def word(step: str) -> dict[str, Any]:
    return {"text": f"Done.\n\n{json.dumps({'outcome': _OUTCOMES[step]})}"}


def act(action: str, **parameters: Any) -> dict[str, Any]:
    return {"text": f"```json\n{json.dumps({'action': action, **parameters})}\n```\n"}


def _run(command: str) -> dict[str, Any]:
    return act("run_command", command=command)
