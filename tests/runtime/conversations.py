"""Conversations in phases, for the tests of the running daemon."""

from __future__ import annotations

from tests.runtime.fake_agent import FakeTurn, done
from tests.runtime.harness import Daemon, Json, Machine

HEAD = """
format = 1
id = "{id}"
label = "A talk"
description = "A conversation in phases"
initial = "goal"

[limits]
max_step_visits = 5

[context]
goal = "string"
parts = {{ type = "list", default = [] }}
"""

STEPS = """
[steps.goal]
talk = true
opening = "Ask what is wanted."
system = "You find out the goal."
{goal}
[steps.goal.on]
agreed = {{ to = "design", requires = ["goal"] }}
dropped = {{ exit = "goal-dropped", class = "completed", message = "Dropped" }}

[steps.design]
talk = true
system = "You design: {{{{ctx.goal}}}}"
{design}
[steps.design.on]
designed = {{ to = "end", requires = ["parts"] }}
back = {{ to = "goal" }}

[steps.end]
talk = true
opening = "Say what was made."
"""


def talk(machine: Machine, *, goal: str = "", design: str = "", id: str = "talk") -> str:
    """A recipe of three phases: ``goal`` speaks first, ``design`` waits, ``end`` is final."""
    return machine.recipe(HEAD.format(id=id) + STEPS.format(goal=goal, design=design), id)


def hook(event: str, *argv: str, match: str = "", step: str = "goal") -> str:
    """One more hook of a phase, as the recipe has it."""
    run = ", ".join(f"'''{word}'''" for word in argv)
    named = f'match = "{match}"\n' if match else ""
    return f'[[steps.{step}.hooks]]\nevent = "{event}"\nrun = [{run}]\n{named}'


class Conversation:
    """A conversation that has begun: its opening is said, and it waits for a person."""

    def __init__(self, daemon: Daemon, run_id: str) -> None:
        self.daemon = daemon
        self.run_id = run_id

    @property
    def session_id(self) -> str:
        return self.daemon.actor(self.run_id).state.session_id

    @property
    def ctx(self) -> Json:
        return self.daemon.actor(self.run_id).state.ctx

    async def says(self, text: str, **more: object) -> Json:
        """A person says something in it."""
        return await self.daemon.prompt(text, session_id=self.session_id, **more)

    async def turn(self) -> FakeTurn:
        """The agent's next turn."""
        return await self.daemon.turn()

    async def answers(self, text: str) -> FakeTurn:
        """A person says something, and that is the agent's next turn."""
        await self.says(text)
        return await self.turn()

    async def waits(self) -> None:
        """Wait until it is a person's turn."""
        await self.daemon.until(self.run_id, lambda state: state.waits_for_words)


async def begun(daemon: Daemon, recipe: str, **more: object) -> Conversation:
    """Start a conversation and let its agent say the first word."""
    run_id = await daemon.start(recipe, **more)
    turn = await daemon.turn()
    turn.end(done(text="What do you want?"))
    found = Conversation(daemon, run_id)
    await found.waits()
    return found


async def at_work(daemon: Daemon, recipe: str) -> tuple[Conversation, FakeTurn]:
    """The same, with an agent at work on a person's first words."""
    found = await begun(daemon, recipe)
    return found, await found.answers("A shop")


async def agree(turn: FakeTurn) -> None:
    """The agent saves the goal, and asks to go on to the design."""
    assert (await turn.calls("save", key="goal", value="A shop"))[0]
    assert (await turn.calls("transition", to="agreed", summary="A shop it is"))[0]


async def designing(daemon: Daemon, recipe: str) -> Conversation:
    """The same, in its second phase."""
    found = await begun(daemon, recipe)
    turn = await found.answers("A shop")
    await agree(turn)
    turn.end(done(text="On to the design."))
    await daemon.until(found.run_id, lambda s: s.step == "design" and s.waits_for_words)
    return found
