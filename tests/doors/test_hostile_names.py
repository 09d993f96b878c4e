"""Names and ids that mean harm, through every message and route that takes one: no path is left,
nothing of the machine is told, and every message has its answer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import trio

from podiumd.gateway.phone.incoming import TYPES
from tests.doors.house import House
from tests.doors.plausible import fields, texts

CANARY = "CANARY-6c1f"
BARRIER = 8
"""Messages between two pings; the phone's own way to wait for all before."""

# Those that a name cannot harm, and after which nothing else could be tried.
LEFT_OUT = {"connect", "set_orchestration"}
WORDS = {"text", "message_text", "system_prompt", "answer", "note"}
"""Fields that take a person's words: whatever they hold is for an agent."""


def hostile_names(root: Path) -> list[str]:
    """Two hundred of them."""
    steps = [
        "../" * n + f"{end}"
        for n in range(1, 9)
        for end in ("secret.txt", "outside/secret.txt", "")
    ]
    absolute = [str(root / "secret.txt"), "/etc/passwd", "/proc/self/environ", "/dev/zero", "//x"]
    encoded = [
        "%2e%2e%2fsecret.txt", "..%2fsecret.txt", "%2fetc%2fpasswd", "..%c0%afsecret.txt",
        "..%5csecret.txt", "....//secret.txt", "..;/secret.txt", "\u2025/secret.txt",
        "\uff0e\uff0e\uff0fsecret.txt", "..\u2215secret.txt", "..\u2044secret.txt",
    ]  # fmt: skip
    windows = ["..\\secret.txt", "C:\\secret.txt", "\\\\host\\share", "con", "nul.txt", "a:b"]
    shell = [
        f"{before}touch {root}/pwned{after}"
        for before, after in [
            ("; ", ""), ("| ", ""), ("|| ", ""), ("&& ", ""), ("& ", ""), ("$(", ")"), ("`", "`"),
            ("\n", "\n"), ("'; ", " #"), ('"; ', ' "'), ("%0a", ""), ("${IFS}", ""), ("> ", ""),
            ("make; ", ""), ("git.status; ", ""), ("build -f /dev/stdin; ", ""),
        ]
    ]  # fmt: skip
    options = ["-rf", "--help", "-C/", "--upload-pack=touch pwned", "-oProxyCommand=x", "--", "-"]
    dots = [
        ".",
        "..",
        "...",
        ". .",
        "..\0",
        ".git",
        ".git/config",
        ".ssh/id_rsa",
        "~",
        "~root",
        "~/x",
    ]
    control = [f"a{chr(code)}b" for code in (*range(32), 127, 0x85, 0xA0)]
    unicode = [
        "\u202egnp.exe", "a\u200bb", "\ufeffa", "\u2028", "a\u0301" * 60, "\U0001f4a9", "\ud7ff",
        "\ufb01le", "\u212a", "\u0131", "\u0130", "\u017f", "a" * 127 + "/", "é" * 128,
    ]  # fmt: skip
    long = ["a" * 129, "a" * 255, "a" * 256, "a" * 4097, "a/" * 2000, "../" * 1500, "x" * 70_000]
    queries = [
        "' OR 1=1 --",
        "'; DROP TABLE runs; --",
        "%",
        "_",
        "*",
        "?",
        "[a-z]*",
        "{a,b}",
        "a\\",
    ]
    templates = [
        "{{task}}",
        "${HOME}",
        "$HOME",
        "%HOME%",
        "{0}",
        "%s%s%n",
        "<script>",
        "]]>",
        "\x1b[2J",
    ]
    ids = [
        "00000000-0000-0000-0000-00000000000", "5f1c8a52-0000-4000-8000-00000000000g",
        "{5f1c8a52-0000-4000-8000-000000000001}", "5f1c8a52/0000-4000-8000-000000000001",
        "5f1c8a52-0000-4000-8000-000000000001\n", "cmd-../../x", "cmd-", "builtin.", ".builtin",
        "project.../x", "builtin.implement-and-review/../../x", "5F1C8A52", "0", "-1", "null",
        "undefined", "NaN", "true", "__proto__", "constructor", "", " ", "\t",
    ]  # fmt: skip
    places = [
        "file:///etc/passwd", "file://localhost/etc/passwd", "http://evil.test/", "data:,x",
        "../podium/config.toml", "../podium/facts.db", "../podium/podium.sock", ".podium/recipes",
        ".env", "../home/.claude", "./secret.txt", "folder/../../secret.txt", "a/./../b", "a//b",
    ]  # fmt: skip
    windows += ["com1", "lpt1.txt", "aux", "a.txt:stream", "a.", "a ", " a", "\\\\?\\C:\\x"]
    links = ["link", "link/secret.txt", "link/../link", "dangling", "folder/link/secret.txt"]
    every = [
        *steps, *absolute, *encoded, *windows, *shell, *options, *dots, *control, *unicode, *long,
        *queries, *templates, *ids, *places, *links,
    ]  # fmt: skip
    assert len(set(every)) >= 200
    return list(dict.fromkeys(every))


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
    """What is new are files right in a folder for uploads, under harmless names: in the project,
    and in the home, which ``~`` rightly names."""
    kept = {f"{place}/.untethered/resources" for place in ("project", "home")}
    new = everything(house) - before - kept - {path.rpartition("/")[0] for path in kept}
    for path in new:
        folder, _, name = path.rpartition("/")
        assert folder in kept and name.isprintable() and name not in {".", ".."}
        assert "\\" not in name
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


async def test_hostile_paths_are_no_routes(house: House) -> None:
    for name in hostile_names(house.podium.machine.root):
        path = "/" + "".join(
            c if "!" <= c <= "~" and c not in "#?%" else "%41" for c in name[:2000]
        )
        with trio.fail_after(10):
            answer = await house.mine.get(path)
        assert answer.status in {400, 404}, path
        assert CANARY.encode() not in answer.body
