"""A pipe in the place of a file, as an agent or a repository may have put it there, is refused and
never waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest
import trio

from podiumd.agents.claude import files as claude_files
from podiumd.agents.codex import files as codex_files
from podiumd.agents.native.model.base import ModelError
from podiumd.agents.native.model.scripted import open_script
from podiumd.config.settings import GatewaySettings, VoiceSettings
from podiumd.doctor.disk import reading
from podiumd.drivers.agent_process import ERRORS, error_tail
from podiumd.gateway.tls.certificate import CertificateError, make_tls
from podiumd.service.state import unit_text
from podiumd.speech.service import open_speech
from tests.patience import HANG_SECONDS

NOW = datetime(2026, 1, 31, tzinfo=UTC)
Act = Callable[[Path], object]


def database(pipe: Path) -> None:
    with reading(pipe, True):
        pass


def database_with_a_log(pipe: Path) -> None:
    pipe.with_name(f"{pipe.name}-wal").write_bytes(b"x")
    with reading(pipe, False):
        pass


def certificate(pipe: Path) -> None:
    settings = GatewaySettings(tls="files", cert_file=str(pipe), key_file=str(pipe))
    make_tls(settings, pipe.parent, (), (), NOW)


def certificate_of_our_own(pipe: Path) -> None:
    (pipe.parent / "tls").mkdir()
    pipe.rename(pipe.parent / "tls" / "gateway.pem")
    make_tls(GatewaySettings(tls="auto"), pipe.parent, (), (), NOW)


def replies(pipe: Path) -> None:
    async def tell(event: object) -> None: ...

    trio.run(open_script, str(pipe), tell)


def spoken_script(pipe: Path) -> None:
    async def speak() -> None:
        async with open_speech(VoiceSettings(engine="scripted", script=str(pipe)), pipe.parent, {}):
            pass

    trio.run(speak)


def transcript_after_a_turn(pipe: Path) -> None:
    trio.run(claude_files.look_back, pipe, "uuid", 0)


def transcript_of_a_prompt(pipe: Path) -> None:
    trio.run(claude_files.trace, pipe, "uuid", ())


def rollout(pipe: Path) -> None:
    assert codex_files.look_up(pipe, "call") is None
    trio.run(codex_files.look_back, pipe, "uuid", 0)


def errors_of_an_agent(pipe: Path) -> None:
    pipe.rename(pipe.parent / ERRORS)
    error_tail(pipe.parent)


@pytest.mark.parametrize(
    ("act", "refusal"),
    [
        (database, OSError),
        (database_with_a_log, OSError),
        (certificate, CertificateError),
        (certificate_of_our_own, CertificateError),
        (replies, ModelError),
        (spoken_script, OSError),
        (unit_text, OSError),
        (transcript_after_a_turn, OSError),
        (transcript_of_a_prompt, OSError),
        (rollout, OSError),
        (errors_of_an_agent, OSError),
    ],
)
def test_a_pipe_is_refused_and_not_waited_for(
    tmp_path: Path, act: Act, refusal: type[Exception]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(refusal, match="this is no plain file"):
        in_time(pipe, act)


def in_time(pipe: Path, act: Act) -> None:
    """Do it in a thread, and end it where it is held up by the pipe."""
    faults: list[Exception] = []

    def attempt() -> None:
        try:
            act(pipe)
        except Exception as fault:  # noqa: BLE001 - raised again
            faults.append(fault)

    thread = Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    if thread.is_alive():
        (held,) = (path for path in pipe.parent.rglob("*") if path.is_fifo())
        os.close(os.open(held, os.O_RDWR))
        raise AssertionError("it waits for the pipe")
    for fault in faults:
        raise fault
