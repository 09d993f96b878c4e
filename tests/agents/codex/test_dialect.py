"""Codex's dialect, fed with recorded conversations and with lines made by hand."""

from __future__ import annotations

import json

import pytest

from podiumd.agents.codex.dialect import UNREACHABLE_MS
from podiumd.core.reply.report import Tokens
from podiumd.drivers.base import (
    ApprovalRequested,
    Output,
    PromptState,
    SessionNamed,
    TurnEvent,
)
from podiumd.drivers.dialect import Aftermath, Ending
from podiumd.formats.codex import calls
from tests.agents.codex.talk import (
    BEGUN,
    OPENED,
    RESTS,
    STEER,
    THREAD,
    TURN,
    UUID,
    command,
    dialect,
    ended,
    feed,
    item,
    line,
    notice,
    running,
    script,
    written,
)
from tests.formats import fixtures


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


@pytest.mark.parametrize("bad", [-1, 10**30])
def test_tokens_that_cannot_be_are_not_told(bad: int) -> None:
    one, usage = dialect(), {"inputTokens": 7, "cachedInputTokens": bad, "outputTokens": 3}
    used = {"tokenUsage": {"last": usage}}
    feed(one, *OPENED, *BEGUN, notice("thread/tokenUsage/updated", **used))
    assert one.report(Ending()).tokens is None


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
