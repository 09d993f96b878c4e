"""The rows of runs: what is stored is what is told, and earlier releases' rows are read."""

from __future__ import annotations

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from podiumd.runtime.run_rows import row_of, run_of
from podiumd.wire.views import run_view
from tests.core.builders import Play, a_recipe, a_step, leave
from tests.plain import plain


def begun() -> Play:
    """A run that goes on."""
    work = a_step("Do it.", {"complete": leave("task-committed")})
    return Play(a_recipe({"work": work})).go()


def test_a_row_of_a_run_that_goes_on_is_the_run_without_what_may_be_long() -> None:
    play = begun()
    row = row_of(play.state)
    run = run_of(row)

    assert run is not None and run.ctx is UNSET and run.sessions is UNSET
    assert plain(run) == plain(replace(run_view(play.state), ctx=UNSET))


def test_what_an_earlier_release_did_not_store_is_null_and_the_name_is_made_up() -> None:
    row = row_of(begun().state)
    stored = msgspec.json.decode(row.summary)
    for name in ("name", "base", "left", "model", "stop"):
        del stored[name]
    stored["params"] = {"task": "mend the gate"}
    run = run_of(replace(row, summary=msgspec.json.encode(stored)))

    assert run is not None
    assert (run.name, run.base, run.left, run.stop) == ("sample: mend the gate", None, None, None)


def test_a_run_of_an_earlier_release_and_its_questions_count_as_not_paused() -> None:
    play = begun()
    play.approve()
    row = row_of(play.state)
    stored = msgspec.json.decode(row.summary)
    del stored["paused"], stored["questions"][0]["paused"]
    run = run_of(replace(row, summary=msgspec.json.encode(stored)))

    assert run is not None
    assert (run.paused, [one.paused for one in run.questions]) == (False, [False])


def test_a_row_that_says_too_little_is_none_like_one_that_is_damaged() -> None:
    row = row_of(begun().state)

    assert run_of(replace(row, summary=b'{"run_id": "run-1"}')) is None
    assert run_of(replace(row, intact=False)) is None
