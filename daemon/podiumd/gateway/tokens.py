"""The client tokens that were used: what was sent with one is not sent again."""

from __future__ import annotations

from typing import Protocol


class Used(Protocol):
    """The use that was made of a token."""

    @property
    def run_id(self) -> str:
        """Return the run that it has started, or sent words into."""
        ...

    @property
    def params_digest(self) -> str:
        """Return the digest of the parameters that came with it."""
        ...


class Tokens(Protocol):
    """Looks up client tokens; the store of facts does."""

    async def token(self, method: str, token: str) -> Used | None:
        """Return what a token came to that was used with a method of the protocol."""
        ...
