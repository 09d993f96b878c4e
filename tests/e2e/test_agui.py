"""AG-UI with the real agent: a conversation in phases, its questions, and a daemon that is killed.

Every stream is judged by the published models and the order that the protocol demands.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.doors.house import port_of
from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import held, when
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding
from tests.gateway.agui.caller import asking, interrupts, resolved, stream, told
from tests.gateway.agui.checked import custom, text_of
from tests.gateway.routes.client import Client, HungUp

pytestmark = pytest.mark.claude

Json = dict[str, Any]

PHASES = """
initial = "goal"

[context]
goal = "string"

[steps.goal]
talk = true
tools = "none"
system = "PHASE GOAL. Find out what they want."
opening = "Begin with the goal."

[steps.goal.on]
agreed = { to = "design", requires = ["goal"] }

[steps.design]
talk = true
tools = "none"
system = "PHASE DESIGN. They want {{ctx.goal}}."

[steps.design.on]
done = { exit = "conversation-complete", class = "completed" }
"""

BEGUN = "Begin with a shop."
SHOPS = [{"id": "shop", "label": "A shop"}, {"id": "blog", "label": "A blog"}]


def uses(tool: str, **args: Any) -> Json:
    """A call of one of Podium's tools, as the model makes it."""
    return {"name": f"mcp__podium__{tool}", "input": args}


ASKS: list[Json] = [
    {
        "text": "Hello.",
        "tools": [uses("ask", question="What do you want?", options=SHOPS, free_text=True)],
    },
    {"text": "I wait for your answer."},
]
GOES_ON: list[Json] = [
    {
        "text": "A shop, then.",
        "tools": [
            uses("transition", to="agreed", summary="too early"),
            uses("save", key="goal", value="a shop"),
            uses("transition", to="agreed", summary="They want a shop"),
        ],
    },
    {"text": "On to the design."},
]
RULES: list[Json] = [
    {"when": {"system": "PHASE GOAL", "prompt": "^Begin with"}, "turns": ASKS},
    {"when": {"system": "PHASE GOAL", "prompt": "The answer: A shop"}, "turns": GOES_ON},
    {
        "when": {"system": "PHASE DESIGN. They want a shop", "prompt": "^Draw it"},
        "text": "Here is the shop.",
    },
]


@pytest.fixture
async def client(podium: PodiumDaemon) -> Client:
    """A client with the key of a paired device."""
    key = (await podium.rpc("gateway.pair", name="agui"))["key"]
    return Client(await port_of(podium), key)


@pytest.fixture
async def begun(
    client: Client, machine: Machine, repo: GitRepo, model_server: ModelServer
) -> list[Json]:
    """The stream of a thread ``t`` that begins with a recipe, up to its first question."""
    model_server.load({"rules": RULES})
    recipe = machine.recipe("phases", PHASES)
    return await told(client, asking("t", forwardedProps=place(repo, recipe=recipe)))


def place(repo: GitRepo, **props: Any) -> Json:
    return {"working_directory": str(repo.path), **props}


def calls(events: list[Json]) -> list[tuple[str, str]]:
    """The tools that were called, and what came of each."""
    names = {e["toolCallId"]: e["toolCallName"] for e in events if e["type"] == "TOOL_CALL_START"}
    return [
        (names[e["toolCallId"]], e["content"]) for e in events if e["type"] == "TOOL_CALL_RESULT"
    ]


async def test_a_conversation_in_phases_from_its_opening_to_its_second_phase(
    client: Client, begun: list[Json], podium: PodiumDaemon
) -> None:
    assert text_of(begun).startswith("Hello.")
    assert [name for name, _ in calls(begun)] == ["ask"]
    (interrupt,) = interrupts(begun)
    assert (interrupt["reason"], interrupt["message"]) == ("ask", "What do you want?")
    assert custom(begun, "podium:ask")[0]["choices"][0]["label"] == "A shop"

    await podium.restart()
    client.port = await port_of(podium)
    again = interrupts(await told(client, asking("t", run="run-2")))
    assert again == [interrupt], "the question waits over a kill"
    answer = asking("t", run="run-3", resume=resolved(interrupt, {"answer": "shop"}))
    events = await told(client, answer)
    names, words = zip(*calls(events), strict=True)
    assert names == ("transition", "save", "transition")
    assert "'goal'" in words[0], "the first one is refused: its guard is not met"
    assert text_of(events).endswith("On to the design.")
    last = [e["snapshot"] for e in events if e["type"] == "STATE_SNAPSHOT"][-1]
    assert (last["phase"], last["ctx"]) == ("design", {"goal": "a shop"})
    assert [e["stepName"] for e in events if e["type"] == "STEP_STARTED"] == ["goal", "design"]

    events = await told(client, asking("t", "Draw it.", run="run-4"))
    assert text_of(events) == "Here is the shop."
    assert events[-1]["result"]["status"] == "waiting"
    run = await podium.rpc("runs.get", run_id=events[-1]["result"]["run_id"])
    assert (run["step"], run["session_id"]) == ("design", events[-1]["result"]["session_id"])


async def test_a_daemon_that_is_killed_breaks_the_stream_off_and_the_next_request_goes_on(
    client: Client, repo: GitRepo, model_server: ModelServer, podium: PodiumDaemon
) -> None:
    words = ("Let me think about it. " * 20).strip()
    model_server.load({"rules": [when("^Think", held({"text": words}))]})
    value = asking("t", "Think.", forwardedProps=place(repo))
    async with stream(client, value) as asked:
        await holding(model_server, "half")
        await asked.hears("TEXT_MESSAGE_CONTENT")
        await podium.kill9()
        before = await asked.broken_off()
    assert before[-1]["type"] == "TEXT_MESSAGE_CONTENT"
    await podium.start()
    client.port = await port_of(podium)
    async with stream(client, value) as again:
        await again.hears("STATE_SNAPSHOT")
        model_server.release("half")
        events = await again.rest()
    assert text_of(events).endswith(words), "all of it, whatever was told before"
    asked_of_model = [r for r in model_server.requests if r.prompt.startswith("Think")]
    assert len(asked_of_model) == 1, "and it was not sent again"


@pytest.mark.parametrize("point", ["agui.after-kept", "agui.before-noted"])
@pytest.mark.parametrize("recipe", [None, "phases", "placed"])
async def test_a_thread_that_is_killed_at_its_beginning_begins_once(
    machine: Machine, repo: GitRepo, model_server: ModelServer, point: str, recipe: str | None
) -> None:
    """Whatever of it was stored by then: the same request, sent again, makes one of it."""
    machine.recipe("phases", PHASES)
    placed = PHASES.replace("with the goal", "{{task}}") + '[params.task]\ntype = "string"\n'
    machine.recipe("placed", placed)
    model_server.load({"default": {"text": "Here I am."}})
    said = [] if recipe == "phases" else ["with a shop"]
    props = place(repo) if recipe is None else place(repo, recipe=recipe)
    value = asking("t", *said, forwardedProps=props)
    podium = PodiumDaemon(machine, PODIUM_FAILPOINT=point)
    async with podium:
        key = (await podium.rpc("gateway.pair", name="agui"))["key"]
        with pytest.raises(HungUp):
            await Client(await port_of(podium), key).post("/agui", value)
        await podium.wait()
        podium.arm(None)
        await podium.start()
        client = Client(await port_of(podium), key)
        first = await told(client, value)
        again = await told(client, value)
        runs = await podium.rpc("runs.list")
    prompts = [r.prompt for r in model_server.requests if r.tools]
    assert text_of(first) == "Here I am."
    assert prompts == [{None: "with a shop", "phases": "Begin with the goal."}.get(recipe, BEGUN)]
    assert len(runs) == (recipe is not None)
    assert again[-1]["result"] == first[-1]["result"] | {"status": again[-1]["result"]["status"]}
