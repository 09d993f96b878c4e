"""The installer of the pinned binary, as far as it goes without a network."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e import install_claude
from tests.e2e.install_claude import InstallError, install, installed, main, platform_name


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("system", "machine", "musl", "name"),
    [
        ("Linux", "x86_64", False, "linux-x64"),
        ("Linux", "aarch64", True, "linux-arm64-musl"),
        ("Darwin", "arm64", False, "darwin-arm64"),
        ("Darwin", "x86_64", False, "darwin-x64"),
    ],
)
def test_a_platform_has_a_package(system: str, machine: str, musl: bool, name: str) -> None:
    assert platform_name(system, machine, musl=musl) == name


def test_an_unknown_platform_is_named() -> None:
    with pytest.raises(InstallError, match="no claude build is known for Linux on riscv64"):
        platform_name("Linux", "riscv64", musl=False)


def test_what_is_installed_is_used_and_nothing_run(tmp_path: Path) -> None:
    assert installed(tmp_path) is None
    other = program(tmp_path / install_claude.SDK_BUNDLES / "claude", "exit 1")
    assert install(tmp_path) == other
    npm = program(tmp_path / install_claude.NPM_VERSION / "claude", "exit 1")
    assert install(tmp_path) == npm, "the pinned version goes first"


def test_npm_is_asked_for_the_platforms_package_and_leaves_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = 'for last; do :; done; d="$3/node_modules/${last%@*}"; mkdir -p "$d"'
    binary = f"printf '#!/bin/sh\\necho {install_claude.NPM_VERSION} x' > \"$d/claude\""
    npm = program(tmp_path / "bin" / "npm", f"{package}; {binary}")
    monkeypatch.setattr("shutil.which", lambda _: str(npm))
    found = install(tmp_path / "cache")
    assert found == tmp_path / "cache" / install_claude.NPM_VERSION / "claude"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [install_claude.NPM_VERSION]


def test_a_download_that_fails_says_what_was_run_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npm = program(tmp_path / "bin" / "npm", "echo no route to host >&2; exit 7")
    pip = program(tmp_path / "python", "echo no such index >&2; exit 8")
    monkeypatch.setattr("shutil.which", lambda _: str(npm))
    monkeypatch.setattr(sys, "executable", str(pip))
    assert main([str(tmp_path / "cache")]) == 1
    said = capsys.readouterr().err
    assert "ended with 7" in said and "no route to host" in said and "CLAUDE_BIN" in said
    assert "ended with 8" in said and "no such index" in said
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_binary_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'for last; do :; done; d="$3/node_modules/${last%@*}"; mkdir -p "$d"'
    npm = program(tmp_path / "npm", f"{text}; printf '#!/bin/sh\\necho 0.1' > \"$d/claude\"")
    monkeypatch.setattr("shutil.which", lambda _: str(npm))
    with pytest.raises(InstallError, match=r"says version '0\.1', expected"):
        install(tmp_path / "cache")


@pytest.mark.parametrize("npm", [None, "exit 7"])
def test_without_npm_or_its_registry_the_binary_is_taken_out_of_the_wheel(
    npm: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "sdk.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        script = f"#!/bin/sh\necho {install_claude.SDK_BUNDLES} x"
        archive.writestr(install_claude.BUNDLED_BINARY, script)
        archive.writestr("claude_agent_sdk/__init__.py", "")
    pip = program(tmp_path / "python", f'while [ "$1" != --dest ]; do shift; done; cp {wheel} "$2"')
    there = npm and str(program(tmp_path / "bin" / "npm", npm))
    monkeypatch.setattr("shutil.which", lambda _: there)
    monkeypatch.setattr(sys, "executable", str(pip))
    found = install(tmp_path / "cache")
    assert found.parent.name == install_claude.SDK_BUNDLES
    assert [path.name for path in found.parent.iterdir()] == ["claude"]


def test_a_wheel_without_a_binary_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "sdk.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("claude_agent_sdk/__init__.py", "")
    pip = program(tmp_path / "python", f'while [ "$1" != --dest ]; do shift; done; cp {wheel} "$2"')
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(sys, "executable", str(pip))
    with pytest.raises(InstallError, match=r"sdk\.whl holds no claude_agent_sdk/_bundled/claude"):
        install(tmp_path / "cache")
