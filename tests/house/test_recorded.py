"""Every method, every event and every command has a recording, and no recording is of another."""

from __future__ import annotations

import re
from typing import get_args

from podium.commands.spec.all import COMMANDS
from podiumd.core.run.facts import AnyFact
from podiumd.rpc.methods import METHODS
from tests.house.source import ROOT
from tests.recorded.typed import NOT_TYPED

RECORDED = ROOT / "tests" / "recorded"
TRANSIENT = {"turn.output", "snapshot"}

# Notification -> why it has no recording.
NOT_TOLD = {
    "feed.closed": "its client has to leave megabytes unread for ten seconds",
    "session.named": "no agent that is recorded gives its sessions ids of its own",
    "voice.progress": "it comes of an installation, which takes a network",
}


def _names(folder: str) -> set[str]:
    return {path.stem for path in (RECORDED / folder).iterdir()}


def _notifications() -> set[str]:
    """Those that the protocol's page names, beside the two that carry the events."""
    page = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
    socket, _, _ = page.partition("## The phone protocol")
    named = re.findall(r"notifications? `([a-z]+\.[a-z]+)`", socket)
    named += re.findall(r"`([a-z]+\.[a-z]+)` notifications", socket)
    _, _, closing = socket.partition("| notification | params | |")
    return {*named, *re.findall(r"(?m)^\| `([a-z.]+)` \|", closing)} - {"run.event"}


def test_every_method_is_recorded() -> None:
    assert _names("methods") == {method.name for method in METHODS}


def test_every_event_and_notification_is_recorded() -> None:
    facts = {kind.__struct_config__.tag for kind in get_args(AnyFact)}
    told = facts | TRANSIENT | _notifications()

    assert NOT_TOLD.keys() <= told
    assert _names("events") == told - NOT_TOLD.keys()


def test_every_command_is_recorded() -> None:
    paths = {"-".join(command.path) for command in COMMANDS}

    assert NOT_TYPED.keys() <= paths
    assert _names("cli") == (paths - NOT_TYPED.keys()) | {"podium"}
