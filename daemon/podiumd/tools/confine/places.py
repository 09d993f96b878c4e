"""The places that a sandbox shows, hides and protects for one working tree.

Three rules lead. The home is hidden, with the programs that were installed there shown again. Files
that decide which code git runs outside (hooks, settings, the pointers between a working tree and
its repository) stay as they are. And the tree's own claims are not believed: a ``.git`` file counts
only where the repository that it names points back.
"""

from __future__ import annotations

import errno
import os
import pwd
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec

from podiumd.tools.files.bare_layout import is_laid_out
from podiumd.tools.files.owner_rights import entries_of, held
from podiumd.tools.files.plain_file import (
    is_directory,
    is_file,
    is_link,
    is_there,
    named_in,
    read_plain,
)
from podiumd.tools.files.walk import children

_HOMES = ("/home", "/root", "/Users")
# Below a home: where tool chains install themselves. Their secrets are masked again.
_TOOLS = (
    ".asdf", ".bun", ".cargo", ".deno", ".ghcup", ".local/bin", ".local/lib", ".local/pipx",
    ".local/share/fnm", ".local/share/mise", ".local/share/pnpm", ".local/share/uv",
    ".local/state/nix", ".nix-profile", ".nvm", ".opam", ".pyenv", ".rbenv", ".rustup", ".sdkman",
    ".volta", "anaconda3", "go/bin", "go/pkg", "miniconda3",
)  # fmt: skip
_SECRETS = (".cargo/credentials", ".cargo/credentials.toml", ".local/share/uv/credentials")
MOST_MODULES = 1000
_MOST_CONFIG = 1024 * 1024
MOST_NEAR, MOST_MOUNTS = 40, 400
"""Repositories within the tree in which a command can commit, the nearer ones; and how many mounts
may keep them and further ones, which are read-only as a whole. Mounting costs the square."""
PLACED = {"commondir": b"./\n", "config.worktree": b""}
"""Contents in place of files that would lead git elsewhere, as long as a command runs: they state
what holds without them. (libgit2 finds no repository by the plainer ``.``.)"""
_EMPTY = (Path("/run"), Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - what bubblewrap makes anew


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Paths, absolute and real. Later groups win over earlier ones, in the order of the fields.

    ``hidden``: directories shown empty. ``shown``: readable in spite of that. ``writable``: the
    tree first, then its repository, then directories in them that cannot be moved away, for what
    is kept below them would move along. ``emptied`` and ``masked``: directories and files within
    all that, shown empty. ``protected``: readable, not writable. ``placed``: the same, of files
    that are not there (see ``PLACED``) and go again. ``unwanted``: must not come into
    being; what is found there after a command is removed, but for a ``.git`` that is harmless.
    ``repositories``: what git keeps, and writes to outside as well; no link may lead it elsewhere.
    ``modules`` are those of submodules. ``unkept``: repositories within the tree beyond the bound.
    """

    root: str
    home: str
    hidden: tuple[str, ...]
    shown: tuple[str, ...]
    writable: tuple[str, ...]
    emptied: tuple[str, ...]
    masked: tuple[str, ...]
    protected: tuple[str, ...]
    placed: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()


def places_for(
    root: Path,
    *,
    home: Path,
    closed: Iterable[Path],
    environ: Mapping[str, str],
    nested: Iterable[Path] = (),
) -> Places | str:
    """Compute the places for a working tree, or return why it cannot be confined, in words.

    Parameters: ``home`` of the user; ``closed`` are Podium's directories; ``environ`` gives PATH;
    ``nested`` are the repositories within the tree: their ``.git``, or what is laid out as one.
    """
    if _real(root) != Path(os.path.normpath(root)):
        return "the working directory is reached by a link now, which it was not before"
    root = _real(root)
    homes = {_real(home)}
    with suppress(KeyError):  # an account without an entry
        homes.add(_real(Path(pwd.getpwuid(os.getuid()).pw_dir)))
    if any(one.is_relative_to(root) for one in homes):
        return "the working directory holds your home; work in a directory below it"
    for name in (".git", ".git/hooks", ".git/config"):
        if (root / name).is_symlink():
            return f"'{name}' is a link there, which no sandbox can keep as it is"
    homes = (homes | {_real(Path(one)) for one in _HOMES}) - {Path("/")}
    shut = [_real(one) for one in closed]
    hidden = _outermost(
        one for one in (*homes, *shut) if is_directory(one) and not one.is_relative_to(root)
    )
    repository = _Repository(root, hidden)
    repository.keep(nested)
    shown = [*_tools(hidden, [*homes, *shut], environ), *repository.shown]
    writable = [root, *repository.writable]
    seen = [one for one in shut if _in_sight(one, [*hidden, *_EMPTY], [*shown, *writable])]
    secrets = [above / name for above in sorted(homes) for name in _SECRETS]
    emptied = [
        one for one in (*seen, *secrets) if is_directory(one) and not root.is_relative_to(one)
    ]
    # A socket as well: what can be seen can be connected to, and Podium's obeys.
    masked = [one for one in (*seen, *secrets) if os.path.lexists(one) and not is_directory(one)]
    missing = [one for one in seen if not os.path.lexists(one)]
    unwanted = [*repository.unwanted, *(one for one in missing if _in_any(one, writable))]
    kept = (*emptied, *masked, *repository.protected, *repository.placed, *unwanted)
    return Places(
        root=f"{root}",
        home=f"{_real(home)}",
        hidden=_texts(hidden),
        shown=_texts(shown),
        writable=_texts([*writable, *_between(kept, writable)]),
        emptied=_texts(emptied),
        masked=_texts(masked),
        protected=_texts(repository.protected),
        placed=_texts(repository.placed),
        unwanted=_texts(unwanted),
        repositories=_texts(repository.writable),
        modules=_texts(repository.modules),
        unkept=_texts(repository.unkept),
    )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _texts(paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{path}" for path in paths))


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Without those that lie in another."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda one: len(one.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept


def _in_sight(path: Path, hidden: Iterable[Path], seen: Iterable[Path]) -> bool:
    """Return whether a path can be reached where ``hidden`` is empty except for ``seen``."""
    return _in_any(path, seen) or not _in_any(path, hidden)


def _in_any(path: Path, places: Iterable[Path]) -> bool:
    return any(path.is_relative_to(one) for one in places)


def _between(kept: Iterable[Path], writable: Iterable[Path]) -> list[Path]:
    """List the directories between what may be written and what is kept in it, outer ones first."""
    found = {
        above
        for path in kept
        for top in writable
        if path.is_relative_to(top)
        for above in path.parents
        if above != top and above.is_relative_to(top) and is_directory(above)
    }
    return sorted(found, key=lambda one: len(one.parts))


def _tools(
    hidden: Sequence[Path], closed: Sequence[Path], environ: Mapping[str, str]
) -> Iterator[Path]:
    """Programs in a hidden place: known tool chains, and the directories of PATH.

    None that holds what is ``closed``: a home may stand on PATH itself.
    """
    for home in closed:
        yield from (home / name for name in _TOOLS if is_directory(home / name))
    for entry in environ.get("PATH", "").split(os.pathsep):
        path = _real(Path(entry)) if entry.startswith("/") else Path("/")
        above = next((one for one in hidden if path.is_relative_to(one)), path)
        holds = any(one.is_relative_to(path) for one in closed)
        if path != above and is_directory(path) and not holds:
            yield next((one for one in (path, *path.parents) if _is_tool(one)), path)


def _is_tool(path: Path) -> bool:
    return any(path.match(name) for name in _TOOLS)


class _Repository:
    """The git repository that a tree belongs to, as far as it can be believed."""

    def __init__(self, root: Path, hidden: Iterable[Path]) -> None:
        self.shown: list[Path] = []
        self.writable: list[Path] = []
        self.protected: list[Path] = []
        self.placed: list[Path] = []
        self.unwanted: list[Path] = []
        self.modules: list[Path] = []
        self.unkept: list[Path] = []
        self._root = root
        if not os.path.lexists(root / ".git"):
            self.unwanted.append(root / ".git")
        top = next((one for one in (root, *root.parents) if os.path.lexists(one / ".git")), None)
        if top is None:
            return
        if any(one.is_relative_to(top) for one in hidden) and top != root:
            return  # the home itself is a repository: it stays hidden
        git = top / ".git"
        if is_file(git):
            self.protected.append(git)
        directory = git if is_directory(git) else _directory_named_by(git)
        if directory is None:
            return
        if top != root:
            self.shown.append(top)
        common = _common(directory)
        self.writable.append(common)
        self._protect(common)

    def keep(self, nested: Iterable[Path]) -> None:
        """Keep repositories within the tree from naming what git would run in them."""
        mounted: set[Path] = set()
        near = 0
        for git in nested:
            mounted.update(one for one in (git, *git.parents) if one.is_relative_to(self._root))
            rest = len(self.writable) + len(self.protected) + len(self.placed)
            if is_link(git) or len(mounted) + rest >= MOST_MOUNTS:
                self.unkept.append(git)
            elif is_directory(git) and near < MOST_NEAR:
                near += 1
                self.writable.append(git)
                self._protect(git)
            elif git != self._root:
                self.protected.append(git)

    def _protect(self, common: Path) -> None:
        modules = modules_of(common)
        self.modules += modules
        for directory in [common, *modules]:
            hooks = directory / "hooks"
            if not is_there(hooks):
                with suppress(OSError), held(f"{hooks}") as there:
                    Path(there).mkdir()  # an absent one could be made, with anything in it
            self._keep_file(directory / "commondir", leads=True)
            self._keep_file(directory / "config.worktree", leads=_has_worktree_settings(directory))
            for name in ("hooks", "config", "remotes", "branches"):
                self._keep_file(directory / name)
        for tree in islice(
            filter(_is_real_directory, children(common / "worktrees")), MOST_MODULES
        ):
            self.protected += [
                tree / name for name in ("commondir", "gitdir") if is_there(tree / name)
            ]
            self._keep_file(tree / "config.worktree", leads=_has_worktree_settings(common))

    def _keep_file(self, path: Path, *, leads: bool = False) -> None:
        """Keep a file as it is. One that is not there and ``leads`` git elsewhere at once is not
        even there as long as the command runs."""
        if not os.path.lexists(path) or is_placed(path):
            (self.placed if leads else self.unwanted).append(path)
        else:
            self.protected.append(path)


def is_placed(path: Path) -> bool:
    """Return whether another command of ours, or one before a crash, has put this file there."""
    placed = PLACED.get(path.name)
    with suppress(OSError):
        return placed is not None and read_plain(path, len(placed)) == placed
    return False


def _has_worktree_settings(directory: Path) -> bool:
    try:
        return (
            b"worktreeconfig" in read_plain(directory / "config", _MOST_CONFIG, links=True).lower()
        )
    except OSError as error:
        return error.errno == errno.EFBIG  # it may say so further on


def _directory_named_by(link: Path) -> Path | None:
    """Find the repository behind a ``.git`` file: of a worktree, or of a submodule.

    ``None`` where the repository does not point back to the file.
    """
    try:
        directory = _real(link.parent / named_in(link))
        if (directory / "gitdir").is_file():  # a worktree's names the file that leads to it
            back = _real(directory / named_in(directory / "gitdir"))
            return directory if back == _real(link) else None
    except (OSError, ValueError):
        return None
    for above in _real(link.parent).parents:
        modules = above / ".git" / "modules"
        # A link on the way there is another's word, and may lead anywhere.
        if directory.is_relative_to(modules) and is_directory(modules):
            return directory if is_file(directory / "HEAD") else None
    return None


def is_own_worktree(link: Path, repositories: Iterable[Path]) -> bool:
    """Return whether a ``.git`` file is a worktree's of these repositories, with their settings."""
    if is_link(link):
        return False
    directory = _directory_named_by(link)
    if directory is None or os.path.lexists(directory / "config.worktree"):
        return False
    common = _common(directory)
    return common != directory and common in map(_real, repositories)


def _common(directory: Path) -> Path:
    """Return the directory that all worktrees of a repository share."""
    try:
        common = _real(directory / named_in(directory / "commondir"))
    except (OSError, ValueError):
        return directory
    # A worktree's own directory lies in the common one; anything else is not git's doing.
    believed = directory.parent == common / "worktrees" and is_laid_out(common)
    return common if believed else directory


def modules_of(common: Path) -> list[Path]:
    """List the repositories of submodules, which lie below ``modules`` at any depth."""
    found: list[Path] = []
    left = [f"{common / 'modules'}"]
    while left and len(found) < MOST_MODULES:
        directory = left.pop()
        with suppress(OSError):
            entries = entries_of(directory)
            below = {one.name for one in entries if one.is_dir(follow_symlinks=False)}
            if any(one.name == "HEAD" for one in entries if one.name not in below):
                found.append(Path(directory))
                below &= {"modules"}
            left += [f"{directory}/{name}" for name in sorted(below, reverse=True)]
    return found


def _is_real_directory(path: Path) -> bool:
    return is_directory(path) and not is_link(path)
