"""Malformed and hostile configurations: each stops the daemon with its place and what to do."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from podiumd.config.load import ConfigError, load
from tests.long import spread

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


def refuse(directory: Path, text: str | bytes) -> ConfigError:
    """The error that this file is answered with."""
    data = text.encode() if isinstance(text, str) else text
    (directory / "config.toml").write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        load({"PODIUM_HOME": str(directory)}, "linux", directory)
    return caught.value


@pytest.mark.parametrize(("text", "line", "words"), spread(HOSTILE, 30), ids=range(len(HOSTILE)))
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
