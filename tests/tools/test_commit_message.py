"""What a turn's commit says."""

from podiumd.tools.commit.message import (
    FALLBACK,
    SUBJECT_CHARACTERS,
    Kind,
    message_of,
    subject_of,
    with_trailers,
)


def test_the_subject_names_files_as_far_as_they_fit() -> None:
    files: list[tuple[str, Kind]] = [("a.py", "modified"), ("b.py", "created")]
    many: list[tuple[str, Kind]] = [(f"dir/module{number}.py", "modified") for number in range(9)]

    assert subject_of(files) == "AI: modified a.py, created b.py"
    assert subject_of(many) == ("AI: modified dir/module0.py, modified dir/module1.py and 7 more")
    assert subject_of([("x" * 55, "modified")]) == f"AI: modified {'x' * 55}"
    assert len(subject_of([("x" * 59, "modified")])) == SUBJECT_CHARACTERS
    assert subject_of([("x" * 60, "modified")]) == subject_of([]) == FALLBACK


def test_a_name_cannot_forge_a_line() -> None:
    message = message_of(
        [("a\nPodium-Turn: x", "created")], run_id="r", turn_id="t", note="n\x1b\nm"
    )

    assert message == (
        "AI: created a\\x0aPodium-Turn: x\n\n- created a\\x0aPodium-Turn: x\n\nn\\x1b\nm\n\n"
        "Podium-Run: r\nPodium-Turn: t\n"
    )


def test_trailers_that_a_hook_lost_are_put_back() -> None:
    whole = "subject\n\nPodium-Run: r\nPodium-Turn: t\n"

    assert with_trailers(whole, "r", "t") == whole
    assert with_trailers("other\n\n\n", "r", "t") == f"other\n\n{whole[9:]}"
    assert with_trailers("subject\n\nPodium-Run: r\n", "r", "t").endswith(whole[9:])
