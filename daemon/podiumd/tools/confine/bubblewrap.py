"""The arguments of bubblewrap for a plan of places. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from podiumd.tools.confine.places import Places

KERNEL = ("sys", "irq", "bus", "fs", "sysrq-trigger")
"""Below /proc: what a command may not write."""
# Nothing of the user's session is reached: sockets of other programs lie in /run and /tmp, and the
# network's are in a namespace of their own. Not "--die-with-parent": to the kernel the parent is
# the thread that started it, and that may end long before. A process that outlives a daemon is
# found by its marker.
BASE = (
    "--unshare-all", "--cap-drop", "ALL",
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    # Settings of the kernel: to root they are files of its own, without any capability.
    *(word for name in KERNEL for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")),
    "--tmpfs", "/run", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",  # noqa: S108
    # NixOS: where all programs are.
    "--ro-bind-try", "/run/current-system", "/run/current-system",
)  # fmt: skip


def bubblewrap_arguments(places: Places) -> list[str]:
    """Build all arguments up to the command itself. Later ones cover earlier ones."""
    return [*BASE, *_mounts(places), "--chdir", places.root, "--"]


def _mounts(places: Places) -> Iterator[str]:
    for path in places.hidden:
        yield from ("--tmpfs", path)
    yield from ("--dir", places.home)
    for path in places.shown:
        yield from ("--ro-bind", path, path)
    for path in places.writable:
        yield from ("--bind", path, path)
    for path in places.emptied:
        yield from ("--tmpfs", path)
    for path in places.masked:
        yield from ("--ro-bind", "/dev/null", path)
    for path in (*places.protected, *places.placed):
        yield from ("--ro-bind", path, path)
