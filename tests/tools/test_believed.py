"""Whose words are believed: a file that nobody else can have written."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from types import SimpleNamespace

import pytest

from podiumd.tools.files.believed import fault_of

ADA, EVE, ROOT = 1000, 1001, 0
OWN_GROUP, STAFF, WHEEL = 1000, 50, 10
FILE, DIRECTORY, DEVICE, PIPE = stat.S_IFREG, stat.S_IFDIR, stat.S_IFCHR, stat.S_IFIFO


@pytest.fixture(autouse=True)
def accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {ADA: "ada", EVE: "eve", ROOT: "root"}
    groups = {OWN_GROUP: ("ada", ["ada"]), STAFF: ("staff", []), WHEEL: ("ada", ["ada", "eve"])}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: SimpleNamespace(pw_name=names[uid]))
    monkeypatch.setattr(
        grp,
        "getgrgid",
        lambda gid: SimpleNamespace(gr_name=groups[gid][0], gr_mem=groups[gid][1]),
    )


def found(kind: int, mode: int, uid: int = ADA, gid: int = STAFF) -> os.stat_result:
    return os.stat_result((kind | mode, 0, 0, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    "status",
    [
        found(FILE, 0o600),
        found(FILE, 0o644),
        found(FILE, 0o644, ROOT),
        found(FILE, 0o664, gid=OWN_GROUP),
        found(DIRECTORY, 0o755),
        found(DIRECTORY, 0o775, gid=OWN_GROUP),
        found(DIRECTORY, 0o1777, ROOT),
        found(DEVICE, 0o666, ROOT),
        found(PIPE, 0o600),
    ],
)
def test_what_only_the_user_or_root_can_write_is_believed(status: os.stat_result) -> None:
    assert fault_of(status, ADA) is None


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (found(FILE, 0o600, EVE), "belongs to user 1001"),
        (found(DIRECTORY, 0o1777, EVE), "belongs to user 1001"),
        (found(FILE, 0o666), "everybody can write to it (mode 666)"),
        (found(FILE, 0o1666), "everybody can write to it"),
        (found(FILE, 0o602, ROOT), "everybody can write to it"),
        (found(DIRECTORY, 0o777), "everybody can write to it (mode 777)"),
        (found(PIPE, 0o666), "everybody can write to it"),
        (found(FILE, 0o664), "its group staff can write to it (mode 664)"),
        (found(DIRECTORY, 0o775, gid=WHEEL), "its group ada can write to it"),
        (found(FILE, 0o664, gid=777), "its group 777 can write to it"),
        (found(FILE, 0o664, ROOT, OWN_GROUP + 1), "its group 1001 can write to it"),
    ],
)
def test_what_others_can_write_is_refused_with_a_reason(status: os.stat_result, why: str) -> None:
    fault = fault_of(status, ADA)
    assert fault is not None and why in fault


def test_a_user_without_an_account_has_no_group_of_its_own() -> None:
    assert fault_of(found(FILE, 0o664, 4242, OWN_GROUP), 4242) is not None
