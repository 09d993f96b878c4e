"""What a refusal tells programs: the fields that it has, and no other."""

from __future__ import annotations

from podiumd.wire.refusals import RefusalData
from tests.plain import plain


def test_a_refusal_has_the_fields_that_it_was_given() -> None:
    assert plain(RefusalData()) == {}
    assert plain(RefusalData(kind="run", id="7", known=("a", "b"))) == {
        "kind": "run",
        "id": "7",
        "known": ["a", "b"],
    }
    assert plain(RefusalData(by=None)) == {"by": None}
