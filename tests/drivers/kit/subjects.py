"""The drivers that the kit is played with."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from podiumd.agents.acp.driver import AcpDriver
from podiumd.agents.acp.kind import AcpSettings
from podiumd.agents.claude.driver import ClaudeDriver
from podiumd.agents.codex.driver import CodexDriver
from podiumd.core.analysis.check_agents import Capabilities
from podiumd.drivers.base import Driver
from podiumd.drivers.spool import SpoolWatch
from tests.drivers import stepped
from tests.drivers.kit import fake_acp, fake_claude, fake_codex


class Excuse(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reason why a driver need not pass a case: one of these, beside the words for people.

    ``capability``: what it declares to lack, as ``name = value``. ``unspoken``: a misbehaviour that
    its language has no words for. Neither: it does otherwise, on purpose.
    """

    because: str
    capability: Mapping[str, Any] | None = None
    unspoken: str | None = None

    def fault(self, capabilities: Capabilities, unspoken: frozenset[str]) -> str:
        """Return why it is none; empty where it is one."""
        if self.unspoken is not None and self.unspoken not in unspoken:
            return f"the language has words for {self.unspoken!r}"
        for name, value in (self.capability or {}).items():
            if getattr(capabilities, name) != value:
                return f"its {name} is {getattr(capabilities, name)!r}, not {value!r}"
        return ""


class Subject(msgspec.Struct, frozen=True):
    """A driver, and how the fake agent speaks to it.

    ``make`` makes it, from what wakes it and the bound of a turn's output in MiB. ``unspoken`` is
    the misbehaviour that its language has no words for. Its excuses are in ``excuses/NAME.toml``.
    """

    name: str
    language: Literal["acp", "claude", "codex"]
    make: Callable[[SpoolWatch, Callable[[], int]], Driver]
    unspoken: frozenset[str]

    @property
    def excuses(self) -> dict[str, Excuse]:
        """Return the cases that it need not pass."""
        file = Path(__file__).parent / "excuses" / f"{self.name}.toml"
        return msgspec.convert(tomllib.loads(file.read_text()), dict[str, Excuse])


ACP_SETTINGS: Final = AcpSettings(
    command=("fake",),
    ask_mode="default",
    read_only_mode="plan",
    auto_mode="auto",
    resume="resume",
    fork=True,
    usage="tokens",
    login="fake login",
)
"""The table of the fake agent, with all that an agent of the protocol can do."""


def _acp(watch: SpoolWatch, spool_megabytes: Callable[[], int]) -> Driver:
    return AcpDriver(watch, spool_megabytes, agent="fake", settings=lambda: ACP_SETTINGS)


SUBJECTS: Final = {
    subject.name: subject
    for subject in (
        Subject("claude", "claude", ClaudeDriver, fake_claude.UNSPOKEN),
        Subject("acp", "acp", _acp, fake_acp.UNSPOKEN),
        Subject("codex", "codex", CodexDriver, fake_codex.UNSPOKEN),
    )
}
"""By name. Another driver is one more here, and its file of excuses."""

STEPPED: Final = Subject("stepped", "acp", stepped.make, fake_acp.UNSPOKEN)
"""What proves the layer that drivers over JSON-RPC stand on. It plays cases of its own."""
