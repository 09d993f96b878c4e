"""Plain prompts: chat, forks, and a person's words to a session that is busy."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo, Machine
from tests.e2e.stories import LOOP, bash, held, when, word
from tests.fakes.model_server import ModelServer
from tests.fakes.trio_gates import holding

pytestmark = pytest.mark.claude

LONG = "Thinking about it. " * 20
LINE_LIMIT = (1 << 20) - 4096


async def test_a_prompt_by_the_command_line_prints_the_answer_and_goes_on_in_its_session(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"turns": [{"text": "Hello."}, {"text": "As I said."}]})
    first = await podium.cli("prompt", "Hi.", "--json", cwd=repo.path)
    assert first.code == 0, first
    session = model_server.requests[0].session
    assert session in first.out
    second = await podium.cli("prompt", "-", "--session", session, stdin=b"Again?", cwd=repo.path)
    assert (second.code, second.out.strip()) == (0, "As I said."), second
    assert "Hi." in model_server.requests[1].anywhere
    assert await podium.rpc("runs.list") == [], "plain prompts are no runs in the list"


@pytest.mark.long(
    "tests/drivers/test_claude_real.py::test_a_structured_answer_and_a_fork_that_leaves_its_origin_as_it_was"
)
async def test_a_fork_knows_the_conversation_and_leaves_it_as_it_was(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Hello."}})
    first = await podium.rpc(
        "sessions.prompt", text="Hi.", working_directory=str(repo.path), wait=True
    )
    session = first["session_id"]
    before = podium.machine.transcript(session, repo.path)
    fork = await podium.rpc(
        "sessions.prompt", text="What if?", session_id=session, fork=True, wait=True
    )
    assert fork["session_id"] != session and fork["text"] == "Hello."
    assert "Hi." in model_server.requests[1].anywhere
    assert podium.machine.transcript(session, repo.path) == before
    prompts = podium.machine.prompts(fork["session_id"], repo.path)
    assert prompts == ["Hi.", "What if?"]


@pytest.mark.long("tests/runtime/test_sharing.py::test_prompts_that_are_queued_run_in_their_order")
async def test_a_prompt_to_a_busy_session_waits_its_turn_where_it_is_asked_to(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [when("First", held({"text": LONG})), when("Second", {"text": "Now you."})]
    model_server.load({"rules": rules})
    where = {"working_directory": str(repo.path)}
    first = await podium.rpc("sessions.prompt", text="First.", **where)
    await holding(model_server, "half")
    second = {"text": "Second.", "session_id": first["session_id"]}
    refusal = await podium.refused("sessions.prompt", **second)
    holder = refusal.data["holder"]
    assert (refusal.code, holder["kind"], holder["id"]) == (-32001, "prompt", first["run_id"])
    queued = await podium.rpc("sessions.prompt", **second, if_busy="queue")
    assert (await podium.rpc("runs.get", run_id=queued["run_id"]))["status"] == "queued"
    model_server.release("half")
    run = await podium.ended(queued["run_id"])
    assert run["exit"]["reason"] == "turn-complete"
    assert podium.machine.prompts(first["session_id"], repo.path) == ["First.", "Second."]


@pytest.mark.long(
    "tests/runtime/test_sharing.py::test_a_take_over_pauses_the_run_and_goes_through_its_session"
)
async def test_a_prompt_takes_over_from_a_run_which_is_paused_by_it(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    rules = [
        when("Work", held(word("complete", LONG))),
        when("Wait", {"text": "I wait."}),
        when("Go on with this step", word("blocked")),
    ]
    model_server.load({"rules": rules})
    async with podium.running(podium.machine.recipe("loop", LOOP), repo.path) as feed:
        run_id, session = feed.seen[0]["run_id"], feed.seen[0]["session_id"]
        await holding(model_server, "half")
        turn = await podium.rpc(
            "sessions.prompt", text="Wait.", session_id=session, take_over=True, wait=True
        )
        assert turn["text"] == "I wait."
        assert (await podium.rpc("runs.get", run_id=run_id))["status"] == "paused"
        await podium.rpc("runs.resume", run_id=run_id)
        run = await feed.end()
    assert run["exit"]["reason"] == "implementation-blocked"


@pytest.mark.long(
    "tests/drivers/test_claude_real.py::test_a_prompt_of_900_kb_arrives_whole_and_is_done_with_words_cost_and_mark"
)
async def test_a_long_prompt_arrives_whole_and_a_longer_one_is_refused(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer
) -> None:
    model_server.load({"default": {"text": "Read."}})
    where = {"working_directory": str(repo.path)}
    refusal = await podium.refused("sessions.prompt", text="x" * LINE_LIMIT, **where)
    assert refusal.code == -32602 and "attach it as a file" in refusal.message.lower()
    text = "".join(f"{number}: ümläut\n" for number in range(40_000))
    turn = await podium.rpc("sessions.prompt", text=text, **where, wait=True)
    assert turn["text"] == "Read."
    assert podium.machine.prompts(turn["session_id"], repo.path) == [text]


@pytest.mark.long(
    "tests/drivers/test_claude_args.py::test_an_agent_gets_its_requests_environment_and_nothing_of_the_daemons"
)
async def test_an_agent_gets_nothing_of_the_daemons_own_environment(
    machine: Machine, repo: GitRepo, model_server: ModelServer
) -> None:
    machine.configure(pass_env=["WANTED"], permission_mode="acceptEdits")
    recipe = machine.recipe("loop", LOOP)
    model_server.load({"turns": [bash("env | cut -d= -f1 | sort"), word("blocked")]})
    given = {"SECRET_OF_THE_DAEMON": "s3cret", "CLAUDECODE": "1", "WANTED": "yes"}
    async with (
        PodiumDaemon(machine, **given) as podium,
        podium.running(recipe, repo.path) as feed,
    ):
        await feed.end()
    names = set(model_server.requests[1].result.split())
    assert {"PODIUM_TURN", "HOME", "PATH", "WANTED"} <= names
    assert not names & {"SECRET_OF_THE_DAEMON", "PODIUM_HOME", "PYTHONPATH"}
