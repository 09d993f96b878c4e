"""What a turn is refused for before its agent begins, and what is stored of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podiumd.agents.acp.driver import check as check_settings
from podiumd.agents.acp.kind import AcpSettings
from podiumd.agents.acp.script import FILE, check, make_script, store, stored
from podiumd.agents.halves import SettingFault
from podiumd.drivers.base import ToolsServer
from tests.drivers.rig import Rig

FULL: dict[str, Any] = {"command": ("a",), "ask_mode": "ask", "read_only_mode": "plan"}


@pytest.mark.parametrize(
    ("settings", "request_fields", "words"),
    [
        ({**FULL, "resume": "resume"}, {"session_mode": "resume"}, "is none of mine's"),
        (FULL, {"session_mode": "fork", "agent_session_id": "s"}, "cannot copy"),
        (FULL, {"session_mode": "resume", "agent_session_id": "s"}, "does not go on"),
        ({"ask_mode": "ask"}, {"tools": "read-only"}, "only reads"),
        (FULL, {"tools": ("Read",)}, "some tools"),
        ({"read_only_mode": "plan"}, {}, "set ask_mode"),
        (FULL, {"prompt": "x" * (1 << 20)}, "attach it as a file"),
    ],
)
def test_what_the_agent_cannot_keep_is_refused(
    tmp_path: Path, settings: dict[str, Any], request_fields: dict[str, Any], words: str
) -> None:
    request = Rig(tmp_path).request(**request_fields)
    with pytest.raises(ValueError, match=words):
        check(request, AcpSettings(**settings), "mine")


@pytest.mark.parametrize(
    ("request_fields", "mode"),
    [
        ({}, "ask"),
        ({"permission_mode": "yolo"}, "yolo"),
        ({"permission_mode": "yolo", "tools": "read-only"}, "plan"),
    ],
)
def test_the_mode_of_a_turn(tmp_path: Path, request_fields: dict[str, Any], mode: str) -> None:
    request = Rig(tmp_path).request(**request_fields)
    check(request, AcpSettings(**FULL), "mine")
    assert make_script(request, AcpSettings(**FULL), "mine").mode == mode


def test_options_for_asking_are_set_but_in_the_mode_that_asks_nothing(tmp_path: Path) -> None:
    settings = AcpSettings(**FULL, auto_mode="yolo", ask_options={"allow_all": "off"})
    asks, never = Rig(tmp_path).request(), Rig(tmp_path).request(permission_mode="yolo")
    assert make_script(asks, settings, "mine").options == {"allow_all": "off"}
    assert make_script(never, settings, "mine").options == {}


def test_the_next_daemon_has_what_the_first_stored(tmp_path: Path) -> None:
    server = ToolsServer(("podium", "mcp"), {"TOKEN": "t"})
    request = Rig(tmp_path).request("go", system_prompt="Be brief.", tools_server=server)
    made = make_script(request, AcpSettings(**FULL), "mine")
    assert made.prompt == "Be brief.\n\ngo" and made.servers[0]["command"] == "podium"
    assert stored(request.directory) is None
    store(made, request.directory)
    assert stored(request.directory) == made
    assert Path(request.directory, FILE).stat().st_mode & 0o077 == 0


def test_an_agent_of_which_nothing_is_known_names_its_command() -> None:
    with pytest.raises(SettingFault, match="name the program"):
        check_settings(AcpSettings(), {})
    check_settings(AcpSettings(**FULL), {})
