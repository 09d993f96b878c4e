"""The listening socket: private, and never taken from a living daemon."""

from __future__ import annotations

import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any

import pytest

from podiumd.config.paths import PlaceError
from podiumd.host.instance import AlreadyRunning
from podiumd.rpc.listener import listening, peer_uid
from tests.rpc.harness import pair

UID = os.getuid()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_the_socket_is_private_whatever_the_umask_and_goes_away(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with listening(tmp_path / "s", UID) as sock:
            assert mode(tmp_path / "s") == 0o600
            assert not sock.getblocking()
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    assert not (tmp_path / "s").exists()


def test_the_socket_is_never_open_to_others_even_while_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        "podiumd.rpc.listener._BACKLOG", Spy(lambda: seen.append(mode(tmp_path / "s")))
    )
    with listening(tmp_path / "s", UID):
        assert seen == [0o600]


class Spy:
    """A number that looks around when it is used."""

    def __init__(self, look: Any) -> None:
        self._look = look

    def __index__(self) -> int:
        self._look()
        return 1


def test_a_dead_daemons_socket_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    with listening(tmp_path / "s", UID), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(tmp_path / "s"))


def test_a_second_daemon_on_the_socket_is_refused_by_the_lock(tmp_path: Path) -> None:
    with listening(tmp_path / "s", UID):
        with (
            pytest.raises(AlreadyRunning, match=f"pid {os.getpid()}"),
            listening(tmp_path / "s", UID),
        ):
            pass
        assert (tmp_path / "s").exists()


@pytest.mark.parametrize("queue", ["empty", "full"])
def test_another_programs_living_socket_is_left_alone(tmp_path: Path, queue: str) -> None:
    with socket.socket(socket.AF_UNIX) as other, socket.socket(socket.AF_UNIX) as waiting:
        other.bind(str(tmp_path / "s"))
        other.listen(0)
        if queue == "full":
            waiting.connect(str(tmp_path / "s"))
        with (
            pytest.raises(PlaceError, match="Another program listens"),
            listening(tmp_path / "s", UID),
        ):
            pass
        assert (tmp_path / "s").exists()


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("precious")
    with pytest.raises(PlaceError, match="is not a socket"), listening(tmp_path / "s", UID):
        pass
    assert (tmp_path / "s").read_text() == "precious"


def test_a_link_in_the_way_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "s").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlaceError, match="is not a socket"), listening(tmp_path / "s", UID):
        pass


def test_another_users_socket_is_left_alone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    with pytest.raises(PlaceError, match="belongs to user"), listening(tmp_path / "s", UID + 1):
        pass
    assert (tmp_path / "s").exists()


def test_a_path_that_cannot_be_bound_is_a_clear_error(tmp_path: Path) -> None:
    with (
        pytest.raises(PlaceError, match=r"Cannot listen on .*: AF_UNIX path too long"),
        listening(tmp_path / ("s" * 150), UID),
    ):
        pass


@pytest.mark.parametrize("replaced", [True, False])
def test_a_socket_that_is_not_ours_any_more_is_not_removed(tmp_path: Path, replaced: bool) -> None:
    with listening(tmp_path / "s", UID):
        (tmp_path / "s").unlink()
        if replaced:
            (tmp_path / "s").write_text("somebody else's")
    assert (tmp_path / "s").exists() == replaced


def test_the_kernel_says_who_is_at_the_other_end() -> None:
    left, right = pair()
    with left, right:
        assert peer_uid(left) == UID


def test_the_credentials_of_macos_are_read() -> None:
    class Mac:
        """A socket of that system, as far as its credentials."""

        def getsockopt(self, level: int, option: int, size: int) -> bytes:
            assert (level, option, size) == (0, 1, 76)
            return struct.pack("IIh", 0, 501, 1).ljust(size, b"\0")

    mac: Any = Mac()
    assert peer_uid(mac, "darwin") == 501
