"""Recipes that call others, for the tests of calls."""

from __future__ import annotations

from tests.runtime.harness import Json, Machine

CALLING = """
format = 1
id = "calling"
initial = "work"
[params.task]
type = "string"
default = "the shop"
[limits]
{limits}
[steps.work]
recipe = "{called}"
{call}
[steps.work.on]
{on}
[steps.ship]
prompt = "Ship it. {{{{last.work.detail}}}}"
[steps.ship.on]
complete = {{ exit = "conversation-complete" }}
"""

INNER = """
format = 1
id = "inner"
initial = "do"
[params.what]
type = "string"
[limits]
max_step_visits = 1
max_total_steps = 1
[steps.do]
prompt = "Do {{what}}."
[steps.do.on]
complete = { to = "look" }
unclear = { exit = "clarification-needed" }
[steps.look]
prompt = "Look at it. {{last.do.detail}}"
[steps.look.on]
good = { exit = "turn-complete" }
bad = { to = "do" }
"""

TO_SHIP = 'turn-complete = { to = "ship" }'


def calling(
    machine: Machine,
    called: str = "inner",
    call: str = 'params = { what = "{{task}}" }',
    on: str = TO_SHIP,
    limits: str = "max_step_visits = 3",
) -> str:
    """A recipe that calls another one, then ships; ``inner`` is there to be called. What is called
    goes round, so the caller has a limit."""
    machine.recipe(INNER, "inner")
    text = CALLING.format(called=called, call=call, on=on, limits=limits)
    return machine.recipe(text, "calling")


def history(run: Json) -> list[tuple[str, str]]:
    return [(visit["step"], visit["outcome"]) for visit in run["history"]]
