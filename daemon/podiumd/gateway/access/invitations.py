"""Invitations: leave to pair one page each, by a link or by a typed code. Pure.

They are kept in memory alone, for minutes: a daemon that starts anew knows none, and a person gives
another. The code is short enough to be typed, so it lasts less long, and a few wrong ones end every
code that is open: five tries at 40 bits.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

import msgspec

from podiumd.gateway.access import keys
from podiumd.wire.method import Scope

URL_SECONDS: Final = 600.0
CODE_SECONDS: Final = 300.0
CODE_TRIES: Final = 5
MOST_OPEN: Final = 8
"""Open at once; a further one takes the place of the oldest."""

_TOKEN_BYTES: Final = 16  # 128 bits
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O and U
_CODE_LETTERS: Final = 8
_READ_AS: Final = str.maketrans({"I": "1", "L": "1", "O": "0", "-": "", " ": ""})


class Invitation(msgspec.Struct, frozen=True):
    """Leave for one page. ``name`` is what it is to be called, ``None``: as its person says."""

    name: str | None
    scope: Scope


class Taken(msgspec.Struct):
    """An invitation that is open, or was."""

    invitation: Invitation
    token_sha256: str
    code_sha256: str
    given_at: float
    tries: int = CODE_TRIES


class Invitations:
    """The open invitations. ``clock`` returns seconds that never run back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: list[Taken] = []

    def give(self, invitation: Invitation) -> tuple[str, str]:
        """Open an invitation; return its token and its code, neither of which is kept."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LETTERS))
        self._forget_old()
        opened = Taken(invitation, keys.digest(token), keys.digest(code), self._clock())
        self._open = [*self._open, opened][-MOST_OPEN:]
        return token, f"{code[:4]}-{code[4:]}"

    def take(self, words: str) -> Taken | None:
        """Use up the invitation of this token or typed code; ``None``: there is no such one."""
        self._forget_old()
        token, code = keys.digest(words), keys.digest(_as_code(words))
        found: Taken | None = None
        for one in self._open:
            by_code = one.tries > 0 and self._clock() - one.given_at < CODE_SECONDS
            if keys.same(one.token_sha256, token) or (keys.same(one.code_sha256, code) and by_code):
                found = one
        if found is None:
            for one in self._open:
                one.tries -= 1
            return None
        self._open.remove(found)
        return found

    def give_back(self, taken: Taken) -> None:
        """Open an invitation again: no page came of it."""
        self._open = [*self._open, taken][-MOST_OPEN:]

    def _forget_old(self) -> None:
        now = self._clock()
        self._open = [one for one in self._open if now - one.given_at < URL_SECONDS]


def _as_code(words: str) -> str:
    return words.upper().translate(_READ_AS)
