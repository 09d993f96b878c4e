"""Speaking at the terminal: ``podium listen``."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from podium.audio import microphone
from podium.errors import Failure
from tests.client import stories
from tests.client.chats import turn
from tests.client.fake_daemon import RUN_ID, SESSION_ID, FakeDaemon, finish, podium, start
from tests.client.listeners import SILENT, TRANSCRIPT, Listener, listening
from tests.client.recorders import SECOND, Recorders, tone

Json = Any


def test_enter_begins_and_ends_and_the_text_is_printed(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    clip = tone(0.55)
    recorders.add("arecord", clip)
    with listening(daemon, recorders) as terminal:
        terminal.expect("Press Enter to speak")
        assert recorders.started == []
        terminal.type("\n")
        daemon.wait_for("voice.audio", 5)
        terminal.expect("●")
        terminal.type("\n")
        terminal.expect("fix the session_lock")
        assert terminal.end() == 0

    assert listener.heard == clip
    (began,) = daemon.params_of("voice.start")
    assert (began["format"], began["sample_rate"]) == ("pcm16", 16000)
    assert len(listener.ids) == 1


def test_what_is_understood_is_shown_while_somebody_speaks(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.5))
    plain = daemon.answers["voice.audio"]

    def audio(params: Json) -> Json:
        for client in list(daemon._clients):
            daemon.notify(
                client,
                {"utterance_id": params["utterance_id"], "text": "fix the lock"},
                "voice.partial",
            )
        answer: Json = plain(params)
        return answer

    daemon.answers["voice.audio"] = audio
    with listening(daemon, recorders) as terminal:
        terminal.type("\n")
        terminal.expect("fix the lock")
        terminal.type("\n")
        terminal.expect("fix the session_lock")
        assert terminal.end() == 0


def test_without_a_terminal_it_begins_at_once_and_ends_with_standard_input(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("rec", tone(0.3))
    done = podium(daemon, "listen", "--session", "s1", "--json", settings=recorders.environment)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('{"text":')
    assert daemon.params_of("voice.start")[0]["session_id"] == "s1"


def test_it_records_for_some_seconds(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.3))
    done = podium(
        daemon, "listen", "--seconds", "0.5", "--language", "de", settings=recorders.environment
    )
    assert done.stdout == "fix the session_lock\n"
    assert "Listening" in done.stderr
    assert listener.heard == tone(0.3)


def test_what_is_missing_is_told_before_anybody_speaks(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.3))
    words = "The model base is not here: run 'podium voice install base'."
    daemon.answers["voice.status"] = {"state": "no-model", "problem": words}
    with listening(daemon, recorders) as terminal:
        terminal.expect(words)
        assert terminal.end() == 1
    assert recorders.started == []
    daemon.answers["voice.status"] = {"state": "off"}
    done = podium(daemon, "listen", "--seconds", "1", settings=recorders.environment)
    assert done.stderr == "podium: Voice is off: see 'podium doctor'.\n"


def test_ctrl_c_forgets_what_was_said(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.3))
    with listening(daemon, recorders) as terminal:
        terminal.type("\n")
        daemon.wait_for("voice.audio", 2)
        terminal.type("\x03")
        terminal.expect("nothing was taken down")
        assert terminal.end() == 130
    assert daemon.params_of("voice.cancel")
    assert not daemon.params_of("voice.end")


def test_silence_is_told(daemon: FakeDaemon, recorders: Recorders) -> None:
    Listener(daemon, SILENT)
    recorders.add("arecord", bytes(SECOND))
    done = podium(daemon, "listen", "--seconds", "0.3", settings=recorders.environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no speech" in done.stderr


@pytest.mark.parametrize("command", [("listen",), ("voice", "test")])
def test_a_microphone_that_does_not_open_is_told_though_standard_input_is_over(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders, command: tuple[str, ...]
) -> None:
    recorders.add("arecord", b"", ends=True, complaint="no soundcards found...\n", code=1)

    done = podium(daemon, *command, settings=recorders.environment)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(
        "podium: The microphone could not be opened: arecord: no soundcards found.... "
        "Connect one, or name a recorder in PODIUM_RECORDER (docs/voice.md).\n"
    )
    assert daemon.params_of("voice.end") == []


def test_a_recorder_that_never_records_anything_is_told(
    recorders: Recorders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_RECORDER", str(recorders.add("arecord", b"")))
    monkeypatch.setattr(microphone, "FIRST_SOUND_SECONDS", 0.0)

    with (
        microphone.Microphone() as silent,
        pytest.raises(Failure, match=r"The microphone is silent: .*PODIUM_RECORDER"),
    ):
        silent.close()


def test_the_text_can_be_sent_at_once(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.3))
    daemon.events = list(turn("Fixed."))
    daemon.answers["sessions.prompt"] = {
        "run_id": RUN_ID,
        "turn_id": stories.TURN_ID,
        "session_id": SESSION_ID,
    }
    done = podium(
        daemon,
        *("listen", "--seconds", "0.3", "--send", "--session", SESSION_ID),
        settings=recorders.environment,
    )
    assert done.returncode == 0, done.stderr
    assert "You said: fix the session_lock" in done.stderr
    assert "Fixed." in done.stdout
    (sent,) = daemon.params_of("sessions.prompt")
    assert (sent["text"], sent["session_id"]) == ("fix the session_lock", SESSION_ID)


def test_a_command_that_the_daemon_has_carried_out_is_no_text(
    daemon: FakeDaemon, recorders: Recorders
) -> None:
    command = {"command": "approve", "state": "applied", "read_back": "Allowed: Run make."}
    Listener(daemon, TRANSCRIPT | {"text": "approve", "command": command})
    recorders.add("arecord", tone(0.3))
    done = podium(
        daemon,
        *("listen", "--seconds", "0.3", "--send", "--session", "s1"),
        settings=recorders.environment,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert "podium: Allowed: Run make." in done.stderr
    assert daemon.params_of("sessions.prompt") == []


def test_a_connection_that_is_lost_in_the_middle_costs_nothing(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    clip = tone(1.0)
    recorders.add("arecord", clip)
    listener.lose_at = 4
    done = podium(daemon, "listen", "--seconds", "1", settings=recorders.environment)

    assert done.stdout == "fix the session_lock\n"
    assert listener.heard == clip
    assert len(listener.ids) == 1
    assert len(daemon.params_of("voice.start")) == 2


def test_no_recorder_is_left_when_the_client_is_ended(
    daemon: FakeDaemon, listener: Listener, recorders: Recorders
) -> None:
    recorders.add("arecord", tone(0.3))
    client = start(daemon, "listen", "--seconds", "60", **recorders.environment)
    daemon.wait_for("voice.audio", 2)
    client.send_signal(signal.SIGINT)
    _out, err = finish(client)
    assert client.returncode == 130
    assert "nothing was taken down" in err


@pytest.mark.parametrize("seconds", ["0", "x", "601", "nan"])
def test_impossible_seconds_are_refused(daemon: FakeDaemon, seconds: str) -> None:
    done = podium(daemon, "listen", "--seconds", seconds)
    assert done.returncode == 2
    assert f"--seconds takes 0.1 to 600, not '{seconds}'" in done.stderr


def test_to_send_and_to_print_json_is_too_much(daemon: FakeDaemon) -> None:
    assert podium(daemon, "listen", "--send", "--json").returncode == 2
