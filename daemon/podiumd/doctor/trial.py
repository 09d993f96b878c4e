"""A trial of an agent: begun in a throwaway directory, and put to the free cases.

No prompt is sent, so it costs nothing. What the agent keeps of it outside the directory is named.
"""

from __future__ import annotations

import shutil
import signal
import tempfile
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec
import trio
from msgspec.structs import replace

from podiumd.agents.environment import agent_environment
from podiumd.agents.halves import Greeting, Host, greeting_of, make_driver, traces_of
from podiumd.agents.kind import ConfiguredAgent
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.agent_process import SPOOL
from podiumd.drivers.base import Driver, TurnEvent, TurnRequest
from podiumd.drivers.free_cases import FREE_CASES, OPENING, CaseFailed, FreeCase
from podiumd.drivers.spool import watch_spools
from podiumd.drivers.spooled_driver import SpooledDriver

CASE_SECONDS: Final = 120.0
IDLE_SECONDS: Final = 60.0
_AT_ONCE: Final = 2
"""Agents that are begun side by side: one may take a gigabyte."""

Verdict = Literal["passed", "excused", "failed", "unplayed"]


class Result(msgspec.Struct, frozen=True):
    """The verdict on a case, and ``why`` it is not passed."""

    number: str
    words: str
    verdict: Verdict
    why: str = ""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a trial.

    ``greeting`` is what the agent tells of itself, ``seconds`` how long a session took to open and
    to end; ``None``: none opened, or it is a part of Podium. ``leaves`` says what stays of the
    trial outside its directory, ``to_set`` the setting without which it is not known to ask.
    """

    agent: str
    kind: str
    command: tuple[str, ...]
    capabilities: Capabilities
    greeting: Greeting | None
    seconds: float | None
    cases: tuple[Result, ...]
    leaves: tuple[str, ...]
    to_set: str | None = None

    @property
    def passed(self) -> bool:
        """Return whether nothing failed."""
        return all(one.verdict in ("passed", "excused") for one in self.cases)


class _Bench:
    """An agent with its driver, and turns of it in the directory ``root``."""

    def __init__(
        self, agent: ConfiguredAgent, environ: Mapping[str, str], driver: Driver, root: Path
    ) -> None:
        self._agent, self._environ, self._driver, self.root = agent, environ, driver, root
        self.last = ""

    @property
    def capabilities(self) -> Capabilities:
        return self._driver.capabilities

    def request(self) -> TurnRequest:
        """Make the request of a turn that opens a new session, in a directory of its own."""
        turn_id, plan = str(uuid.uuid4()), self._agent.plan
        directory = self.root / "turns" / turn_id
        directory.mkdir(mode=0o700, parents=True)
        return TurnRequest(
            turn_id=turn_id,
            run_id=turn_id,
            session_id=str(uuid.uuid4()),
            session_mode="new",
            working_directory=str(self.root / "work"),
            prompt="a trial",
            prompt_uuid=str(uuid.uuid4()),
            command=plan.command,
            environment=agent_environment(self._agent, self._environ, turn_id),
            directory=str(directory),
            permission_mode=plan.permission_mode,
            model=plan.model,
            idle_timeout_seconds=IDLE_SECONDS,
            opens_only=True,
        )

    async def play(self, request: TurnRequest) -> tuple[TurnReport, list[TurnEvent]]:
        """Play a turn to its end."""
        self.last = request.directory
        async with self._driver.turn(request) as turn:
            events = [event async for event in turn]
        return turn.report, events


async def try_out_or_stop(
    agent: ConfiguredAgent, environ: Mapping[str, str], note: Callable[[Result], None]
) -> Trial | None:
    """Try an agent out, as ``try_out``; ``None``: a signal has ended it."""
    trial = None
    with trio.open_signal_receiver(*_ending_signals()) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at, signals, nursery.cancel_scope)
            trial = await try_out(agent, environ, note)
            nursery.cancel_scope.cancel()
    return trial


def _ending_signals() -> list[signal.Signals]:
    """List what ends a program of a terminal; a hang-up only where it is not ignored already."""
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [one for one in ending if signal.getsignal(one) is not signal.SIG_IGN]


async def _cancel_at(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    await anext(signals)
    scope.cancel()


async def try_out(
    agent: ConfiguredAgent,
    environ: Mapping[str, str],
    note: Callable[[Result], None] = lambda _: None,
) -> Trial:
    """Try an agent out; ``environ`` is the daemon's environment, ``note`` takes each result.

    Raises ``SettingFault``.
    """
    root = _make_root()
    try:
        async with watch_spools() as watch:
            host = Host(
                agent=agent.name,
                settings=lambda: agent.settings,
                environ=environ,
                state=root / "state",
                watch=watch,
            )
            driver = make_driver(agent.kind, host)
            return await _played(_Bench(agent, environ, driver, root), agent, driver, note)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _make_root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="podium-try-")).resolve()
    (root / "work").mkdir()
    return root


async def _played(
    bench: _Bench, agent: ConfiguredAgent, driver: Driver, note: Callable[[Result], None]
) -> Trial:
    trial = Trial(
        agent=agent.name,
        kind=agent.kind.name,
        command=agent.plan.command,
        capabilities=driver.capabilities,
        greeting=None,
        seconds=None,
        cases=(),
        leaves=(),
        to_set=None if driver.capabilities.approvals else agent.kind.ask_setting,
    )
    if not isinstance(driver, SpooledDriver):
        return trial  # nothing begins: it is a part of Podium
    first = next(one for one in FREE_CASES if one.number == OPENING)
    missing = await driver.available(agent.plan.command, bench.request().environment)
    if missing is not None:
        why = f"{missing.rstrip('.')}. {agent.remedy}"
        opened = Result(first.number, first.words, "failed", why)
        note(opened)
        return replace(trial, cases=(opened, *_unplayed(_others())))  # none says anything of it
    began = trio.current_time()
    opened = await _result(bench, first)
    seconds = trio.current_time() - began
    note(opened)
    greeting = greeting_of(agent.kind, _spool(bench.last))
    rest = await _rest(bench, opened, note)
    environment = bench.request().environment
    return replace(
        trial,
        greeting=greeting,
        seconds=seconds if opened.verdict == "passed" else None,
        cases=(opened, *rest),
        leaves=(*greeting.leaves, *_traces(agent, environment, bench.root)),
    )


def _others() -> list[FreeCase]:
    return [one for one in FREE_CASES if one.number != OPENING]


def _unplayed(cases: Iterable[FreeCase]) -> list[Result]:
    return [Result(one.number, one.words, "unplayed", "no session opens") for one in cases]


async def _rest(bench: _Bench, opened: Result, note: Callable[[Result], None]) -> list[Result]:
    """Play the other cases, without a session only those that need none; note them in order."""
    cases = _others()
    found: dict[str, Result] = {}
    if opened.verdict != "passed":
        found = {one.number: one for one in _unplayed(case for case in cases if case.opens)}
    limit, waiting = trio.CapacityLimiter(_AT_ONCE), deque(cases)

    def note_in_order() -> None:
        while waiting and waiting[0].number in found:
            note(found[waiting.popleft().number])

    async def play(case: FreeCase) -> None:
        async with limit:
            found[case.number] = await _result(bench, case)
        note_in_order()

    async with trio.open_nursery() as nursery:
        for case in [one for one in cases if one.number not in found]:
            nursery.start_soon(play, case)
        note_in_order()
    return [found[case.number] for case in cases]


async def _result(bench: _Bench, case: FreeCase) -> Result:
    verdict: Verdict = "failed"
    why = f"it took longer than {CASE_SECONDS:g} s"
    with trio.move_on_after(CASE_SECONDS):
        try:
            why = await case.play(bench)
            verdict = "excused" if why else "passed"
        except CaseFailed as failed:
            why = str(failed)
        except OSError as error:  # of this machine or of its disk: the other cases are played
            why = f"it could not be played: {error}"
    return Result(case.number, case.words, verdict, why)


def _spool(directory: str) -> bytes:
    try:
        return Path(directory, SPOOL).read_bytes()
    except OSError:
        return b""


def _traces(agent: ConfiguredAgent, environment: Mapping[str, str], root: Path) -> list[str]:
    """Name the agent's own files that now know of the throwaway directory."""
    found = []
    for path in traces_of(agent.kind, environment):
        try:
            told = str(root / "work").encode() in path.read_bytes()
        except OSError:
            continue
        if told:
            found.append(f"{path} names the throwaway directory {root / 'work'}")
    return found
