"""One call of every method that the scenario itself has not made, and what the follower is told."""

from __future__ import annotations

from tests.recorded.connection import Connection
from tests.recorded.contents import BROKEN_RECIPE, SESSION
from tests.recorded.world import World


def ask(world: World, runs: dict[str, str]) -> None:
    """Call every method; what changes something comes after what only looks."""
    look_at_runs(world, runs)
    look_at_recipes(world)
    look_at_sessions(world)
    look_at_daemon(world)
    follow(world, runs)
    change(world, runs)
    world.record("daemon.shutdown")
    world.until_stopping()


def look_at_runs(world: World, runs: dict[str, str]) -> None:
    """Runs, their questions and worktrees."""
    for name in ("finished", "gate", "talk"):
        world.record("runs.get", run_id=runs[name])
    world.record("runs.list")
    world.record("runs.list", active=True, limit=1)
    world.record("runs.events", run_id=runs["limited"])
    for name in ("finished", "limited", "talk"):
        world.record("runs.history", run_id=runs[name])
    world.record("runs.diff", run_id=runs["finished"])
    world.record("questions.list")
    world.record("worktrees.list")


def look_at_recipes(world: World) -> None:
    """Recipes, and walks through them that need no agent."""
    shop = world.project("shop")
    world.record("recipes.list", working_directory=shop)
    world.record("recipes.get", id="note")
    world.record("recipes.get", id="absent")
    world.record("recipes.check", text=BROKEN_RECIPE)
    world.record("recipes.check", id="name-it")
    for drawn in ("mermaid", "dot"):
        world.record("recipes.graph", id="note", format=drawn)
    world.record("recipes.simulate", id="note", outcomes=["complete", "committed"])
    world.record("recipes.paths", id="note")
    said = ["Done.", 'Done. {"outcome": "complete"}']
    world.record("recipes.rehearse", id="note", step="write", replies=said)
    for text in said:
        world.record("recipes.outcome", id="note", step="write", text=text)


def look_at_sessions(world: World) -> None:
    """Sessions and their messages."""
    world.record("sessions.list", working_directory=world.project("shop"))
    world.record("sessions.get", session_id=SESSION)
    world.record("sessions.messages", session_id=SESSION)
    world.record("sessions.forget", session_id=SESSION)


def look_at_daemon(world: World) -> None:
    """The daemon itself, and speech."""
    for method in ("daemon.ping", "daemon.status", "daemon.configuration", "daemon.reload"):
        world.record(method)
    world.record("agents.list")
    world.record("rpc.discover")
    world.record("sessions.locks")
    world.record("storage.usage")
    world.record("storage.prune", dry_run=True)
    for method in ("voice.status", "voice.models", "voice.hush"):
        world.record(method)
    world.record("voice.say", text="The **note** is in `note.txt`.")
    world.record("voice.install", name="absent")
    world.record("voice.vocabulary", working_directory=world.project("bare"))
    sound = str(world.home / "sound.pcm")
    world.record("voice.transcribe", path=sound, format="pcm16")


def follow(world: World, runs: dict[str, str]) -> None:
    """Feeds: of a session, of a run, of all."""
    with Connection(world.socket) as reader:
        world.record("sessions.subscribe", reader, session_id=SESSION, after_seq=2)
        session = next(world.home.glob(f".claude/projects/*/{SESSION}.jsonl"))
        with session.open("a") as file:
            file.write(session.read_text().splitlines()[0].replace("000101", "000105") + "\n")
        world.notices.append(reader.next_told())
        world.record("sessions.unsubscribe", reader, session_id=SESSION)
        world.record("events.subscribe", reader, types=["run.ended"], after=0)
        world.notices.append(reader.next_told())
    with Connection(world.socket) as reader:
        world.record("runs.events", reader, run_id=runs["gate"], after_seq=1000, follow=True)


def change(world: World, runs: dict[str, str]) -> None:
    """What leaves the world another one."""
    world.record("gateway.pair", name="A phone")
    world.record("gateway.pair", kind="web", scope="look")
    world.record("gateway.devices")
    world.record("gateway.scope", device="A phone", scope="look")
    world.record("client.hello")
    world.record("gateway.revoke", device="A phone")
    world.record("recipes.trust", working_directory=world.project("shop"))
    world.record("sessions.interrupt", session_id=SESSION)
    world.record("sessions.compact", session_id=SESSION)
    world.record("worktrees.merge", run_id=runs["tree"])
    world.record("worktrees.remove", run_id=runs["tree"], force=True)
    world.record("runs.rename", run_id=runs["held"], title="Held, and let go")
    world.record("runs.resume", run_id=runs["held"])
    world.until(runs["held"], "run.ended")
    world.record("runs.pause", run_id=runs["gate"])
    world.record("runs.cancel", run_id=runs["gate"])
    world.record("daemon.configure", orchestration_enabled=True)
