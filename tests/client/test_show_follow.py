"""``podium show --follow``: what is added to a conversation, once each and in order."""

import json
import subprocess
import sys

import pytest

from tests.client.conversations import message, row
from tests.client.fake_daemon import (
    SESSION_ID,
    FakeDaemon,
    HangUp,
    environment,
    finish,
    podium,
    start,
)
from tests.client.terminal import Terminal
from tests.patience import HANG_SECONDS

PARTING = f"podium: following ended: 'podium show {SESSION_ID[:8]} --follow' follows it again.\n"


@pytest.fixture
def session(daemon: FakeDaemon) -> FakeDaemon:
    """A daemon with one session of three messages."""
    daemon.answers["sessions.get"] = row()
    daemon.say(*(message(seq, f"word {seq}") for seq in (1, 2, 3)))
    return daemon


class Follower:
    """A client that follows the session as JSON Lines, from its last ``count`` messages."""

    def __init__(self, daemon: FakeDaemon, count: int = 1) -> None:
        self._daemon = daemon
        self._client = start(
            daemon, "show", "5e55", "-n", str(count), "--follow", "--json",
        )  # fmt: skip
        daemon.wait_for("sessions.subscribe")

    def seqs(self, count: int) -> list[int]:
        """The numbers of the next messages that are told."""
        assert self._client.stdout is not None
        return [json.loads(self._client.stdout.readline())["seq"] for _ in range(count)]

    def interrupt(self) -> tuple[str, str]:
        """Press Ctrl-C, as it were; all that was not read yet, on both streams."""
        import signal

        self._client.send_signal(signal.SIGINT)
        said = finish(self._client)
        assert self._client.returncode == 130
        return said


def test_what_is_there_is_told_first_then_what_comes(session: FakeDaemon) -> None:
    follower = Follower(session, count=2)
    session.say(message(4, "more"))
    session.say(message(5, "and"), message(6, "more"))

    assert follower.seqs(5) == [2, 3, 4, 5, 6]
    assert follower.interrupt() == ("", PARTING)
    assert session.params_of("sessions.subscribe") == [
        {"session_id": SESSION_ID, "after_seq": 3, "limit": 1000}
    ]


def test_more_than_an_answer_holds_comes_as_notifications(session: FakeDaemon) -> None:
    session.most = 1
    follower = Follower(session, count=0)
    with session._changed:
        session.messages += [message(seq, "while away") for seq in (4, 5, 6)]
        session.drop()

    assert follower.seqs(3) == [4, 5, 6]
    follower.interrupt()


def test_a_restarted_daemon_is_followed_without_hole_or_repeat(session: FakeDaemon) -> None:
    follower = Follower(session)
    assert follower.seqs(1) == [3]

    session.stop()
    session.messages += [message(4, "while away"), message(5, "while away")]
    session.listen()
    session.wait_for("sessions.subscribe", 2)
    session.say(message(6, "again"))

    assert follower.seqs(3) == [4, 5, 6]
    assert session.params_of("sessions.subscribe")[-1]["after_seq"] == 3
    _, err = follower.interrupt()
    assert "the daemon went away" in err
    assert "the daemon is back" in err


def test_a_follower_that_was_cut_loose_comes_back_where_it_was_without_a_word(
    session: FakeDaemon,
) -> None:
    follower = Follower(session)
    session.say(message(4, "more"))
    assert follower.seqs(2) == [3, 4]

    with session._changed:
        session.messages.append(message(5, "missed"))
        session.cut_loose()

    assert follower.seqs(1) == [5]
    assert session.params_of("sessions.subscribe")[-1]["after_seq"] == 4
    assert follower.interrupt() == ("", PARTING)


def test_repeats_are_dropped_and_a_hole_is_asked_for_again(session: FakeDaemon) -> None:
    follower = Follower(session)
    session.tell(message(2, "word 2"), message(3, "word 3"))
    session.messages.append(message(4, "not told"))
    session.say(message(5, "told"))

    assert follower.seqs(3) == [3, 4, 5]
    assert session.wait_for("sessions.subscribe", 2)["after_seq"] == 3
    follower.interrupt()


def test_other_sessions_of_the_same_connection_are_not_mixed_in(session: FakeDaemon) -> None:
    follower = Follower(session)
    other = {**session._page([message(4, "not ours")]), "session_id": "6one0000"}
    for reader in session._readers:
        session.notify(reader, other, "session.messages")
    session.say(message(4, "ours"))
    session.say(message(5, "ours"))

    assert follower.seqs(3) == [3, 4, 5]
    assert len(session.params_of("sessions.subscribe")) == 1
    follower.interrupt()


def test_a_rewritten_transcript_is_announced_before_what_follows(session: FakeDaemon) -> None:
    with Terminal(session, "show", SESSION_ID, "--follow", NO_COLOR="1") as terminal:
        terminal.expect("word 3")
        session.wait_for("sessions.subscribe")
        session.generation = 2
        session.tell()
        terminal.expect("the agent rewrote its transcript")
        session.say(message(4, "compact"))
        terminal.expect("4  assistant")
        session.say(message(5, "and on"))
        terminal.expect("and on")
        terminal.type("\x03")

        assert terminal.end() == 130
    assert terminal.screen.count("rewrote") == 1


def test_a_session_that_is_numbered_anew_ends_the_following(session: FakeDaemon) -> None:
    follower = Follower(session)
    with session._changed:
        session.messages = [message(1, "another")]
        session.drop()
    client = follower._client

    _, err = finish(client)

    assert client.returncode == 1
    assert "begun to number this session's messages anew" in err


def test_a_daemon_that_keeps_cutting_loose_is_given_up(session: FakeDaemon) -> None:
    def cut(params: object) -> None:
        raise HangUp(
            b'{"id": 3, "result": {"messages": [], "last_seq": 3, "generation": 1}}\n'
            b'{"method": "feed.closed", "params": {"reason": "slow"}}\n'
        )

    session.answers["sessions.subscribe"] = cut

    done = podium(session, "show", "5e55", "--follow", "-n", "0")

    assert done.returncode == 1
    assert "The daemon keeps closing the connection" in done.stderr


def test_ctrl_c_ends_the_following_with_its_own_exit_code(session: FakeDaemon) -> None:
    with Terminal(session, "show", "5e55", "--follow", columns=80) as terminal:
        terminal.expect("word 3")
        session.wait_for("sessions.subscribe")
        session.say(message(4, "more"))
        terminal.expect("more")
        terminal.type("\x03")
        terminal.expect(f"'podium show {SESSION_ID[:8]} --follow' follows it again")

        assert terminal.end() == 130
    assert "Traceback" not in terminal.screen


def test_a_reader_that_leaves_ends_the_following(session: FakeDaemon) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "podium", "show", "5e55", "--follow", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(session.path),
    ) as client:
        session.wait_for("sessions.subscribe")
        assert client.stdout is not None
        assert client.stderr is not None
        client.stdout.close()
        session.say(message(4, "more"))
        err = client.stderr.read().decode()
        code = client.wait(HANG_SECONDS)

    assert (code, err) == (130, PARTING)
