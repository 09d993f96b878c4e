"""Phones of end-to-end tests: paired with a real daemon, and back again after its restarts."""

from __future__ import annotations

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.rpc_client import Json
from tests.phone.driver import Phone

VERSIONS = ("ios", "ios-0.4")


async def paired(podium: PodiumDaemon) -> tuple[str, str]:
    """A new device: the gateway's address and the key."""
    made = await podium.rpc("gateway.pair")
    return made["url"], made["key"]


async def back(podium: PodiumDaemon, phone: Phone) -> None:
    """Have a phone that has lost its daemon connect to the next one."""
    await phone.until(lambda p: not p.carrier.is_open)
    status = await podium.rpc("daemon.status")
    await phone.foreground(url=status["gateway"]["url"])


async def begun(phone: Phone, repo: GitRepo, text: str, answer: str = "") -> str:
    """Begin a session with the first words; returns its id once they, and the answer, are read."""
    session = await phone.new(str(repo.path), text)
    await heard(phone, session, answer or text)
    return session


async def heard(phone: Phone, session: str, text: str) -> None:
    """Wait until a session shows a message of this text."""
    await phone.until(lambda p: text in p.texts(session))


async def started(phone: Phone, recipe: str, repo: GitRepo) -> str:
    """Start a recipe in a new session; returns the session's id."""
    asked = {"type": "start_recipe", "session_id": None, "recipe_id": recipe}
    where = {"working_directory": str(repo.path)}
    told = await phone.request(asked | where, "recipe_started")
    session: str = told["session_id"]
    return session


async def exited(phone: Phone, session: str) -> Json:
    """Wait until the phone was told of the end of a session's recipe; returns what it was told."""

    def of_the_session(phone: Phone) -> list[Json]:
        return [one for one in phone.model.board.exited if one["session_id"] == session]

    (told,) = await phone.until(of_the_session)
    return told


async def agrees(podium: PodiumDaemon, phone: Phone, session: str) -> None:
    """The phone has taken every message of a session once, in its order, under its number."""
    log: list[Json] = []
    while True:
        after = log[-1]["seq"] if log else 0
        page = await podium.rpc("sessions.messages", session_id=session, after_seq=after)
        log += page["messages"]
        if not page["messages"]:
            break
    taken = phone.ledger[session]
    await phone.until(lambda _: len(taken) >= len(log))
    first = 0 if phone.model.sync.by_offset else 1
    assert [(one.number - first + 1, one.uuid, one.role) for one in taken] == [
        (one["seq"], one["uuid"], one["role"]) for one in log
    ]
