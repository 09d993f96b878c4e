"""A person's own recipes are believed only where nobody else can have written them."""

from __future__ import annotations

import pytest

from tests.runtime.test_catalogue import Places, _write, places

__all__ = ["places"]


@pytest.mark.parametrize("open_to_all", ["r.toml", "go.md", "."])
def test_a_persons_recipe_that_others_can_write_is_refused(
    places: Places, open_to_all: str
) -> None:
    _write(places.user, "r", prompt='prompt_file = "go.md"')
    (places.user / "go.md").write_text("Go.")
    (usable,) = places.list()
    assert usable.recipe is not None

    where = places.user / open_to_all
    where.chmod(where.stat().st_mode | 0o002)
    (refused,) = places.list()
    assert refused.recipe is None
    assert "everybody can write to it" in refused.findings[0].message


def test_what_came_with_podium_is_whoever_installed_its(places: Places) -> None:
    _write(places.builtin, "r").chmod(0o666)
    (entry,) = places.list()
    assert entry.recipe is not None
