"""What a phone does beside talking: commands, files, names; over a daemon's restart too."""

from __future__ import annotations

import base64

import pytest

from tests.e2e.daemon import PodiumDaemon
from tests.e2e.machine import GitRepo
from tests.e2e.phones import VERSIONS, asked, back, paired
from tests.fakes.model_server import ModelServer
from tests.phone.driver import Phone

pytestmark = pytest.mark.claude

MAKEFILE = "greet: ## Say hello\n\t@echo hello; echo oops >&2; exit 3\n"


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_command_is_offered_run_and_looked_up_again(
    podium: PodiumDaemon, repo: GitRepo, variant: str
) -> None:
    (repo.path / "Makefile").write_text(MAKEFILE)
    where = {"working_directory": str(repo.path)}
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        offered = await phone.request({"type": "set_directory", "path": str(repo.path)}, OFFERED)
        ids = {item["label"].lower(): item["id"] for item in offered["project_commands"]}
        assert "git.status" in [item["id"] for item in offered["general_commands"]]
        for command in (ids["greet"], "git.status"):
            await phone.request(
                {"type": "execute_command", "command_id": command, **where},
                "command_complete",
            )
        greet, status = phone.model.board.runs.items()
        assert ("stdout", "hello") in greet[1].output and ("stderr", "oops") in greet[1].output
        assert (greet[1].exit_code, status[1].exit_code) == (2, 0), "make's own 2"
        assert any("Makefile" in line for _, line in status[1].output)
        unknown = {"type": "execute_command", "command_id": "rm -rf /", **where}
        await phone.request(unknown, "command_error")
        await podium.restart()
        await back(podium, phone)
        history = await phone.request({"type": "get_command_history", **where}, "command_history")
        assert [row["command_session_id"] for row in history["sessions"]] == [status[0], greet[0]]
        whole = await phone.request(
            {"type": "get_command_output", "command_session_id": greet[0]}, "command_output_full"
        )
        assert "hello" in whole["output"] and whole["exit_code"] == 2
        assert phone.faults == []


OFFERED = "available_commands"


@pytest.mark.parametrize("variant", VERSIONS)
async def test_a_file_is_stored_listed_and_deleted_and_a_session_gets_a_name(
    podium: PodiumDaemon, repo: GitRepo, model_server: ModelServer, variant: str
) -> None:
    model_server.load({"default": {"text": "Repair the door"}})
    where = {"storage_location": str(repo.path)}
    content = base64.b64encode(b"a picture").decode()
    url, key = await paired(podium)
    async with Phone(url, key, variant) as phone:
        upload = {"type": "upload_file", "filename": "door.png", "content": content, **where}
        stored = await phone.request(upload, "file_uploaded")
        assert (repo.path / ".untethered" / "resources" / "door.png").read_bytes() == b"a picture"
        listed = await phone.request({"type": "list_resources", **where}, "resources_list")
        assert [(row["filename"], row["size"]) for row in listed["resources"]] == [("door.png", 9)]
        delete = {"type": "delete_resource", "filename": "door.png", **where}
        assert (await phone.request(delete, "resource_deleted"))["path"] == stored["path"]
        assert (await phone.request({"type": "list_resources", **where}, "resources_list"))[
            "resources"
        ] == []
        refused = await phone.request({**upload, "filename": "../door.png"}, "error")
        assert refused["message"].startswith("Failed to upload file")
        named = await asked(
            phone, "infer_session_name", "s", "session_name_inferred", message_text="The door!"
        )
        assert (named["session_id"], named["name"]) == ("s", "Repair the door")
        assert phone.faults == []
