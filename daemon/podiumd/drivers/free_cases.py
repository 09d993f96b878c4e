"""The free cases: how an agent begins, and what is refused. They send no prompt.

``podium agent try`` plays them with a person's agent, and the kit of the tests with every driver.
Each begins turns that only open a session (``TurnRequest.opens_only``), so that no model is asked
also where the case fails.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from podiumd.core.analysis.check_agents import Capabilities
from podiumd.core.reply.report import TurnReport
from podiumd.drivers.base import SessionNamed, TurnEvent, TurnRequest

NO_PROGRAM: Final = "podium-no-such-program"
NO_WORD: Final = "podium-no-such-word"
OPENING: Final = "07c"
"""The number of the case that opens a session, and wants nothing else."""

TOO_LONG: Final = 4 << 20
"""Characters of a prompt that no pipe takes at once."""


class Trial(Protocol):
    """An agent in a throwaway directory ``root``."""

    @property
    def root(self) -> Path: ...

    @property
    def capabilities(self) -> Capabilities:
        """Return what the agent can do, by its driver."""
        ...

    def request(self) -> TurnRequest:
        """Make the request of a turn that opens a new session."""
        ...

    async def play(self, request: TurnRequest) -> tuple[TurnReport, list[TurnEvent]]:
        """Play the turn to its end."""
        ...


class CaseFailed(Exception):
    """The agent does not pass a case; the text says why."""


Play = Callable[[Trial], Awaitable[str]]
"""Plays a case. Returns why it says nothing of this agent; empty where it is passed."""


class FreeCase(msgspec.Struct, frozen=True):
    """A case: its number in the kit, and what it holds, in words. ``opens``: what it says of an
    agent in whom no session opens is nothing."""

    number: str
    words: str
    play: Play
    opens: bool


FREE_CASES: Final[list[FreeCase]] = []
"""In the order in which they are shown."""


def _case(number: str, words: str, *, opens: bool = True) -> Callable[[Play], Play]:
    def add(play: Play) -> Play:
        FREE_CASES.append(FreeCase(number, words, play, opens))
        return play

    return add


def _hold(report: TurnReport, condition: bool, wrong: str) -> None:
    if not condition:
        said = f": {report.detail}" if report.detail else ""
        raise CaseFailed(f"{wrong} (the turn ended as {report.kind}{said})")


async def _refused(trial: Trial, request: TurnRequest, word: str, wrong: str) -> TurnReport:
    """Hold that a turn is refused, in words with this one."""
    report, _ = await trial.play(request)
    _hold(report, report.kind in ("failed", "stopped", "api_error"), wrong)
    _hold(report, bool(report.detail) and word in report.detail, f"{wrong} in such words")
    return report


async def _not_begun(trial: Trial, request: TurnRequest, wrong: str) -> None:
    """Hold that a turn is refused before its process begins."""
    report, events = await trial.play(request)
    _hold(report, report.kind == "failed" and bool(report.detail) and not events, wrong)


@_case("01", "a program that is missing is named", opens=False)
async def the_program_is_missing(trial: Trial) -> str:
    request = replace(trial.request(), command=(NO_PROGRAM,))
    report, events = await trial.play(request)
    named = report.kind == "failed" and NO_PROGRAM in report.detail
    _hold(report, named and not events, "it is not told")
    return ""


@_case("02", "a file that is no program is named", opens=False)
async def the_program_cannot_be_executed(trial: Trial) -> str:
    program = trial.root / "no-program"
    program.write_text("no program\n")
    request = replace(trial.request(), command=(str(program),))
    report, events = await trial.play(request)
    named = report.kind == "failed" and str(program) in report.detail
    _hold(report, named and not events, "it is not told")
    return ""


@_case(OPENING, "a session opens, and is named once")
async def a_session_opens(trial: Trial) -> str:
    report, events = await trial.play(trial.request())
    if report.kind != "done":
        raise CaseFailed(report.detail or f"no session opens (the turn ended as {report.kind})")
    names = [one.agent_session_id for one in events if isinstance(one, SessionNamed)]
    wanted = 1 if trial.capabilities.names_sessions else 0
    _hold(report, len(names) == wanted and all(names), f"its session has the names {names}")
    _hold(report, not report.bad_lines, f"{report.bad_lines} of its lines are none of its protocol")
    return ""


@_case("09c", "a session that is not there is never begun anew")
async def a_session_that_is_not_there_is_refused(trial: Trial) -> str:
    name = str(uuid.uuid4())
    request = replace(
        trial.request(), session_mode="resume", session_id=name, agent_session_id=name
    )
    await _refused(trial, request, "", "it is not refused")
    return ""


@_case("09d", "nor is a copy made of one")
async def a_copy_of_what_is_not_there_is_refused(trial: Trial) -> str:
    name = str(uuid.uuid4())
    request = replace(trial.request(), session_mode="fork", fork_from=name, agent_session_id=name)
    await _refused(trial, request, "", "it is not refused")
    return ""


@_case("12b", "a mode that it does not know is refused by its name")
async def a_mode_that_it_does_not_know_is_refused(trial: Trial) -> str:
    if not trial.capabilities.permission_modes:
        return "it has no modes"
    request = replace(trial.request(), permission_mode=NO_WORD)
    await _refused(trial, request, NO_WORD, "it is not refused")
    return ""


@_case("13c", "a model that it does not know is refused by its name")
async def a_model_that_it_does_not_know_is_refused(trial: Trial) -> str:
    report, _ = await trial.play(replace(trial.request(), model=NO_WORD))
    if report.kind == "done":
        return "it says so at the first prompt only"
    _hold(report, report.kind == "failed" and NO_WORD in report.detail, "it is not told so")
    return ""


@_case("15b", "a prompt that is too long is refused before anything is sent", opens=False)
async def a_prompt_that_is_too_long_is_refused(trial: Trial) -> str:
    report, events = await trial.play(replace(trial.request(), prompt="x" * TOO_LONG))
    told = report.kind == "failed" and "attach it as a file" in report.detail
    _hold(report, told and not events, "it is not refused")
    return ""


@_case("12c", "a step that may only read does only that, or is refused")
async def a_step_that_may_only_read(trial: Trial) -> str:
    request = replace(trial.request(), tools="read-only")
    if not trial.capabilities.read_only_tools:
        await _not_begun(trial, request, "it is not refused")
        return ""
    report, _ = await trial.play(request)
    _hold(report, report.kind == "done", "no session opens")
    return ""


@_case("12d", "a list of tools holds, or is refused")
async def a_list_of_tools(trial: Trial) -> str:
    request = replace(trial.request(), tools=("Read",))
    if not trial.capabilities.tool_lists:
        await _not_begun(trial, request, "it is not refused")
        return ""
    report, _ = await trial.play(request)
    _hold(report, report.kind == "done", "no session opens")
    return ""
