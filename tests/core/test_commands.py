"""Commands carry their own time, and a refusal says what a program needs to know."""

from __future__ import annotations

from typing import get_args

from podiumd.core.run import commands as c


def test_every_command_has_the_time_it_was_given_at() -> None:
    for kind in get_args(c.AnyCommand):
        assert {"at", "mono"} <= set(kind.__struct_fields__), kind


def test_a_refusal_has_words_for_people_and_data_for_programs() -> None:
    refused = c.CommandRefused("It was already answered.", c.QuestionOver("q-1", "phone"))

    assert str(refused) == refused.message == "It was already answered."
    assert refused.why == c.QuestionOver(id="q-1", by="phone")
