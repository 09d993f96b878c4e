"""Names and ids that mean harm, through every message and route that takes one: no path is left,
nothing of the machine is told, and every message has its answer."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import trio

from podiumd.gateway.phone.protocol.decode import TYPES
from tests.doors.hostile_names import hostile_names
from tests.doors.house import House
from tests.doors.plausible import fields, texts
from tests.patience import HANG_SECONDS

CANARY = "CANARY-6c1f"
BARRIER = 8
"""Messages between two pings; the phone's own way to wait for all before."""

# Those that a name cannot harm, and after which nothing else could be tried.
LEFT_OUT = {"connect", "set_orchestration"}
WORDS = {"text", "message_text", "system_prompt", "answer", "note"}
"""Fields that take a person's words: whatever they hold is for an agent."""


def lay_traps(house: House) -> None:
    """A secret beside the project, and links that lead to it."""
    root = house.podium.machine.root
    (root / "secret.txt").write_text(CANARY)
    (root / "outside").mkdir()
    (root / "outside/secret.txt").write_text(CANARY)
    (house.project / "link").symlink_to(root / "outside")
    (house.project / "dangling").symlink_to(root / "outside/not-there")
    (house.project / "Makefile").write_text("build:\n\t@true\n")


def everything(house: House) -> set[str]:
    """Every path below the machine's root that is not the daemon's own."""
    machine = house.podium.machine
    found = set()
    for folder, folders, files in os.walk(machine.root):
        if Path(folder) == machine.root:
            folders.remove(machine.podium_home.name)
        found |= {str(Path(folder, name).relative_to(machine.root)) for name in (*folders, *files)}
    return found - {"podiumd.log"}


def check_nothing_is_left(house: House, before: set[str]) -> None:
    """What is new are files right in a folder for uploads, under harmless names: in the project, in
    the home, which ``~`` rightly names, and in ``~/x``, which is made for it."""
    kept = {f"{place}/.untethered/resources" for place in ("project", "home", "home/x")}
    made = {"home/x", *(path.rpartition("/")[0] for path in kept)}
    ignoring = {f"{path.rpartition('/')[0]}/.gitignore" for path in kept}
    new = everything(house) - before - kept - made - ignoring
    for path in new:
        folder, _, name = path.rpartition("/")
        assert folder in kept and not name.startswith((".", "-")) and "\\" not in name
        assert not any(unicodedata.category(letter) in {"Cc", "Zl", "Zp"} for letter in name)
        assert not (house.podium.machine.root / path).is_symlink()
    root = house.podium.machine.root
    for secret in (root / "secret.txt", root / "outside/secret.txt"):
        assert secret.read_text() == CANARY
    assert before <= everything(house), "nothing of it is gone"


async def test_hostile_names_in_every_field_of_every_message_do_no_harm(house: House) -> None:
    lay_traps(house)
    before = everything(house)
    names = hostile_names(house.podium.machine.root)
    phone = await house.connected()
    said = 0
    for kind in TYPES.keys() - LEFT_OUT:
        for field in set(texts(kind)) - WORDS:
            for name in names:
                await phone.say(kind, **{**fields(kind, house.project), field: name})
                said += 1
                if said % BARRIER == 0:
                    await phone.say("ping")
                    await phone.until("pong")
    await phone.say("ping")
    await phone.until("pong")
    told = json.dumps(phone.heard)
    assert said > 200 * 20 and CANARY not in told and "root:" not in told
    assert {message["type"] for message in phone.heard} & {"error", "command_error"}
    assert house.podium.logged("Phone's message failed") == []
    assert house.podium.logged("Connection failed") == []
    await phone.hang_up()
    check_nothing_is_left(house, before)


async def test_hostile_names_in_every_field_of_every_route_do_no_harm(house: House) -> None:
    lay_traps(house)
    before = everything(house)
    where = str(house.project)
    forms: list[tuple[str, dict[str, Any], str]] = [
        ("/upload", {"filename": "a", "content": "aGk=", "storage_location": where}, "filename"),
        (
            "/upload",
            {"filename": "a", "content": "aGk=", "storage_location": where},
            "storage_location",
        ),
        *(
            ("/v1/prompt", {"text": "Hi", "agent": "scripted", "working_directory": where}, field)
            for field in ("session_id", "agent", "recipe")
        ),
    ]
    for path, form, field in forms:
        for name in hostile_names(house.podium.machine.root):
            if not name and field in {"session_id", "agent", "recipe"}:
                continue  # as good as none
            answer = await house.mine.post(path, {**form, field: name})
            stored = path == "/upload" and answer.status == 200
            refused = 400 <= answer.status < 500 or (field, answer.status) == ("agent", 503)
            assert stored or refused, (path, field, name, answer)
            assert CANARY.encode() not in answer.body and b"root:" not in answer.body
            if stored:
                assert Path(answer.json["path"]).read_bytes() == b"hi"
    assert house.podium.logged("Request failed") == []
    check_nothing_is_left(house, before)


async def test_hostile_names_in_every_field_of_a_run_of_ag_ui_do_no_harm(house: House) -> None:
    """A thread may have any name: it is no path. Where it begins, the names are as elsewhere."""
    place = {"agent": "scripted", "working_directory": str(house.project)}
    words = {"id": "m", "role": "user", "content": "Hi"}
    value = {"threadId": "t", "runId": "r", "messages": [words], "forwardedProps": place}
    first = await house.mine.post("/agui", value)
    found = json.loads(first.body.split(b"data: ")[-1])
    place["session_id"] = found["result"]["session_id"]
    lay_traps(house)
    before = everything(house)
    for name in hostile_names(house.podium.machine.root):
        for form, props, statuses in (
            ({"threadId": name}, place, {200, 422}),
            ({"runId": name}, place, {200, 422}),
            ({"resume": [{"interruptId": name, "status": "cancelled"}]}, place, {200, 422}),
            ({"threadId": "s"}, {**place, "session_id": name or "-"}, {404, 422}),
            ({"threadId": "r"}, {**place, "recipe": name or "-"}, {404, 422}),
        ):
            asked = {**value, **form, "forwardedProps": props}
            answer = await house.mine.post("/agui", asked)
            assert answer.status in statuses, (form, props, answer)
            assert CANARY.encode() not in answer.body and b"root:" not in answer.body
    assert house.podium.logged("Request failed") == []
    assert house.podium.logged("Stream failed") == []
    check_nothing_is_left(house, before)


async def test_hostile_paths_are_no_routes(house: House) -> None:
    for name in hostile_names(house.podium.machine.root):
        path = "/" + "".join(
            c if "!" <= c <= "~" and c not in "#?%" else "%41" for c in name[:2000]
        )
        with trio.fail_after(HANG_SECONDS):
            answer = await house.mine.get(path)
        assert answer.status in {400, 404} or path == "/", path  # which is the page, for all
        assert CANARY.encode() not in answer.body
