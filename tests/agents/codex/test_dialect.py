"""Codex's dialect, fed with recorded conversations and with lines made by hand."""

from __future__ import annotations

import json
from posixpath import normpath
from typing import Any

import pytest

from podiumd.agents.codex.dialect import UNREACHABLE_MS, CodexDialect
from podiumd.agents.codex.script import Script
from podiumd.core.reply.report import Denial, Tokens
from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
    Output,
    PromptState,
    SessionNamed,
    TurnEvent,
)
from podiumd.drivers.dialect import Aftermath, Ending
from podiumd.formats.codex import calls
from tests.formats import fixtures

UUID = "11111111-2222-4333-8444-555555555555"
STEER = "99999999-2222-4333-8444-555555555555"
THREAD, TURN = "thread", "turn"


def script(**changes: Any) -> Script:
    fields: dict[str, Any] = {
        "opening": "",
        "prompt": "go",
        "uuid": UUID,
        "settings": {"cwd": "/w"},
    }
    return Script(**{**fields, **changes})


def real_path(path: str) -> str:
    """Follow the one symlink there is."""
    return normpath(path).replace("/w/link", "/outside")


def dialect(given: Script | None = None, sent: tuple[str, ...] = ()) -> CodexDialect:
    return CodexDialect(given or script(), sent, lambda thread, call_id: {}, real_path)


def line(**values: Any) -> bytes:
    return json.dumps(values).encode()


def notice(method: str, **params: Any) -> bytes:
    where = {"threadId": THREAD, "turnId": TURN}
    return line(method=method, params={**where, **params}, emittedAtMs=1)


def item(type: str, *, done: bool = False, id: str = "i", **more: Any) -> bytes:
    return notice(
        f"item/{'completed' if done else 'started'}", item={"type": type, "id": id, **more}
    )


OPENED = (
    line(id=calls.INITIALIZE, result={}),
    line(id=calls.ACCOUNT, result={"account": None, "requiresOpenaiAuth": False}),
    line(id=calls.OPEN, result={"thread": {"id": THREAD, "path": "/r.jsonl"}, "model": "m"}),
)
BEGUN = (
    line(id=calls.PROMPT, result={"turn": {"id": TURN, "status": "inProgress"}}),
    line(id=f"m:{calls.PROMPT}", error={"code": -32600, "message": "unknown"}),
    item("userMessage", clientId=UUID),
)


def ended(status: str = "completed", **error: Any) -> bytes:
    turn = {"id": TURN, "status": status, "error": error or None}
    return notice("turn/completed", turn=turn)


RESTS = line(id=calls.REST, result={"data": []})
"""The answer to what is queued after the turn."""


def feed(one: CodexDialect, *lines: bytes) -> list[TurnEvent]:
    return [event for data in lines for event in one.feed(data)]


def running(given: Script | None = None) -> CodexDialect:
    one = dialect(given)
    feed(one, *OPENED)
    one.replies()
    feed(one, *BEGUN)
    return one


def written(one: CodexDialect) -> list[dict[str, Any]]:
    return [json.loads(data) for group in one.replies() for data in group]


def test_the_prompt_follows_the_login_and_the_thread_with_its_mark() -> None:
    one = dialect()
    feed(one, *OPENED[:2])
    assert written(one) == [] and one.opened == ""
    feed(one, OPENED[2])
    prompt, mark = written(one)
    assert (prompt["id"], prompt["params"]["threadId"]) == (calls.PROMPT, THREAD)
    assert prompt["params"]["clientUserMessageId"] == UUID and mark["id"] == f"m:{calls.PROMPT}"
    assert written(one) == [] and not one.taken_up
    events = feed(one, *BEGUN)
    assert events == [SessionNamed(THREAD), PromptState(UUID, "started")] and one.taken_up
    assert feed(one, ended()) == [PromptState(UUID, "completed")] and one.lingering
    (rest, _) = written(one)
    assert (rest["method"], rest["params"]) == ("thread/queue/list", {"threadId": THREAD})
    feed(one, RESTS)
    assert one.over and not one.lingering and one.report(Ending()).kind == "done"


def test_a_turn_that_is_over_is_not_broken_by_an_agent_that_says_no_more() -> None:
    one = running()
    feed(one, ended())
    silent = Ending(kind="broken", detail="never reported the fate of a message")
    assert one.lingering and one.report(silent).kind == "done"
    one.sent(STEER)
    assert one.report(silent).kind == "broken"


def test_a_prompt_that_a_daemon_before_may_have_written_is_asked_for_first() -> None:
    one = dialect()
    feed(one, *OPENED)
    one.attached()
    (probe,) = written(one)
    assert probe["method"] == "_podium/mark"
    feed(one, line(id=probe["id"], error={"code": -32600, "message": "unknown"}))
    assert [each["id"] for each in written(one)] == [calls.PROMPT, f"m:{calls.PROMPT}"]
    again = dialect()
    feed(again, *OPENED, *BEGUN)
    again.attached()
    assert written(again) == []


def test_without_a_login_nothing_is_prompted() -> None:
    one = dialect()
    feed(
        one, OPENED[0], line(id=calls.ACCOUNT, result={"account": None, "requiresOpenaiAuth": True})
    )
    feed(one, OPENED[2])
    assert written(one) == [] and "codex login" in one.hopeless
    assert one.report(Ending(detail=one.hopeless)).kind == "failed"


@pytest.mark.parametrize(
    ("name", "message", "kind", "reason"),
    [
        (calls.OPEN, "thread x already has an active writer", "stopped", "session-locked"),
        (calls.OPEN, "no rollout found for thread id x", "failed", ""),
        (calls.PROMPT, "bad input", "failed", ""),
    ],
)
def test_what_is_refused_before_the_turn_begins_ends_it(
    name: str, message: str, kind: str, reason: str
) -> None:
    one = dialect()
    feed(one, *OPENED[: 2 if name == calls.OPEN else 3])
    feed(one, line(id=name, error={"code": -32600, "message": message}))
    report = one.report(Ending())
    assert (report.kind, report.reason) == (kind, reason) and one.hopeless == report.detail


def test_a_steer_is_queued_taken_or_too_late() -> None:
    one = running()
    one.sent(STEER)
    steer, mark = one.prompt("and this", STEER)
    assert json.loads(steer)["params"]["expectedTurnId"] == TURN
    assert json.loads(mark)["id"] == f"m:{calls.STEER}{STEER}"
    feed(one, ended(), RESTS)
    assert one.lingering and not one.over
    assert feed(one, line(id=f"{calls.STEER}{STEER}", result={"turnId": TURN})) == [
        PromptState(STEER, "queued")
    ]
    assert one.over and one.report(Ending()).undelivered == (STEER,)
    assert feed(one, item("userMessage", clientId=STEER)) == [PromptState(STEER, "started")]
    assert one.report(Ending()).undelivered == ()
    late = running()
    late.sent(STEER)
    late.prompt("late", STEER)
    refusal = {"code": -32600, "message": "no active turn to steer"}
    assert feed(late, line(id=f"{calls.STEER}{STEER}", error=refusal)) == [
        PromptState(STEER, "discarded")
    ]
    late.not_sent("other")
    assert late.report(Ending()).undelivered == ()


def test_an_interrupt_waits_for_the_turn_where_it_has_not_begun() -> None:
    one = dialect()
    assert one.interrupt() == () and one.over
    one = dialect()
    feed(one, *OPENED)
    one.replies()
    assert one.interrupt() == () and not one.over
    feed(one, BEGUN[0])
    (stop,) = written(one)
    assert (stop["method"], stop["params"]) == (
        "turn/interrupt",
        {"threadId": THREAD, "turnId": TURN},
    )
    one = running()
    assert json.loads(one.interrupt()[0])["method"] == "turn/interrupt" and one.end() == ()
    feed(one, ended("interrupted"))
    assert one.report(Ending(kind="interrupted", detail="stopped")).kind == "interrupted"


def command(id: int, script: str, **more: Any) -> bytes:
    params = {
        "threadId": THREAD,
        "itemId": f"c{id}",
        "command": f"/bin/bash -lc '{script}'",
        **more,
    }
    return line(id=id, method="item/commandExecution/requestApproval", params=params)


def test_a_question_is_answered_for_once_withdrawn_and_answered_again() -> None:
    one = running()
    (asked,) = feed(one, command(0, "make x", reason="why", cwd="/w"))
    assert asked == ApprovalRequested("0", "Bash", {"command": "make x", "cwd": "/w"}, "c0", "why")
    assert one.waits_for_answer and list(one.open_requests()) == [asked]
    answer = one.answer("0", Decision("allow", rule="Bash(make x)"))
    assert answer is not None and json.loads(answer[0])["result"] == {"decision": "accept"}
    assert one.answer("0", Decision("deny")) == answer and not one.waits_for_answer
    assert one.answer("7", Decision("allow")) is None
    assert feed(one, command(1, "make x")) == []
    assert [each["result"] for each in written(one)] == [{"decision": "accept"}]
    feed(one, command(2, "make y"))
    resolved = notice("serverRequest/resolved", requestId=2)
    assert feed(one, resolved) == [ApprovalWithdrawn("2")] and feed(one, resolved) == []
    feed(one, command(3, "rm x"))
    one.answer("3", Decision("deny"))
    assert one.report(Ending()).denials == (Denial("Bash", "c3"),)


def test_a_sub_agents_call_is_looked_up_in_its_own_thread() -> None:
    calls_of: dict[str, dict[str, Any]] = {
        THREAD: {"c0": {}},
        "sub": {"c1": {"sandbox_permissions": "require_escalated"}, "c2": {}},
    }
    one = CodexDialect(
        script(allow=("Bash(make x)",)),
        (),
        lambda thread, call_id: calls_of.get(thread, {}).get(call_id),
        real_path,
    )
    feed(one, *OPENED, *BEGUN)
    assert feed(one, command(0, "make x")) == []
    assert feed(one, command(2, "ls", threadId="sub")) == []
    for asks in (
        command(1, "ls", threadId="sub"),
        command(3, "ls", threadId="sub"),
        command(0, "ls", threadId="sub"),
        command(0, "make x", threadId="unknown"),
    ):
        (found,) = feed(one, asks)
        assert isinstance(found, ApprovalRequested) and found.tool == "Escalate"
        assert "outside" in found.input["sandbox"]


def test_leave_for_once_that_codex_does_not_offer_is_never_given() -> None:
    one = running(script(allow=("Bash(make x)",)))
    offered = ["acceptForSession", {"acceptWithExecpolicyAmendment": {}}, "decline", "cancel"]
    (asked,) = feed(one, command(0, "make x", availableDecisions=offered))
    assert isinstance(asked, ApprovalRequested) and written(one) == []
    no = one.answer("0", Decision("deny"))
    assert no is not None and json.loads(no[0])["result"] == {"decision": "decline"}
    feed(one, command(1, "make x", availableDecisions=offered))
    stop = one.answer("1", Decision("allow"))
    assert stop is not None and json.loads(stop[0])["method"] == "turn/interrupt"
    assert one.hopeless == "Codex offers no leave for once: nothing was allowed"
    assert one.report(Ending()).kind == "failed"
    reading = running(script(tools="read-only"))
    assert feed(reading, command(0, "make x", availableDecisions=["accept", "cancel"])) == []
    assert [each["result"] for each in written(reading)] == [{"decision": "decline"}]


def test_a_change_of_files_shows_what_is_changed() -> None:
    one = running()
    change = {"path": "/w/a", "diff": "+x", "kind": {"type": "update"}}
    feed(one, item("fileChange", id="f", changes=[change, {**change, "path": "/w/b"}]))
    request = {"threadId": THREAD, "itemId": "f", "reason": None, "grantRoot": "/etc"}
    (asked,) = feed(one, line(id=1, method="item/fileChange/requestApproval", params=request))
    assert isinstance(asked, ApprovalRequested) and asked.tool == "Escalate"
    assert asked.input["files"] == ["/w/a", "/w/b"]
    assert asked.input["writable_from_now_on"] == "/etc"


def changes(id: int, *paths: str, moved_to: str | None = None) -> tuple[bytes, bytes]:
    """A change of files, and the request for leave."""
    kind = {"type": "update", "move_path": moved_to}
    told = [{"path": path, "diff": "+x", "kind": kind} for path in paths]
    request = {"threadId": THREAD, "itemId": f"f{id}"}
    return (
        item("fileChange", id=f"f{id}", changes=told),
        line(id=id, method="item/fileChange/requestApproval", params=request),
    )


def asked_in(events: list[TurnEvent]) -> list[ApprovalRequested]:
    return [event for event in events if isinstance(event, ApprovalRequested)]


def test_an_allowed_change_stays_in_the_working_directory_or_is_asked() -> None:
    one = running(script(allow=("Edit",)))
    assert asked_in(feed(one, *changes(0, "/w/a", "/w/b/c", "d", moved_to="/w/e"))) == []
    assert [each["result"] for each in written(one)] == [{"decision": "accept"}]
    outside = ["/etc/a", "../a", "/w/../a", "/w/link/a", "/wide/a", "/w", "/w/.git/hooks/x"]
    for number, path in enumerate([*outside, "/w/b/.GIT/x", "/w/.codex/x", "/w/.agents/x"], 1):
        (asked,) = asked_in(feed(one, *changes(number, "/w/a", path)))
        assert (asked.tool, asked.input["sandbox"]) == ("Escalate", "outside"), path
    assert asked_in(feed(one, *changes(20, "/w/a", moved_to="/etc/a")))
    item_of_another = {"threadId": "sub", "itemId": "f0"}
    method = "item/fileChange/requestApproval"
    assert asked_in(feed(one, line(id=21, method=method, params=item_of_another)))
    assert written(one) == []


def test_the_models_own_question_is_answered_in_its_form() -> None:
    one = running()
    option = {"label": "Red", "description": "warm"}
    question = {"id": "q", "header": "Colour", "question": "Which?", "options": [option]}
    params = {"threadId": THREAD, "itemId": "i", "questions": [question, {"id": "r"}]}
    (asked,) = feed(one, line(id=1, method="item/tool/requestUserInput", params=params))
    assert isinstance(asked, ApprovalRequested) and asked.asks_person
    assert asked.input["questions"][0]["options"] == [option]
    given = Decision("allow", updated_input={"answers": {"Which?": "Red"}})
    answer = one.answer("1", given)
    assert answer is not None and json.loads(answer[0])["result"] == {
        "answers": {"q": {"answers": ["Red"]}, "r": {"answers": []}}
    }


def elicitation(id: int, server: str, **meta: Any) -> bytes:
    params = {"threadId": THREAD, "serverName": server, "message": "May it?", "_meta": meta}
    return line(id=id, method="mcpServer/elicitation/request", params=params)


def test_podiums_own_tools_need_no_word_and_another_servers_do() -> None:
    one = running(script(served=("save",), allow=("mcp__wiki__read",)))
    call = {"codex_approval_kind": "mcp_tool_call", "tool_params": {"a": 1}}
    assert feed(one, elicitation(0, "podium", tool_name="save", **call)) == []
    assert feed(one, elicitation(1, "podium", tool_name="transition", **call)) == []
    assert feed(one, elicitation(2, "wiki", tool_name="read", **call)) == []
    assert feed(one, elicitation(3, "wiki")) == []
    (asked,) = feed(one, elicitation(4, "wiki", tool_name="edit", **call))
    assert isinstance(asked, ApprovalRequested)
    assert (asked.tool, asked.input) == ("mcp__wiki__edit", {"a": 1})
    actions = [each["result"]["action"] for each in written(one)]
    assert actions == ["accept", "decline", "accept", "decline"]
    answer = one.answer("4", Decision("deny"))
    assert answer is not None and json.loads(answer[0])["result"]["action"] == "decline"
    reading = running(script(tools="read-only"))
    assert feed(reading, elicitation(0, "wiki", tool_name="edit", **call)) == []
    assert [one.tool for one in reading.report(Ending()).denials] == ["mcp__wiki__edit"]


def test_a_request_that_is_not_ours_is_answered_at_once() -> None:
    one = running()
    assert feed(one, line(id=5, method="item/tool/call", params={})) == []
    assert [each["error"]["code"] for each in written(one)] == [-32601]


def test_only_the_turn_of_the_prompt_ends_it() -> None:
    one = running()
    thread = {"id": "sub", "parentThreadId": THREAD, "agentNickname": "Erdos"}
    feed(one, line(method="thread/started", params={"thread": thread}))
    feed(one, notice("turn/completed", threadId="sub", turn={"id": TURN, "status": "completed"}))
    feed(one, notice("turn/completed", turn={"id": "other", "status": "completed"}))
    assert not one.over
    sub = {"threadId": "sub", "item": {"type": "commandExecution", "id": "c", "command": "ls"}}
    assert feed(one, notice("item/started", **sub)) == [Output("c", "tool", "Erdos: Bash: ls")]
    words = {"type": "agentMessage", "id": "m", "text": "mine"}
    assert feed(one, notice("item/completed", threadId="sub", item=words)) == []
    assert one.report(Ending()).texts == () and one.tool_begun


def began(turn: str, words: str, thread: str = THREAD) -> tuple[bytes, bytes]:
    """A turn that begins with a message that is not ours."""
    content = [{"type": "text", "text": words}, {"type": "localImage", "path": "/x"}]
    said = {"type": "userMessage", "id": turn, "clientId": "theirs", "content": content}
    return (
        notice("turn/started", threadId=thread, turn={"id": turn, "status": "inProgress"}),
        notice("item/started", threadId=thread, turnId=turn, item=said),
    )


def over(turn: str, thread: str = THREAD) -> bytes:
    return notice("turn/completed", threadId=thread, turn={"id": turn, "status": "interrupted"})


ACTIVE = {"code": -32600, "message": "thread already has an active or pending turn"}
EMPTY = {"code": -32600, "message": "queue is empty"}


def test_a_thread_that_is_gone_on_with_has_its_queue_emptied_before_the_prompt() -> None:
    one = dialect(script(resumes=True))
    feed(one, *OPENED)
    queue, mark = written(one)
    assert (queue["method"], queue["params"]) == ("thread/queue/start", {"threadId": THREAD})
    assert (queue["id"], mark["id"]) == ("queue:1", "m:queue:1")
    feed(one, line(id="queue:1", error=ACTIVE))
    assert written(one) == [], "one has begun by itself"
    start, there = began("t1", "look\n at this")
    words = "a message queued in Codex (look at this): stopped, it is no part of this"
    assert feed(one, start, there) == [Output("t1", "status", words)]
    assert written(one) == [], "it does not stand in the thread yet"
    feed(one, there.replace(b"started", b"completed"))
    stop, _ = written(one)
    assert (stop["method"], stop["params"]["turnId"]) == ("turn/interrupt", "t1")
    theirs = {"type": "agentMessage", "id": "x", "text": "for them"}
    assert feed(one, notice("item/completed", turnId="t1", item=theirs)) == []
    assert feed(one, notice("item/agentMessage/delta", turnId="t1", itemId="y", delta="x")) == []
    feed(one, line(id=stop["id"], result={}), over("t1"))
    assert [each["id"] for each in written(one)] == ["queue:2", "m:queue:2"]
    feed(one, line(id="queue:2", result={"turn": {"id": "t2"}}), *began("t2", "y" * 90))
    written(one)
    feed(one, over("t2"))
    assert written(one)[0]["id"] == "queue:3"
    feed(one, line(id="queue:3", error=EMPTY))
    assert written(one)[0]["id"] == calls.PROMPT
    feed(one, *BEGUN, ended(), RESTS)
    report = one.report(Ending(background_stopped=("sleep",)))
    assert (report.kind, report.texts, one.over) == ("done", (), True)
    long = f"a message queued in Codex ({'y' * 79}…)"
    first = "a message queued in Codex (look at this)"
    assert report.background_stopped == ("sleep", first, long)


def test_a_queue_that_a_daemon_before_began_to_empty_is_gone_on_with() -> None:
    one = dialect(script(resumes=True))
    feed(one, *OPENED, line(id="queue:1", result={"turn": {"id": "t1"}}), *began("t1", "x"))
    feed(one, began("t1", "x")[1].replace(b"started", b"completed"))
    one.attached()
    (probe,) = written(one)
    feed(one, line(id=probe["id"], error={"code": -32600, "message": "unknown"}))
    assert [each["id"] for each in written(one)] == ["stop:t1", "m:stop:t1"]


def test_an_interrupt_before_the_queue_is_empty_sends_no_prompt() -> None:
    one = dialect(script(resumes=True))
    feed(one, *OPENED)
    assert not one.over and one.interrupt() == () and one.over
    feed(one, line(id="queue:1", error=EMPTY))
    assert [each["id"] for each in written(one) if each["id"] == calls.PROMPT] == []


def test_a_message_that_begins_a_turn_after_ours_is_named() -> None:
    one = running()
    feed(one, notice("turn/started", turn={"id": TURN, "status": "inProgress"}), ended())
    feed(one, notice("thread/queue/changed"), RESTS)
    assert one.lingering, "a message has left the queue"
    start, there = began("t2", "later")
    feed(one, start, there)
    assert one.lingering
    feed(one, there.replace(b"started", b"completed"))
    assert one.over
    assert one.report(Ending()).background_stopped == ("a message queued in Codex (later)",)
    feed(one, notice("turn/started", turn={"id": "t3", "status": "inProgress"}))
    assert one.lingering
    assert one.report(Ending()).background_stopped[-1] == "a message queued in Codex"
    feed(one, over("t3"))
    assert one.over


def test_a_queue_that_changes_while_the_turn_works_is_none_of_ours() -> None:
    one = running()
    feed(one, notice("thread/queue/changed"), notice("thread/queue/changed", threadId="other"))
    feed(one, ended(), notice("thread/queue/changed", threadId="other"), RESTS)
    assert one.over


def test_a_sub_agent_that_works_at_the_end_is_named_and_its_questions_name_it() -> None:
    one = running()
    for sub, name in (("s1", "Erdos"), ("s2", None)):
        thread = {"id": sub, "parentThreadId": THREAD, "agentNickname": name}
        feed(one, line(method="thread/started", params={"thread": thread}), *began(sub, "x", sub))
    (asked,) = feed(one, command(0, "make x", threadId="s1", reason="why"))
    assert isinstance(asked, ApprovalRequested) and asked.description == "Erdos: why"
    assert one.report(Ending()).background_stopped == ("sub-agent Erdos", "sub-agent")
    feed(one, over("s1", "s1"), ended())
    assert one.report(Ending()).background_stopped == ("sub-agent",)


def test_words_come_once_streamed_or_whole() -> None:
    one = running()
    delta = notice("item/agentMessage/delta", itemId="m", delta="Hel")
    assert feed(one, delta) == [Output("m", "text", "Hel")]
    assert feed(one, item("agentMessage", done=True, id="m", text="Hello")) == []
    assert feed(one, item("agentMessage", done=True, id="n", text="Bye")) == [
        Output("n", "text", "Bye")
    ]
    thought = notice("item/reasoning/summaryTextDelta", itemId="r", delta="Hm")
    assert feed(one, thought) == [Output("r", "thinking", "Hm")]
    assert one.report(Ending()).texts == ("Hello", "Bye")


def test_an_answer_in_json_is_no_prose() -> None:
    one = running(script(structured=True))
    said = '{"outcome": "complete", "detail": "All done.", "otherDescription": null}'
    assert feed(one, notice("item/agentMessage/delta", itemId="m", delta=said[:9])) == []
    assert feed(one, item("agentMessage", done=True, id="m", text=said)) == [
        Output("m", "text", "All done.")
    ]
    report = one.report(Ending())
    assert report.structured == {"outcome": "complete", "detail": "All done."}
    assert (report.texts, report.result_text) == ((), "")


def test_tokens_are_those_of_this_turn_and_its_sub_agents() -> None:
    one = dialect()
    usage = {"inputTokens": 7, "cachedInputTokens": 2, "outputTokens": 3}
    used = {"tokenUsage": {"last": usage, "total": usage}}
    feed(one, *OPENED, notice("thread/tokenUsage/updated", turnId="before", **used))
    feed(one, *BEGUN, notice("thread/tokenUsage/updated", **used))
    feed(one, notice("thread/tokenUsage/updated", threadId="sub", turnId="its", **used))
    assert one.report(Ending()).tokens == Tokens(14, 4, 6)


def test_a_provider_out_of_reach_is_no_sign_of_work_and_ends_it_after_a_while() -> None:
    one = running()

    def fails(at: int) -> list[TurnEvent]:
        params = {"error": {"message": "no route"}, "willRetry": True, "threadId": THREAD}
        return feed(one, line(method="error", params=params, emittedAtMs=at))

    assert fails(1_000) == [Output("", "status", "trying again: no route")] and one.idle_line
    fails(1_000 + UNREACHABLE_MS - 1)
    assert one.hopeless == ""
    feed(one, notice("item/agentMessage/delta", itemId="m", delta="x"))
    assert not one.idle_line
    fails(2_000 + UNREACHABLE_MS)
    assert one.hopeless == ""
    fails(2_000 + 2 * UNREACHABLE_MS)
    assert one.hopeless == "the provider was unreachable for 5 minutes: no route"
    assert one.report(Ending()).kind == "failed"
    details = {"message": "waiting", "additionalDetails": "refused"}
    params = {"error": details, "willRetry": True, "threadId": THREAD}
    assert feed(one, line(method="error", params=params)) == [
        Output("", "status", "trying again: waiting (refused)")
    ]
    params = {"error": {"message": "x"}, "willRetry": False, "threadId": THREAD}
    assert feed(one, line(method="error", params=params)) == [] and not one.idle_line


def test_what_is_said_beside_the_work_is_no_sign_of_it() -> None:
    one = running()
    for quiet in ("warning", "account/rateLimits/updated", "mcpServer/startupStatus/updated"):
        feed(one, notice(quiet))
        assert one.idle_line
    feed(one, b"Welcome!")
    assert one.idle_line and one.report(Ending()).bad_lines == 1
    feed(one, notice("thread/status/changed"))
    assert not one.idle_line


def test_a_message_that_cannot_be_read_breaks_a_turn_that_ends_well() -> None:
    one = running()
    feed(one, b'{"method": "item/comp', ended(), RESTS)
    report = one.report(Ending())
    assert (report.kind, report.bad_lines) == ("broken", 1)
    assert report.detail == "1 lines of Codex's output cannot be read"
    failed = running()
    feed(failed, b'{"method": "item/comp', ended("failed", message="no"))
    assert failed.report(Ending()).kind == "api_error"


def test_a_process_that_ends_before_its_turn_was_cut_off_or_gave_up() -> None:
    gave_up = dialect().report(Ending(exit_status=2, detail="no such option"))
    assert (gave_up.kind, gave_up.detail) == (
        "failed",
        "Codex ended with status 2 before its turn did: no such option",
    )
    assert running().report(Ending(exit_status=-9)).kind == "broken"
    assert running().report(Ending(exit_status=0)).kind == "broken"
    assert dialect().report(Ending()).detail == "Codex ended before its turn did"
    known = Aftermath(mark={"size": 3}, prompt_recorded=True)
    report = dialect().report(Ending(aftermath=known))
    assert report.prompt_recorded and report.mark == {"size": 3}


@pytest.mark.parametrize("name", fixtures.exchanges())
def test_recorded_lines_raise_nothing_and_end_in_a_report(name: str) -> None:
    one = dialect()
    for data in fixtures.exchange(name, "agent"):
        one.feed(data)
        one.replies()
    assert one.report(Ending()).kind
