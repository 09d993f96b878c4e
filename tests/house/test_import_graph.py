"""Files import each other one way, and a folder holds few enough of them to be learnt at once.

The import contracts hold the order of folders. Within one nothing else would see a circle, above
all one that an annotation or an import in a function closes: it does no harm when it runs, and yet
neither file can be read, tested or moved without the other.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.source import modules, name_of, text

PACKAGES = ("daemon/podiumd", "client/podium")
FOLDER_FILES = 24

# To parse whole files takes many seconds.
IMPORT = re.compile(
    r"^[ \t]*((?:from podiumd?[\w.]* import|import podiumd?\b)[^\n(]*(?:\([^)]*\))?)", re.MULTILINE
)


def imports(code: str, known: set[str]) -> set[str]:
    """The known modules that one imports anywhere: at its head, for annotations, in functions."""
    found = set()
    for node in ast.parse("\n".join(IMPORT.findall(code))).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & known or {node.module}
    return found & known


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Some modules that import each other in a circle; none where there is no such circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize(
    "code",
    [
        "from podium import b",
        "if TYPE_CHECKING:\n    from podium.b import Name",
        "def late():\n    import podium.b",
    ],
)
def test_a_circle_is_recognised(code: str) -> None:
    known = {"podium.b", "podium.c"}
    graph = {
        "podium.b": imports("from podium.c import (\n    name,\n)", known),
        "podium.c": imports(code, known),
    }

    assert set(circle(graph)) == known


def test_no_files_import_each_other_in_a_circle() -> None:
    files = {}
    for path in modules(*PACKAGES):
        _, *parts = name_of(path).removesuffix(".py").split("/")
        files[".".join(parts).removesuffix(".__init__")] = path
    graph = {name: imports(text(path), files.keys() - {name}) for name, path in files.items()}

    assert len(graph) > 2
    assert circle(graph) == []


def test_a_folder_holds_few_files() -> None:
    files = Counter(
        name_of(path.parent) for path in modules(*PACKAGES) if path.name != "__init__.py"
    )

    assert {folder: count for folder, count in files.items() if count > FOLDER_FILES} == {}
