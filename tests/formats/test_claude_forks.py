"""Where a session's tree of records forks: two who wrote to it at once, or a prompt taken back."""

from __future__ import annotations

from podiumd.formats.session import IDENTITY_BYTES, Cursor, identity_of
from tests.formats.claude_rows import FORMAT, assistant, chunk, message, queued, row, text, user


def chain(*links: tuple[str, str | None]) -> list[bytes]:
    """Rows by name: p is a person's, r a tool's result, a the agent's, s the CLI's, h opaque."""
    made = {
        "p": lambda more: user("words", **more),
        "r": lambda more: user([{"type": "tool_result", "content": "x"}], **more),
        "a": lambda more: assistant(text("words"), **more),
        "s": lambda more: user("all so far", isCompactSummary=True, **more),
        "h": lambda more: row(type="attachment", attachment={"type": "date"}, **more),
    }
    return [made[name[0]]({"uuid": name, "parentUuid": parent}) for name, parent in links]


def forks(*lines: bytes) -> dict[str, str]:
    data = chunk(*lines)
    found = FORMAT.entries(Cursor(), data)
    named = ((message(data[e.offset : e.offset + e.length]).uuid, e.parent) for e in found)
    return {uuid: parent for uuid, parent in named if parent is not None}


def links(*lines: bytes) -> list[bytes]:
    """The records that are no messages, each with what it follows, as the cursor has them."""
    cursor = Cursor()
    FORMAT.entries(cursor, chunk(*lines))
    taken = cursor.take_links()
    return [taken[at : at + IDENTITY_BYTES] for at in range(0, len(taken), IDENTITY_BYTES)]


def test_a_prompt_that_follows_the_tip_is_no_fork() -> None:
    lines = chain(("h0", None), ("p1", "h0"), ("h1", "p1"), ("a1", "h1"), ("p2", "a1"))
    assert forks(*lines) == {}
    assert forks(*chain(("p1", None), ("a1", "p1"), ("h1", "a1"), ("p2", "h1"))) == {}
    assert forks(*chain(("p1", None), ("a1", "p1"), ("h1", "a1"), ("p2", "a1"))) == {}


def test_a_prompt_that_follows_another_record_is_a_fork_and_names_it() -> None:
    start = chain(("p1", None), ("a1", "p1"), ("h1", "a1"), ("p2", "h1"), ("a2", "p2"))
    assert forks(*start, *chain(("p3", "h1"), ("a3", "p3"), ("p4", "a3"))) == {"p3": "h1"}
    assert forks(*start, *chain(("p3", None))) == {"p3": ""}
    assert forks(*start, queued("steer", uuid="q", parentUuid="p1")) == {"q": "p1"}


def test_a_record_that_another_writer_put_at_the_end_does_not_hide_a_fork() -> None:
    start = chain(("p1", None), ("a1", "p1"), ("h1", "a1"), ("p2", "h1"), ("a2", "p2"))
    other = chain(("h2", "h1"), ("p3", "h2"))
    assert forks(*start, *other) == {"p3": "h2"}
    assert forks(*start, *other, *chain(("h3", "a2"), ("p4", "h3"))) == {"p3": "h2", "p4": "h3"}
    assert forks(*start, *chain(("h2", None), ("p3", "h2"))) == {"p3": "h2"}
    of_old = row(type="system", uuid="h2")  # says nothing of what it follows
    assert forks(*start, of_old, *chain(("p3", "h2"))) == {}


def test_after_a_compaction_the_conversation_goes_on() -> None:
    start = chain(("p1", None), ("a1", "p1"), ("h1", "a1"))
    boundary = row(
        type="system",
        subtype="compact_boundary",
        uuid="b",
        parentUuid=None,
        logicalParentUuid="h1",
    )
    assert forks(*start, boundary, *chain(("s1", "b"), ("h2", "s1"), ("p2", "h2"))) == {}
    assert forks(*start, boundary, *chain(("h2", "b"), ("p2", "h2"))) == {}
    late = chain(("p2", "h1"), ("a2", "p2"))
    assert forks(*start, *late, boundary, *chain(("p3", "b"))) == {"p3": "b"}
    assert links(*start, boundary) == [*map(identity_of, ("h1", "a1", "b", "h1"))]


def test_results_and_what_follows_them_are_no_forks() -> None:
    start = chain(("p1", None), ("a1", "p1"), ("a2", "a1"))
    assert forks(*start, *chain(("r1", "a1"), ("s1", None), ("a3", "s1"))) == {}
    assert (
        forks(*start, user("refused", uuid="w", parentUuid="p1", sourceToolAssistantUUID="a1"))
        == {}
    )
    assert forks(*start, user("of an old version", uuid="p2")) == {}
    assert forks(*start, user("no uuid"), *chain(("p2", "a2"))) == {}


def test_an_answer_that_comes_after_another_writers_turn_is_a_fork() -> None:
    """The agent goes on from the last record, so the turn between drops out of what it knows."""
    turns = chain(("p1", None), ("a1", "p1"), ("p2", "a1"), ("h2", "p2"))
    between = chain(("p3", "a1"), ("a3", "p3"))
    assert forks(*turns, *between, *chain(("a2", "h2"), ("p4", "a2"))) == {"p3": "a1", "a2": "h2"}
    assert forks(*turns, *chain(("a2", "h2"))) == {}
    assert forks(*turns, *chain(("a2", None))) == {}


def test_a_turn_may_be_as_long_as_it_likes() -> None:
    links = [("p1", None), *((f"a{n}", f"a{n - 1}" if n else "p1") for n in range(400))]
    assert forks(*chain(*links)) == {}
    links = [
        ("p1", None),
        ("a1", "p1"),
        *((f"h{n}", f"h{n - 1}" if n else "a1") for n in range(400)),
    ]
    assert forks(*chain(*links), *chain(("a2", "h399"))) == {}


def test_a_side_chain_is_no_part_of_the_conversation() -> None:
    start = chain(("p1", None), ("a1", "p1"))
    side = user("in a sub-agent", uuid="side", parentUuid="a1", isSidechain=True)
    assert forks(*start, side, *chain(("p2", "a1"))) == {}
    assert forks(*start, side, *chain(("p2", "side"))) == {"p2": "side"}
    assert links(*start, side) == [identity_of("side"), identity_of("a1")]


def test_what_records_follow_that_are_no_messages_is_told() -> None:
    lines = chain(
        ("p1", None), ("a1", "p1"), ("h1", "a1"), ("h2", "h1"), ("p2", "h2"), ("a2", "p2")
    )
    lines.append(user("to the model", uuid="meta", parentUuid="a2", isMeta=True))
    told = ("h1", "a1", "h2", "h1", "meta", "a2")
    assert links(*lines) == [*map(identity_of, told)]
    root, silent = chain(("h1", None)), row(type="system", uuid="h2")
    assert links(*root, silent) == [identity_of("h1"), identity_of("")], "the other does not say"
