"""What a native turn has changed, its commit, and a person's words in the middle of it."""

from __future__ import annotations

import pytest

from podiumd.core.run import commands as c
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from podiumd.core.run.native_loop_state import MOST_REFUSALS
from tests.core.builders import Play
from tests.core.looped import DONE, NEW, NEWER, OLD, Looped, block, read, run


def test_files_are_what_differs_from_before_the_turn_however_often_they_were_written() -> None:
    looped = Looped()
    looped.wrote("new.py", None, NEW)
    looped.wrote("new.py", NEW, NEWER)
    looped.wrote("old.py", OLD, NEW)
    looped.wrote("back.py", OLD, NEW)
    looped.wrote("back.py", NEW, OLD)
    looped.wrote("gone.py", OLD, None)
    looped.wrote("passing.py", None, NEW)
    looped.wrote("passing.py", NEW, None)

    assert looped.loop.files == (
        ("new.py", "created"),
        ("old.py", "modified"),
        ("gone.py", "deleted"),
    )
    assert [made.path for made in looped.loop.changes].count("back.py") == 2


def test_a_clean_end_is_committed_before_it_is_reported() -> None:
    looped = Looped(commit=True)
    looped.wrote()
    looped.reply("Done.")
    assert looped.due() == ls.Commit(checkpoint=False)

    looped.tell(lc.ReportCommitEnd(state="committed", sha="c0ffee", detail="AI: modified a.py"))

    assert looped.ending.kind == "done"
    assert looped.loop.commit == ls.CommitNote("committed", "c0ffee", "AI: modified a.py")
    looped.report()
    report = looped.last(f.TurnEnded).report
    assert (report.files, report.commit) == ((("a.py", "modified"),), "c0ffee")
    assert looped.play.reason == "turn-complete"


def test_what_a_report_says_of_a_clean_end_stands_in_the_exit() -> None:
    looped = Looped()
    looped.reply("Done.")

    looped.play.over("done", detail="a hook refused the commit")

    ended = looped.last(f.RunEnded).exit
    assert (ended.reason, ended.detail) == ("turn-complete", "a hook refused the commit")


def test_nothing_is_committed_where_nothing_was_changed_or_nobody_wants_it() -> None:
    looped = Looped(commit=True)
    looped.reply("Nothing to do.")
    assert looped.ending.kind == "done"

    looped = Looped(commit=False)
    looped.wrote()
    looped.reply("Done.")
    assert looped.ending.kind == "done"
    assert looped.loop.commit is None


def test_a_hook_that_refuses_a_clean_end_sends_the_turn_back_to_the_model() -> None:
    looped = Looped(commit=True)
    looped.wrote()
    looped.reply("Done.")

    looped.tell(lc.ReportCommitEnd(state="refused", detail="lint: line too long"))

    assert looped.due() == ls.Ask()
    note = looped.loop.rounds[-1].commit
    assert note is not None
    assert note.detail == "lint: line too long"
    looped.wrote("a.py", NEW, NEWER)
    looped.reply("Mended.")
    assert looped.due() == ls.Commit(checkpoint=False)


REFUSED = lc.ReportCommitEnd(state="refused", detail="ticket number missing")


def refuse_once(looped: Looped) -> None:
    """The model has written a file, says that it is done, and a hook says no."""
    looped.wrote("a.py", NEW, NEWER)
    looped.reply("Done.")
    looped.tell(REFUSED)


@pytest.mark.parametrize("answer", ["Only you know the number.", block(DONE)])
def test_an_answer_that_does_nothing_about_a_refusal_ends_the_turn(answer: str) -> None:
    looped = Looped(commit=True)
    refuse_once(looped)

    assert looped.reply(answer)[-1] == "loop.ended"

    assert looped.ending.kind == "done", "and the hook is not run again"
    assert looped.loop.commit is None
    assert looped.loop.refused == ls.CommitNote("refused", None, "ticket number missing")


def test_looking_is_nothing_that_changes_a_hooks_mind() -> None:
    looped = Looped(commit=True)
    refuse_once(looped)

    looped.says(read())
    looped.over()
    looped.reply("I cannot mend that.")

    assert looped.ending.kind == "done"


def test_a_command_may_change_a_hooks_mind() -> None:
    looped = Looped(commit=True)
    refuse_once(looped)

    looped.says(run())
    looped.tell(lc.PlanAction(index=0))
    looped.over()
    looped.reply("Now it knows the number.")

    assert looped.due() == ls.Commit(checkpoint=False)


def test_a_hooks_refusal_is_told_to_the_model_twice_at_most() -> None:
    looped = Looped(commit=True, max_iterations=100)
    for _ in range(MOST_REFUSALS):
        refuse_once(looped)
        assert looped.due() == ls.Ask()

    refuse_once(looped)

    assert looped.ending.kind == "done"
    assert looped.loop.commit == ls.CommitNote("refused", None, "ticket number missing")


def test_a_person_may_say_what_the_hook_wants() -> None:
    looped = Looped(commit=True)
    refuse_once(looped)
    looped.reply("Only you know the number.")

    looped.tell(lc.AddWords(words=(lf.Words("s1", "It is 7."),)))

    assert looped.due() == ls.Ask()


def test_a_hook_is_not_asked_again_about_the_same_work_when_no_request_is_left() -> None:
    looped = Looped(commit=True, max_iterations=2)
    looped.wrote()
    looped.reply("Done.")

    assert looped.tell(lc.ReportCommitEnd(state="refused", detail="no")) == [
        "effect.ended",
        "loop.ended",
    ]

    assert looped.ending.reason == "max-iterations"


@pytest.mark.parametrize("state", ["refused", "failed", "nothing", "committed"])
def test_an_end_that_is_not_clean_leaves_a_checkpoint_if_it_can(state: lc.CommitState) -> None:
    looped = Looped(commit=True, max_iterations=1)
    looped.wrote()
    assert looped.due() == ls.Commit(checkpoint=True)

    looped.tell(lc.ReportCommitEnd(state=state, detail="as it went"))

    assert looped.ending.reason == "max-iterations"
    assert looped.loop.commit is not None
    assert looped.loop.commit.state == state


def test_a_commit_that_no_model_can_mend_leaves_the_end_clean() -> None:
    looped = Looped(commit=True)
    looped.wrote()
    looped.reply("Done.")

    looped.tell(lc.ReportCommitEnd(state="failed", detail="not a git repository"))

    assert looped.ending.kind == "done"


# A person says something meanwhile.


def test_words_of_a_person_are_told_once_with_the_next_request() -> None:
    looped = Looped()
    looped.says(read())
    words = (lf.Words("s1", "and b.py"), lf.Words("s2", "quickly"))

    assert looped.tell(lc.AddWords(words=words)) == ["words.added"]
    assert looped.tell(lc.AddWords(words=words)) == []

    assert looped.loop.words == (
        ls.WordsAt(after=1, uuid="s1", text="and b.py"),
        ls.WordsAt(after=1, uuid="s2", text="quickly"),
    )
    assert looped.due() == ls.Act(0)


def test_words_call_the_model_back_from_its_last_answer() -> None:
    looped = Looped(commit=True)
    looped.wrote()
    looped.reply("Done.")

    looped.tell(lc.AddWords(words=(lf.Words("s1", "and b.py"),)))

    assert looped.due() == ls.Ask()
    looped.reply("That too.")
    assert looped.due() == ls.Commit(checkpoint=False)


def test_words_change_nothing_where_no_request_is_left_or_all_is_over() -> None:
    words = (lf.Words("s1", "and b.py"),)
    limited = Looped(max_iterations=1)
    limited.says(read())
    assert limited.tell(lc.AddWords(words=words)) == []

    committed = Looped(commit=True)
    committed.wrote()
    committed.reply("Done.")
    committed.tell(lc.ReportCommitEnd(state="committed", sha="c0ffee"))
    assert committed.tell(lc.AddWords(words=words)) == []

    failed = Looped()
    failed.tell(lc.ReportReplyFailure(kind="failed", detail="no key"))
    assert failed.tell(lc.AddWords(words=words)) == []


def test_words_before_the_turn_has_begun_wait() -> None:
    play = Play(agent="native").go()
    step = lc.AddWords(words=(lf.Words("s1", "x"),))

    assert play.do(c.LoopStep, turn_id=play.turn.turn_id, step=step) == []


# What earlier turns of a run have left.


def test_it_is_committed_at_a_clean_end_though_the_turn_has_changed_nothing() -> None:
    looped = Looped(commit=True, since="c0ffee")
    looped.reply("Done.")

    assert looped.due() == ls.Commit(checkpoint=False)
    assert looped.loop.takes_earlier


def test_it_is_left_where_no_commit_is_wanted_or_nobody_knows_where_head_was() -> None:
    for looped in (Looped(commit=True), Looped(since="c0ffee")):
        looped.reply("Done.")
        assert isinstance(looped.loop.next, ls.Over)


def test_it_is_left_where_the_work_came_to_no_good_end() -> None:
    looped = Looped(commit=True, since="c0ffee", max_iterations=1)
    looped.wrote()

    assert looped.due() == ls.Commit(checkpoint=True)
    assert not looped.loop.takes_earlier
