"""The dialect of the Agent Client Protocol, line by line: what a kit's agent does not do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podiumd.agents.acp import leave
from podiumd.agents.acp.dialect import AcpDialect
from podiumd.agents.acp.kind import known_agents
from podiumd.agents.acp.script import Script
from podiumd.core.analysis.check_agents import Described
from podiumd.drivers.base import (
    AgentDescribed,
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    Output,
    SessionNamed,
    TurnEvent,
)
from podiumd.drivers.dialect import Ending
from podiumd.formats.acp.wire import PermissionOption, ToolCall

RETRIED = "Info: Request failed due to a transient API error. Retrying..."
ASKS: dict[str, Any] = {"mode": "default"}
OPTIONS = [
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def script(**fields: Any) -> Script:
    usual: dict[str, Any] = {
        "agent": "fake",
        "how": "new",
        "session": "",
        "cwd": "/w",
        "servers": (),
        "prompt": "go",
        "uuid": "u",
    }
    return Script(**{**usual, **fields})


class Talk:
    """A dialect, and an agent that answers as it is told."""

    def __init__(self, **fields: Any) -> None:
        self.dialect = AcpDialect(script(**fields))
        self.sent: list[dict[str, Any]] = []
        self.events: list[TurnEvent] = []

    def say(self, message: dict[str, Any]) -> list[TurnEvent]:
        events = list(self.dialect.feed(json.dumps({"jsonrpc": "2.0", **message}).encode()))
        self.events += events
        for group in self.dialect.replies():
            self.sent += [json.loads(line) for line in group]
        return events

    def answer(self, name: str, result: Any) -> list[TurnEvent]:
        return self.say({"id": name, "result": result})

    def refuse(self, name: str, code: int, message: str) -> list[TurnEvent]:
        return self.say({"id": name, "error": {"code": code, "message": message}})

    def update(self, kind: str, **fields: Any) -> list[TurnEvent]:
        update = {"sessionUpdate": kind, **fields}
        return self.say(
            {"method": "session/update", "params": {"sessionId": "s", "update": update}}
        )

    def text(self, words: str) -> list[TurnEvent]:
        return self.update("agent_message_chunk", content={"type": "text", "text": words})

    def greet(self, **can: Any) -> None:
        capabilities = {"loadSession": False, "sessionCapabilities": {}, **can}
        about = {"protocolVersion": 1, "agentCapabilities": capabilities}
        self.answer("initialize", {**about, "agentInfo": {"name": "f", "version": "9"}})

    def open(self, **about: Any) -> None:
        self.greet()
        self.answer("open", {"sessionId": "s", **about})

    def prompted(self) -> Talk:
        """Have the prompt arrive."""
        for name in ("f:prompt", "m:prompt"):
            self.refuse(name, -32601, "no such method")
        return self

    def ask(
        self, call: dict[str, Any], options: Any = OPTIONS, key: int | str = 0
    ) -> list[TurnEvent]:
        params = {"sessionId": "s", "options": options, "toolCall": {"toolCallId": "c", **call}}
        return self.say({"id": key, "method": "session/request_permission", "params": params})

    @property
    def methods(self) -> list[str]:
        return [one["method"] for one in self.sent if not one.get("method", "_").startswith("_")]

    @property
    def chosen(self) -> list[str]:
        answers = [one for one in self.sent if "result" in one]
        return [one["result"]["outcome"].get("optionId", "cancelled") for one in answers]


def modes(now: str = "auto") -> dict[str, Any]:
    there = [{"id": mode} for mode in ("default", "plan", "auto")]
    return {"modes": {"currentModeId": now, "availableModes": there}}


def test_the_prompt_waits_until_the_agent_says_that_it_is_in_the_mode() -> None:
    talk = Talk(**ASKS)
    talk.open(**modes())
    assert talk.methods == ["session/new", "session/set_mode"]
    talk.answer("mode", {})
    assert "session/prompt" not in talk.methods
    talk.update("current_mode_update", currentModeId="default")
    assert talk.methods[-1] == "session/prompt"


@pytest.mark.parametrize(
    ("can", "lacks"),
    [
        ({}, ("fork", "resume")),
        ({"loadSession": True}, ("fork",)),
        ({"sessionCapabilities": {"fork": {}, "resume": {}}}, ()),
    ],
)
def test_what_it_says_of_itself_is_told_once_when_its_session_is_open(
    can: dict[str, Any], lacks: tuple[str, ...]
) -> None:
    talk = Talk(**ASKS)
    talk.greet(**can)
    assert talk.events == []
    talk.answer("open", {"sessionId": "s", **modes()})
    [told] = talk.events
    assert isinstance(told, AgentDescribed)
    about = told.about
    assert (about.version, about.lacks, about.modes) == ("9", lacks, ("default", "plan", "auto"))
    talk.answer("mode", {})
    assert len([one for one in talk.events if isinstance(one, AgentDescribed)]) == 1


def test_what_it_lacks_is_told_where_that_refuses_the_turn_and_no_more_of_it_than_is_of_use() -> (
    None
):
    talk = Talk(how="fork", session="s")
    about = {"protocolVersion": 1, "agentInfo": {"name": "f", "version": "9" * 1000}}
    talk.answer("initialize", about)
    assert talk.events == [AgentDescribed(Described("9" * 80, ("fork", "resume")))]
    assert "does not copy sessions" in talk.dialect.hopeless
    many = Talk(**ASKS)
    there = [{"id": f"mode-{number}"} for number in range(1000)]
    many.open(modes={"currentModeId": "default", "availableModes": there})
    [told] = many.events
    assert isinstance(told, AgentDescribed) and len(told.about.modes) == 50


def test_a_mode_that_nothing_confirms_is_not_worked_in() -> None:
    talk = Talk(**ASKS)
    talk.open(**modes())
    talk.answer("mode", {})
    talk.refuse("f:mode", -32601, "no such method")
    assert "stays in mode 'auto'" in talk.dialect.hopeless
    assert "session/prompt" not in talk.methods


def test_an_agent_that_confirms_by_its_answer_is_taken_at_its_word() -> None:
    talk = Talk(**ASKS, mode_confirm="answer")
    talk.open(**modes())
    talk.answer("mode", {})
    assert talk.methods[-1] == "session/prompt"


@pytest.mark.parametrize("wanted", ["mode", "model"])
def test_what_it_does_not_know_is_named_with_what_it_has(wanted: str) -> None:
    talk = Talk(**{wanted: "gigantic"})
    models = {"currentModelId": "m", "availableModels": [{"modelId": "m"}]}
    talk.open(**modes(), models=models)
    assert f"knows no {wanted} 'gigantic' (it has: " in talk.dialect.hopeless
    assert "session/prompt" not in talk.methods


@pytest.mark.parametrize("step", ["mode", "model"])
def test_what_it_refuses_is_told(step: str) -> None:
    talk = Talk(mode="plan", model="m")
    models = {"currentModelId": "m", "availableModels": [{"modelId": "m"}]}
    talk.open(**modes("plan"), models=models)
    if step == "model":
        talk.answer("mode", {})
    talk.refuse(step, -32602, "not today")
    assert "not today" in talk.dialect.hopeless and "session/prompt" not in talk.methods


def test_a_login_that_is_missing_is_told_with_its_command() -> None:
    talk = Talk(login="fake login")
    talk.greet()
    talk.refuse("open", -32000, "Authentication required")
    assert "run 'fake login' in a terminal" in talk.dialect.hopeless


def test_an_agent_that_does_not_go_on_with_sessions_says_so() -> None:
    talk = Talk(how="resume", session="s")
    talk.greet()
    assert talk.dialect.hopeless == "fake 9 does not go on with sessions" and talk.methods == []


def test_what_it_sends_of_the_past_is_none_of_this_turn_however_late() -> None:
    talk = Talk(how="resume", session="s")
    talk.greet(loadSession=True)
    assert talk.methods == ["session/load"]
    talk.text("the past ")
    talk.answer("open", None)
    assert talk.methods[-1] == "session/prompt"
    talk.text("the late past ")
    talk.prompted()
    talk.text("now")
    talk.answer("prompt", {"stopReason": "end_turn"})
    words = [one.delta for one in talk.events if isinstance(one, Output)]
    assert words == ["now"] and talk.dialect.report(Ending()).texts == ("now",)
    named = next(one for one in talk.events if isinstance(one, SessionNamed))
    assert named.agent_session_id == "s"


def test_a_cancel_carries_the_answers_to_all_that_is_open() -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    talk.ask({"kind": "execute"}, key=0)
    talk.ask({"kind": "edit"}, key=1)
    lines = [json.loads(line) for line in talk.dialect.interrupt()]
    assert lines[0]["method"] == "session/cancel" and [one["id"] for one in lines[1:]] == [0, 1]
    assert all(one["result"]["outcome"] == {"outcome": "cancelled"} for one in lines[1:])
    assert not talk.dialect.waits_for_answer


def ended(talk: Talk) -> list[str]:
    return [json.loads(line)["method"] for line in talk.dialect.end()]


CLOSES: dict[str, Any] = {"sessionCapabilities": {"close": {}}}


@pytest.mark.parametrize("stopped", [False, True])
def test_a_session_is_closed_once_however_its_turn_ended(stopped: bool) -> None:
    talk = Talk()
    talk.greet(**CLOSES)
    talk.answer("open", {"sessionId": "s"})
    talk.prompted()
    if stopped:
        talk.dialect.interrupt()
    talk.answer("prompt", {"stopReason": "cancelled" if stopped else "end_turn"})
    assert ended(talk) == ["session/close"] and not talk.dialect.closed
    talk.refuse("close", -32603, "it was closed before")
    assert talk.dialect.closed and ended(talk) == []


@pytest.mark.parametrize(("can", "prompted"), [({}, True), (CLOSES, False)])
def test_nothing_is_asked_of_one_that_cannot_close_or_was_not_prompted(
    can: dict[str, Any], prompted: bool
) -> None:
    talk = Talk(**({} if prompted else ASKS))
    talk.greet(**can)
    talk.answer("open", {"sessionId": "s", **modes()})
    assert ("session/prompt" in talk.methods) is prompted
    assert ended(talk) == []


def test_leave_that_is_asked_for_outside_of_the_turn_is_refused_and_shown_to_no_one() -> None:
    talk = Talk(allow=("Bash(make)",))
    talk.greet()
    for script in ("ls", "make"):
        assert talk.ask(runs(script), key=script) == []
    talk.answer("open", {"sessionId": "s"})
    talk.prompted()
    talk.answer("prompt", {"stopReason": "end_turn"})
    assert talk.ask(runs("ls"), key="after") == [] and not talk.dialect.waits_for_answer
    assert talk.chosen == ["cancelled"] * 3


def runs(script: str) -> dict[str, Any]:
    return {"toolCallId": script, "kind": "execute", "rawInput": {"command": script}}


def test_a_second_request_with_an_open_id_is_refused_and_so_is_the_first() -> None:
    """Whichever of them the agent took an answer for, neither would be what the person saw."""
    talk = Talk(allow=("Bash(make)",))
    talk.open()
    talk.prompted()
    (asked,) = talk.ask(runs("ls"), key=7)
    assert isinstance(asked, ApprovalRequested)
    assert ApprovalWithdrawn(asked.request_id) in talk.ask(runs("rm -rf important"), key=7)
    assert talk.chosen == ["cancelled", "cancelled"] and not talk.dialect.waits_for_answer
    assert talk.dialect.answer(asked.request_id, Decision("allow")) is None
    for script in ("ls", "make"):  # what is allowed too: another may be open under that id still
        assert not [one for one in talk.ask(runs(script), key=7) if isinstance(one, type(asked))]
    assert talk.chosen == ["cancelled"] * 4


def test_an_id_that_is_used_again_after_its_answer_is_another_question() -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    names = []
    for script in ("ls", "rm -rf important"):
        (asked,) = talk.ask(runs(script), key=1)
        assert isinstance(asked, ApprovalRequested) and asked.input == {"command": script}
        assert talk.dialect.waits_for_answer and [*talk.dialect.open_requests()] == [asked]
        assert talk.dialect.answer(asked.request_id, Decision("allow"))
        names.append(asked.request_id)
    assert len(set(names)) == 2
    assert talk.dialect.answer(names[0], Decision("allow")) is None, "it would be the other's"


def test_what_was_answered_unasked_is_not_answered_again_under_an_id_that_has_another_request() -> (
    None
):
    talk = Talk(allow=("Bash(make)",))
    talk.open()
    talk.prompted()
    for script in ("make", "rm -rf important"):  # as the next daemon reads them, at once
        asked = {"options": OPTIONS, "toolCall": runs(script)}
        line = {"id": 1, "method": "session/request_permission", "params": asked}
        talk.dialect.feed(json.dumps(line).encode())
    assert talk.dialect.replies() == [] and talk.dialect.waits_for_answer


def test_an_id_that_is_a_number_and_one_that_is_a_text_are_two() -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    (first,) = talk.ask(runs("ls"), key=1)
    (second,) = talk.ask(runs("pwd"), key="1")
    assert isinstance(first, ApprovalRequested) and isinstance(second, ApprovalRequested)
    for asked, key in ((second, "1"), (first, 1)):
        (line,) = talk.dialect.answer(asked.request_id, Decision("allow")) or ()
        assert json.loads(line)["id"] == key


def test_without_an_answer_for_once_the_turn_is_stopped() -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    (asked,) = talk.ask({"kind": "execute"}, OPTIONS[1:])
    assert isinstance(asked, ApprovalRequested)
    lines = talk.dialect.answer(asked.request_id, Decision("allow")) or ()
    assert next(json.loads(line).get("method") for line in lines) == "session/cancel"
    assert talk.dialect.report(Ending()).kind == "failed"


def test_a_command_is_judged_by_what_it_is_given_and_never_by_a_title() -> None:
    talk = Talk(allow=("Bash(git status)",))
    talk.open()
    talk.prompted()
    assert talk.ask({"kind": "execute", "title": "git status"}) != []
    assert talk.ask({"kind": "execute", "rawInput": {"command": "git status"}}, key=1) == []
    assert talk.chosen == ["once"]


@pytest.mark.parametrize(
    "beside",
    [
        {"description": "Make it.", "timeout": 5, "is_background": False},
        {"cwd": "/w", "commands": ["make it"], "env": {}, "args": None},
    ],
)
def test_a_rule_covers_a_command_with_what_makes_no_other_of_it(beside: dict[str, Any]) -> None:
    talk = Talk(allow=("Bash(make it)",))
    talk.open()
    talk.prompted()
    given = {"command": "make it", **beside}
    assert talk.ask({"kind": "execute", "rawInput": given}) == [] and talk.chosen == ["once"]


@pytest.mark.parametrize(
    "beside",
    [
        {"args": ["&&", "rm", "-rf", "/"]},
        {"env": {"PATH": "."}},
        {"cwd": "/etc"},
        {"commands": ["make it", "rm x"]},
        {"input": "yes"},
    ],
)
def test_a_rule_does_not_cover_a_command_that_something_beside_it_changes(
    beside: dict[str, Any],
) -> None:
    talk = Talk(allow=("Bash(make it)",))
    talk.open()
    talk.prompted()
    (asked,) = talk.ask({"kind": "execute", "rawInput": {"command": "make it", **beside}})
    assert isinstance(asked, ApprovalRequested) and talk.chosen == []


@pytest.mark.parametrize("kind", ["read", "think", "search"])
@pytest.mark.parametrize("command", ["rm -rf ~", ["rm", "-rf", "x"]])
def test_what_is_given_a_command_does_not_only_read(kind: str, command: Any) -> None:
    call = {"kind": kind, "rawInput": {"command": command}}
    talk = Talk(tools="read-only")
    talk.open()
    talk.prompted()
    assert talk.ask(call) == [] and talk.chosen == ["no"]
    talk = Talk(allow=("Read", "Think", "Grep"))
    talk.open()
    talk.prompted()
    (asked,) = talk.ask(call)
    assert isinstance(asked, ApprovalRequested) and asked.tool == "Bash"


def test_what_may_only_read_is_denied_the_rest() -> None:
    talk = Talk(tools="read-only")
    talk.open()
    talk.prompted()
    for key, kind in enumerate(("read", "execute", "edit", "other")):
        assert talk.ask({"toolCallId": kind, "kind": kind}, key=key) == []
    assert talk.chosen == ["once", "no", "no", "no"]
    assert [one.tool for one in talk.dialect.report(Ending()).denials] == ["Bash", "Edit", "other"]


@pytest.mark.parametrize(
    ("quirks", "title", "chosen"),
    [
        (("names-own-tools",), "mcp__podium__save", ["once"]),
        (("names-own-tools",), "mcp__podium__transition", ["no"]),
        (("names-own-tools",), "mcp__other__save", []),
        ((), "mcp__podium__save", []),
    ],
)
def test_a_tool_of_ours_is_accepted_where_its_title_proves_it(
    quirks: tuple[str, ...], title: str, chosen: list[str]
) -> None:
    talk = Talk(quirks=quirks, served=("save",))
    talk.open()
    talk.prompted()
    talk.ask({"kind": "other", "title": title})
    assert talk.chosen == chosen


def test_a_command_with_the_title_of_a_tool_of_ours_is_asked_about() -> None:
    talk = Talk(quirks=("names-own-tools",), served=("save",))
    talk.open()
    talk.prompted()
    assert talk.ask({"kind": "execute", "title": "mcp__podium__save"}) != []


@pytest.mark.parametrize(
    ("text", "kind", "status"),
    [
        ("Error: Authentication failed (HTTP 401).", "api_error", 401),
        (f"{RETRIED * 2}Error: Authentication failed (HTTP 401).", "api_error", 401),
        (RETRIED, "api_error", None),
        ("exceeded retry limit, last status: 429 Too Many Requests", "api_error", 429),
        ("Error handling is better now.", "done", None),
    ],
)
def test_a_failure_that_comes_as_the_answer_is_none(
    text: str, kind: str, status: int | None
) -> None:
    for quirks in (("errors-as-text",), ()):
        talk = Talk(quirks=quirks)
        talk.open()
        talk.prompted()
        talk.text(text)
        talk.answer("prompt", {"stopReason": "end_turn", "usage": {"outputTokens": 0}})
        report = talk.dialect.report(Ending())
        assert (report.kind, report.api_status) == ((kind, status) if quirks else ("done", None))


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("max_tokens", "failed"), ("refusal", "failed"), ("cancelled", "interrupted")],
)
def test_an_end_that_is_no_success(reason: str, kind: str) -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    talk.answer("prompt", {"stopReason": reason})
    assert talk.dialect.report(Ending()).kind == kind


def usd(amount: float) -> dict[str, Any]:
    return {"used": 1, "size": 2, "cost": {"amount": amount, "currency": "USD"}}


@pytest.mark.parametrize("late", [False, True])
def test_a_turn_costs_what_the_session_costs_more_than_before(*, late: bool) -> None:
    talk = Talk()
    talk.greet()
    talk.update("usage_update", **usd(0.5))
    talk.answer("open", {"sessionId": "s"})
    talk.prompted()
    euros = {"amount": 9.0, "currency": "EUR"}
    talk.update("usage_update", used=1, size=2, cost=euros)
    if not late:
        talk.update("usage_update", **usd(0.75))
    talk.answer("prompt", {"stopReason": "end_turn"})
    if late:
        talk.update("usage_update", **usd(0.75))
    assert talk.dialect.report(Ending()).cost_usd == 0.25


def test_a_plan_is_shown_in_one_line() -> None:
    talk = Talk()
    talk.open()
    talk.prompted()
    steps = [("Look\naround", "completed"), ("Mend it", "in_progress"), ("Rest", "pending")]
    entries = [{"content": content, "status": status} for content, status in steps]
    (shown,) = talk.update("plan", entries=entries)
    assert shown == Output("", "status", "plan: ✓ Look around; ▶ Mend it; - Rest")
    assert talk.update("plan", entries=[]) == []


def test_that_the_agent_waits_before_it_begins_is_shown() -> None:
    line = {"method": "_podium/status", "params": {"text": "waiting 9 s"}}
    assert Talk().say(line) == [Output("", "status", "waiting 9 s")]


def option(now: str) -> dict[str, Any]:
    """An open session whose option ``allow_all`` has this value."""
    about = {"id": "allow_all", "category": "permissions", "currentValue": now}
    return {**modes("default"), "configOptions": [about]}


def test_an_option_is_set_and_read_back_before_the_prompt() -> None:
    talk = Talk(**ASKS, options={"allow_all": "off"})
    talk.open(**option("on"))
    talk.answer("mode", {})
    assert talk.methods[-1] == "session/set_config_option"
    assert talk.sent[-2]["params"] == {"sessionId": "s", "configId": "allow_all", "value": "off"}
    talk.answer("option:allow_all", {"configOptions": option("off")["configOptions"]})
    assert talk.methods[-1] == "session/prompt"


def test_an_option_that_has_its_value_is_left_alone() -> None:
    talk = Talk(**ASKS, options={"allow_all": "off"})
    talk.open(**option("off"))
    talk.answer("mode", {})
    assert talk.methods[-1] == "session/prompt"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"result": {"configOptions": option("on")["configOptions"]}}, "does not take 'off'"),
        ({"error": {"code": -32602, "message": "no"}}, "does not set its option 'allow_all': no"),
    ],
)
def test_an_option_that_keeps_its_value_lets_nothing_be_prompted(
    answer: dict[str, Any], words: str
) -> None:
    talk = Talk(**ASKS, options={"allow_all": "off"})
    talk.open(**option("on"))
    talk.answer("mode", {})
    talk.say({"id": "option:allow_all", **answer})
    assert words in talk.dialect.hopeless and "session/prompt" not in talk.methods


def test_an_option_that_the_agent_has_not_lets_nothing_be_prompted() -> None:
    talk = Talk(**ASKS, options={"allow_all": "off"})
    talk.open(**modes("default"))
    talk.answer("mode", {})
    assert "has no option 'allow_all'" in talk.dialect.hopeless


@pytest.mark.parametrize(("name", "asked"), [("mcp__podium__save", False), ("mcp__x__save", True)])
def test_an_agent_may_name_a_tool_of_ours_beside_its_title(name: str, *, asked: bool) -> None:
    talk = Talk(quirks=("meta-names-tools",), served=("save",))
    talk.open()
    talk.prompted()
    call = {"kind": "other", "title": "{}", "_meta": {"toolName": name}}
    assert bool(talk.ask(call)) is asked


def test_of_two_answers_for_once_the_one_that_changes_no_mode_is_taken() -> None:
    options = [
        PermissionOption("switch", "Switch to Default Mode and allow once", "allow_once"),
        PermissionOption("once", "Allow", "allow_once"),
    ]
    assert leave.once(options, "allow") == "once" and leave.once(options, "deny") == ""


def test_a_tool_without_a_kind_has_its_own_name() -> None:
    assert leave.tool_of(ToolCall(name="todo")) == "todo" and leave.tool_of(ToolCall()) == "other"


def test_what_is_known_by_name_is_data() -> None:
    known = known_agents()
    assert known["kimi"].ask_mode == "default" and known["gemini"].resume == "load"
    assert {"qwen", "copilot", "opencode", "goose", "cursor", "cline"} < known.keys()
    assert all(one.command for one in known.values())
