"""A run is called by its title, and without one by its recipe and task."""

from __future__ import annotations

from podiumd.core.run import commands as c
from tests.core.builders import Play, review_loop


def test_a_run_has_a_title_wherever_it_stands_and_when_it_has_ended() -> None:
    play = Play(review_loop())
    without = play.state.name

    assert play.do(c.Rename, title="Slugs,\u2003second  try ") == ["run.renamed"]
    assert play.state.name == "Slugs, second try"
    assert play.do(c.Rename, title="Slugs, second try") == [], "it is called so already"
    play.begin()
    assert play.do(c.Rename, title="At work") == ["run.renamed"]
    play.do(c.Cancel)
    play.over("interrupted")
    assert play.state.exit is not None and play.state.name == "At work"
    assert play.do(c.Rename, title="") == ["run.renamed"]
    assert play.state.name == without
