"""A session's file holds each row once, whole, whatever ended its writer."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from podiumd.agents.native.session_rows import INTERRUPTED, TurnRows, past_turns
from podiumd.agents.native.transcript import Row, RowAction, RowResult, SessionFile, read_rows
from podiumd.core.prompts.context_window import PastTurn
from podiumd.core.reply.actions import Action
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from podiumd.formats.native_session import ROLES, NativeSession
from podiumd.formats.session import Cursor


def row(uuid: str, text: str = "words") -> Row:
    return Row(type="prompt", uuid=uuid, turn="t", timestamp="2026-11-22T09:00:00.000Z", text=text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "11111111-1111-4111-8111-111111111111.jsonl"


def test_a_file_is_made_for_its_person_alone(path: Path) -> None:
    with SessionFile(path) as session:
        assert session.append(row("a")) == [row("a")]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_row_is_written_once_in_all_lives_of_its_writer(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(row("a"), row("a"), row("b"))
    with SessionFile(path) as session:
        assert session.append(row("b"), row("c"), row("a")) == [row("c")]
        assert [one.uuid for one in session.rows] == ["a", "b", "c"]
    assert [one.uuid for one in read_rows(path.read_bytes())] == ["a", "b", "c"]


def test_every_field_comes_back_as_it_was_written(path: Path) -> None:
    whole = Row(
        type="reply",
        uuid="r",
        turn="t",
        timestamp="2026-11-22T09:00:00.000Z",
        number=2,
        cwd="/x",
        text='é "quoted"\n',
        said="é",
        actions=(RowAction("t/2/0", "patch", {"file": "a", "operations": [{"line": 1}]}),),
        results=(RowResult("t/2/0", "patch", success=False, message="no", critical=True),),
        model="m",
    )
    with SessionFile(path) as session:
        session.append(whole)
    with SessionFile(path) as session:
        assert session.rows == [whole]


def test_a_line_that_a_crash_has_cut_counts_for_nothing_and_harms_no_other(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(row("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    with SessionFile(path) as session:
        session.append(row("b"))
    with SessionFile(path) as session:
        assert [one.uuid for one in session.rows] == ["a", "b"]


def test_a_cut_at_every_byte_leaves_whole_rows_alone(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(row("a"), row("b"))
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with SessionFile(path) as session:
            session.append(row("a"), row("b"))
            assert [one.uuid for one in session.rows] == ["a", "b"]
        assert [one.uuid for one in read_rows(path.read_bytes())] == ["a", "b"]


def test_of_what_a_full_disk_refuses_nothing_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with SessionFile(path) as session:
        session.append(row("a"))
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", refuse)
            with pytest.raises(OSError, match="No space"):
                session.append(row("b"))
        assert path.read_bytes() == before
        assert session.append(row("b")) == [row("b")]


def test_rows_that_need_not_last_do_not_wait_for_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    with SessionFile(path) as session:
        session.append(row("a"), durable=False)
        assert flushed == []
        assert session.append(row("a")) == [] and len(flushed) == 1


def test_no_file_is_left_of_a_turn_that_came_to_nothing(path: Path) -> None:
    with SessionFile(path):
        assert path.exists()
    assert not path.exists()


def test_a_fork_has_what_its_origin_had_and_goes_its_own_way(path: Path) -> None:
    fork = path.with_name("22222222-2222-4222-8222-222222222222.jsonl")
    with SessionFile(path) as session:
        session.append(row("a"))
    with SessionFile(fork, copy_of=path) as session:
        session.append(row("b"))
    with SessionFile(path) as session:
        session.append(row("c"))
    with SessionFile(fork, copy_of=path) as session:
        assert [one.uuid for one in session.rows] == ["a", "b"]
    assert sorted(one.name for one in path.parent.iterdir()) == sorted([path.name, fork.name])


def test_a_link_in_the_place_of_the_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), SessionFile(path):  # noqa: PT011 - ELOOP, by whatever name
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_the_reader_of_sessions_reads_what_is_written(path: Path) -> None:
    with SessionFile(path) as session:
        session.append(
            row("a", "Fix it"),
            Row(type="reply", uuid="b", turn="t", timestamp="", said="Done.", text="Done."),
        )
    reader, data = NativeSession(), path.read_bytes()
    found = [
        reader.message(data[one.offset : one.offset + one.length])
        for one in reader.entries(Cursor(), data)
    ]
    assert [(one.role, one.text) for one in found if one] == [
        ("user", "Fix it"),
        ("assistant", "Done."),
    ]
    assert set(ROLES) == {"prompt", "reply", "results", "notice"}


# -- the rows of a turn follow from its facts, and earlier turns from the rows ---------------


AT = "2026-11-22T09:00:00.000Z"

TURN = TurnRows("turn", "Mend it.", "prompt-uuid", "/project")

READ = Action(name="read_file", args={"path": "a.py"})

DONE = Action(name="done", args={"summary": "All is well."})


def result(action: str, *, success: bool = True, message: str = "") -> lf.Result:
    return lf.Result(action=action, success=success, message=message, output="")


def round_(number: int, *actions: ls.ActionState, words: str = "", **more: object) -> ls.Round:
    told = [{"action": one.action.name, **one.action.args} for one in actions]
    block = f"\n```json\n{json.dumps(told)}\n```\n" if told else ""
    fields = {"stop": "end", **more}
    return ls.Round(number=number, text=words + block, actions=actions, **fields)  # type: ignore[arg-type]


LOOK = ls.ActionState(action=READ, result=result("read_file", message="2 lines"))

END = ls.ActionState(action=DONE, result=result("done"))

LOOP = ls.LoopState(
    rounds=(round_(1, LOOK, words="I look."), round_(2, END, words="It is mended.")),
    words=(ls.WordsAt(0, "early", "Be quick."), ls.WordsAt(1, "late", "Be kind.")),
)


def kinds(rows: list[Row]) -> list[tuple[str, str]]:
    return [(row.type, row.said or row.text) for row in rows]


def test_a_turn_is_told_in_the_order_in_which_the_model_was_told_it() -> None:
    rows = TURN.of(LOOP, AT)
    assert kinds(rows) == [
        ("prompt", "Mend it."),
        ("prompt", "Be quick."),
        ("reply", "I look."),
        ("results", ""),
        ("prompt", "Be kind."),
        ("reply", "It is mended."),
        ("results", ""),
    ]
    assert [row.uuid for row in rows[:2]] == ["prompt-uuid", "early"]
    assert rows[2].actions[0].id == rows[3].results[0].id == "turn/1/0"


def test_rows_made_again_are_the_same_and_written_ones_can_be_left_out() -> None:
    rows = TURN.of(LOOP, AT)
    assert [row.uuid for row in TURN.of(LOOP, "later")] == [row.uuid for row in rows]
    assert TURN.of(LOOP, AT, since=1) == rows[4:]
    assert len({row.uuid for row in rows}) == len(rows)


def test_what_is_under_way_has_no_results_unless_the_turn_ends_there() -> None:
    half = ls.LoopState(rounds=(round_(1, LOOK, ls.ActionState(action=READ)),))
    assert kinds(TURN.of(half, AT))[-1][0] == "reply"
    *_, last = TURN.of(half, AT, over=True)
    assert [one.message for one in last.results] == ["2 lines", INTERRUPTED]


def test_a_reply_that_was_not_read_and_a_hook_that_refused_are_told() -> None:
    refused = ls.CommitNote(state="refused", detail="no tabs, please")
    rounds = (
        round_(1, words="{", fault="block 1: not valid JSON"),
        round_(2, END, commit=refused),
        round_(3, words="Only words."),
    )
    rows = TURN.of(ls.LoopState(rounds=rounds), AT)
    assert [row.text for row in rows if row.type == "results"] == [
        "Nothing of this reply was done: block 1: not valid JSON",
        "The commit was refused by a hook of the repository: no tabs, please",
    ]
    assert rows[-1].said == "Only words."


def test_earlier_turns_are_their_prompt_their_last_words_and_what_was_done() -> None:
    rows = [*TURN.of(LOOP, AT), TURN.notice("committed 1234567", AT)]
    now = TurnRows("now", "And now?", "now-uuid", "/project").of(ls.LoopState(), AT)
    assert past_turns([*rows, *now], "now") == (
        PastTurn(
            prompt="Mend it.\n\nBe quick.\n\nBe kind.",
            answer="It is mended.\n\nAll is well.",
            did=("read_file a.py: 2 lines", "committed 1234567"),
        ),
    )
    assert past_turns(rows, "turn") == ()


def test_an_earlier_turn_may_lack_an_answer_and_a_long_line_is_cut() -> None:
    long = ls.ActionState(
        action=Action(name="run_command", args={"command": "x " * 200}),
        result=result("run_command", success=False, message="exit code 1"),
    )
    (turn,) = past_turns(TURN.of(ls.LoopState(rounds=(round_(1, long),)), AT), "now")
    assert turn.answer == ""
    assert turn.did[0].endswith("…: failed: exit code 1") and len(turn.did[0]) < 200
