"""What holds for every order in which things happen within a native turn.

``Play`` proves at each command that the fold of the stored bytes is the live state.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from podiumd.core.decide.native_loop import MAX_INVALID
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run import native_loop_state as ls
from tests.core.looped import DONE, NEW, OLD, Looped, block, change, read, run, write

BATCHES = (
    [read()],
    [write("a.py"), run()],
    [run("make"), DONE],
    [DONE, read()],
    [{"action": "fly"}, {"action": "patch"}, read()],
)
REPLIES = ("All is well.", "```json\n{", *(f"I go on.\n{block(*batch)}" for batch in BATCHES))

result = st.builds(
    lf.Result,
    action=st.just(""),
    success=st.booleans(),
    message=st.just("so"),
    output=st.text(max_size=3),
    critical=st.booleans(),
)
digests = st.sampled_from([None, OLD, NEW])
changes = st.lists(
    st.builds(change, st.sampled_from(["a.py", "b.py"]), digests, digests), max_size=2
).map(tuple)
index = st.integers(0, 2)
commands = st.one_of(
    st.builds(
        lc.ReportReply,
        text=st.sampled_from(REPLIES),
        stop=st.sampled_from(["end", "end", "end", "length", "other"]),
        cost_usd=st.sampled_from([0.0, 0.1]),
    ),
    st.builds(lc.PlanAction, index=index, changes=changes),
    st.builds(lc.ReportActionEnd, index=index, result=result, changes=changes),
    st.builds(lc.RefuseAction, index=index, note=st.sampled_from(["", "no"])),
    st.builds(
        lc.ReportCommitEnd, state=st.sampled_from(["committed", "nothing", "refused", "failed"])
    ),
    st.builds(
        lc.AddWords,
        words=st.lists(st.builds(lf.Words, st.sampled_from("stu"), st.just("x")), max_size=2).map(
            tuple
        ),
    ),
    st.builds(
        lc.ReportReplyFailure,
        kind=st.sampled_from(["api_error", "usage_limit", "failed"]),
        detail=st.just("529"),
    ),
)


def fitting(looped: Looped, data: st.DataObject) -> lc.LoopCommand:
    """Mostly what a driver would tell now, sometimes anything."""
    due = looped.due()
    anything: lc.LoopCommand = data.draw(commands)
    if isinstance(due, ls.Act) and isinstance(anything, lc.ReportActionEnd | lc.RefuseAction):
        return replace(anything, index=due.index)
    return anything


@given(st.data(), st.integers(1, 4), st.booleans(), st.sampled_from([None, 0.3]))
def test_no_order_of_events_passes_a_limit_or_loses_its_way(
    data: st.DataObject, most: int, commit: bool, budget: float | None
) -> None:
    looped = Looped(max_iterations=most, commit=commit, budget_usd=budget)
    for _ in range(data.draw(st.integers(0, 40))):
        before = looped.loop
        facts = looped.tell(fitting(looped, data))
        after = looped.loop

        assert after.iterations <= most
        assert after.invalid_in_a_row <= MAX_INVALID
        assert (after == before) == (not facts)
        assert not (isinstance(before.next, ls.Over) and "reply.received" in facts)
        if budget is not None and before.cost_usd >= budget:
            assert after.iterations == before.iterations, "asked without money"
        if isinstance(after.next, ls.Ask):
            assert after.iterations < most
            assert all(a.result for a in (after.present.actions if after.present else ()))
        if isinstance(after.next, ls.Commit):
            assert commit
            assert after.files
            assert after.next.checkpoint == (
                after.ending is not None and after.ending.kind != "done"
            )


@given(st.data(), st.integers(1, 4))
def test_a_turn_whose_driver_does_what_is_next_comes_to_its_end(
    data: st.DataObject, most: int
) -> None:
    looped = Looped(max_iterations=most, commit=True)
    for _ in range(most * 8 + 2):
        due = looped.due()
        if isinstance(due, ls.Over):
            break
        if isinstance(due, ls.Ask):
            looped.reply(data.draw(st.sampled_from(REPLIES)))
        elif isinstance(due, ls.Act):
            looped.over(data.draw(st.booleans()), "so", *data.draw(changes))
        else:
            states: list[lc.CommitState] = ["committed", "refused", "failed"]
            looped.tell(lc.ReportCommitEnd(state=data.draw(st.sampled_from(states))))

    assert isinstance(looped.due(), ls.Over)
    looped.report()
    assert looped.play.state.exit is not None
