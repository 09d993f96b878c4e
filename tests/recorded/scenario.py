"""What happens in the world: one run of each kind, left where its story is told to stand."""

from __future__ import annotations

import json
from base64 import b64encode
from os import close
from typing import Any

from tests.recorded.connection import Connection, Json
from tests.recorded.world import World


def play(world: World) -> dict[str, str]:
    """Play everything; returns the ids of the runs by their names."""
    runs = {
        "finished": finished(world),
        "failed": failed(world),
        "limited": limited(world),
        "gate": at_a_gate(world),
        "held": held(world),
        "parked": parked(world),
        "talk": in_a_talk(world),
        "tree": in_a_worktree(world),
        "outside": outside(world),
    }
    prompted(world)
    mended(world)
    spoken(world)
    return runs


def begin(world: World, name: str, recipe: str, project: str = "", **more: Any) -> str:
    """Start a run, and give its ids their names; returns its id."""
    directory = world.project(project or name)
    asked = {"recipe": recipe, "working_directory": directory, "agent": "scripted", **more}
    run = world.record("runs.start", **asked)
    world.named(run["session_id"], f"session of {name}")
    return world.named(run["run_id"], f"run {name}")


def answer(world: World, run_id: str, kind: str, given: str, **more: Any) -> str:
    """Answer the question of a kind that a run asks; returns its id."""
    question = world.until(run_id, "question.opened", lambda data: data["kind"] == kind)
    world.record("questions.answer", question_id=question["question_id"], answer=given, **more)
    return str(question["question_id"])


def finished(world: World) -> str:
    """A run that has a bad answer, an approval, a check, a gate and a commit, and ends well."""
    run_id = begin(world, "finished", "note", "shop", client_token="once")
    answer(world, run_id, "approval", "allow")
    answer(world, run_id, "gate", "yes")
    world.until(run_id, "run.ended")
    return run_id


def failed(world: World) -> str:
    """A run that ends with an error of its agent."""
    run_id = begin(world, "failed", "note", "error", params={"task": "an error"})
    world.until(run_id, "run.ended")
    return run_id


def limited(world: World) -> str:
    """A run that gets nowhere and is stopped by a limit."""
    run_id = begin(world, "limited", "probe", "probe")
    world.until(run_id, "run.ended")
    return run_id


def at_a_gate(world: World) -> str:
    """A run that waits at its gate, with a word aside in its session."""
    run_id = begin(world, "gate", "note", params={"task": "the second note"})
    question = world.until(run_id, "question.opened")
    world.named(question["question_id"], "question of gate")
    run = world.main.call("runs.get", run_id=run_id)["result"]
    aside = world.record(
        "sessions.prompt", text="By the way", session_id=run["session_id"], agent="scripted"
    )
    world.named(aside["run_id"], "prompt aside")
    world.until(aside["run_id"], "run.ended")
    return run_id


def held(world: World) -> str:
    """A run that is steered and interrupted while its agent works, and is paused."""
    run_id = begin(world, "held", "note", params={"task": "while held"})
    door = world.held("held")
    world.record("runs.steer", run_id=run_id, text="Hurry up.")
    world.record("sessions.locks")
    world.record("runs.interrupt", run_id=run_id)
    close(door)
    world.until(run_id, "run.paused")
    return run_id


def parked(world: World) -> str:
    """A run whose agent is at its usage limit."""
    run_id = begin(world, "parked", "note", params={"task": "at the limit"})
    world.until(run_id, "run.parked")
    return run_id


def in_a_talk(world: World) -> str:
    """A conversation in its second phase, which waits for what its person says."""
    run_id = begin(world, "talk", "name-it")
    answer(world, run_id, "ask", "A cat")
    world.until(run_id, "step.entered", lambda data: data["step"] == "propose")
    world.until(run_id, "turn.ended", lambda data: "Tom" in data["text"])
    return run_id


def in_a_worktree(world: World) -> str:
    """A run in a worktree of its own, which has committed there and ended."""
    run_id = begin(world, "tree", "note", worktree=True, params={"task": "the third note"})
    answer(world, run_id, "gate", "yes")
    world.until(run_id, "run.ended")
    return run_id


def prompted(world: World) -> None:
    """A plain prompt, waited for."""
    turn = world.record(
        "sessions.prompt",
        text="Hello",
        agent="scripted",
        working_directory=world.project("shop"),
        wait=True,
    )
    world.named(turn["session_id"], "session of hello")
    world.named(turn["run_id"], "prompt hello")


def mended(world: World) -> None:
    """A turn of the native agent that changes a file, is steered, and commits."""
    sent = world.main.call(
        "sessions.prompt",
        text="Mend it.",
        agent="native",
        working_directory=world.project("calc"),
    )["result"]
    run_id = world.named(sent["run_id"], "prompt mend")
    session = world.named(sent["session_id"], "session of mend")
    door = world.held("calc")
    world.record("sessions.prompt", text="And test it.", session_id=session, if_busy="steer")
    close(door)
    made = world.until(run_id, "effect.ended", lambda data: data["effect"] == "commit")
    world.named(made["commit"], "commit of mend")
    world.until(run_id, "run.ended")


def outside(world: World) -> str:
    """A run of an agent with a process of its own, which uses Podium's tools from there."""
    run_id = begin(world, "outside", "outside", agent="claude")
    door = world.held("outside")
    world.until(run_id, "turn.started")  # from here on the tools are open
    report(world)
    close(door)
    world.until(run_id, "run.ended")
    return run_id


def report(world: World) -> None:
    """Do what the agent outside would: look at its tools, and report an outcome with one."""
    token = (world.home / "outside" / "token").read_text()
    outcome = {"name": "report_outcome", "arguments": {"outcome": "complete"}}
    for method, params in (("tools/list", {}), ("tools/call", outcome)):
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        world.record("mcp.message", token=token, message=json.dumps(asked))


def spoken(world: World) -> None:
    """An utterance of this machine."""
    with Connection(world.socket) as microphone:
        world.record("voice.start", microphone, utterance_id="said")
        sound = b64encode(bytes(16_000)).decode()
        world.record("voice.audio", microphone, utterance_id="said", audio=sound, frame=0)
        partial: Json = microphone.next_told()
        world.notices.append(partial)
        world.record("voice.end", microphone, utterance_id="said")
        world.record("voice.start", microphone, utterance_id="dropped", partials=False)
        world.record("voice.cancel", microphone, utterance_id="dropped")
