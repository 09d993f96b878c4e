"""What is mounted where, by tables as the kernel writes them."""

from __future__ import annotations

import pytest

from podiumd.tools.confine.mounts import Mounts, strayed

OURS = rb"""22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw - ext4 /dev/vda rw
30 27 0:40 /@data /data rw - btrfs /dev/vdb rw
31 30 0:41 / /data/hidden rw - tmpfs tmpfs rw
32 27 0:42 /people /data rw - overlay overlay rw
33 32 0:43 / /data/ada/my\040tree rw - ext4 /dev/vdc rw
"""
THEIRS = rb"""61 60 0:50 / / rw - tmpfs tmpfs rw
62 61 0:50 /newroot /newroot rw - tmpfs tmpfs rw
63 62 254:0 / /newroot ro - ext4 /dev/vda rw
64 63 0:51 / /newroot/data rw - tmpfs tmpfs rw
65 64 0:43 /sub /newroot/data/ada/my\040tree/sub rw - ext4 /dev/vdc rw
66 64 0:42 /people/ada/repo/.git /newroot/data/ada/repo/.git rw - overlay overlay rw
67 66 0:42 /people/ada/repo/.git/hooks /newroot/data/ada/repo/.git/hooks ro - overlay overlay rw
"""
GIT = "/data/ada/repo/.git"
ARGUMENTS = (
    *("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/data"),
    *("--ro-bind-try", "/a", "/b", "--bind", "/data/ada/my tree/sub", "/data/ada/my tree/sub"),
    *("--bind", f"{GIT}/hooks/x", f"{GIT}/hooks/x"),
    *("--bind", GIT, GIT, "--ro-bind", f"{GIT}/hooks", f"{GIT}/hooks", "--chdir", "/data"),
)


def test_a_path_is_in_the_mount_that_covers_it_last() -> None:
    mounts = Mounts(OURS)

    found = [mounts.at(path) for path in ("/etc", "/data/hidden", "/data/ada/my tree/sub")]

    assert [one and one.number for one in found] == ["27", "32", "33"]
    assert Mounts(b"").at("/etc") is None
    assert Mounts(b"1 1 0:1 / / rw - rootfs rootfs rw\n").at("/etc") is not None


def test_what_is_mounted_as_it_was_meant_has_not_strayed() -> None:
    assert strayed(ARGUMENTS, Mounts(OURS), Mounts(THEIRS), "/newroot") is None


@pytest.mark.parametrize(
    ("was", "became", "where"),
    [
        (b"0:42 /people/ada/repo/.git /newroot", b"0:42 /people/ada /newroot", GIT),
        (b"0:42 /people/ada/repo/.git /newroot", b"0:43 /people/ada/repo/.git /newroot", GIT),
        (b"/newroot/data/ada/repo/.git rw", b"/newroot/usr/bin rw", f"{GIT}/hooks"),
        (b".git/hooks /newroot", b".git/objects /newroot", f"{GIT}/hooks"),
        (b"/newroot/data/ada/repo/.git/hooks ro", b"/newroot/etc ro", f"{GIT}/hooks"),
        (b"0:51 / /newroot/data rw - tmpfs", b"0:51 / /newroot/data rw - ext4", "/data"),
        (b"63 62 254:0", b"63 62 254:1", "/"),
    ],
)
def test_what_is_mounted_otherwise_is_named(was: bytes, became: bytes, where: str) -> None:
    assert was in THEIRS
    theirs = Mounts(THEIRS.replace(was, became, 1))

    assert strayed(ARGUMENTS, Mounts(OURS), theirs, "/newroot") == where


def test_where_our_own_mounts_cannot_be_told_nothing_passes() -> None:
    assert strayed(ARGUMENTS, Mounts(b""), Mounts(THEIRS), "/newroot") is not None
