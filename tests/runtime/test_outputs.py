"""Each output says where in its turn it stands."""

from podiumd.drivers.base import Output
from podiumd.runtime.run.turn_task import Outputs
from tests.core.builders import Play
from tests.plain import told


def test_the_place_of_an_output_is_what_came_before_it_of_its_kind_in_its_part() -> None:
    turn = Play().go().state.turn
    assert turn is not None
    outputs = Outputs("r", turn.intent)
    said = [
        Output("m", "text", "One, ", "1"),
        Output("m", "tool", "ls", "1/0"),
        Output("m", "text", "two.", "1"),
        Output("m", "text", "Three.", "2"),
        Output("m", "tool", "ls", "1/0"),
    ]

    found = [told(outputs.event(output, "now"))["data"] for output in said]

    assert [(one["part"], one["at"]) for one in found] == [
        ("1", 0),
        ("1/0", 0),
        ("1", 5),
        ("2", 0),
        ("1/0", 2),
    ]
