"""The installer of the pinned codex, as far as it goes without a network."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tests.e2e import install_codex
from tests.e2e.install_claude import InstallError
from tests.e2e.install_codex import BUILDS, VERSION, Build, build_for, install, installed, main

FOLDER = "x86_64-unknown-linux-musl"


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


class Registry:
    """An npm that brings one tarball, and the build that is expected of it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
        self.cache = root / "cache"
        files = {
            f"package/vendor/{FOLDER}/bin/codex": f"#!/bin/sh\necho codex-cli {says}\n",
            f"package/vendor/{FOLDER}/resources/bwrap": "",
            "package/package.json": "{}",
            "package/vendor/another/bin/codex": "",
        }
        tarball = root / "openai-codex.tgz"
        with tarfile.open(tarball, "w:gz") as archive:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(text), 0o755
                archive.addfile(member, io.BytesIO(text.encode()))
        npm = program(root / "npm", f'echo "$@" > {root}/asked; cp {tarball} "$4"')
        self.asked = root / "asked"
        self.digest = base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
        monkeypatch.setattr("shutil.which", lambda _: str(npm))
        self._monkeypatch = monkeypatch
        self.expect(self.digest)

    def expect(self, digest: str) -> None:
        build = Build("linux-x64", FOLDER, digest)
        self._monkeypatch.setattr(install_codex, "build_for", lambda *_: build)

    @property
    def left(self) -> list[str]:
        return [path.name for path in self.cache.iterdir()]


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("Linux", "x86_64", "linux-x64"),
        ("Linux", "AMD64", "linux-x64"),
        ("Linux", "aarch64", "linux-arm64"),
        ("Darwin", "arm64", "darwin-arm64"),
        ("Darwin", "x86_64", "darwin-x64"),
    ],
)
def test_a_platform_has_a_build(system: str, machine: str, name: str) -> None:
    assert build_for(system, machine).platform == name


def test_each_build_has_a_digest_of_its_own() -> None:
    sizes = {len(base64.b64decode(build.digest, validate=True)) for build in BUILDS.values()}
    assert sizes == {64} and len({build.digest for build in BUILDS.values()}) == 4


def test_an_unknown_platform_is_named() -> None:
    with pytest.raises(InstallError, match="no codex build is known for Linux on riscv64"):
        build_for("Linux", "riscv64")


def test_what_is_installed_is_used_and_nothing_run(tmp_path: Path) -> None:
    assert installed(tmp_path) is None
    there = program(tmp_path / VERSION / "bin/codex", "exit 1")
    assert install(tmp_path) == there


def test_npm_is_asked_for_the_platforms_build_which_comes_with_what_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = Registry(tmp_path, monkeypatch, VERSION)
    assert main([str(registry.cache)]) == 0
    there = registry.cache / VERSION
    assert capsys.readouterr().out == f"{there}/bin/codex\n"
    assert registry.asked.read_text().startswith(f"pack @openai/codex@{VERSION}-linux-x64 ")
    found = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()}
    assert found == {"bin/codex", "resources/bwrap"} and registry.left == [VERSION]


def test_another_tarball_than_the_pinned_one_is_refused_before_anything_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(tmp_path, monkeypatch, f"{VERSION}; touch {tmp_path}/ran")
    registry.expect("other")
    with pytest.raises(InstallError, match="expected other"):
        install(registry.cache)
    assert registry.left == [] and not (tmp_path / "ran").exists()


def test_a_binary_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(tmp_path, monkeypatch, "0.1.0")
    with pytest.raises(InstallError, match=r"says 'codex-cli 0\.1\.0', expected"):
        install(registry.cache)
    assert registry.left == []


def test_a_tarball_without_the_binary_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry(tmp_path, monkeypatch, VERSION)
    build = Build("linux-x64", "elsewhere", registry.digest)
    monkeypatch.setattr(install_codex, "build_for", lambda *_: build)
    with pytest.raises(InstallError, match="holds no bin/codex"):
        install(registry.cache)


def test_a_download_that_fails_says_what_was_run_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    npm = program(tmp_path / "bin" / "npm", "echo no route to host >&2; exit 7")
    monkeypatch.setattr("shutil.which", lambda _: str(npm))
    assert main([str(tmp_path / "cache")]) == 1
    said = capsys.readouterr().err
    assert "ended with 7" in said and "no route to host" in said and "CODEX_BIN" in said
    assert list((tmp_path / "cache").iterdir()) == []
    program(npm, "exit 0")
    assert main([str(tmp_path / "cache")]) == 1
    assert "brought 0 tarballs" in capsys.readouterr().err
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert main([str(tmp_path / "cache")]) == 1
    assert "codex comes by npm, and there is none" in capsys.readouterr().err
