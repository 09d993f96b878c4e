"""Tell what a run did, visit by visit, from its facts: the one projection that all tellers show.

A visit holds what happened from its step's beginning to its end, and what came before it: turns,
checks and commands, questions, pauses and notes, each with its times. Times are RFC 3339,
durations seconds, costs US dollars.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, assert_never

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from podiumd.core.recipe.served_tools import OWN_TOOLS
from podiumd.core.reply.report import Tokens, TokensUsed
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.structs import replace
from podiumd.core.times import wire_time

PROMPT: Final = "prompt"
"""The name of the one visit of a plain prompt, which has no step."""

BEFORE: Final = "start"
"""The name of the visit that a run has which ended before its first step."""

LOST: Final = "lost"
"""How a turn ended whose end is not stored."""

MOST_CALLS: Final = 200
"""Calls of tools that are kept of one turn."""

Noted = (
    f.MessageReceived
    | f.SteerIntended
    | f.ToolUsed
    | f.HookEnded
    | f.AsideNoted
    | f.LimitHit
    | f.ProgressStalled
)
"""What is told of a visit as a note."""

Unshown = (
    f.QuietFact
    | lf.LoopStarted
    | lf.ReplyReceived
    | lf.WordsAdded
    | lf.ActionIntended
    | lf.LoopEnded
)
"""What a history shows nothing of."""


class VisitFault(msgspec.Struct, frozen=True):
    """A fault in the outcome of a reply."""

    error: str
    message: str
    excerpt: str


class VisitCall(msgspec.Struct, frozen=True):
    """A call of a tool by the native agent, and what came of it in short."""

    tool: str
    message: str


class VisitTurn(msgspec.Struct):
    """One prompt and what came of it. ``seconds`` is work only; ``tokens`` are ``None`` where the
    agent does not tell them; ``end`` is how it ended; ``read`` is the outcome that its text was
    read as; ``calls`` are the first of its tools' calls."""

    turn_id: str
    purpose: str
    attempt: int
    agent: str
    model: str | None
    prompt: str
    began_at: str
    ended_at: str | None = None
    seconds: float = 0.0
    cost_usd: float = 0.0
    tokens: Tokens | None = None
    end: str | None = None
    detail: str = ""
    text: str = ""
    fault: VisitFault | None = None
    read: str | None = None
    calls: list[VisitCall] = []
    more_calls: int = 0


class VisitCommand(msgspec.Struct):
    """A check of a step, or the command that is the step. ``passed`` is ``None`` while it runs."""

    kind: Literal["check", "command"]
    run: tuple[str, ...]
    began_at: str
    ended_at: str | None = None
    passed: bool | None = None
    exit_status: int | None = None
    seconds: float = 0.0
    tail: str = ""
    log: str = ""


class VisitStill(msgspec.Struct):
    """A time in which the run stood still. ``why``: what paused it, or until when it is parked."""

    kind: Literal["paused", "parked"]
    why: str
    began_at: str
    ended_at: str | None = None


class Asked(msgspec.Struct):
    """A question, and what closed it."""

    opened_at: str
    opened: f.QuestionOpened
    closed_at: str | None = None
    closed: f.QuestionClosed | None = None


class Note(msgspec.Struct):
    """A fact that happened on the way."""

    at: str
    fact: Noted


class VisitHead(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A visit of a step without what happened in it. ``number`` counts the visits of the run,
    ``restart`` its restarts; ``outcome`` is ``None`` until an edge is taken; ``returned``: that
    leads to an earlier step."""

    number: int = 0
    restart: int = 0
    step: str = BEFORE
    visit: int = 1
    session_id: str = ""
    began_at: str = ""
    ended_at: str | None = None
    outcome: str | None = None
    source: str | None = None
    repaired: bool = False
    attempts: int = 0
    description: str | None = None
    to: str | None = None
    exit: str | None = None
    returned: bool = False


class VisitFields(VisitHead, kw_only=True):
    """A visit of a step, or what of it comes after the page before, with its work."""

    turns: list[VisitTurn] = []
    commands: list[VisitCommand] = []


class Visit(VisitFields, kw_only=True):
    """A visit with its facts."""

    questions: list[Asked] = []
    stills: list[VisitStill] = []
    notes: list[Note] = []

    @property
    def work_seconds(self) -> float:
        """Time of turns, checks and commands, as the limits count it."""
        turns = sum(turn.seconds for turn in self.turns)
        return turns + sum(command.seconds for command in self.commands)

    @property
    def cost_usd(self) -> float:
        """Sum up what the turns of this visit cost, in dollars."""
        return sum(turn.cost_usd for turn in self.turns)

    @property
    def tokens(self) -> TokensUsed:
        """Sum up the tokens of the turns of this visit that have ended."""
        used = TokensUsed()
        for turn in self.turns:
            used = used if turn.ended_at is None else used.plus(turn.tokens)
        return used

    def waited_seconds(self, until: str) -> float:
        """Return how long a person was waited for; an open question counts up to ``until``."""
        return _covered(((one.opened_at, one.closed_at) for one in self.questions), until)

    def still_seconds(self, until: str) -> float:
        """Return how long the run was paused or parked, counted likewise."""
        return _covered(((one.began_at, one.ended_at) for one in self.stills), until)


Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class HistoryPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The end of a page of a history: behind fact ``seq``, after so many visits and restarts;
    ``steps`` are those that were entered since the last restart. ``visit`` is the one that the
    page ends within or behind, where more may come to it."""

    seq: Count = 0
    number: Count = 0
    restart: Count = 0
    steps: tuple[str, ...] = ()
    visit: VisitHead | UnsetType = UNSET


class History:
    """The visits of a run, or a page of them: facts are added in their order.

    ``visits`` are those so far; the first may be the rest of one that the page before has begun.
    ``place`` is behind the last of them that is over, or where ``end_before`` has put it: a page
    that begins there goes on from this one.
    """

    def __init__(self, after: HistoryPlace | None = None) -> None:
        """``after``: the place of the page before."""
        self.visits: list[Visit] = []
        self.undelivered: tuple[str, ...] = ()
        self.ended_at: str | None = None
        self.place = after or HistoryPlace()
        self._number, self._restarts = self.place.number, self.place.restart
        self._known = dict.fromkeys(self.place.steps)
        self._first = self.place.number == 0
        self._seq = self.place.seq
        self._open: Visit | None = None
        self._before: Visit | None = None  # told by an earlier page
        if isinstance(self.place.visit, VisitHead):
            self._before = Visit(**asdict(self.place.visit))
            if self._before.ended_at is None:
                self._open = self._latest()
        self._coming = Visit()
        self._asked: dict[str, Asked] = {}
        self._heard: dict[str, Note] = {}
        self._still: VisitStill | None = None

    def may_end_before(self, fact: f.AnyFact, *, anyhow: bool = False) -> bool:
        """Tell whether a page may end before a fact, which begins another visit or turn: nothing
        of what is before is open. ``anyhow``: what is open may never close, a fact may be lost."""
        if isinstance(fact, f.StepEntered):
            begins = bool(self.visits) and self._open is None
        else:
            has_turns = self._open is not None and bool(self._open.turns)
            begins = has_turns and isinstance(fact, f.TurnIntended)
        return begins and (anyhow or not self._is_left_open)

    @property
    def _is_left_open(self) -> bool:
        return self._still is not None or any(one.closed is None for one in self._asked.values())

    def end_before(self, fact: f.AnyFact, at: str) -> None:
        """End the page: the next one begins with what is behind ``place``, and ``fact`` follows."""
        if self._open is None:
            self.place = replace(self.place, visit=UNSET)
        elif isinstance(fact, f.TurnIntended):
            _lose(self._open, at)
            self._over(self._seq, self._open)

    def add(self, seq: int, at: str, fact: f.AnyFact) -> None:
        """Add the next fact."""
        self._seq = seq
        if isinstance(fact, Unshown):
            return
        match fact:
            case f.StepEntered():
                self._count(fact.step, fact.step_count)
                self._enter(fact.step, fact.visit, fact.session_id, at)
            case f.TurnIntended():
                self._turn_intended(fact, at)
            case f.TurnEnded():
                self._turn_ended(fact, at)
            case lf.ActionEnded():
                self._called(fact.result)
            case f.OutcomeParsed() | f.OutcomeInvalid():
                self._judged(fact)
            case f.CheckEnded() | f.CommandIntended() | f.CommandEnded():
                self._command(fact, at)
            case f.QuestionOpened() | f.QuestionClosed():
                self._question(fact, at)
            case f.MessageReceived() | f.SteerIntended():
                self._words(fact, at)
            case f.ToolUsed() | f.HookEnded() | f.AsideNoted() | f.LimitHit():
                if _tells(fact):
                    self._now_in.notes.append(Note(at, fact))
            case f.EdgeTaken():
                self._edge_taken(fact, seq, at)
            case f.ProgressStalled():
                visit = self._latest()  # it comes once the visit is over
                if visit is not None:
                    visit.notes.append(Note(at, fact))
                    self._over(seq, visit)
            case f.RunPaused(why=why):
                self._stand(VisitStill("paused", why, at))
            case f.RunParked(until=until):
                self._stand(VisitStill("parked", until, at))
            case f.RunResumed():
                self._go_on(at)
            case f.RunEnded():
                self._run_ended(fact, at)
            case f.RunStarted():
                pass
            case _:
                assert_never(fact)

    @property
    def _now_in(self) -> Visit:
        """Return the visit that the run is in, or the one to come."""
        return self._open or self._coming

    def _count(self, step: str, step_count: int) -> None:
        if step_count == 1 and self._number:
            self._restarts += 1
            self._known.clear()
        self._number += 1
        self._known[step] = None

    def _enter(self, step: str, visit: int, session_id: str, at: str) -> Visit:
        entered, self._coming = self._coming, Visit()
        entered.number, entered.restart = self._number, self._restarts
        entered.step, entered.visit = step, visit
        entered.session_id, entered.began_at = session_id, at
        self.visits.append(entered)
        self._open = entered
        self.place = replace(self.place, visit=UNSET)
        return entered

    def _latest(self) -> Visit | None:
        """Return the last visit that has begun; of one that an earlier page told, the rest."""
        if not self.visits and self._before is not None:
            self.visits.append(self._before)
        return self.visits[-1] if self.visits else None

    def _turn_intended(self, fact: f.TurnIntended, at: str) -> None:
        visit = self._open
        if visit is None:
            self._count(PROMPT, 0)
            visit = self._enter(fact.step or PROMPT, 1, fact.session_id, at)
        _lose(visit, at)
        visit.turns.append(
            VisitTurn(
                turn_id=fact.turn_id,
                purpose=fact.purpose,
                attempt=fact.attempt,
                agent=fact.agent,
                model=fact.model,
                prompt=fact.prompt,
                began_at=at,
            )
        )

    def _turn_ended(self, fact: f.TurnEnded, at: str) -> None:
        for turn in self._now_in.turns:
            if turn.turn_id == fact.turn_id:
                turn.ended_at, turn.end, turn.detail = at, fact.report.kind, fact.report.detail
                turn.text, turn.seconds, turn.cost_usd = fact.text, fact.seconds, fact.cost_usd
                turn.tokens = fact.report.tokens

    def _called(self, result: lf.Result) -> None:
        """Add what the native agent did; of Podium's own tools ``tool.used`` tells."""
        for turn in self._now_in.turns[-1:] if result.action not in OWN_TOOLS else ():
            if len(turn.calls) < MOST_CALLS:
                turn.calls.append(VisitCall(result.action, result.message))
            else:
                turn.more_calls += 1

    def _judged(self, fact: f.OutcomeParsed | f.OutcomeInvalid) -> None:
        visit = self._now_in
        visit.attempts = fact.attempt
        if isinstance(fact, f.OutcomeParsed):
            visit.repaired, visit.source = fact.repaired, fact.source
        for turn in visit.turns[-1:]:
            if isinstance(fact, f.OutcomeInvalid):
                turn.fault = VisitFault(fact.error, fact.message, fact.excerpt)
            elif fact.source == "text":
                turn.read = fact.outcome

    def _command(self, fact: f.CheckEnded | f.CommandIntended | f.CommandEnded, at: str) -> None:
        commands = self._now_in.commands
        if isinstance(fact, f.CheckEnded):
            commands.append(VisitCommand("check", fact.run, _earlier(at, fact.seconds)))
        elif isinstance(fact, f.CommandIntended):
            commands.append(VisitCommand("command", fact.run, at))
            return
        for command in [one for one in commands if one.ended_at is None][-1:]:
            command.ended_at, command.passed, command.exit_status = (
                at,
                fact.passed,
                fact.exit_status,
            )
            command.seconds, command.tail, command.log = fact.seconds, fact.tail, fact.log

    def _question(self, fact: f.QuestionOpened | f.QuestionClosed, at: str) -> None:
        if isinstance(fact, f.QuestionOpened):
            asked = self._asked[fact.question_id] = Asked(at, fact)
            self._now_in.questions.append(asked)
        elif fact.question_id in self._asked:
            asked = self._asked[fact.question_id]
            asked.closed_at, asked.closed = at, fact

    def _words(self, fact: f.MessageReceived | f.SteerIntended, at: str) -> None:
        """Add a person's words: an answer stands with its question, and what goes into the running
        turn with the message that it was."""
        if fact.uuid in self._heard:
            self._heard[fact.uuid].fact = fact
        elif fact.uuid not in self._asked or isinstance(fact, f.SteerIntended):
            note = Note(at, fact)
            self._now_in.notes.append(note)
            if isinstance(fact, f.MessageReceived):
                self._heard[fact.uuid] = note

    def _stand(self, still: VisitStill) -> None:
        self._go_on(still.began_at)
        self._still = still
        self._now_in.stills.append(still)

    def _go_on(self, at: str) -> None:
        if self._still is not None:
            self._still.ended_at, self._still = at, None

    def _edge_taken(self, fact: f.EdgeTaken, seq: int, at: str) -> None:
        visit = self._now_in
        if fact.source != visit.source:
            visit.repaired = False  # the agent's word was overruled
        visit.outcome, visit.source = fact.outcome, fact.source
        visit.attempts = fact.attempts or visit.attempts
        visit.description, visit.to, visit.exit = fact.description, fact.to, fact.exit
        visit.ended_at, visit.returned = at, fact.to in self._known
        self._open = None
        self._over(seq, visit)

    def _over(self, seq: int, visit: Visit) -> None:
        """Move on to behind what ends a visit, or a page within it."""
        head = VisitHead(**{name: getattr(visit, name) for name in VisitHead.__struct_fields__})
        self.place = HistoryPlace(seq, self._number, self._restarts, tuple(self._known), head)

    def _run_ended(self, fact: f.RunEnded, at: str) -> None:
        self._go_on(at)
        self.ended_at, self.undelivered = at, fact.undelivered
        coming = self._coming
        if coming.questions or coming.notes or coming.stills:
            last = self._latest()
            if last is not None:  # what was for a visit that never came belongs to the last one
                last.questions += coming.questions
                last.notes += coming.notes
                last.stills += coming.stills
            elif self._first:
                self._number += 1
                self._enter(BEFORE, 1, "", at)
        self.place = replace(self.place, visit=UNSET)
        if self._open is not None:
            _lose(self._open, at)
            self._open.ended_at, self._open = at, None


def _tells(fact: f.ToolUsed | f.HookEnded | f.AsideNoted | f.LimitHit) -> bool:
    """Tell whether there is anything to note: of ``ask`` its question says it all, of a hook that
    it had something against the turn's end."""
    match fact:
        case f.ToolUsed():
            return not fact.success or fact.tool != "ask"
        case f.HookEnded():
            return fact.refused or fact.exit_status not in (0, None)
        case _:
            return True


def _lose(visit: Visit, at: str) -> None:
    """Close a turn whose end is not stored."""
    for turn in visit.turns:
        if turn.ended_at is None:
            turn.ended_at, turn.end = at, LOST


def _earlier(at: str, seconds: float) -> str:
    """Return the time so many seconds before ``at``."""
    return wire_time(datetime.fromisoformat(at) - timedelta(milliseconds=round(seconds * 1000)))


def _covered(spans: Iterable[tuple[str, str | None]], until: str) -> float:
    """Return the seconds that at least one of the spans covers."""
    total, reached = 0.0, float("-inf")
    for began, ended in sorted((_epoch(began), _epoch(ended or until)) for began, ended in spans):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total


def _epoch(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
