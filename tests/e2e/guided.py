"""What the model says in the guided design, from the goal to the written blueprint.

It has no memory: what it says follows from its system text, the last prompt and the last results.
So it says the same to an agent that was killed and started again.
"""

from __future__ import annotations

from typing import Any

from tests.e2e.stories import Turn, held

RECIPE = "guided-design"

GOAL = "A till for the museum's shop"
CONFIGURATION = {"role": "a till maker", "focus": ["money"]}
BLUEPRINT = {"name": "Till", "summary": "It takes money."}
ENTITIES = [{"name": "Sale", "description": "Something sold"}]
AGENTS = [{"name": "Clerk", "role": "sells"}]
CONTEXT = {
    "goal_summary": GOAL,
    "agent_config": CONFIGURATION,
    "blueprint": BLUEPRINT,
    "entities": ENTITIES,
    "agents": AGENTS,
}

FIRST, SECOND, THIRD, LAST = (
    "find out what they want",
    "This is the second of three phases",
    "This is the last of three phases",
    "Close the conversation",
)
"""Words of the system text of each phase."""

ASKED_GOAL = "Is that the goal?"
ASKED_BLUEPRINT = "Shall it be written?"
LAST_WORDS = "The till is designed."


def use(tool: str, **args: Any) -> Turn:
    """An answer that calls one of Podium's tools."""
    return {"tools": [{"name": f"mcp__podium__{tool}", "input": args}]}


def save(key: str) -> Turn:
    """An answer that saves what this story has for a key."""
    return use("save", key=key, value=CONTEXT[key])


def rule(phase: str, answer: Turn, *, prompt: str = "", result: str = "") -> dict[str, Any]:
    """An answer in one phase, after such a prompt or such a result."""
    when = {"system": phase, "prompt": prompt, "result": result}
    return {"when": {key: value for key, value in when.items() if value}, **answer}


def goes_on(phase: str, *answers: tuple[str, Turn]) -> list[dict[str, Any]]:
    """Rules of a phase: what follows on which result; the last is for no result."""
    return [rule(phase, answer, result=result) for result, answer in answers]


def story(gate: str = "") -> dict[str, Any]:
    """The script. With a ``gate`` ("first", "second", "third" or "last") the model stops half way
    in the middle of that phase."""
    words = "Thinking about it. " * 20

    def slow(name: str, turn: Turn) -> Turn:
        return held({**turn, "text": words}, name) if name == gate else turn

    ends = {"text": "That is all for now."}
    asks_goal = use("ask", question=ASKED_GOAL, options=["It is right", "Something is wrong"])
    asks_blueprint = use("ask", question=ASKED_BLUEPRINT, options=["Write it", "Change it"])
    first = [
        *goes_on(
            FIRST,
            ("is put to the person|takes effect", ends),
            ("from here no way leads", use("transition", to="agreed")),
            ("needs 'goal_summary'", slow("first", save("goal_summary"))),
            ("'goal_summary' is saved", use("transition", to="agreed", summary="Agreed")),
        ),
        rule(FIRST, use("transition", to="complete"), prompt="The answer: It is right"),
        rule(FIRST, asks_goal),
    ]
    second = goes_on(
        SECOND,
        ("takes effect", ends),
        ("'agent_config' is saved", slow("second", use("transition", to="configured"))),
        ("", save("agent_config")),
    )
    third = [
        *goes_on(
            THIRD,
            ("is put to the person|takes effect", ends),
            ("'blueprint' is saved", slow("third", save("entities"))),
            ("'entities' is saved", save("agents")),
            ("'agents' is saved", use("transition", to="designed", summary="Designed")),
        ),
        rule(THIRD, save("blueprint"), prompt="The answer: Write it"),
        rule(THIRD, asks_blueprint),
    ]
    last = [rule(LAST, slow("last", {"text": LAST_WORDS}))]
    return {"rules": [*first, *second, *third, *last], "default": {"text": "Plain words."}}
