"""Commands carry their own time, and a refusal says what a program needs to know."""

from __future__ import annotations

from typing import get_args

from podiumd.core.run import commands as c


def test_every_command_has_the_time_it_was_given_at() -> None:
    for kind in get_args(c.AnyCommand):
        assert {"at", "mono"} <= set(kind.__struct_fields__), kind


def test_a_refusal_has_words_for_people_and_data_for_programs() -> None:
    refused = c.CommandRefused("closed", "It was already answered.", id="q-1", by="phone")

    assert str(refused) == refused.message == "It was already answered."
    assert (refused.kind, refused.data) == ("closed", {"id": "q-1", "by": "phone"})
