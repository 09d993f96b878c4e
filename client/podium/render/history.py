"""The history of a run, visit by visit, as the daemon sends it, and the words for its parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from podium import text
from podium.render import conversation_words
from podium.render.spending import added
from podium.rpc import follow
from podium.rpc.connection import Connection

if TYPE_CHECKING:
    from podium import protocol

RESTART = "@restart"

STALLED = "no progress"
"""The kind of note that a visit has which ended as an earlier one did."""

LISTS = ("turns", "commands", "questions", "stills", "notes")
SUMS = ("work_seconds", "waited_seconds", "still_seconds", "cost_usd")
"""What of a visit is put together where a page has ended within it."""

KINDS = {
    "message.received": "message",
    "steer.intended": "steer",
    "tool.used": "tool",
    "hook.ended": "hook",
    "aside.noted": "aside",
    "limit.hit": "limit",
    "progress.stalled": STALLED,
}
"""What a note is called, by its event."""


class History:
    """A run's visits; ``start`` is what its first event told, ``until`` up to when it is told, in
    epoch seconds."""

    def __init__(self, pages: list[protocol.RunHistory]) -> None:
        self.start = pages[0]["started"]
        self.steps = joined(visit for page in pages for visit in page["visits"])
        self.undelivered = pages[-1]["undelivered"]
        self.until = text.epoch(pages[-1]["until"]) or 0.0

    @property
    def questions(self) -> list[protocol.VisitQuestion]:
        """List every question of the run in order."""
        return [asked for step in self.steps for asked in step["questions"]]

    @property
    def agents(self) -> list[str]:
        """List the agents that have worked, in their order."""
        return list(dict.fromkeys(agent for step in self.steps for agent in agents(step)))


def agents(step: protocol.WholeVisit) -> list[str]:
    """List the agents of a visit's turns."""
    return list(dict.fromkeys(turn["agent"] for turn in step["turns"]))


def joined(parts: Iterable[protocol.WholeVisit]) -> list[protocol.WholeVisit]:
    """Put together the visits that pages have told in parts: a part has the number of the one
    before it."""
    visits: list[Any] = []
    for part in parts:
        told: dict[str, Any] = dict(part)
        if visits and visits[-1]["number"] == part["number"]:
            before = visits.pop()
            told |= {name: [*before[name], *told[name]] for name in LISTS}
            told |= {name: before[name] + told[name] for name in SUMS}
            told |= {"tokens": added(before["tokens"], told["tokens"])}
        visits.append(told)
    return visits


def history(connection: Connection, run_id: str) -> History:
    """Read all that a run did, page by page."""
    pages: list[protocol.RunHistory] = []
    while not pages or not pages[-1]["complete"]:
        after = pages[-1]["next"] if pages else None
        pages.append(connection.call("runs.history", {"run_id": run_id, "after": after}))
    return History(pages)


def run_and_history(run_id: str) -> tuple[protocol.WholeRun, History]:
    """Fetch a run and its history."""
    with Connection() as connection:
        run: protocol.WholeRun = connection.call("runs.get", {"run_id": run_id})
        return run, history(connection, run_id)


class Visits:
    """The visits of a run that goes on, each once it is over."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._after: protocol.HistoryPlace | None = None
        self._over: deque[protocol.WholeVisit] = deque()
        self._begun: list[protocol.WholeVisit] = []  # the parts of a visit behind ``_after``
        self._told = 0

    def next(self) -> protocol.WholeVisit | None:
        """Return the next visit that an edge has ended."""
        if not self._over:
            self._over.extend(one for one in self._rest() if one["outcome"] is not None)
        if not self._over:
            return None
        self._told = self._over[0]["number"]
        return self._over.popleft()

    def rest(self) -> Iterator[protocol.WholeVisit]:
        """Return those that are left, with the one that the run has ended in."""
        while (visit := self.next()) is not None:
            yield visit
        yield from self._rest()

    def _rest(self) -> list[protocol.WholeVisit]:
        """Read the visits that are not told yet, with the one that goes on."""
        found, complete = list(self._begun), False
        while not complete:
            asked: protocol.ReadHistory = {"run_id": self._run_id, "after": self._after}
            page = follow.certain("runs.history", asked)
            found, complete = joined([*found, *page["visits"]]), page["complete"]
            if page["next"] != self._after:
                within = page["next"].get("visit")
                goes_on = within is not None and within["ended_at"] is None
                self._begun = found[-1:] if goes_on else []
            self._after = page["next"]
        return [visit for visit in found if visit["number"] > self._told]


def as_json(history: History) -> list[dict[str, Any]]:
    """Return the visits as ``--json`` prints them."""
    return [_as_json(step) for step in history.steps]


def _as_json(step: protocol.WholeVisit) -> dict[str, Any]:
    turns = [{**turn, "calls": [call(one) for one in turn["calls"]]} for turn in step["turns"]]
    asked = [_question(one) for one in step["questions"]]
    notes = [{"at": one["at"], "kind": kind(one), "text": words(one)} for one in step["notes"]]
    return {**step, "turns": turns, "questions": asked, "notes": notes}


def call(called: protocol.VisitCall) -> str:
    """Render a call of a tool on a line."""
    said = f"{called['tool']}: {called['message']}"
    return text.fold(said, conversation_words.BRIEF).removesuffix(": ")


def failed_checks(step: protocol.WholeVisit) -> int:
    """Count the checks and commands that did not pass."""
    return sum(one["passed"] is False for one in step["commands"])


def _question(asked: protocol.VisitQuestion) -> dict[str, object]:
    """Merge a question with what became of it."""
    times = {"opened_at": asked["opened_at"], "closed_at": asked["closed_at"]}
    return {**asked["opened"], **times, "closed": None, **(asked["closed"] or {})}


def kind(note: protocol.VisitNote) -> str:
    """Name the kind of a note."""
    return KINDS.get(note["type"], note["type"])


def words(note: protocol.VisitNote) -> str:
    """Render a note in words."""
    say = WORDS.get(note["type"])
    return "" if say is None else say(note["data"])


def _stalled(data: protocol.ProgressStalledData) -> str:
    return (
        f"it ended as visit {data['since']} did: the same findings, and the working tree "
        "is the same"
    )


def _first(told: conversation_words.Told | None) -> str:
    return "" if told is None else told[0]


WORDS: dict[str, Callable[[Any], str]] = {
    "message.received": lambda data: str(data["text"]),
    "steer.intended": lambda data: str(data["text"]),
    "tool.used": lambda data: _first(conversation_words.tool_used(data)),
    "hook.ended": lambda data: _first(conversation_words.hook_ended(data)),
    "aside.noted": lambda data: str(data["run_id"]),
    "limit.hit": lambda data: f"{data['limit']} ({data['count']})",
    "progress.stalled": _stalled,
}
"""What a note says, by its event."""
