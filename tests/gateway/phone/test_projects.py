"""Commands, files and working trees from a phone."""

from __future__ import annotations

import base64
import os
import uuid
from pathlib import Path

import pytest

from podiumd.projects.errors import BadPlace
from tests.gateway.phone.phone_server import PhoneServer
from tests.runtime.harness import Machine
from tests.tools.git_repository import commit, make_repository

MAKEFILE = "hello:\n\t@echo out; echo err >&2\nwait:\n\t@echo began; read line < gate\n"


def project(machine: Machine) -> Path:
    made = make_repository(machine.project / "repo")
    (made / "Makefile").write_text(MAKEFILE)
    commit(made, "first")
    return made


async def test_a_command_is_run_and_told_from_its_start_to_its_end(
    server: PhoneServer, machine: Machine
) -> None:
    """P-13.9."""
    where = str(project(machine))
    client, other = await server.connected(), await server.connected()
    client.say("set_directory", path=where)
    offered = await client.hears("available_commands")
    assert "hello" in [item["id"] for item in offered["project_commands"]]
    client.say("execute_command", command_id="hello", working_directory=where)
    over = await client.hears("command_complete")
    kinds = [each["type"] for each in client.sent if each["type"].startswith("command_")]
    assert kinds[0] == "command_started" and kinds[-1] == "command_complete"
    said = {(m["stream"], m["text"]) for m in client.of("command_output")}
    assert said == {("stdout", "out"), ("stderr", "err")}
    assert over["exit_code"] == 0 and other.of("command_output") == []
    run_id = over["command_session_id"]
    client.say("get_command_history", working_directory=where)
    [row] = (await client.hears("command_history"))["sessions"]
    assert row["command_session_id"] == run_id and "out" in row["output_preview"]
    client.say("get_command_output", command_session_id=run_id)
    full = await client.hears("command_output_full")
    assert "out" in full["output"] and "err" in full["output"]


async def test_what_is_not_offered_is_not_run(server: PhoneServer, machine: Machine) -> None:
    where = str(project(machine))
    client = await server.connected()
    for bad in ("hello; touch pwned", "none", "../hello", "git.status && ls"):
        client.say("execute_command", command_id=bad, working_directory=where)
    await client.hears("command_error", 4)
    client.say("execute_command", command_id="hello", working_directory="/nowhere")
    await client.hears("command_error", 5)
    assert not (Path(where) / "pwned").exists() and client.of("command_started") == []


async def test_a_command_goes_on_without_its_phone_and_tells_the_rest_when_it_is_back(
    server: PhoneServer, machine: Machine
) -> None:
    """P-13.11."""
    where = project(machine)
    os.mkfifo(where / "gate")
    _, key = await server.devices.pair(None)
    client = await server.connected(key)
    client.say("execute_command", command_id="wait", working_directory=str(where))
    await client.hears("command_output")
    client.hang_up()
    back = await server.connected(key)
    gate = os.open(where / "gate", os.O_RDWR)  # does not wait for a reader
    os.write(gate, b"go\n")
    assert (await back.hears("command_complete"))["exit_code"] == 0
    os.close(gate)


async def test_a_phone_that_does_not_keep_up_misses_lines_and_is_told(
    server: PhoneServer, machine: Machine
) -> None:
    """P-13.10."""
    where = machine.project
    (where / "Makefile").write_text("many:\n\t@for i in 1 2 3; do echo line $$i; done\n")
    client = await server.connected()
    client.take(2 * 1024 * 1024)
    client.say("execute_command", command_id="many", working_directory=str(where))
    await client.hears("command_complete")
    [notice] = client.of("command_output")
    assert "left out" in notice["text"]


async def test_a_file_is_stored_listed_and_deleted(server: PhoneServer, machine: Machine) -> None:
    place = {"storage_location": str(machine.project)}
    client = await server.connected()
    content = base64.b64encode(b"hello").decode()
    client.say("upload_file", filename="note.txt", content=content, **place)
    stored = await client.hears("file_uploaded")
    assert (stored["size"], stored["filename"]) == (5, "note.txt")
    assert Path(stored["path"]).read_bytes() == b"hello"
    client.say("list_resources", **place)
    [row] = (await client.hears("resources_list"))["resources"]
    assert row["filename"] == "note.txt" and "." not in row["timestamp"]
    client.say("delete_resource", filename="note.txt", **place)
    await client.hears("resource_deleted")
    assert not Path(stored["path"]).exists()


async def test_the_place_that_the_apps_send_to_by_themselves_is_made(
    server: PhoneServer, tmp_path: Path
) -> None:
    """P-14.5"""
    place = {"storage_location": "~/Downloads"}
    client = await server.connected()
    client.say("list_resources", **place)
    assert (await client.hears("resources_list"))["resources"] == []
    client.say("upload_file", filename="note.txt", content="aGVsbG8=", **place)
    stored = await client.hears("file_uploaded")
    assert stored["path"].startswith(f"{tmp_path}/home/Downloads/")
    client.say("list_resources", **place)
    assert len((await client.hears("resources_list", 2))["resources"]) == 1
    client.say("upload_file", filename="note.txt", content="", storage_location="/nowhere")
    assert "is not there" in (await client.hears("error"))["message"]


async def test_a_file_with_a_hostile_name_is_an_error_that_the_app_knows(
    server: PhoneServer, machine: Machine
) -> None:
    client = await server.connected()
    for name in ("../up", "/etc/passwd", "a/b", "..", "a\0b"):
        client.say("upload_file", filename=name, content="", storage_location=str(machine.project))
    refused = await client.hears("error", 5)
    assert all(m["message"].startswith("Failed to upload file") for m in client.of("error"))
    client.say("delete_resource", filename="../up", storage_location=str(machine.project))
    await client.hears("error", 6)
    assert refused and list(machine.project.iterdir()) == []


async def test_a_session_is_made_in_a_working_tree_of_its_own(
    server: PhoneServer, machine: Machine
) -> None:
    where = str(project(machine))
    client = await server.connected()
    client.say("create_worktree_session", session_name="Fix the door", parent_directory=where)
    made = await client.hears("worktree_session_created")
    assert made["branch_name"] == "fix-the-door" and Path(made["worktree_path"]).is_dir()
    turn = await server.daemon.turn()
    assert turn.request.session_id == made["session_id"]
    assert turn.request.working_directory == made["worktree_path"]
    client.say("create_worktree_session", session_name="Fix the door", parent_directory=where)
    refused = await client.hears("worktree_session_error")
    assert refused["error_type"] in ("worktree_path_exists", "branch_exists")


async def test_a_working_tree_whose_agent_cannot_start_is_taken_away_again(
    server: PhoneServer, machine: Machine
) -> None:
    where = str(project(machine))
    client = await server.connected()
    machine.agent.problem = "it is not installed"
    client.say("create_worktree_session", session_name="Door", parent_directory=where)
    refused = await client.hears("worktree_session_error")
    assert refused["error_type"] == "agent_failed"
    assert not Path(f"{where}-door").exists()


async def test_a_phone_may_not_have_everything_going_on_at_once(
    server: PhoneServer, machine: Machine
) -> None:
    client = await server.connected()
    for _ in range(20):
        client.say(
            "prompt",
            text="x",
            new_session_id=str(uuid.uuid4()),
            working_directory=str(machine.project),
            ios_session_id="i",
        )
    refused = await client.hears("error")
    assert "at once" in refused["message"]


async def test_a_home_that_does_not_answer_keeps_no_phone_out(
    server: PhoneServer, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(*_: object) -> Path:
        raise BadPlace("The directory does not answer.")

    monkeypatch.setattr("podiumd.projects.commands.existing_directory", silent)
    client = await server.connected()
    client.say("set_directory", path=str(machine.project))
    offered = await client.hears("available_commands")
    assert offered["project_commands"] == []
    assert "git.status" in [item["id"] for item in offered["general_commands"]]
