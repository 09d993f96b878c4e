"""The same for agents over JSON-RPC: Codex, and any of the Agent Client Protocol.

Three turns of one session. In each the agent asks before it uses its tool, the person answers, and
what she denies is denied; in the first one she says something while she is asked. Most trials are
played with the kit's fake, which writes down each request to its model, each tool and each answer:
its books outlive whoever is killed. Some are played with the real Codex.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from tests.codex.rig import run
from tests.faults import scenario
from tests.faults.scenario import CUT_OFF, STEER_WORDS, Scenario, once, plainly

Language = Literal["acp", "codex"]

REFUSED = "echo refused >> refused"
"""What the agent asks for, and is denied."""
FAKE_ACP = "fake"
ENDING = "all-is-documented"
_STEP = 'agent = "{agent}"\nprompt = "{prompt}"\n'
_PROMPTS = {
    "survey": "Survey the project.",
    "build": "Build it.",
    "document": "Document it.",
}


@dataclass(frozen=True)
class AgentScenario(Scenario):
    """Three steps. ``real``: with the agent itself and a scripted model, else with the fake.

    ``late``: the step whose prompt the fake reads only when the next daemon has written something.
    """

    steps: tuple[str, ...] = tuple(_PROMPTS)
    agent: Language = "codex"
    real: bool = False
    late: str = ""

    @property
    def commits(self) -> int:
        """How many commits a completed run leaves."""
        return 0

    @property
    def exit_reason(self) -> str:
        """How the run has to end."""
        return ENDING

    @property
    def name(self) -> str:
        """The name of whose turns are played."""
        return f"real-{self.agent}" if self.real else self.agent

    @property
    def measured_by(self) -> str:
        """The name of the agent whose undisturbed run moments are a part of."""
        return self.name

    @property
    def called(self) -> str:
        """The name of the agent's table in the configuration."""
        return FAKE_ACP if self.agent == "acp" else self.agent

    @property
    def recipe(self) -> str:
        """The recipe's text, less its head."""
        return scenario.HEAD + "".join(self._step(name) for name in self.steps)

    def _step(self, name: str) -> str:
        at = self.steps.index(name) + 1
        edge = f'{{ exit = "{ENDING}", class = "completed" }}'
        if at < len(self.steps):
            edge = f'{{ to = "{self.steps[at]}" }}'
        body = _STEP.format(agent=self.called, prompt=_PROMPTS[name])
        return f"\n[steps.{name}]\n{body}\n[steps.{name}.on]\n{_outcome(name)} = {edge}\n"

    def answer(self, question: dict[str, Any]) -> str | None:
        """What the person answers."""
        if question["kind"] == "approval":
            return "deny" if REFUSED in json.dumps(question["input"]) else "allow"
        return super().answer(question)

    @property
    def says_when_asked(self) -> bool:
        """Whether the person speaks while she is asked, not while the model answers."""
        return True

    @property
    def script(self) -> dict[str, Any]:
        """What the real agent's model says."""
        rules = [rule for name in self.steps for rule in self._rules(name)]
        steer = [
            {
                "when": {"prompt": STEER_WORDS, "anywhere": "Output:\nnoted survey"},
                **_word("survey"),
            },
            {"when": {"prompt": STEER_WORDS}, **run(once("survey"))},
        ]
        return {"rules": [*rules, *steer], "default": {"text": "I was not told what to say."}}

    def _rules(self, name: str) -> list[dict[str, Any]]:
        asked = _asked(name)
        return [
            {"when": {"prompt": asked, "result": f"noted {name}"}, **_word(name)},
            {"when": {"prompt": f"{CUT_OFF}.*{asked}"}, **run(once(name))},
            {"when": {"prompt": asked}, **run(plainly(name))},
        ]

    @property
    def fake(self) -> dict[str, Any]:
        """What the fake does."""
        rules: list[dict[str, Any]] = []
        for name in self.steps:
            asked = _asked(name)
            said = _word(name)
            if self.agent == "acp":  # it has no words for the shape of an answer
                said = {"text": f"Done.\n\n{json.dumps(said['structured'])}"}
            first = [{"command": REFUSED}, {"command": plainly(name)}]
            rules += [
                {"prompt": asked, "results": "done", **said},
                {"prompt": f"{CUT_OFF}.*{asked}", "tools": [{"command": once(name)}]},
                {"prompt": asked, "text": "I begin.", "tools": first},
            ]
        words = _PROMPTS[self.late] if self.late else ""
        return {"rules": rules, "queues": True, **({"reads_late": words} if words else {})}


def _outcome(name: str) -> str:
    return scenario.OUTCOMES[name]


def _asked(name: str) -> str:
    return f"possible outcomes for this step: {_outcome(name)},"


def _word(name: str) -> dict[str, Any]:
    return {"structured": {"outcome": _outcome(name)}}
