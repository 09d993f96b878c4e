"""``podium agents``."""

from __future__ import annotations

import json
from typing import Any

from podium.agent_kinds import CAPABILITIES, KNOWN
from podium.commands.agents import ANEW, shown
from tests.client.fake_daemon import FakeDaemon, podium


def agent(name: str, **changes: Any) -> dict[str, Any]:
    """A row of ``agents.list``."""
    words: dict[str, Any] = {"own_tools": "none", "usage": "none", "exactly_once": "weak"}
    words |= {"images": "none", "unasked": [], "permission_modes": []}
    can = dict.fromkeys(CAPABILITIES, False) | words
    return {
        "name": name,
        "kind": name,
        "label": name,
        "state": "ready",
        "program": f"/opt/{name}",
        "version": f"{name} 1.0",
        "mark": None,
        "found": f"{name} 1.0 at /opt/{name}",
        "fix": "",
        "session_format": None,
        "capabilities": can | changes.pop("can", {}),
        **changes,
    }


def test_agents_are_listed_with_what_each_can_do(daemon: FakeDaemon) -> None:
    able = {"fork": True, "own_tools": "mcp", "exactly_once": "mark"}
    daemon.answers["agents.list"] = [
        agent("one", can=able, session_format="codex"),
        agent("two", mark="untried 1.0"),
    ]

    done = podium(daemon, "agents")

    lines = [line.split("  ") for line in done.stdout.splitlines()]
    cells = [[cell.strip() for cell in line if cell] for line in lines]
    assert cells[:3] == [
        ["AGENT", "STATE", "VERSION", "PROGRAM"],
        ["one", "ready", "one 1.0", "/opt/one"],
        ["two", "ready", "two 1.0 (untried 1.0)", "/opt/two"],
    ]
    assert ["CAN", "one", "two"] in cells
    assert ["copies a session", "yes", "-"] in cells
    assert ["Podium's tools, by", "mcp", "-"] in cells
    assert ["session files that are read", "codex", "-"] in cells
    assert cells[3 + 2 + len(CAPABILITIES) + 1 :] == [
        [],
        [f"Also known, not found: {', '.join(KNOWN)}. {ANEW}"],
    ]
    assert (done.stderr, done.returncode) == ("", 0)


def test_agents_that_are_known_and_not_found_are_named_last(daemon: FakeDaemon) -> None:
    first, *others = KNOWN
    daemon.answers["agents.list"] = [agent(first)]
    lines = podium(daemon, "agents").stdout.splitlines()
    assert lines[-1] == f"Also known, not found: {', '.join(others)}. {ANEW}"
    daemon.answers["agents.list"] = [agent(name) for name in KNOWN]
    assert "not found" not in podium(daemon, "agents").stdout


def test_what_is_not_well_is_told_with_how_to_mend_it(daemon: FakeDaemon) -> None:
    daemon.answers["agents.list"] = [
        agent(
            "one",
            state="missing",
            program=None,
            version=None,
            found="'one' is no program on PATH",
            fix="install it",
        ),
        agent("two", state="unready", found="two is not logged in", fix="log in"),
        agent("three", state="ready", fix="never shown"),
    ]

    lines = podium(daemon, "agents").stdout.splitlines()

    assert lines[1].split() == ["one", "missing", "-", "-"]
    assert lines[4:8] == [
        "one: 'one' is no program on PATH",
        "  install it",
        "two is not logged in",
        "  log in",
    ]
    assert "never shown" not in "".join(lines)


def test_an_agent_cannot_drive_the_terminal(daemon: FakeDaemon) -> None:
    hostile = "\x1b[2J"
    daemon.answers["agents.list"] = [
        agent("one", state="unready", version=hostile, mark=hostile, found=hostile, fix=hostile)
    ]

    assert "\x1b" not in podium(daemon, "agents").stdout


def test_programs_get_what_the_daemon_answers(daemon: FakeDaemon) -> None:
    daemon.answers["agents.list"] = [agent("one")]

    assert json.loads(podium(daemon, "agents", "--json").stdout) == [agent("one")]


def test_what_an_older_daemon_does_not_tell_of_an_ability_is_none() -> None:
    assert (shown(None), shown(False), shown(True)) == ("-", "-", "yes")
    assert (shown("none"), shown("mcp")) == ("-", "mcp")
    assert (shown([]), shown(["Edit", "Write"])) == ("-", "Edit, Write")
