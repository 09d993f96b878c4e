"""Played native turns that hold every kind of their facts, as lines for a log that the tests keep.

A release whose facts have another shape adds a file of its own:
``python -m tests.core.played_native > tests/core/facts_native_N.jsonl``.
"""

from __future__ import annotations

from podiumd.core.run import commands as c
from podiumd.core.run import native_loop_commands as lc
from podiumd.core.run import native_loop_facts as lf
from tests.core.builders import Play
from tests.core.looped import NEW, NEWER, Looped, change, read, run, write
from tests.core.played_log import lines


def _committed() -> Play:
    """A refusal, a person's words, a hook that refuses once, a commit."""
    looped = Looped(commit=True, budget_usd=5.0)
    usage = lf.Usage(input=1000, output=50, cached=800)
    looped.says(read(), run("make"), {"action": "fly"}, model="m-1", usage=usage, cost_usd=0.25)
    looped.over(output="1\tx")
    looped.refuse("not now")
    looped.play.do(c.Steer, uuid="steer-1", text="And new.py, bitte: \u00fc.")
    looped.play.do(c.ReportEffectEnd, effect="steer:steer-1", state="queued")
    looped.tell(lc.AddWords(words=(lf.Words("steer-1", "And new.py, bitte: \u00fc."),)))
    looped.play.do(c.ReportEffectEnd, effect="steer:steer-1", state="delivered")
    looped.reply("```json\n{")
    looped.says(write(), write("new.py"))
    looped.tell(lc.PlanAction(index=0, changes=(change(),)))
    looped.over(True, "modified", change())
    looped.over(True, "created", lf.FileChange("new.py", None, NEW, mode="100755"))
    looped.reply("Done.")
    looped.tell(lc.ReportCommitEnd(state="refused", detail="lint: 1 error"))
    looped.wrote("a.py", NEW, NEWER)
    looped.reply("Mended.")
    looped.tell(lc.ReportCommitEnd(state="committed", sha="c0ffee", detail="AI: modified a.py"))
    looped.report(texts=("Done.", "Mended."))
    return looped.play


def _limited() -> Play:
    """The limit of replies, with a checkpoint that fails."""
    looped = Looped(commit=True, max_iterations=1, run_id="run-2")
    looped.wrote()
    looped.tell(lc.ReportCommitEnd(state="failed", detail="not a git repository"))
    looped.report()
    return looped.play


def _half() -> Play:
    """A turn that was cut off in the middle of its second action."""
    looped = Looped(run_id="run-3")
    looped.says(read(), write("b.py"))
    looped.over()
    looped.tell(lc.PlanAction(index=1, changes=(change("b.py"),)))
    return looped.play


def played_natively() -> dict[str, Play]:
    """The runs by name."""
    return {"committed": _committed(), "limited": _limited(), "half": _half()}


if __name__ == "__main__":
    print("\n".join(lines(played_natively())))
