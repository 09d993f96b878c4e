"""A driver with one thing broken, for each case that is passed: each is seen to fail.

It is Claude's; Codex's for the cases that Claude's need not pass, and that of the Agent Client
Protocol for those that neither need pass.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import trio
from msgspec.structs import replace

from podiumd.agents.acp import handshake, leave
from podiumd.agents.acp.dialect import AcpDialect
from podiumd.agents.acp.driver import AcpDriver
from podiumd.agents.acp.handshake import Handshake
from podiumd.agents.claude import arguments, dialect, driver, tools
from podiumd.agents.claude.arguments import claude_arguments
from podiumd.agents.claude.dialect import ClaudeDialect
from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.agents.codex import dialect as codex_dialect
from podiumd.agents.codex.dialect import CodexDialect
from podiumd.agents.codex.driver import CodexDriver
from podiumd.agents.codex.others import Others
from podiumd.agents.codex.telling import Telling
from podiumd.core.reply.report import TurnReport
from podiumd.drivers import spooled, spooled_driver
from podiumd.drivers.agent_process import AgentProcess
from podiumd.drivers.base import (
    ApprovalWithdrawn,
    Decision,
    Driver,
    Output,
    PendingTurn,
    PromptState,
    SessionNamed,
    TurnEvent,
    TurnRequest,
    TurnStatus,
)
from podiumd.drivers.dialect import Group
from podiumd.drivers.failed_start import FailedStart
from podiumd.drivers.request_keys import Key, RequestKeys
from podiumd.drivers.spool import SpoolReader
from podiumd.drivers.spooled import SpooledTurn
from podiumd.formats import claude_control, claude_turn, jsonrpc_lines
from podiumd.formats.acp import calls, wire
from podiumd.formats.claude_events import BadLine, ControlRequest, Other
from podiumd.formats.claude_stream import decode
from podiumd.formats.jsonrpc_lines import Answer, Id

Break = Callable[[pytest.MonkeyPatch], None]


class Broken(msgspec.Struct, frozen=True):
    """One thing that is broken, and the numbers of the cases that must notice."""

    name: str
    by: Break
    cases: tuple[str, ...]
    subject: str = "claude"


BROKEN: Final[list[Broken]] = []


def noticed_by(*cases: str, subject: str = "claude") -> Callable[[Break], Break]:
    """Put what breaks a driver into the list."""

    def add(by: Break) -> Break:
        BROKEN.append(Broken(getattr(by, "__name__", ""), by, cases, subject))
        return by

    return add


def _reports(patch: pytest.MonkeyPatch, change: Callable[[TurnReport], TurnReport]) -> None:
    real = ClaudeDialect.report
    patch.setattr(ClaudeDialect, "report", lambda self, ending: change(real(self, ending)))


def _events(patch: pytest.MonkeyPatch, change: Callable[[TurnEvent], TurnEvent | None]) -> None:
    real = ClaudeDialect.feed

    def feed(self: ClaudeDialect, line: bytes) -> Sequence[TurnEvent]:
        return [one for event in real(self, line) if (one := change(event)) is not None]

    patch.setattr(ClaudeDialect, "feed", feed)


@noticed_by(
    *(
        "03",
        "06",
        "09",
        "09c",
        "09d",
        "12b",
        "13",
        "13c",
        "34",
        "34b",
        "35",
        "36",
        "37",
        "38",
        "40b",
        "41b",
    ),
    *("42", "42b", "43", "44", "45", "45b", "45c", "46", "47", "48"),
)
def every_end_is_a_success(patch: pytest.MonkeyPatch) -> None:
    _reports(patch, lambda report: replace(report, kind="done"))


@noticed_by("07c")
def a_trial_sends_a_prompt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(driver, "OPENING", claude_control.user_message("go", str(uuid.uuid4())))


@noticed_by("12c", "12d")
def a_step_with_fewer_tools_does_not_begin(patch: pytest.MonkeyPatch) -> None:
    def _tools(request: TurnRequest) -> list[str]:
        if request.tools != "all":
            raise ValueError("no")
        return []

    patch.setattr(arguments, "_tools", _tools)


def _without_words(report: TurnReport) -> TurnReport:
    return replace(report, detail="it failed")


@noticed_by("01", "02", "15b")
def a_start_that_fails_has_no_words(patch: pytest.MonkeyPatch) -> None:
    real = FailedStart
    patch.setattr(spooled_driver, "FailedStart", lambda report: real(_without_words(report)))


@noticed_by("14", "14b", "23", "23c", "33", "45c", "57")
def nothing_is_told_of_its_work(patch: pytest.MonkeyPatch) -> None:
    _events(patch, lambda event: None if isinstance(event, Output) else event)


@noticed_by("15", "16")
def a_prompt_is_tidied_and_cut(patch: pytest.MonkeyPatch) -> None:
    real = claude_control.user_message

    def user_message(text: str, uuid: str, images: Any = ()) -> bytes:
        return real(" ".join(text.split())[:1000], uuid, images)

    patch.setattr(claude_control, "user_message", user_message)


@noticed_by("17", "17b")
def images_are_left_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(driver, "inline", lambda images: ())


@noticed_by("17c", subject="acp")
def it_is_not_asked_whether_it_takes_images(patch: pytest.MonkeyPatch) -> None:
    seeing = wire.PromptCapabilities(image=True)
    real: Any = vars(handshake)["read"]

    def read(kind: Any, value: object) -> Any:
        found = real(kind, value)
        if isinstance(found, wire.InitializeResponse):
            can = replace(found.agent_capabilities, prompt_capabilities=seeing)
            return replace(found, agent_capabilities=can)
        return found

    patch.setattr(handshake, "read", read)


@noticed_by("07b", "08", "08b", "09b")
def each_turn_has_a_session_of_its_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arguments, "_session", lambda request: ["--session-id", str(uuid.uuid4())])


@noticed_by("16b", "60")
def the_fate_of_messages_is_not_told(patch: pytest.MonkeyPatch) -> None:
    _events(patch, lambda event: None if isinstance(event, PromptState) else event)


@noticed_by("18")
def an_answer_by_schema_is_dropped(patch: pytest.MonkeyPatch) -> None:
    _reports(patch, lambda report: replace(report, structured=None))


@noticed_by("19")
def a_turn_without_words_is_broken(patch: pytest.MonkeyPatch) -> None:
    def change(report: TurnReport) -> TurnReport:
        return report if report.texts else replace(report, kind="broken")

    _reports(patch, change)


@noticed_by("20")
def what_comes_after_the_end_undoes_it(patch: pytest.MonkeyPatch) -> None:
    unfinished = property(lambda self: self._active_since_result)
    patch.setattr(claude_turn.TurnReader, "_unfinished", unfinished)


@noticed_by("21")
def what_is_not_known_is_a_hole(patch: pytest.MonkeyPatch) -> None:
    def strict(line: bytes) -> Any:
        event = decode(line)
        return BadLine("unknown", len(line)) if isinstance(event, Other) else event

    patch.setattr(dialect, "decode", strict)


@noticed_by("22")
def a_request_that_nobody_knows_is_left_waiting(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(tools.ServedTools, "refuse_unknown", lambda self, request: None)


@noticed_by("23b")
def its_use_is_not_counted(patch: pytest.MonkeyPatch) -> None:
    _reports(patch, lambda report: replace(report, cost_usd=0.0, tokens=None))


@noticed_by("24", "25", "27", "31", "51")
def leave_is_given_without_asking(patch: pytest.MonkeyPatch) -> None:
    def allows(self: tools.ServedTools, request: ControlRequest) -> bool:
        line = claude_control.allow(request.request_id)
        self._due[request.request_id] = tools._Due(line, request.tool_use_id)
        return True

    patch.setattr(tools.ServedTools, "allows", allows)


@noticed_by("26")
def leave_for_good_is_a_no(patch: pytest.MonkeyPatch) -> None:
    real = dialect._answer_line

    def answer_line(request: ControlRequest, decision: Decision) -> bytes:
        return real(request, Decision("deny") if decision.rule else decision)

    patch.setattr(dialect, "_answer_line", answer_line)


@noticed_by("28")
def a_withdrawal_is_not_told(patch: pytest.MonkeyPatch) -> None:
    _events(patch, lambda event: None if isinstance(event, ApprovalWithdrawn) else event)


@noticed_by("29")
def an_answer_can_be_sent_once_only(patch: pytest.MonkeyPatch) -> None:
    real = ClaudeDialect.answer

    def answer(self: ClaudeDialect, request_id: str, decision: Decision) -> Any:
        known = request_id in self._answers
        return None if known else real(self, request_id, decision)

    patch.setattr(ClaudeDialect, "answer", answer)


@noticed_by("29b")
def an_answer_to_nothing_counts(patch: pytest.MonkeyPatch) -> None:
    real = ClaudeDialect.answer

    def answer(self: ClaudeDialect, request_id: str, decision: Decision) -> Any:
        return real(self, request_id, decision) or ()

    patch.setattr(ClaudeDialect, "answer", answer)


def _passes_over(patch: pytest.MonkeyPatch, unheard: Callable[[str], bool]) -> None:
    real = ClaudeDialect.feed

    def feed(self: ClaudeDialect, line: bytes) -> Sequence[TurnEvent]:
        event = decode(line)
        if isinstance(event, ControlRequest) and unheard(event.request_id):
            return []
        return real(self, line)

    patch.setattr(ClaudeDialect, "feed", feed)


@noticed_by("31", "36")
def the_id_0_is_none(patch: pytest.MonkeyPatch) -> None:
    _passes_over(patch, lambda request_id: request_id == "0")


@noticed_by("31b")
def an_id_is_a_number(patch: pytest.MonkeyPatch) -> None:
    _passes_over(patch, lambda request_id: not request_id.isdigit())


@noticed_by("31c")
def an_id_is_answered_once_for_all_time(patch: pytest.MonkeyPatch) -> None:
    known: set[str] = set()

    def unheard(request_id: str) -> bool:
        again = request_id in known
        known.add(request_id)
        return again

    _passes_over(patch, unheard)


@noticed_by("32", "32b")
def the_answer_to_a_call_is_lost(patch: pytest.MonkeyPatch) -> None:
    real = tools.ServedTools.reply

    def reply(self: tools.ServedTools, call_id: str, text: str, success: bool) -> Any:
        return real(self, call_id, "nothing", True)

    patch.setattr(tools.ServedTools, "reply", reply)


@noticed_by("32d")
def a_call_of_what_is_not_served_is_none(patch: pytest.MonkeyPatch) -> None:
    real = tools.ServedTools._message

    def message(self: tools.ServedTools, event: Any, size: int) -> Any:
        return [] if "transition" in str(event.message) else real(self, event, size)

    patch.setattr(tools.ServedTools, "_message", message)


@noticed_by("33b")
def what_the_step_allows_is_not_passed_on(patch: pytest.MonkeyPatch) -> None:
    real = claude_arguments
    patch.setattr(driver, "claude_arguments", lambda request: real(replace(request, allow=())))


@noticed_by("39")
def nothing_is_swept(patch: pytest.MonkeyPatch) -> None:
    async def end_leftovers(turn_id: str, directory: Any) -> tuple[str, ...]:
        return ()

    patch.setattr(spooled, "end_leftovers", end_leftovers)


@noticed_by("40")
def nothing_is_killed(patch: pytest.MonkeyPatch) -> None:
    nothing_is_swept(patch)
    patch.setattr(AgentProcess, "signal", lambda self, number: None)


@noticed_by("41")
def a_question_is_silence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ClaudeDialect, "waits_for_answer", False)


@noticed_by("41b")
def a_retry_is_work(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dialect, "_is_idle", lambda event: False)


@noticed_by("13b")
def all_turns_have_one_spool(patch: pytest.MonkeyPatch) -> None:
    first: list[Path] = []

    def reader(path: Path) -> SpoolReader:
        first.append(path)
        return SpoolReader(first[0])

    patch.setattr(spooled, "SpoolReader", reader)


BROKEN_OFF: Final = TurnStatus(state="broken", report=TurnReport(kind="broken"))


def _inspected(
    patch: pytest.MonkeyPatch, status: TurnStatus, driver: type[Driver] = ClaudeDriver
) -> None:
    async def inspect(self: Driver, pending: PendingTurn) -> TurnStatus:
        return status

    patch.setattr(driver, "inspect", inspect)


@noticed_by(*(f"50.{number:02}" for number in range(11)), "32c", "53", "55", "56", "57")
def whatever_was_going_on_is_broken(patch: pytest.MonkeyPatch) -> None:
    _inspected(patch, BROKEN_OFF)


@noticed_by("54")
def what_an_agent_had_begun_with_is_nothing(patch: pytest.MonkeyPatch) -> None:
    _inspected(patch, TurnStatus(state="absent"))


@noticed_by("52")
def open_questions_are_forgotten_when_a_turn_is_taken_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ClaudeDialect, "attached", lambda self: self.reader.approvals.clear())


@noticed_by("59")
def the_agent_inherits_no_lock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TurnRequest, "inherited", ())


@noticed_by("60")
def words_have_another_id_each_time(patch: pytest.MonkeyPatch) -> None:
    real = claude_control.user_message

    def prompt(self: ClaudeDialect, text: str, name: str) -> tuple[bytes, ...]:
        return (real(text, name if text == "go" else str(uuid.uuid4())),)

    patch.setattr(ClaudeDialect, "prompt", prompt)


@noticed_by("04", subject="codex")
def a_line_that_is_no_json_breaks_the_turn(patch: pytest.MonkeyPatch) -> None:
    real = CodexDialect.report

    def report(self: CodexDialect, ending: Any) -> TurnReport:
        made = real(self, ending)
        return replace(made, kind="broken") if made.bad_lines else made

    patch.setattr(CodexDialect, "report", report)


@noticed_by("07", subject="codex")
def the_name_of_a_session_is_not_told(patch: pytest.MonkeyPatch) -> None:
    real = CodexDialect.feed

    def feed(self: CodexDialect, line: bytes) -> Sequence[TurnEvent]:
        return [event for event in real(self, line) if not isinstance(event, SessionNamed)]

    patch.setattr(CodexDialect, "feed", feed)


@noticed_by("49", subject="codex")
def an_error_beside_a_result_is_none(patch: pytest.MonkeyPatch) -> None:
    real = jsonrpc_lines.read

    def read_line(line: bytes) -> Any:
        message = real(line)
        raw = msgspec.json.decode(line)
        if isinstance(message, Answer) and "result" in raw:
            return Answer(message.id, raw["result"])
        return message

    patch.setattr(codex_dialect, "read_line", read_line)


@noticed_by("27b", subject="acp")
@noticed_by("27b", subject="codex")
def the_id_of_a_request_is_its_key(patch: pytest.MonkeyPatch) -> None:
    def add(self: RequestKeys, id: Id) -> Key:
        return Key(str(id), None)

    def of(self: RequestKeys, id: Id) -> str:
        return str(id)

    patch.setattr(RequestKeys, "add", add)
    patch.setattr(RequestKeys, "of", of)


@noticed_by("58", subject="codex")
def what_has_no_answered_mark_is_written_again(patch: pytest.MonkeyPatch) -> None:
    real = CodexDialect.replies

    def replies(self: CodexDialect) -> Sequence[Group]:
        return [group for one in real(self) for group in (one, one)]

    patch.setattr(CodexDialect, "replies", replies)


@noticed_by("50.11", "50.12", subject="codex")
def a_turn_of_codex_that_was_going_on_is_broken(patch: pytest.MonkeyPatch) -> None:
    _inspected(patch, BROKEN_OFF, CodexDriver)


@noticed_by("50.13", "50.14", subject="acp")
def a_turn_of_the_protocol_that_was_going_on_is_broken(patch: pytest.MonkeyPatch) -> None:
    _inspected(patch, BROKEN_OFF, AcpDriver)


@noticed_by("73", "73b", subject="acp")
def an_agent_that_was_asked_to_close_its_session_is_ended_at_once(
    patch: pytest.MonkeyPatch,
) -> None:
    async def until(self: SpooledTurn, done: Callable[[], bool]) -> None:
        await trio.lowlevel.checkpoint()

    patch.setattr(SpooledTurn, "_until", until)


@noticed_by("73c", subject="acp")
def a_session_is_not_closed_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AcpDialect, "end", lambda self: ())


@noticed_by("05", subject="acp")
def any_version_of_the_protocol_will_do(patch: pytest.MonkeyPatch) -> None:
    real = Handshake._greeted

    def greeted(self: Handshake, about: wire.InitializeResponse) -> None:
        real(self, replace(about, protocol_version=wire.VERSION))

    patch.setattr(Handshake, "_greeted", greeted)


@noticed_by("10", subject="acp")
def what_is_said_before_the_prompt_is_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AcpDialect, "_past", False)


@noticed_by("10b", subject="acp")
def the_past_ends_where_the_session_is_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(AcpDialect, "_past", property(lambda self: not self._planned))


@noticed_by("11", subject="acp")
def a_session_that_is_opened_has_to_be_described(patch: pytest.MonkeyPatch) -> None:
    real = Handshake.answered

    def answered(self: Handshake, name: str, answer: Answer) -> None:
        if name == calls.OPEN and answer.error is None and answer.result is None:
            self._refuse("opened, and nothing said of it")
        real(self, name, answer)

    patch.setattr(Handshake, "answered", answered)


@noticed_by("12", subject="acp")
def a_mode_that_was_set_is_believed(patch: pytest.MonkeyPatch) -> None:
    def see_mode(self: Handshake) -> None:
        if self._mode_answered and not self.ready:
            self._set_model()

    patch.setattr(Handshake, "_see_mode", see_mode)


@noticed_by("30", subject="acp")
def leave_for_good_stands_in_for_leave_for_once(patch: pytest.MonkeyPatch) -> None:
    real = leave.once

    def once(options: Sequence[wire.PermissionOption], behavior: Any) -> str:
        always = (one.option_id for one in options if one.kind == f"{behavior}_always")
        return real(options, behavior) or next(always, "")

    patch.setattr(leave, "once", once)


@noticed_by("71", subject="codex")
def a_queue_is_left_to_itself(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CodexDialect, "_begin_queued", lambda self: None)


@noticed_by("71b", subject="codex")
def what_ends_with_the_process_is_not_named(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Others, "cut_off", lambda self: ())


@noticed_by("72", subject="codex")
def who_asks_is_not_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Telling, "name_of", lambda self, thread_id: "")
