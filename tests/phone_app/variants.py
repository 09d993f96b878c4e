"""The apps that exist, by what tells them apart on the wire."""

from __future__ import annotations

from typing import NamedTuple


class Variant(NamedTuple):
    """One app. ``announces`` is its ``protocol_version``; empty: it sends none, and uses the
    shapes of protocol 0.2. ``family`` chooses its rules of decoding. ``socket_pings``: it sends
    pings of the WebSocket beside those of the protocol."""

    name: str
    family: str
    announces: str = ""
    size_kb: int | None = None
    single_prompt_id: bool = False
    most_attempts: int = 20
    socket_pings: bool = False

    @property
    def legacy(self) -> bool:
        """Whether it knows messages by their id alone, without numbers and cursors."""
        return not self.announces


IOS = Variant("ios", "swift", "0.5.0", size_kb=200)
IOS_04 = Variant("ios-0.4", "swift", "0.4.0", size_kb=200)
# 1 s doubling to 30 s for 17 minutes are 38 attempts.
ANDROID = Variant("android", "kotlin", single_prompt_id=True, most_attempts=38, socket_pings=True)
REACT_NATIVE = Variant("rn", "react", most_attempts=38)

VARIANTS = {one.name: one for one in (IOS, IOS_04, ANDROID, REACT_NATIVE)}
