"""Draw a run's life from the decider's table: ``make run-life`` writes it into ARCHITECTURE.md.

An arrow is a command, with the name of its class. What any live run may do at any time leaves the
frame around all of them; what leads nowhere else is named below the picture.
"""

from __future__ import annotations

import re
from typing import Final

from podiumd.core.decide.machine import LIVE
from podiumd.core.decide.workflow import MACHINE
from podiumd.core.run.state import Place
from tests.house.source import ROOT

PAGE: Final = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- a run's life: made by 'make run-life' -->", "<!-- the end of it -->"

WORDS: Final[dict[Place, str]] = {
    "worktree": "make the worktree",
    "enter": "enter a step",
    "turn": "send a prompt",
    "in-turn": "the agent works",
    "check": "run a check",
    "hook": "run a hook",
    "look": "look at the tree",
    "command": "decide on a command",
    "run": "run the command",
    "gate": "ask a person",
    "waiting": "wait for a person's words",
    "ended": "the run has ended",
}
_FIRST: Final[tuple[Place, ...]] = ("worktree", "enter", "turn")


def _id(place: Place) -> str:
    return place.replace("-", "_")


def _arrows() -> dict[tuple[str, str], list[str]]:
    """Return the commands that lead from one place to another."""
    found: dict[tuple[str, str], list[str]] = {}
    for (place, command), rule in MACHINE.rules.items():
        for to in rule.to:
            at = "live" if set(rule.at) == set(LIVE) else _id(place)
            names = found.setdefault((at, _id(to)), [])
            if at != _id(to) and command.__name__ not in names:
                names.append(command.__name__)
    return found


def _leading_nowhere() -> list[str]:
    """Return the commands that leave a live run where it is."""
    rules = [(command, rule) for (_, command), rule in MACHINE.rules.items()]
    return sorted({c.__name__ for c, _ in rules} - {c.__name__ for c, rule in rules if rule.to})


def picture() -> str:
    """Return the picture, as Mermaid draws it, and what is not in it."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> live", '    state "not ended" as live {']
    lines += [f'        state "{words}" as {_id(place)}' for place, words in WORDS.items()][:-1]
    lines += [f"        [*] --> {_id(place)}" for place in _FIRST]
    arrows = {ends: ", ".join(names) for ends, names in _arrows().items() if names}
    inner = {ends: names for ends, names in arrows.items() if ends[1] != "ended"}
    lines += [f"        {at} --> {to}: {names}" for (at, to), names in inner.items()]
    lines += ["    }", f'    state "{WORDS["ended"]}" as ended']
    outer = {ends: names for ends, names in arrows.items() if ends[1] == "ended"}
    lines += [f"    {at} --> ended: {names}" for (at, _), names in outer.items()]
    lines += ["    ended --> [*]", "```", ""]
    words = ", ".join(f"`{name}`" for name in _leading_nowhere())
    return "\n".join([*lines, f"These lead to no other place: {words}."])


def drawn(page: str) -> str:
    """Return the page with the picture of today."""
    made = f"{BEGIN}\n{picture()}\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: made, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
