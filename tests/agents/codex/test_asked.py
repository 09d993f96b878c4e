"""Codex's requests to us in a turn, in lines made by hand."""

from __future__ import annotations

import json
from typing import Any

from podiumd.agents.codex.dialect import CodexDialect
from podiumd.core.decide.own_questions import answers_of
from podiumd.core.reply.report import Denial
from podiumd.drivers.base import (
    ApprovalRequested,
    ApprovalWithdrawn,
    Decision,
)
from podiumd.drivers.dialect import Ending
from tests.agents.codex.talk import (
    BEGUN,
    OPENED,
    THREAD,
    asked_in,
    command,
    dialect,
    ended,
    feed,
    item,
    line,
    notice,
    real_path,
    running,
    script,
    written,
)


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


def test_a_second_request_with_an_open_id_is_refused_and_so_is_the_first() -> None:
    one = running(script(allow=("Bash(make x)",)))
    (asked,) = feed(one, command(7, "make a"))
    assert isinstance(asked, ApprovalRequested)
    assert ApprovalWithdrawn(asked.request_id) in feed(one, command(7, "rm -rf important"))
    assert [each["error"]["code"] for each in written(one)] == [-32600, -32600]
    assert one.answer(asked.request_id, Decision("allow")) is None and not one.waits_for_answer
    for allowed in ("make a", "make x"):
        assert not [
            each for each in feed(one, command(7, allowed)) if isinstance(each, type(asked))
        ]
        assert all("error" in each for each in written(one))


def test_an_id_that_is_used_again_after_its_answer_is_another_question() -> None:
    one = running()
    names = []
    for given in ("make a", "rm -rf important"):
        (asked,) = feed(one, command(1, given))
        assert isinstance(asked, ApprovalRequested) and asked.input["command"] == given
        assert [*one.open_requests()] == [asked]
        assert one.answer(asked.request_id, Decision("allow"))
        names.append(asked.request_id)
    assert len(set(names)) == 2 and one.answer(names[0], Decision("allow")) is None


def test_what_is_asked_outside_of_the_turn_is_refused_and_shown_to_no_one() -> None:
    one = dialect(script(allow=("Bash(make x)",)))
    assert feed(one, command(0, "make a"), command(1, "make x")) == []
    feed(one, *OPENED, *BEGUN, ended())
    assert feed(one, command(2, "make a")) == [] and not one.waits_for_answer
    refused = [each["id"] for each in written(one) if "error" in each]
    assert refused == [0, 1, 2]
    (asked,) = feed(one, command(3, "make a", threadId="a sub-agent's"))
    assert isinstance(asked, ApprovalRequested)


def test_a_command_that_wants_to_reach_a_host_leaves_the_sandbox() -> None:
    one = running(script(allow=("Bash",)))
    host = {"host": "example.org", "protocol": "https"}
    (asked,) = asked_in(feed(one, command(0, "make x", networkApprovalContext=host)))
    assert (asked.tool, asked.input) == (
        "Escalate",
        {"url": "https://example.org", "for_command": "make x", "sandbox": "outside"},
    )
    (asked,) = asked_in(feed(one, command(1, "make x", approvalId="part")))
    assert (asked.tool, asked.input["sandbox"]) == ("Escalate", "perhaps outside")
    ruled = running(script(allow=("Bash(make x)", "Escalate")))
    assert asked_in(feed(ruled, command(0, "make x", networkApprovalContext=host)))
    free = running(script(allow=("Bash", "Escalate")))
    assert asked_in(feed(free, command(0, "make x", networkApprovalContext=host))) == []
    assert [each["result"] for each in written(free)] == [{"decision": "accept"}]


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
        command(4, "ls", threadId="sub"),
        command(5, "make x", threadId="unknown"),
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


def test_where_a_file_is_moved_to_stands_before_what_is_changed() -> None:
    (asked,) = asked_in(feed(running(), *changes(0, "/w/a", moved_to="/w/b")))
    assert [*asked.input] == ["file_path", "moved_to", "diff"]
    assert asked.input["moved_to"] == ["/w/b"]


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
    answer = one.answer(asked.request_id, given)
    assert answer is not None and json.loads(answer[0])["result"] == {
        "answers": {"q": {"answers": ["Red"]}, "r": {"answers": []}}
    }


def test_questions_in_the_same_words_have_an_answer_each() -> None:
    one = running()
    texts = ("Sure?", "Sure?", "Sure? (2)")
    questions = [{"id": str(number), "question": text} for number, text in enumerate(texts)]
    params = {"threadId": THREAD, "itemId": "i", "questions": questions}
    (asked,) = asked_in(feed(one, line(id=1, method="item/tool/requestUserInput", params=params)))
    told = answers_of(asked.input, "yes; no; later", "")
    answer = one.answer(asked.request_id, Decision("allow", updated_input={"answers": told}))
    assert answer is not None and json.loads(answer[0])["result"]["answers"] == {
        "0": {"answers": ["yes"]},
        "1": {"answers": ["no"]},
        "2": {"answers": ["later"]},
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
