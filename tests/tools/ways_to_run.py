"""All through which git runs a program, as data: settings, files, attributes; each with a canary.

docs/security.md tells the same in words. ``{run}`` is a command that leaves the canary of its way.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ATTRIBUTES: Final = "* filter=x diff=x merge=x\n"
EMPTY_ATTRIBUTES: Final = "* filter= diff= merge=\n"
"""These pick what has an empty name."""
HOOKS: Final = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "post-update", "pre-applypatch",
    "pre-auto-gc", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "pre-push",
    "pre-rebase", "pre-receive", "push-to-checkout", "reference-transaction",
    "sendemail-validate", "update",
)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """``name`` is the canary's. ``settings`` are of a repository."""

    name: str
    settings: tuple[tuple[str, str], ...]


def _way(name: str, *more: tuple[str, str]) -> Way:
    return Way(name, ((name, "{run}"), *more))


FILTERS: Final = (
    Way("filter.clean", (("filter.x.clean", "{run}; cat"),)),
    Way("filter.smudge", (("filter.x.smudge", "{run}; cat"),)),
)
PROCESS: Final = (Way("filter.process", (("filter.x.process", "{run}; cat"),)),)
SIGNING: Final = (
    _way("gpg.program", ("commit.gpgSign", "true"), ("tag.gpgSign", "true")),
    _way("gpg.ssh.program"),
    _way("gpg.x509.program"),
    _way("gpg.ssh.defaultKeyCommand"),
)
OTHERS: Final = (
    _way("core.fsmonitor"),
    Way("hooks", (("core.hooksPath", "{hooks}"),)),
    _way("core.sshCommand"),
    _way("core.gitProxy"),
    _way("core.askPass"),
    _way("core.editor"),
    _way("core.pager"),
    _way("core.alternateRefsCommand"),
    _way("sequence.editor"),
    _way("interactive.diffFilter"),
    _way("diff.external"),
    _way("diff.x.command"),
    _way("diff.x.textconv"),
    _way("difftool.x.cmd", ("diff.tool", "x")),
    _way("mergetool.x.cmd", ("merge.tool", "x")),
    _way("merge.x.driver", ("merge.x.name", "x")),
    _way("trailer.x.command", ("trailer.x.key", "x")),
    _way("trailer.y.cmd", ("trailer.y.key", "y")),
    _way("uploadpack.packObjectsHook"),
    _way("gc.recentObjectsHook", ("gc.auto", "1"), ("gc.autoDetach", "false")),
    _way("remote.origin.uploadpack", ("remote.origin.url", ".")),
    _way("remote.origin.receivepack"),
    _way("tar.x.command"),
    _way("sendemail.x.sendmailCmd"),
    _way("lfs.extension.x.clean"),
    _way("lfs.customtransfer.x.path", ("lfs.standalonetransferagent", "x")),
    _way("hook.x.command", ("hook.x.event", "pre-commit")),
    Way("credential.helper", (("credential.helper", "!{run}"),)),
    Way("alias", (("alias.status", "!{run}"), ("alias.ls-files", "!{run}"))),
    Way("pager", tuple((f"pager.{one}", "{run}") for one in ("status", "log", "worktree"))),
    Way("ext", (
        ("protocol.ext.allow", "always"), ("remote.far.url", "ext::sh -c {run}"),
        ("remote.far.promisor", "true"), ("remote.far.vcs", "ext"),
        ("extensions.partialClone", "far"),
    )),
    Way("submodule.update", (("submodule.sub.update", "!{run}"), ("submodule.recurse", "true"))),
    Way("include", (("include.path", "{included}"),)),
    Way("includeIf", (("includeIf.gitdir:**.path", "{included}"),)),
)  # fmt: skip
EMPTY: Final = (
    Way("filter..clean", (("filter..clean", "{run}; cat"),)),
    Way("filter..smudge", (("filter..smudge", "{run}; cat"),)),
    _way("diff..command"),
    _way("diff..textconv"),
    _way("merge..driver", ("merge..name", "x")),
)
# These hold only where a git goes that another git starts: in a new worktree, on its branch.
CONDITIONAL: Final = (
    Way("onbranch", tuple(
        (f"includeIf.onbranch:{one}.path", "{filtering}") for one in ("made", "plain")
    )),
    Way("gitdir", (("includeIf.gitdir:**/worktrees/**.path", "{filtering}"),)),
)  # fmt: skip
GROUPS: Final = {
    "filters": FILTERS, "process": PROCESS, "signing": SIGNING, "others": OTHERS,
    "empty names": EMPTY, "conditional": CONDITIONAL,
}  # fmt: skip


class Canaries:
    """Where the canaries of the ways are seen, below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._seen = folder / "seen"
        self._files = folder / "ways"
        self.hooks = self._files / "hooks"
        for path in (self._seen, self.hooks):
            path.mkdir(parents=True)
        for hook in HOOKS:
            self._program(self.hooks / hook, "hooks")
        self.included = self._files / "included"
        self.included.write_text(f"[core]\n\tfsmonitor = {self._run('include')}\n")

    def settings(self, *ways: Way) -> str:
        """The text of a configuration with these ways in it."""
        lines = []
        for way in ways:
            for key, value in way.settings:
                section, _, rest = key.partition(".")
                middle, _, name = rest.rpartition(".")
                given = value.format(
                    run=self._run(way.name),
                    hooks=self.hooks,
                    included=self.included,
                    filtering=self._filtering(way.name),
                )
                escaped = given.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'[{section} "{middle}"]' if "." in rest else f"[{section}]")
                lines.append(f'\t{name} = "{escaped}"')
        return "\n".join(lines) + "\n"

    @property
    def seen(self) -> set[str]:
        """The ways by which something was run, as of now."""
        return {path.name for path in self._seen.iterdir()}

    def _filtering(self, name: str) -> Path:
        """A file of settings whose filter ``x`` runs."""
        path = self._files / f"filtering-{name}"
        run = self._run(name)
        path.write_text(f'[filter "x"]\n\tclean = "{run}; cat"\n\tsmudge = "{run}; cat"\n')
        return path

    def _run(self, name: str) -> str:
        return f"{self._program(self._files / f'run-{name}', name)}"

    def _program(self, path: Path, name: str) -> Path:
        path.write_text(f"#!/bin/sh\ntouch '{self._seen}/{name}'\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path
