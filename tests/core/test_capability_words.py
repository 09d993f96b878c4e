"""Every capability has its words, and no word is of none."""

from __future__ import annotations

from podiumd.core.analysis.capability_words import CAPABILITIES
from podiumd.core.analysis.check_agents import Capabilities

NO_ABILITY = {"permission_modes"}
"""Fields that are words of the agent's own."""


def test_each_capability_has_words_of_its_own() -> None:
    assert set(CAPABILITIES) == {*Capabilities.__struct_fields__} - NO_ABILITY
    assert len({*CAPABILITIES.values()}) == len(CAPABILITIES)
