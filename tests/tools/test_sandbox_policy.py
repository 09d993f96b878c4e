"""Off, auto and required: what is done on a machine that has a sandbox, or has none."""

import sys
from pathlib import Path

import pytest
import trio

from podiumd.tools.sandbox.sandbox import Enclosure, Probe, Sandbox, SandboxRefused

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")


async def test_a_required_sandbox_that_is_missing_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    sandbox = Sandbox("required", home=tmp_path / "home", environ={}, probe=Probe())

    with pytest.raises(SandboxRefused, match="install bubblewrap"):
        await sandbox.enclose(tmp_path / "tree", tmp_path)


async def test_a_sandbox_that_does_not_work_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'no permissions' >&2; exit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    sandbox = Sandbox("required", home=tmp_path / "home", environ={}, probe=Probe())

    with pytest.raises(SandboxRefused, match=r"does not work \(no permissions\): allow"):
        await sandbox.enclose(tmp_path / "tree", tmp_path)


@pytest.mark.parametrize(
    ("version", "refused"), [("2.34.1", True), ("2.38.0", False), ("3.0", False), ("odd", False)]
)
async def test_a_git_that_believes_any_layout_is_too_old_for_a_required_sandbox(
    tmp_path: Path, version: str, refused: bool
) -> None:
    for name, said in (("bwrap", ""), ("git", f"git version {version}")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}'\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "tree").mkdir()
    probe = Probe(path=f"{tmp_path}")
    required, auto = (
        Sandbox(policy, home=tmp_path / "home", environ={}, probe=probe)
        for policy in ("required", "auto")
    )

    if refused:
        with pytest.raises(SandboxRefused, match=r"git 2\.34 takes any directory .* newer git"):
            await required.enclose(tmp_path / "tree", tmp_path)
    else:
        assert (await required.enclose(tmp_path / "tree", tmp_path))[0] is not None

    assert (await auto.enclose(tmp_path / "tree", tmp_path))[0] is not None


async def test_by_auto_a_missing_sandbox_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    sandbox = Sandbox("auto", home=tmp_path / "home", environ={}, probe=Probe())

    first = await sandbox.enclose(tmp_path, tmp_path)
    second = await sandbox.enclose(tmp_path, tmp_path)

    assert first[0] is None and "commands run unconfined" in first[1]
    assert second == (None, "")


async def test_off_is_off_and_says_nothing(tmp_path: Path) -> None:
    sandbox = Sandbox("off", home=tmp_path, environ={}, probe=Probe())

    assert await sandbox.enclose(tmp_path, tmp_path) == (None, "")


@pytest.mark.needs("bwrap")
async def test_a_tree_that_holds_the_home_has_no_sandbox(tmp_path: Path) -> None:
    sandbox = Sandbox("required", home=tmp_path / "home", environ={}, probe=Probe())
    (tmp_path / "home").mkdir()

    for root in (tmp_path, tmp_path / "home"):
        with pytest.raises(SandboxRefused, match="holds your home"):
            await sandbox.enclose(root, tmp_path)


async def test_the_machine_is_probed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tmp_path / "count"
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\necho >> {count}\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    probe = Probe()

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(probe.program)

    assert await probe.program() == (f"{tmp_path}/bwrap", "")
    assert count.read_text() == "\n"


async def test_a_sandbox_that_works_later_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be installed meanwhile; and what failed on a busy machine was no answer for good."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    probe = Probe()
    missing = await probe.program()
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)

    assert missing[0] is None and "install bubblewrap" in missing[1]
    assert await probe.program() == (f"{tmp_path}/bwrap", "")


def test_what_names_things_outside_is_not_in_the_environment() -> None:
    enclosed = Enclosure(prefix=("bwrap",), variables={"HOME": "/h", "TMPDIR": "/tmp"})

    inside = enclosed.environment({"SSH_AUTH_SOCK": "/x", "XDG_RUNTIME_DIR": "/y", "LANG": "C"})

    assert inside == {"LANG": "C", "HOME": "/h", "TMPDIR": "/tmp"}
