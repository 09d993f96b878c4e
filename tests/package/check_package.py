"""Build Podium, install it elsewhere, and compare what the wheel, the sdist and the tree carry.

Run by ``make package`` with the Python of the development environment, which holds an editable
install. Exits 0 if all that is promised holds, else 1 with what differs. Needs the package index
(or pip's cache) for the dependencies of the wheel.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where each folder of podiumd/_data stands in the tree.
DATA = {name: name for name in ("recipes", "systemd", "launchd")}
DATA["web"] = "client/web"
DATA["spoken"] = "daemon/podiumd/_data/spoken"
DATA["speech"] = "daemon/podiumd/_data/speech"
IN_SDIST = ("LICENSE", "README.md", "CHANGELOG.md", "Makefile", "constraints.txt", "pyproject.toml")
NEVER_SHIPPED = (".venv", ".cache", "__pycache__", ".git", ".pytest_cache", ".hypothesis")

# Run by the Python under test, outside the tree: what an installed Podium finds of its own data.
LIST_DATA = """
import importlib.resources, json
found = {}
def walk(at, name):
    for entry in at.iterdir():
        if entry.is_dir():
            walk(entry, f"{name}{entry.name}/")
        else:
            found[name + entry.name] = len(entry.read_bytes())
walk(importlib.resources.files("podiumd") / "_data", "")
print(json.dumps(found))
"""

IMPORT_ALL = """
import importlib, pkgutil, podium, podiumd
for package in (podium, podiumd):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        # What reads speech needs the extra podium[voice].
        if not module.name.endswith("__main__") and ".speech.worker." not in module.name:
            importlib.import_module(module.name)
"""


class PackageFault(Exception):
    """Something a user would miss; the text says what."""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command to its end and return its standard output.

    The search path for modules is cleared, so that only what is installed can be found.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        shown = " ".join(str(part) for part in command)
        raise PackageFault(f"{shown}\nexited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def expect_same(what: str, left: Iterable[object], right: Iterable[object]) -> None:
    """Raise ``PackageFault`` that names the entries of only one side."""
    left_only, right_only = set(left) - set(right), set(right) - set(left)
    if left_only or right_only:
        raise PackageFault(
            f"{what}: only in the first {sorted(map(str, left_only))}, "
            f"only in the second {sorted(map(str, right_only))}"
        )


def source_data() -> dict[str, int]:
    """The data files of the tree with their sizes, as an installed Podium must find them."""
    return {
        f"{name}/{path.relative_to(ROOT / folder).as_posix()}": path.stat().st_size
        for name, folder in DATA.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }


def wheel_contents(wheel: Path) -> dict[str, str]:
    """Each file of a wheel with its digest; RECORD repeats the others and is left out."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: hashlib.sha256(archive.read(name)).hexdigest()
            for name in archive.namelist()
            if not name.endswith("/RECORD")
        }


def build(scratch: Path) -> tuple[Path, Path]:
    """Build sdist, wheel from the sdist and wheel from the tree; the wheels must be equal."""
    builder = (sys.executable, "-m", "build", "--no-isolation")
    run(*builder, "--outdir", scratch / "dist", str(ROOT), cwd=scratch)
    run(*builder, "--wheel", "--outdir", scratch / "direct", str(ROOT), cwd=scratch)
    (sdist,) = (scratch / "dist").glob("*.tar.gz")
    (wheel,) = (scratch / "dist").glob("*.whl")
    (direct,) = (scratch / "direct").glob("*.whl")
    expect_same(
        "wheel built from the sdist, wheel built from the tree",
        wheel_contents(wheel).items(),
        wheel_contents(direct).items(),
    )
    return sdist, wheel


def check_wheel(wheel: Path) -> None:
    """The wheel holds the two packages, typed, and the licence; no test and no cache."""
    names = list(wheel_contents(wheel))
    expect_same(
        "top folders of the wheel, those expected",
        {name.partition("/")[0] for name in names if ".dist-info/" not in name},
        {"podium", "podiumd"},
    )
    for wanted in ("podium/py.typed", "podiumd/py.typed"):
        if wanted not in names:
            raise PackageFault(f"the wheel lacks {wanted}")
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        raise PackageFault("the wheel lacks the licence")


def check_sdist(sdist: Path) -> None:
    """The sdist is the whole project: buildable, testable, and nothing of this machine."""
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    data = [
        path.relative_to(ROOT).as_posix()
        for folder in DATA.values()
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    missing = [name for name in (*IN_SDIST, *data) if name not in names]
    if not any(name.startswith("tests/") for name in names):
        missing.append("tests")
    if missing:
        raise PackageFault(f"the sdist lacks {missing}")
    stray = [name for name in names if set(name.split("/")) & set(NEVER_SHIPPED)]
    if stray:
        raise PackageFault(f"the sdist carries {stray}")


def check_install(python: Path | str, scratch: Path) -> None:
    """The Python has Podium installed: its data is found and its programs start."""
    found: dict[str, int] = json.loads(run(python, "-c", LIST_DATA, cwd=scratch))
    expect_same(f"data found by {python}, data of the tree", found.items(), source_data().items())
    if not any(name.startswith("recipes/") and name.endswith(".toml") for name in found):
        raise PackageFault(f"{python} finds no recipe")
    with (ROOT / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    programs = Path(python).parent
    for program in ("podium", "podiumd"):
        said = run(programs / program, "--version", cwd=scratch)
        if version not in said:
            raise PackageFault(f"{program} --version says {said!r}, not {version}")
        run(programs / program, "--help", cwd=scratch)


def check_fresh_install(wheel: Path, scratch: Path) -> None:
    """Installed from the wheel alone, with its own dependencies, every module can be imported."""
    environment = scratch / "installed"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--constraint", constraints, wheel, cwd=scratch)
    run(*pip, "check", cwd=scratch)
    run(python, "-c", IMPORT_ALL, cwd=scratch)
    check_install(python, scratch)


def check_editable_install(scratch: Path) -> None:
    """The development environment runs this tree itself, and finds the same data."""
    where = run(sys.executable, "-c", "import podiumd; print(podiumd.__file__)", cwd=scratch)
    if not Path(where.strip()).is_relative_to(ROOT):
        raise PackageFault(f"{sys.executable} has no editable install of {ROOT}: it uses {where}")
    check_install(sys.executable, scratch)


def main() -> int:
    """Do all checks and say what was seen; 1 at the first fault."""
    with tempfile.TemporaryDirectory(prefix="podium-package-") as temporary:
        scratch = Path(temporary)
        try:
            sdist, wheel = build(scratch)
            check_wheel(wheel)
            check_sdist(sdist)
            check_fresh_install(wheel, scratch)
            check_editable_install(scratch)
        except PackageFault as fault:
            print(f"package: {fault}", file=sys.stderr)
            return 1
        print(f"{wheel.name}: {wheel.stat().st_size // 1024} KiB, equal from sdist and tree")
        print(f"{sdist.name}: {sdist.stat().st_size // 1024} KiB")
        print(f"wheel and editable install find the same {len(source_data())} data files:")
        for name in sorted(source_data()):
            print(f"  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
