"""No path leads out of the working directory, to what git keeps, or to Podium's state."""

import itertools
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from podiumd.tools.agent import workspace as module
from podiumd.tools.agent.workspace import Refused, Workspace
from tests.long import sampled

SECRET = b"secret of somebody else\n"

GITS = [
    ".git", ".GIT", ".Git", ".gIt", ".git.", ".git ", ".git. .", ".git::$INDEX_ALLOCATION",
    "git~1", "GIT~1", ".g\u200cit", "\u200d.git", ".gi\u2060t", "\ufeff.git",
]  # fmt: skip
WAYS_OUT = [
    "..", "../..", "./..", "sub/../..", "sub/../../root/..", "./sub/./../../", "out", "sub/out",
    "chain", "absolute", "./out", "sub/../out", "loop/../out", "up", "deep", "outer",
    "chain/root/..", "sub/../chain", "absolute/root/out",
]  # fmt: skip
TARGETS = ["secret.txt", "new.txt", "folder/secret.txt", "folder/new/deep.txt"]
NONSENSE = [
    "", " ", "\t", ".", "./", "/", "//", "///", "sub", "sub/", "sub/.", "sub/..", "~", "~/x",
    "~/.ssh/id_rsa", "a\0b", "\0", "a\nb", "a\rb", "a\x1b[31mb", "a\x7fb", "\u202egpj.exe",
    "a\u2066b", "a\u2028b", "\ud800", "x" * 256, "x/" * 2100, "n" * 5000, "loop", "loop/x", "self",
    "a.txt/x", "a.txt/", "file-link/x", "dangling-out", "dangling-out/x",
]  # fmt: skip


def hostile(root: Path) -> list[str]:
    """At least 200 of them."""
    outside = root.parent
    absolute = [
        "/etc/passwd", "//etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd",
        "/dev/zero", "/dev/stdin", f"{outside}/secret.txt", f"{root}/../secret.txt",
        f"{root}x/a.txt", f"{root}-sibling/secret.txt", f"{root}/./../secret.txt",
        f"{root}//..//secret.txt", f"/{root}/../secret.txt", f"{root}/sub/../../secret.txt",
        f"/proc/self/cwd/{root}/../secret.txt", f"{root}/out/secret.txt",
    ]  # fmt: skip
    out = [f"{way}/{target}" for way, target in itertools.product(WAYS_OUT, TARGETS)]
    git = [
        form.format(name)
        for form in ("{}", "{}/config", "{}/hooks/pre-commit", "sub/{}/config", "./{}/HEAD")
        for name in GITS
    ]
    git += ["to-git/config", "to-git", "sub/to-hooks/x", "sub/../.git/config", f"{root}/.git/HEAD"]
    state = ["state/facts.db", "state/new", "to-state/facts.db", "STATE/../state/x", "state"]
    paths = [*absolute, *out, *git, *state, *NONSENSE]
    assert len(set(paths)) >= 200
    return paths


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("secret.txt", "folder/secret.txt", "root-sibling/secret.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(SECRET)
    root = tmp_path / "root"
    for name in ("sub", ".git/hooks", "state", "STATE"):
        (root / name).mkdir(parents=True)
    (root / "a.txt").write_bytes(b"a")
    (root / ".git/config").write_bytes(SECRET)
    (root / ".git/HEAD").write_bytes(SECRET)
    (root / "state/facts.db").write_bytes(SECRET)
    for name, target in [
        ("out", ".."), ("sub/out", "../.."), ("chain", "out"), ("absolute", f"{tmp_path}"),
        ("up", "sub/../.."), ("deep", "sub/out/."), ("outer", f"{root}/../"), ("loop", "loop2"),
        ("loop2", "loop"), ("self", "self"), ("to-git", ".git"), ("sub/to-hooks", "../.git/hooks"),
        ("to-state", "state"), ("file-link", "a.txt"), ("dangling-out", "../new-outside.txt"),
    ]:  # fmt: skip
        (root / name).symlink_to(target)
    return root


def everything(folder: Path) -> dict[str, bytes | None]:
    """All that is there, links as what they are."""
    return {
        f"{path}": path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
    }


def test_two_hundred_hostile_paths_are_neither_read_nor_written(root: Path) -> None:
    workspace = Workspace(root, closed=[root / "state"])
    before = everything(root.parent)

    let_in: list[tuple[str, bytes]] = []
    said: list[str] = []
    for path in hostile(root):
        try:
            let_in.append((path, workspace.read(path).data))
        except Refused as error:
            said.append(str(error))
        try:
            workspace.write(path, b"hostile", before=None)
            let_in.append((path, b"written"))
        except Refused:
            pass
        try:
            workspace.locate(path)
            let_in.append((path, b"located"))
        except Refused:
            pass

    assert let_in == []
    assert [one for one in said if not one.isprintable() or len(one) > 400] == []
    assert everything(root.parent) == before


SWAPPER = """
import os, sys
root, kind, bad = sys.argv[1:4]
os.chdir(root)
print("ready", flush=True)
while True:
    for _ in range(3000): pass  # the good one has to be met as well
    if kind == "directory":
        os.rename("swapped", "aside"); os.symlink(bad, "swapped")
        os.unlink("swapped"); os.rename("aside", "swapped")
    else:
        os.symlink(bad, "link"); os.rename("link", "swapped")
        with open("plain", "w") as file: file.write("good")
        os.rename("plain", "swapped")
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", sampled(["directory", "file"]))
def test_a_link_that_is_swapped_in_between_look_and_act_leads_nowhere(
    tmp_path: Path, kind: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_bytes(SECRET)
    if kind == "directory":
        (root / "swapped").mkdir()
        (root / "swapped/a.txt").write_bytes(b"good")
        path, bad = "swapped/a.txt", outside
    else:
        (root / "swapped").write_bytes(b"good")
        path, bad = "swapped", outside / "a.txt"
    workspace = Workspace(root)
    seen, outcomes = set(), {"read": 0, "refused": 0}
    with subprocess.Popen(
        [sys.executable, "-c", SWAPPER, f"{root}", kind, f"{bad}"], stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout is not None
        swapper.stdout.readline()
        while min(outcomes.values()) < 30:
            try:
                found = workspace.read(path)
                seen.add(found.data)
                outcomes["read"] += 1
                workspace.write(path, b"good", before=found.digest)
            except Refused:
                outcomes["refused"] += 1
        swapper.kill()

    assert seen == {b"good"}
    assert [(one.name, one.read_bytes()) for one in outside.iterdir()] == [("a.txt", SECRET)]


@pytest.mark.parametrize("kind", ["directory", "file"])
@pytest.mark.parametrize("use", ["read", "write"])
def test_a_link_that_is_put_there_right_after_the_look_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, use: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "swapped").mkdir(parents=True)
    outside.mkdir()
    for folder in (root / "swapped", outside):
        (folder / "a.txt").write_bytes(SECRET)
    victim = root / "swapped" if kind == "directory" else root / "swapped/a.txt"
    target = outside if kind == "directory" else outside / "a.txt"
    workspace = Workspace(root)
    digest = workspace.digest("swapped/a.txt")
    real = module.status_of

    def look_and_swap(name: str, above: int) -> os.stat_result | None:
        status = real(name, above)
        if name == victim.name and not victim.is_symlink():
            victim.rename(root / "aside")
            victim.symlink_to(target)
        return status

    monkeypatch.setattr(module, "status_of", look_and_swap)

    act = workspace.read
    if use == "write":
        act = partial(workspace.write, data=b"hostile", before=digest)  # type: ignore[assignment]

    with pytest.raises(Refused, match="changed while it was opened"):
        act("swapped/a.txt")
    assert (outside / "a.txt").read_bytes() == SECRET


def test_no_descriptor_is_left_open(root: Path) -> None:
    workspace = Workspace(root, closed=[root / "state"])
    before = len(list(Path("/dev/fd").iterdir()))

    for path in hostile(root):
        with pytest.raises(Refused):
            workspace.read(path)
    workspace.read("a.txt")

    assert len(list(Path("/dev/fd").iterdir())) == before
