"""Facts that stand in more than one place agree."""

import configparser
import plistlib
import re
import tomllib
from typing import Any

import podium
import podiumd
from tests.house.source import ROOT

PACKAGES = [
    path.parent
    for root in ("daemon", "client")
    for path in sorted((ROOT / root).rglob("__init__.py"))
]


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _distribution(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    assert match is not None, requirement
    return match[0].lower()


def test_daemon_client_and_distribution_have_one_version() -> None:
    version = _project()["project"]["version"]

    assert (podiumd.__version__, podium.__version__) == (version, version)


def test_the_changelog_tells_of_this_version_or_of_what_is_to_come() -> None:
    version = _project()["project"]["version"]
    headings = re.findall(
        r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert {"Unreleased", version} & set(headings)


def test_every_requirement_is_pinned_for_development() -> None:
    pinned = {
        _distribution(line)
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if re.fullmatch(r"[\w.-]+==[\w.]+", line)
    }
    project = _project()
    wanted = {
        _distribution(requirement)
        for requirement in (
            *project["build-system"]["requires"],
            *project["project"]["dependencies"],
            *project["dependency-groups"]["dev"],
        )
        if "sys_platform" not in requirement
    }

    assert wanted - pinned == set()


def test_the_architecture_page_names_every_package() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = [path.name for path in PACKAGES if not re.search(rf"\b{path.name}\b", page)]

    assert missing == []


def test_each_file_that_the_architecture_page_s_map_names_is_there() -> None:
    """Each stands below its row's place or in one of that's folders, below the daemon's package,
    or below the project."""
    package = ROOT / "daemon/podiumd"
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w/]+?)/?` \|(.+)$", page, re.MULTILINE)
    named = [
        (place, name)
        for place, cells in rows
        for name in re.findall(r"`([\w/]+\.\w+|\w+/[\w/]+)`", cells)
        if not name.endswith(".db")  # a user's
    ]

    def is_there(place: str, name: str) -> bool:
        roots = (package / place, ROOT / place, package, ROOT)
        in_each = (package / place).glob(f"*/{name}")
        return any((root / name).exists() for root in roots) or any(in_each)

    assert len(rows) > 20 and len(named) > 50
    assert [one for one in rows if not any((r / one[0]).exists() for r in (package, ROOT))] == []
    assert [one for one in named if not is_there(*one)] == []


def test_source_roots_are_no_packages_themselves() -> None:
    folders = ("daemon", "client", "recipes", "systemd", "launchd")

    assert [name for name in folders if (ROOT / name / "__init__.py").exists()] == []


def test_data_is_linked_into_the_package_by_relative_links() -> None:
    """All but the words of spoken commands and the models, which stand there themselves."""
    data = {path.name: path for path in (ROOT / "daemon/podiumd/_data").iterdir()}
    links = {name: path for name, path in data.items() if name not in ("spoken", "speech")}

    places = {"recipes": "recipes", "systemd": "systemd", "launchd": "launchd", "web": "client/web"}
    assert {name: str(path.readlink()) for name, path in links.items()} == {
        name: f"../../../{place}" for name, place in places.items()
    }


def test_a_stopped_service_leaves_the_agents_running() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(ROOT / "systemd/podiumd.service", encoding="utf-8")
    agent = plistlib.loads((ROOT / "launchd/podiumd.plist").read_bytes())

    assert unit["Service"]["KillMode"] == "process"
    assert agent["AbandonProcessGroup"] is True


def test_the_service_is_given_more_time_to_stop_than_the_daemon_needs() -> None:
    promised_seconds = 10
    unit = configparser.ConfigParser(interpolation=None)
    unit.read(ROOT / "systemd/podiumd.service", encoding="utf-8")
    agent = plistlib.loads((ROOT / "launchd/podiumd.plist").read_bytes())

    assert int(unit["Service"]["TimeoutStopSec"]) > promised_seconds
    assert agent["ExitTimeOut"] > promised_seconds
