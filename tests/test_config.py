"""The configuration: defaults, file, environment, where each value came from, and how it shows."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from pathlib import Path

import pytest

from podiumd import __main__ as program
from podiumd.config.load import (
    OTHER_VARIABLES,
    ConfigError,
    Loaded,
    flatten,
    ignored_variables,
    load,
)
from podiumd.config.paths import PlaceError
from podiumd.config.settings import Config
from tests.house.source import ROOT, modules
from tests.long import spread

UNITS = ("systemd/podiumd.service", "launchd/podiumd.plist")

FULL = """\
[agents.claude]
command = "/opt/claude"
model = "sonnet"
permission_mode = "acceptEdits"
turn_timeout_seconds = 60
idle_timeout_seconds = 1.5
env = { A = "1" }
pass_env = ["B"]
tools = "stdio"
[agents.codex]
command = "/opt/codex"
model = "gpt"
effort = "high"
turn_timeout_seconds = 60
idle_timeout_seconds = 1.5
env = { A = "1" }
pass_env = ["B"]
[agents.native]
provider = "openai"
base_url = "http://127.0.0.1:1234/v1"
model = "m"
api_key_env = "KEY"
mode = "allow-all"
max_iterations = 3
commit = false
sandbox = "required"
test_command = "make test"
[agents.scripted]
script = "turns.json"
[gateway]
enabled = false
host = "::1"
port = 0
tls = "files"
cert_file = "cert.pem"
key_file = "key.pem"
allowed_hosts = ["*.example.org", "box"]
origins = ["https://podium.example.org"]
[voice]
enabled = false
engine = "wyoming"
model = "small"
language = "de"
url = "tcp://box:10300"
api_key_env = "A_KEY"
allow_remote = true
script = "lines.txt"
max_seconds = 60
max_megabytes = 8
idle_unload_seconds = 5
timeout_seconds = 10
threads = 1
speak = "summary"
speak_command = ["piper"]
speak_rate = 200
[orchestration]
enabled = false
[limits]
max_agents = 2
max_queued = 20
agent_memory_megabytes = 100
spool_megabytes = 10
run_spool_megabytes = 20
output_megabytes = 5
[retention]
runs_days = 0
failed_turns = 1
failed_checks = 2
failed_megabytes = 9
commands = 3
commands_days = 4
transcripts_days = 5
gone_days = 6
copies_days = 7
[notify]
command = ["notify-send", "Podium"]
"""


def read(tmp_path: Path, text: str | None = None, **environ: str) -> Loaded:
    """Load as a daemon with a home of its own would."""
    if text is not None:
        (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return load({"PODIUM_HOME": str(tmp_path)} | environ, "linux", tmp_path)


def test_without_a_file_every_default_of_the_contract_holds(tmp_path: Path) -> None:
    loaded = read(tmp_path)
    assert loaded.config == Config()
    assert set(loaded.sources.values()) == {"default"}
    flat = flatten(loaded.config)
    assert flat["agents.claude.command"] == "claude"
    assert flat["agents.claude.turn_timeout_seconds"] == 3600
    assert flat["gateway.host"] == "127.0.0.1" and flat["gateway.port"] == 8080
    assert flat["limits.max_agents"] == 4 and flat["notify.command"] == []


def test_every_setting_can_be_set_in_the_file_and_tells_its_line(tmp_path: Path) -> None:
    loaded = read(tmp_path, FULL)
    defaults, values = flatten(Config()), flatten(loaded.config)
    assert [key for key in defaults if defaults[key] == values[key]] == []
    assert loaded.sources["agents.claude.command"] == f"{tmp_path}/config.toml:2"
    assert loaded.sources["notify.command"] == f"{tmp_path}/config.toml:{FULL.count(chr(10))}"
    assert "default" not in loaded.sources.values()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    loaded = read(
        tmp_path,
        "[gateway]\nport = 1\n",
        PODIUM_GATEWAY_PORT="99",
        PODIUM_VOICE_ENABLED="off",
        PODIUM_AGENTS_CLAUDE_COMMAND="/x/claude",
        PODIUM_VOICE_IDLE_UNLOAD_SECONDS="2.5",
        PODIUM_TURN="not a setting",
        PODIUM_NOTIFY_COMMAND="lists are for the file",
    )
    assert loaded.config.gateway.port == 99
    assert loaded.config.voice.enabled is False
    assert loaded.config.voice.idle_unload_seconds == 2.5
    assert loaded.config.agents["claude"].plan.command == ("/x/claude",)
    assert loaded.config.notify.command == ()
    assert loaded.sources["gateway.port"] == "environment PODIUM_GATEWAY_PORT"


def test_a_variable_that_has_no_effect_is_named_with_the_one_that_is_meant(tmp_path: Path) -> None:
    loaded = read(
        tmp_path,
        PODIUM_LIMITS_MAX_AGENT="9",
        PODIUM_MAX_AGENTS="9",
        PODIUM_CONFG="secret",
        PODIUM_XYZ="secret",
        **{"PODIUM_\x1b[2J": "", "PODIUMX": "another's"},
        PODIUM_NOTIFY_COMMAND="notify-send",
        PODIUM_AGENTS_CLAUDE_ENV="A=1",
    )
    assert loaded.config == Config()
    agents = "the nearest known is 'PODIUM_LIMITS_MAX_AGENTS'"
    for_the_file = "is a list or table, which belongs in the file"
    assert set(loaded.warnings) == {
        r"environment PODIUM_\x1b[2J: unknown, it has no effect; none is like it",
        f"environment PODIUM_AGENTS_CLAUDE_ENV: it has no effect; agents.claude.env {for_the_file}",
        "environment PODIUM_CONFG: unknown, it has no effect; the nearest known is 'PODIUM_CONFIG'",
        f"environment PODIUM_LIMITS_MAX_AGENT: unknown, it has no effect; {agents}",
        f"environment PODIUM_MAX_AGENTS: unknown, it has no effect; {agents}",
        f"environment PODIUM_NOTIFY_COMMAND: it has no effect; notify.command {for_the_file}",
        "environment PODIUM_XYZ: unknown, it has no effect; none is like it",
    }


def test_every_variable_that_a_part_of_podium_looks_at_is_known(tmp_path: Path) -> None:
    """Those of the client, of a service and of a turn too: a daemon may be started from there."""
    words = "".join(path.read_text("utf-8") for path in modules("daemon", "client"))
    words += "".join((ROOT / one).read_text("utf-8") for one in UNITS)
    named = set(re.findall(r"PODIUM_[A-Z]+(?:_[A-Z]+)*(?![A-Z_])", words)) - {"PODIUM_SECTION_KEY"}
    assert {"PODIUM_TURN", "PODIUM_TOOLS_TOKEN", "PODIUM_SERVICE", "PODIUM_RECORDER"} <= named
    assert named >= OTHER_VARIABLES
    assert ignored_variables(dict.fromkeys(named, "")) == ()


def test_config_show_tells_what_has_no_effect_beside_the_settings(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_LIMITS_MAX_AGENT", "9")
    code, out, err = run(capsys, "config", "show")
    assert code == 0 and "limits.max_agents = 4 " in out
    assert err.startswith("podiumd: environment PODIUM_LIMITS_MAX_AGENT: unknown")
    shown = json.loads(run(capsys, "config", "show", "--json")[1])
    assert shown["warnings"] == [err.removeprefix("podiumd: ").rstrip()]
    assert run(capsys, "config", "path") == (0, f"{home}/config.toml\n", "")


@pytest.mark.parametrize("name", ["--config", "PODIUM_CONFIG"])
def test_a_file_that_was_named_is_taken_and_must_exist(tmp_path: Path, name: str) -> None:
    file = tmp_path / "own.toml"
    flag = str(file) if name == "--config" else None
    environ = {} if flag else {name: str(file)}
    with pytest.raises(ConfigError, match=r"own\.toml: this configuration file does not exist"):
        load(environ, "linux", tmp_path, flag)
    file.write_text("limits.max_agents = 7\n")
    assert load(environ, "linux", tmp_path, flag).config.limits.max_agents == 7


def test_the_flag_wins_over_the_variable(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("limits.max_agents = 1\n")
    (tmp_path / "b.toml").write_text("limits.max_agents = 2\n")
    environ = {"PODIUM_CONFIG": str(tmp_path / "a.toml")}
    loaded = load(environ, "linux", tmp_path, str(tmp_path / "b.toml"))
    assert loaded.config.limits.max_agents == 2


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = program.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PODIUM_HOME", str(tmp_path))
    for name in ("PODIUM_CONFIG", "PODIUM_SOCKET", "PODIUM_TURN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_config_show_is_toml_that_reads_back_as_the_same_settings(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text(FULL)
    code, out, _ = run(capsys, "config", "show")
    assert code == 0 and f"# {home}/config.toml:2\n" in out
    again = home / "again.toml"
    again.write_text(out)
    assert load({}, "linux", home, str(again)).config == load(os.environ, "linux", home).config


def test_config_show_as_json_says_where_each_value_came_from(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "config", "show", "--json")
    shown = json.loads(out)
    assert code == 0 and shown["path"] == str(home / "config.toml")
    assert {"key": "gateway.port", "value": 8080, "source": "default"} in shown["values"]


def test_config_path(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "config", "path") == (0, f"{home}/config.toml\n", "")
    assert json.loads(run(capsys, "config", "path", "--json")[1]) == {"path": f"{home}/config.toml"}
    assert sorted(home.iterdir()) == []


def test_a_fault_is_one_plain_sentence_and_exit_1(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "config.toml").write_text("[gateway]\nprot = 1\n")
    code, out, err = run(capsys, "config", "show")
    assert (code, out) == (1, "")
    assert err == (
        f"podiumd: {home}/config.toml:2: unknown key 'gateway.prot'; the nearest known is 'port'\n"
    )


def test_the_daemon_starts_with_its_directories_made_and_says_that_it_is_ready(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podiumd.daemon import app

    seen: list[object] = []

    def run_instead(
        config: Config, places: object, environ: object, ready: object, *rest: object
    ) -> None:
        seen.append((home / "state").stat().st_mode & 0o777)
        assert callable(ready)
        ready()

    monkeypatch.setattr(app, "run", run_instead)
    reading, writing = os.pipe()
    assert program.main(["--detached", "--ready-fd", str(writing)]) == 0
    assert os.read(reading, 64) == b"ready\n" and os.read(reading, 64) == b""
    os.close(reading)
    assert seen == [0o700] and (home / "state" / "podiumd.log").stat().st_mode & 0o777 == 0o600


def test_a_starter_that_has_gone_is_no_reason_to_stop(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from podiumd.daemon import app

    monkeypatch.setattr(app, "run", lambda config, places, environ, ready, *rest: ready())
    reading, writing = os.pipe()
    os.close(reading)
    assert program.main(["--ready-fd", str(writing)]) == 0


def test_what_keeps_the_daemon_from_starting_is_one_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from podiumd.daemon import app

    def refuse(*arguments: object) -> None:
        raise PlaceError("The place is taken.")

    monkeypatch.setattr(app, "run", refuse)
    assert run(capsys) == (1, "", "podiumd: The place is taken.\n")


def test_a_log_that_cannot_be_written_is_one_sentence(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "state" / "podiumd.log").mkdir(parents=True)
    code, _, err = run(capsys, "--detached")
    assert code == 1 and err.startswith(f"podiumd: Cannot write {home}/state/podiumd.log")


def test_version_and_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        program.main(["--version"])
    assert done.value.code == 0 and capsys.readouterr().out.startswith("podiumd ")
    with pytest.raises(SystemExit) as done:
        program.main(["--log-format", "xml"])
    assert done.value.code == 2


def test_showing_the_configuration_does_not_load_the_daemon(home: Path) -> None:
    import subprocess

    script = (
        "import sys; from podiumd.__main__ import main; main(['config', 'path']); "
        "print([name for name in ('trio', 'jsonrpcserver', 'sqlite3') if name in sys.modules])"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(root / "daemon"), "PODIUM_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("open_to_all", ["config.toml", "."])
def test_a_configuration_that_others_can_write_is_refused(tmp_path: Path, open_to_all: str) -> None:
    """It names programs, which run as the user."""
    home = tmp_path / "podium"
    home.mkdir(0o755)
    (home / "config.toml").write_text("")
    environ = {"PODIUM_HOME": str(home)}
    load(environ, "linux", tmp_path)

    where = home / open_to_all
    where.chmod(where.stat().st_mode | 0o002)
    with pytest.raises(ConfigError, match=r"everybody can write to it \(mode .*\): look at it"):
        load(environ, "linux", tmp_path)


def test_a_link_leads_to_a_configuration_that_nobody_else_can_exchange(tmp_path: Path) -> None:
    home, shared = tmp_path / "podium", tmp_path / "shared"
    for place in (home, shared):
        place.mkdir(0o755)
    (shared / "config.toml").write_text("")
    (home / "config.toml").symlink_to(shared / "config.toml")
    load({"PODIUM_HOME": str(home)}, "linux", tmp_path)

    shared.chmod(0o777)
    with pytest.raises(ConfigError, match=f"{shared}: .* everybody can write to it"):
        load({"PODIUM_HOME": str(home)}, "linux", tmp_path)


# -- malformed and hostile configurations: each stops the daemon with its place and what to do


CLAUDE = "[agents.claude]\n"

NATIVE = "[agents.native]\n"

GATEWAY = "[gateway]\n"

# (file, line of the fault, words that must stand in the error)
HOSTILE: list[tuple[str | bytes, int, str]] = [
    ("[", 1, "not valid TOML"),
    ("]", 1, "not valid TOML"),
    ("=", 1, "not valid TOML"),
    ("a", 1, "not valid TOML"),
    ("a =", 1, "not valid TOML"),
    ("[gateway\nport = 1", 1, "not valid TOML"),
    ("[gateway]\nport = ", 2, "not valid TOML"),
    ("[gateway]\nport = 1 2", 2, "not valid TOML"),
    ("[gateway]\nport = 01", 2, "not valid TOML"),
    ("[gateway]\nport = 1\nport = 2", 3, "not valid TOML"),
    ("[gateway]\n[gateway]", 2, "not valid TOML"),
    ('[gateway]\nhost = "a', 2, "not valid TOML"),
    ('[gateway]\nhost = "a\nb"', 2, "not valid TOML"),
    ('[gateway]\nhost = "\\q"', 2, "not valid TOML"),
    ('[gateway]\nhost = "\\ud800"', 2, "not valid TOML"),
    ('[gateway]\nhost = """a', 2, "not valid TOML"),
    ("[notify]\ncommand = [", 2, "not valid TOML"),
    ("x = {", 1, "not valid TOML"),
    ("x = " + "[" * 100_000, 1, "nested too deeply"),
    ("x = 1" + "0" * 5000, 1, "nested too deeply, or a number too large"),
    ("\x00", 1, "not valid TOML"),
    ("a = '\x1b[2J'", 1, "not valid TOML"),
    (b"\xff\xfe", 1, "not UTF-8"),
    (b"[gateway]\nhost = '\xff'", 2, "not UTF-8"),
    ("#" * (1024 * 1024 + 1), 0, "larger than 1 MiB"),
    ("x = 1", 1, "unknown key 'x'; known here: 'agents', "),
    ("[gateway", 1, "not valid TOML: Expected ']' at the end of a table declaration"),
    ("[gatway]\nport = 1", 1, "unknown key 'gatway'; the nearest known is 'gateway'"),
    ("[gateway]\n\nprot = 1", 3, "unknown key 'gateway.prot'; the nearest known is 'port'"),
    ("gateway.prot = 1", 1, "unknown key 'gateway.prot'"),
    ("gateway = { prot = 1 }", 1, "unknown key 'gateway.prot'"),
    (CLAUDE + "comand = 'x'", 2, "the nearest known is 'command'"),
    ("[agents.cluade]\n", 1, "unknown key 'agents.cluade'; the nearest known is 'claude'"),
    ("[limits]\nmax_agent = 1", 2, "the nearest known is 'max_agents'"),
    ('"\\u001b[2J" = 1', 1, "unknown key '\\x1b[2J'"),
    ('"' + "k" * 10_000 + '" = 1', 1, "unknown key 'kkkk"),
    ("[[gateway]]\nport = 1", 1, "gateway: expected a table, got a list"),
    ("gateway = 1", 1, "gateway: expected a table, got the number 1"),
    ("agents = 'claude'", 1, "agents: expected a table, got 'claude'"),
    ("[agents]\nclaude = true", 2, "agents.claude: expected a table, got true"),
    (GATEWAY + "enabled = 1", 2, "expected true or false, got the number 1"),
    (GATEWAY + "enabled = 'yes'", 2, "expected true or false, got 'yes'"),
    (GATEWAY + "port = '80'", 2, "expected an integer from 0 to 65535, got '80'"),
    (GATEWAY + "port = -1", 2, "from 0 to 65535, got the number -1"),
    (GATEWAY + "port = 65536", 2, "from 0 to 65535"),
    (GATEWAY + "port = 80.5", 2, "from 0 to 65535, got the number 80.5"),
    (GATEWAY + "port = true", 2, "got true"),
    (GATEWAY + "port = 1" + "0" * 400, 2, "a number with more than 38 digits"),
    (GATEWAY + "port = []", 2, "got a list"),
    (GATEWAY + "port = 1979-05-27", 2, "got a date"),
    (GATEWAY + "host = ''", 2, "expected a host name or an address, got ''"),
    (GATEWAY + "host = 'a b'", 2, "expected a host name"),
    (GATEWAY + "host = 'http://x'", 2, "expected a host name"),
    (GATEWAY + "host = '*.x'", 2, "expected a host name"),
    (GATEWAY + "tls = 'on'", 2, "expected one of 'auto', 'files', 'off', got 'on'"),
    (GATEWAY + "tls = true", 2, "expected one of"),
    (GATEWAY + "tls = 'files'", 2, "needs gateway.cert_file"),
    (GATEWAY + "tls = 'files'\ncert_file = 'c'", 2, "needs gateway.key_file"),
    (GATEWAY + "allowed_hosts = 'x'", 2, "expected a list, each"),
    (GATEWAY + "allowed_hosts = [1]", 2, "expected a list, each"),
    (GATEWAY + "allowed_hosts = ['a/b']", 2, "expected a list, each"),
    (GATEWAY + "origins = ['http://a']", 2, "expected a list, each"),
    (GATEWAY + "origins = ['https://a/b']", 2, "expected a list, each"),
    (CLAUDE + "command = ''", 2, "not empty"),
    (CLAUDE + "command = ['claude']", 2, "got a list"),
    (CLAUDE + 'command = "a\\u0000b"', 2, "got 'a\\x00b'"),
    (CLAUDE + 'command = "a\\nb"', 2, "of one line"),
    (CLAUDE + "permission_mode = ''", 2, "a permission mode"),
    (CLAUDE + "permission_mode = '--yolo'", 2, "a permission mode"),
    (CLAUDE + "turn_timeout_seconds = 0", 2, "seconds, above 0"),
    (CLAUDE + "turn_timeout_seconds = -5", 2, "seconds, above 0"),
    (CLAUDE + "turn_timeout_seconds = inf", 2, "seconds, above 0 and at most"),
    (CLAUDE + "turn_timeout_seconds = nan", 2, "got the number nan"),
    (CLAUDE + "idle_timeout_seconds = '10m'", 2, "got '10m'"),
    (CLAUDE + "idle_timeout_seconds = true", 2, "got true"),
    (CLAUDE + "env = []", 2, "expected a table"),
    (CLAUDE + "env = { A = 1 }", 2, "expected a table"),
    (CLAUDE + "env = { 'A=B' = '1' }", 2, "expected a table"),
    (CLAUDE + 'env = { A = "\\u0000" }', 2, "expected a table"),
    (CLAUDE + "pass_env = ['A-B']", 2, "the name of an environment variable"),
    (CLAUDE + "pass_env = ['']", 2, "the name of an environment variable"),
    (NATIVE + "provider = 'gemini'", 2, "one of 'anthropic', 'openai'"),
    (NATIVE + "base_url = 'localhost'", 2, "an http or https URL"),
    (NATIVE + "base_url = 'file:///etc/passwd'", 2, "an http or https URL"),
    (NATIVE + "base_url = 'http://user:secret@host'", 2, "an http or https URL"),
    (NATIVE + "api_key_env = 'sk-ant-123'", 2, "the name of an environment variable"),
    (NATIVE + "mode = 'yolo'", 2, "one of 'allow-all', 'confirm', 'read-only'"),
    (NATIVE + "max_iterations = 0", 2, "an integer from 1 to 1000"),
    (NATIVE + "max_iterations = 1_000_000", 2, "an integer from 1 to 1000"),
    (NATIVE + "sandbox = false", 2, "one of 'auto', 'off', 'required'"),
    (NATIVE + "commit = 'no'", 2, "true or false"),
    ("[voice]\nmodel = ''", 2, "not empty"),
    ("[voice]\nidle_unload_seconds = 1e10", 2, "at most 2592000"),
    ("[voice]\nspeak = 'loud'", 2, "one of 'full', 'off', 'summary'"),
    ("[orchestration]\nenabled = 'off'", 2, "true or false"),
    ("[limits]\nmax_queued = 0", 2, "an integer from 1 to 10000"),
    ("[limits]\nmax_agents = 0", 2, "an integer from 1 to 64"),
    ("[limits]\nmax_agents = 65", 2, "an integer from 1 to 64"),
    ("[limits]\nmax_agents = 4.0", 2, "an integer from 1 to 64"),
    ("[notify]\ncommand = 'notify-send'", 2, "expected a list"),
    ("[notify]\ncommand = ['']", 2, "expected a list"),
    ("[notify]\ncommand = [['a']]", 2, "expected a list"),
]
NAMES = [f"{at} {words[:40]}" for at, (_, _, words) in enumerate(HOSTILE)]


def refuse(directory: Path, text: str | bytes) -> ConfigError:
    """The error that this file is answered with."""
    data = text.encode() if isinstance(text, str) else text
    (directory / "config.toml").write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load({"PODIUM_HOME": str(directory)}, "linux", directory)
    return caught.value


@pytest.mark.parametrize(("text", "line", "words"), spread(HOSTILE, 30), ids=NAMES)
def test_a_hostile_configuration_is_refused_with_its_place(
    text: str | bytes, line: int, words: str, tmp_path: Path
) -> None:
    message = str(refuse(tmp_path, text))
    place = f"{tmp_path}/config.toml:" + (f"{line}: " if line else " ")
    assert message.startswith(place) and words in message
    assert message.isprintable() and len(message) < 700
    for alien in ("msgspec", "Traceback", "$.", "`"):
        assert alien not in message


def test_all_faults_of_a_file_are_told_at_once_but_not_a_thousand(tmp_path: Path) -> None:
    two = refuse(tmp_path, "[gateway]\nport = -1\nprot = 1\n")
    assert [fault.split(": ")[0][-2:] for fault in two.faults] == [":2", ":3"]
    many = refuse(tmp_path, "".join(f"k{n} = 1\n" for n in range(1000)))
    assert len(many.faults) == 1000 and str(many).endswith("... and 980 more")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PODIUM_GATEWAY_PORT", "http", "expected an integer from 0 to 65535, got 'http'"),
        ("PODIUM_GATEWAY_PORT", "", "got ''"),
        ("PODIUM_VOICE_ENABLED", "maybe", "expected true or false, got 'maybe'"),
        ("PODIUM_VOICE_IDLE_UNLOAD_SECONDS", "nan", "seconds, above 0"),
        ("PODIUM_AGENTS_NATIVE_MODE", "yolo", "one of"),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load({"PODIUM_HOME": str(tmp_path), name: value}, "linux", tmp_path)
    assert f"environment {name}: " in str(caught.value) and words in str(caught.value)


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load({"PODIUM_HOME": str(tmp_path)}, "linux", tmp_path)


def test_all_of_them_again_and_again_leave_no_memory_behind(tmp_path: Path) -> None:
    def play() -> int:
        for text, _, _ in HOSTILE:
            refuse(tmp_path, text)
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    used = [play() for _ in range(5)]
    assert used[-1] - used[1] < 4 * 1024 * 1024


@pytest.mark.parametrize("waits", [True, False], ids=["without a writer", "with one"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, waits: bool) -> None:
    os.mkfifo(tmp_path / "config.toml")
    writer = None if waits else os.open(tmp_path / "config.toml", os.O_RDWR)
    with pytest.raises(ConfigError, match="it is a pipe, and no regular file"):
        read(tmp_path)
    if writer is not None:
        os.close(writer)
