"""The parts of a native turn, which a crash begins once more."""

from tests.core.looped import Looped, read, run


def test_what_is_begun_once_more_after_a_crash_has_a_name() -> None:
    looped = Looped()
    parts = [looped.loop.part]

    looped.says(read("a.py"), run("make"))
    parts.append(looped.loop.part)
    looped.over(message="3 lines")
    parts.append(looped.loop.part)
    looped.over(message="made")
    parts.append(looped.loop.part)
    looped.reply("Done.")

    assert [*parts, looped.loop.part] == ["1", "1/0", "1/1", "2", ""]
