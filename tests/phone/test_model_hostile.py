"""Whatever a server sends, the phone itself never fails: it finds faults."""

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.phone.fake_gateway import SESSION, hello, history, message
from tests.phone.handmade import CONNECTED, connected
from tests.phone.test_model_decoding import FRAMES, OUTPUT
from tests.phone_app.fields import Json
from tests.phone_app.variants import VARIANTS

KNOWN: list[Json] = [
    *({"type": kind, **frame} for kind, frame in FRAMES.items()),
    OUTPUT,
    hello(),
    CONNECTED,
    {"type": "pong"},
    {"type": "connect_ack"},
    {"type": "session_locked", "session_id": SESSION, "message": "busy"},
    {"type": "session_updated", "session_id": SESSION, "messages": []},
    {"type": "recipe_step_started", "session_id": SESSION, "step": "a", "step_count": 1},
    {"type": "command_complete", "command_session_id": "cmd-1", "exit_code": 0, "duration_ms": 1},
    history(SESSION, [message(SESSION, 1, "user", "a"), message(SESSION, 2, "assistant", "b")], 3),
    history(SESSION, [], 1)
    | {"gap": {"requested_last_seq": 1, "min_available_seq": 2, "reason": "pruned"}},
    history(SESSION, [], 1) | {"file_replaced": True},
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a frame but its type."""
    pairs = list(
        value.items() if isinstance(value, dict) else enumerate(value)
        if isinstance(value, list) else ()
    )  # fmt: skip
    own = [(value, key) for key, _ in pairs if key != "type"]
    return own + [place for _, inner in pairs for place in places(inner)]


@st.composite
def spoilt(draw: st.DrawFn) -> Json:
    """A known frame with one thing in it replaced or taken away."""
    frame = copy.deepcopy(draw(st.sampled_from(KNOWN)))
    found = places(frame)
    if found:
        holder, key = draw(st.sampled_from(found))
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = draw(VALUES)
    return frame


@given(st.sampled_from(sorted(VARIANTS)), st.lists(spoilt(), max_size=8))
def test_no_frame_breaks_the_phone(variant: str, frames: list[Json]) -> None:
    phone = connected(variant)
    phone.sync.open(SESSION)
    phone.say("hello")
    for frame in frames:
        phone.received(json.dumps(frame))

    assert phone.counts.total() == len(frames) + 2
