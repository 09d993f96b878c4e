"""``podium phone`` itself: the lines of a script against a gateway, what is shown, how it ends."""

import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from podium.phone.fields import Json
from podium.phone.lines import LINES, Person
from tests.client.fake_daemon import FakeDaemon, environment, fake_daemon, podium
from tests.client.terminal import Terminal
from tests.patience import HANG_SECONDS
from tests.phone.fake_gateway import KEY, OTHER, SESSION, FakeGateway, fake_gateway

NOWHERE = "/nowhere/podium.sock"
QUESTION = {
    "type": "question",
    "question_id": "9e570000-0000-4000-8000-000000000009",
    "kind": "approval",
    "text": "May I run make?",
    "choices": [{"id": "allow", "label": "Allow"}, {"id": "deny", "label": "Deny"}],
}


async def played(
    gateway: FakeGateway, script: str, *options: str, key: str = KEY, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the real client with these lines on standard input."""
    with trio.fail_after(HANG_SECONDS):
        done = await trio.run_process(
            [sys.executable, "-m", "podium", "phone", "--url", gateway.url, *options],
            stdin=script.encode(),
            capture_stdout=True,
            capture_stderr=True,
            env=environment(NOWHERE, PODIUM_PHONE_KEY=key),
            cwd=cwd,
            check=False,
        )
    assert b"Traceback" not in done.stderr
    assert b"fault of the client" not in done.stderr, done.stderr
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def answering(gateway: FakeGateway) -> None:
    """The gateway answers a prompt as an agent would."""

    def prompt(frame: Json) -> list[Json]:
        session_id = frame.get("resume_session_id") or frame["new_session_id"]
        gateway.add(session_id, "user", frame["text"])
        gateway.add(session_id, "assistant", f"You said {frame['text']}.")
        ready = {"type": "session_ready", "session_id": session_id, "message": "ready"}
        done = {"type": "turn_complete", "session_id": session_id}
        new = "new_session_id" in frame
        return [{"type": "ack", "message": "delivered"}, *([ready] if new else []), done]

    gateway.answers["prompt"] = prompt


async def test_a_script_opens_a_session_and_talks() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        gateway.add(OTHER, "user", "elsewhere")
        answering(gateway)
        done = await played(
            gateway, f"# a comment\nsessions\nopen {SESSION}\nsay how are you?\nleave\n"
        )

    assert (done.returncode, done.stderr) == (0, "")
    *table, you, asked, answered, acked, ended = done.stdout.splitlines()
    assert [line.split()[:2] for line in table] == [
        ["SESSION", "MESSAGES"],
        [SESSION, "1"],
        [OTHER, "1"],
    ]
    assert [you, asked] == ["you: hello", "you: how are you?"]
    assert answered == "agent: You said how are you?."
    assert [acked, ended] == ["ok: delivered", f"turn complete in {SESSION}"]


async def test_a_new_session_is_followed_as_soon_as_it_is_ready(tmp_path: Path) -> None:
    async with fake_gateway() as gateway:
        answering(gateway)
        done = await played(gateway, "new . begin\nwait\nping\n", cwd=tmp_path)
        prompt = next(frame for frame in gateway.heard if frame["type"] == "prompt")

    assert done.returncode == 0, done.stderr
    assert prompt["working_directory"] == str(tmp_path)
    assert "agent: You said begin." in done.stdout


async def test_lists_recipes_commands_and_questions() -> None:
    recipe = {"id": "fix-it", "label": "Fix it", "description": "mends things"}
    build = {"id": "build", "label": "Build", "type": "command"}
    group = {"id": "docker", "label": "Docker", "type": "group", "children": [build]}
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        gateway.answers |= {
            "get_available_recipes": lambda _: [{"type": "available_recipes", "recipes": [recipe]}],
            "refresh_sessions": lambda _: [
                QUESTION,
                {
                    "type": "available_commands",
                    "working_directory": "",
                    "project_commands": [group],
                    "general_commands": [],
                },
            ],
            "answer_question": lambda frame: [
                {"type": "question_closed", "by": "phone", **_answer(frame)}
            ],
        }
        done = await played(
            gateway, "sessions\nrecipes\ncommands\nquestions\nanswer 9e57 allow\nquestions\n"
        )

    assert done.returncode == 0, done.stderr
    assert "fix-it  Fix it: mends things" in done.stdout
    assert "build    Build" in done.stdout
    assert done.stdout.count("? 9e570000-0000-4000-8000-000000000009 (approval)") == 2
    assert "    allow  Allow" in done.stdout
    assert f"question {QUESTION['question_id']} closed: allow by phone" in done.stdout
    assert done.stdout.endswith("No open questions.\n")


async def test_a_question_says_whether_it_takes_several_choices_rows_or_words() -> None:
    asked = {**QUESTION, "kind": "ask", "multi": True, "free_text": True, "columns": []}
    columns = [{"name": "room", "type": "text"}, {"name": "beds", "type": "number"}]
    table = {**asked, "question_id": "7ab1e", "choices": [], "multi": False, "columns": columns}
    async with fake_gateway() as gateway:
        gateway.answers |= {
            "refresh_sessions": lambda _: [asked, table],
            "answer_question": lambda frame: [
                {"type": "question_closed", "by": "phone", **_answer(frame)}
            ],
        }
        script = 'sessions\nquestions\nanswer 9e57 allow,deny\nanswer 7ab [{"room": "red"}]\n'
        done = await played(gateway, script)

    assert done.returncode == 0, done.stderr
    assert "    or several of them, joined by commas\n    or your own words\n" in done.stdout
    assert "    rows as a JSON list of objects with room, beds\n    in your own words\n" in (
        done.stdout
    )
    assert "closed: allow,deny by phone" in done.stdout
    assert 'closed: [{"room": "red"}] by phone' in done.stdout


def _answer(frame: Json) -> Json:
    return {"question_id": frame["question_id"], "answer": frame["answer"]}


async def test_each_line_sends_what_the_app_would(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_bytes(b"words")
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        script = (
            f"open {SESSION[:6]}\nstart - fix-it\nstart {SESSION} fix-it\nexit\npause\nresume\n"
            "steer a word\nrun build\nupload note.txt\nkill\ncompact\nping\n"
            'send {"type": "set_orchestration", "enabled": true}\n'
        )
        done = await played(gateway, script, cwd=tmp_path)
        sent = [frame for frame in gateway.heard if frame["type"] != "ping"][3:]

    project, own = "/home/ada/project", {"session_id": SESSION}
    assert done.returncode == 0, done.stderr
    assert sent == [
        {"type": "start_recipe", "recipe_id": "fix-it", "working_directory": project},
        {"type": "start_recipe", "recipe_id": "fix-it", **own},
        {"type": "exit_recipe", **own},
        {"type": "pause_recipe", **own},
        {"type": "resume_recipe", **own},
        {"type": "steer", "text": "a word", **own},
        {"type": "execute_command", "command_id": "build", "working_directory": project},
        {
            "type": "upload_file",
            "filename": "note.txt",
            "content": "d29yZHM=",
            "storage_location": project,
        },
        {"type": "kill_session", **own},
        {"type": "compact_session", **own},
        {"type": "set_orchestration", "enabled": True},
    ]


async def test_reconnecting_goes_on_in_the_same_session() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        done = await played(gateway, f"open {SESSION}\nreconnect\nping\nreload\n")
        subscribed = [one for one in gateway.heard if one["type"] == "subscribe"]

    assert done.returncode == 0, done.stderr
    assert [one["from_offset"] for one in subscribed] == [0, 1, 1]
    assert done.stdout == "you: hello\npong\n"


@pytest.mark.parametrize("variant", ["ios-0.4", "android", "rn"])
async def test_it_can_be_every_app(variant: str) -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "user", "hello")
        done = await played(gateway, f"open {SESSION}\n", "--variant", variant)

    assert (done.returncode, done.stdout, done.stderr) == (0, "you: hello\n", "")


async def test_json_prints_every_frame_and_nothing_else() -> None:
    async with fake_gateway() as gateway:
        done = await played(gateway, "sessions\nhelp\n", "--json")

    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds == ["hello", "connected", "session_list", "recent_sessions", *["pong"] * 3]


async def test_what_an_app_would_drop_is_told_and_counted() -> None:
    async with fake_gateway() as gateway:
        gateway.answers["refresh_sessions"] = lambda _: [
            {"type": "recipe_started", "session_id": SESSION, "recipe_id": ""}
        ]
        done = await played(gateway, "sessions\n")

    assert done.returncode == 1
    assert done.stderr == (
        "fault: recipe_started.recipe_id: is '', which counts as missing (frame dropped)\n"
    )


async def test_hostile_words_cannot_drive_the_terminal() -> None:
    async with fake_gateway() as gateway:
        gateway.add(SESSION, "assistant", "\x1b]0;owned\x07")
        done = await played(gateway, f"open {SESSION}\n")

    assert done.stdout == "agent: \\x1b]0;owned\\x07\n"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("dance\n", "There is no command 'dance'"),
        ("open\n", "It is written 'open ID'."),
        ("ping now\n", "It is written 'ping'."),
        ("say hi\n", "No session is shown: 'open ID' shows one."),
        ("send [1]\n", "A frame is a JSON object."),
        ("send {\n", "That is no JSON"),
        ("wait pong soon\n", "'soon' is no number of seconds."),
        ("speak note.wav\n", "No session is shown: 'open ID' shows one."),
        ("dictate note.doc\n", "note.doc is none of: wav, m4a, mp4, webm, ogg, caf, raw, pcm."),
        ("dictate /nowhere/note.wav\n", "Cannot read /nowhere/note.wav: No such file"),
        ("hush\n", "Nothing is being said."),
        ("upload /nowhere/at/all\n", "Cannot read /nowhere/at/all: No such file"),
        ("wait ack 0.01\n", "No 'ack' came from the gateway in time."),
    ],
)
async def test_a_script_ends_at_a_wrong_line(script: str, complaint: str) -> None:
    async with fake_gateway() as gateway:
        done = await played(gateway, script + "ping\n")

    assert done.returncode in (1, 2)
    assert complaint in done.stderr
    assert done.stdout == ""


async def test_a_wrong_key_is_a_clear_refusal() -> None:
    async with fake_gateway() as gateway:
        done = await played(gateway, "sessions\n", key="untethered-wrong")

    assert done.returncode == 1
    assert done.stderr == (
        "podium: The gateway does not let this phone in: authentication failed.\n"
    )


async def test_a_gateway_that_hangs_up_ends_a_script() -> None:
    async with fake_gateway() as gateway:

        def hang_up(_: Json) -> list[Json]:
            gateway.hang_up()
            return []

        gateway.answers["refresh_sessions"] = hang_up
        done = await played(gateway, "sessions\n")

    assert (done.returncode, done.stderr) == (1, "podium: The connection is lost: going away.\n")


def test_without_a_key_or_a_gateway_it_says_what_to_do(tmp_path: Path) -> None:
    url = ("--url", "ws://127.0.0.1:1")
    no_key = podium(tmp_path / "none", "phone", *url)
    no_gateway = podium(tmp_path / "none", "phone", *url, "--key", KEY)
    no_address = podium(tmp_path / "none", "phone", "--url", "ftp://a", "--key", KEY)
    no_daemon = podium(tmp_path / "none", "phone", "--key", KEY)

    assert (no_key.returncode, "'podium pair' makes one" in no_key.stderr) == (2, True)
    assert no_gateway.returncode == 1
    assert "There is no gateway at ws://127.0.0.1:1: Connection refused." in no_gateway.stderr
    assert (no_address.returncode, "'ftp://a' is no address" in no_address.stderr) == (2, True)
    assert no_daemon.returncode == 6


async def test_at_a_terminal_neither_a_wrong_line_nor_a_lost_connection_is_the_end(
    daemon: FakeDaemon,
) -> None:
    def hands() -> int:
        with Terminal(daemon, "phone", "--url", gateway.url, "--key", KEY) as terminal:
            terminal.type("dance\n")
            terminal.expect("There is no command 'dance'")
            terminal.type("ping\n")
            terminal.expect("pong")
            trio.from_thread.run_sync(gateway.hang_up)
            terminal.expect("going away")
            terminal.expect("trying again in 1 s")
            terminal.type("help\n")
            terminal.expect("open ID")
            terminal.type("quit\n")
            return terminal.end()

    async with fake_gateway() as gateway:
        assert await trio.to_thread.run_sync(hands) == 0


def certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """A server's context with a certificate of its own making, and its fingerprint."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gateway")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context, made.fingerprint(hashes.SHA256()).hex()


async def test_a_certificate_of_ones_own_is_trusted_by_its_fingerprint(tmp_path: Path) -> None:
    context, fingerprint = certificate(tmp_path)
    colons = ":".join(fingerprint[at : at + 2] for at in range(0, 64, 2)).upper()
    async with fake_gateway(tls=context) as gateway:
        known = await played(gateway, "ping\n", "--fingerprint", colons)
        other = await played(gateway, "ping\n", "--fingerprint", "00" * 32)
        unknown = await played(gateway, "ping\n")

    assert (known.returncode, known.stdout, known.stderr) == (0, "pong\n", "")
    assert (other.returncode, other.stderr) == (
        1,
        f"podium: The gateway's certificate is another: its fingerprint is {fingerprint}.\n",
    )
    assert unknown.returncode == 1
    assert "'podium pair' shows its fingerprint, --fingerprint trusts it." in unknown.stderr


@pytest.fixture
def daemon() -> Iterator[FakeDaemon]:
    with fake_daemon() as fake:
        yield fake


def test_a_gateway_that_does_not_listen_says_why(daemon: FakeDaemon) -> None:
    for gateway, words in (({"enabled": False}, "is off"), ({"problem": "No port"}, "No port")):
        daemon.answers["daemon.status"] = {"gateway": gateway}

        done = podium(daemon, "phone", "--key", KEY)

        assert (done.returncode, words in done.stderr) == (1, True)


def test_the_daemon_tells_where_its_gateway_is(daemon: FakeDaemon) -> None:
    daemon.answers["daemon.status"] = {"gateway": {"enabled": True, "url": "http://127.0.0.1:1"}}

    done = podium(daemon, "phone", "--key", KEY)

    assert "There is no gateway at http://127.0.0.1:1" in done.stderr


def test_every_line_of_the_help_can_be_done() -> None:
    assert [line.name for line in LINES if not hasattr(Person, f"_{line.name}")] == []
