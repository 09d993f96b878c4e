"""Pictures by the real Graphviz, where it is installed; where it is not, what is said instead.

Which of the two a machine proves is its own affair; that it proves one of them is not.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from podiumd.core.analysis.render import draw, graph
from podiumd.core.recipe.model import Recipe
from podiumd.runtime.recipes.catalogue import builtin_directory, load_file
from tests.client.fake_daemon import FakeDaemon, podium
from tests.core.builders import a_recipe
from tests.core.test_graph import HOSTILE, every_kind
from tests.long import sampled

DOT = shutil.which("dot")
SVG = "{http://www.w3.org/2000/svg}"


def drawn(daemon: FakeDaemon, recipe: Recipe, output: Path) -> subprocess.CompletedProcess[str]:
    daemon.answers["recipes.graph"] = {"text": graph(recipe, "dot")}
    return podium(daemon, "recipe", "graph", recipe.id, "--output", str(output))


def holds(done: subprocess.CompletedProcess[str], recipe: Recipe, output: Path) -> None:
    """The picture has every node and arrow of the recipe, or nothing was drawn and it says why."""
    if DOT is None:
        assert done.returncode == 1 and "install the package 'graphviz'" in done.stderr
        assert not output.exists()
        return
    assert (done.returncode, done.stderr) == (0, "")
    picture, found = draw(recipe), ElementTree.parse(output).getroot()
    groups = [group.get("class") for group in found.iter(f"{SVG}g")]
    assert groups.count("node") == len(picture.nodes)
    assert groups.count("edge") == len(picture.arrows)
    words = " ".join("".join(found.itertext()).replace("\xa0", " ").split())
    for node in picture.nodes:
        assert all(" ".join(line.split()) in words for line in node.lines)


@pytest.mark.parametrize(
    "path", sampled(sorted(builtin_directory().glob("*.toml")), 2), ids=lambda p: p.stem
)
def test_graphviz_draws_every_recipe_that_ships(
    daemon: FakeDaemon, tmp_path: Path, path: Path
) -> None:
    recipe, _ = load_file(path)
    holds(drawn(daemon, recipe, tmp_path / "a.svg"), recipe, tmp_path / "a.svg")


def test_graphviz_draws_steps_of_every_kind(daemon: FakeDaemon, tmp_path: Path) -> None:
    holds(drawn(daemon, every_kind(), tmp_path / "a.svg"), every_kind(), tmp_path / "a.svg")


def test_graphviz_takes_whatever_people_write_as_words(daemon: FakeDaemon, tmp_path: Path) -> None:
    recipe = a_recipe(every_kind().steps, every_kind().limits, label=HOSTILE)
    holds(drawn(daemon, recipe, tmp_path / "a.svg"), recipe, tmp_path / "a.svg")


def test_a_bitmap_is_one(daemon: FakeDaemon, tmp_path: Path) -> None:
    done = drawn(daemon, every_kind(), tmp_path / "a.png")

    assert done.returncode == (0 if DOT else 1)
    begins = (tmp_path / "a.png").read_bytes()[:8] if DOT else done.stderr[:8].encode()
    assert begins == (b"\x89PNG\r\n\x1a\n" if DOT else b"podium: ")
