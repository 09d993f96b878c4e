"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says nothing on a machine that does other things as well.
settings.register_profile("podium", deadline=None)
settings.load_profile("podium")
