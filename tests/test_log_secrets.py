"""Fifty planted secrets, given to the daemon through every door: none is found in what it wrote."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podiumd.observe import redaction
from podiumd.observe.logs import log, set_up
from podiumd.observe.redaction import redact
from tests.long import sampled
from tests.planted import CORES, SECRETS, leaked
from tests.real_daemon import RealDaemon, real_daemon
from tests.work import ending


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("podium")
    before = (root.level, own.level, root.handlers[:])
    yield
    root.handlers[:] = before[2]
    root.setLevel(before[0])
    own.setLevel(before[1])


def raised(text: str) -> BaseException:
    """An error with a cause and a note, all of which hold the text."""
    try:
        try:
            raise KeyError(text)
        except KeyError as error:
            error.add_note(f"note {text}")
            raise ValueError(f"failed with {text}") from error
    except ValueError as error:
        return error


def write_everywhere(secret: str) -> None:
    """Every way in which a text can come into a line."""
    log(f"Event with {secret} in it", text=secret, words=f"said {secret}, and more")
    log("Event", nested={"list": [{"deep": secret}], "pair": (secret, 1)}, set={secret})
    log("Event", keys={secret: 1}, headers=[("Authorization", secret), ("x-api-key", secret)])
    log("Event", json=json.dumps({"argv": ["curl", "-H", secret], "text": secret}))
    log("Event", twice=json.dumps(json.dumps({"text": secret})), shown=repr({"a": secret}))
    log("Event", raw=secret.encode(), error=ValueError(secret), path=Path("/x") / secret)
    log("Event", "error", exception=raised(secret))
    log("Event", api_key=secret, session_token=secret, env={"MY_SECRET": secret, "PASSWORD": 1})
    log("Event", long="x" * 8180 + " " + secret, run_id=secret, step=secret)
    library = logging.getLogger("library")
    library.warning("used %s for %r", secret, {"a": secret})
    library.error("failed", exc_info=raised(secret))


@given(st.from_regex(redaction._PLAIN, fullmatch=True))
def test_what_is_not_looked_through_for_secrets_has_none(text: str) -> None:
    with pytest.MonkeyPatch.context() as all_are:
        all_are.setattr(redaction, "_PLAIN", re.compile("(?!)"))
        assert redact(text) == text


@pytest.mark.parametrize("format", ["json", "text"])
def test_no_secret_comes_through_any_input_of_the_log(format: Any) -> None:
    stream = io.StringIO()
    set_up(format, stream=stream)
    some = SECRETS[:: 2 if format == "text" else 1]  # they differ in what comes after redaction
    for secret in some:
        write_everywhere(secret)
    assert len(stream.getvalue().splitlines()) == 11 * len(some)
    assert leaked(stream.getvalue()) == []
    assert stream.getvalue().count("[redacted]") > 15 * len(some)


def test_the_planted_secrets_are_fifty_and_can_be_found() -> None:
    assert len(set(SECRETS)) == 50
    assert all(leaked(secret) for secret in SECRETS)
    assert not any(core in redact(secret) for secret in SECRETS for core in CORES)


@pytest.mark.parametrize(
    "text",
    [
        "use --token to set a limit",
        "the tokens: 1234 of 200000",
        "--tokens 12 --secretary",
        "npm_config_cache=/x hf_x",
        "eyJ is how it begins",
        "[redacted] is what is left",
    ],
)
def test_words_about_secrets_are_none(text: str) -> None:
    kept = redact(text)
    assert kept == text or text.startswith(("use", "--tokens"))


@pytest.mark.parametrize(
    "unit",
    sampled(["--a-", "--token-", "--api-key --", '\\\\\\"', "token\\\\", "npm_", "bearer  "]),
)
def test_looking_for_secrets_ends_in_a_text_made_to_be_slow(unit: str) -> None:
    with ending():
        redact(unit * (300_000 // len(unit)))


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "h", ANTHROPIC_API_KEY=SECRETS[0]) as made:
        yield made


def give(daemon: RealDaemon, secret: str, project: Path) -> None:
    """One secret through the doors that a client, a phone, a page and a file have."""
    flat = secret.replace("\n", " ")
    daemon.line(secret.encode())
    daemon.line(b'{"jsonrpc": "2.0", "id": 1, "method": ' + json.dumps(secret).encode() + b"}")
    daemon.call("sessions.prompt", text=secret, agent=secret, working_directory=str(project))
    daemon.call("sessions.prompt", text="x", session_id=secret)
    daemon.call(
        "runs.start", recipe=secret, working_directory=f"/{secret}", params={secret: secret}
    )
    daemon.call("recipes.check", text=secret)
    daemon.call("recipes.outcome", id="single-step", step="work", text=secret)
    daemon.write_config(f"[agents.claude]\n{json.dumps(secret)} = {json.dumps(secret)}\n")
    assert "error" in daemon.call("daemon.reload")
    auth = flat if "uthorization" in flat and ": " in flat else f"Authorization: Bearer {flat}"
    daemon.http(
        f"GET /metrics?key={flat.replace(' ', '%20')} HTTP/1.1\r\nHost: localhost\r\n{auth}"
    )
    daemon.http(f"GET / HTTP/1.1\r\nHost: {flat}")
    daemon.http(f"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: {flat}")
    daemon.http(f"{flat} / HTTP/1.1\r\nHost: localhost")


@pytest.mark.parametrize("step", sampled([4, 1]))
def test_no_secret_that_reaches_a_daemon_is_in_its_logs(
    daemon: RealDaemon, step: int, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for secret in SECRETS[::step]:
        give(daemon, secret, project)
    daemon.stop()
    written = daemon.written()
    events = {json.loads(line)["event"] for line in written.splitlines()}
    assert {"Configuration refused", "Host refused", "Origin refused", "Daemon stopped"} <= events
    assert [line[:4000] for line in leaked(written)] == []
