"""``POST /v1/pair`` pairs a page by its invitation, ``POST /v1/leave`` takes it away again."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from podiumd.gateway.access.auth_throttle import AuthThrottle
from podiumd.gateway.access.cookie import set_cookie
from podiumd.gateway.access.invitations import Invitations
from podiumd.gateway.http.exchange import Problem, Request, Response
from podiumd.gateway.web.page_access import PageAccess
from podiumd.observe.logs import log
from podiumd.wire.method import Scope

PAIR: Final = "/v1/pair"
LEAVE: Final = "/v1/leave"
SECRET_HEADER: Final = "podium-secret"  # noqa: S105 - its name, not the secret
_MOST_BYTES: Final = 4096
_NO_INVITATION: Final = (
    "This link or code is no longer good: it is taken once, within minutes. 'podium pair --web' "
    "makes another."
)


class _Pair(msgspec.Struct, forbid_unknown_fields=True):
    """``token`` is that of the link, or the typed code."""

    token: str
    name: str | None = None


class _Paired(msgspec.Struct):
    """The key is in the cookie, and the page's script never sees it."""

    device: str
    scope: Scope
    secret: str


class Pairing:
    """The two requests of pages that are no messages."""

    def __init__(
        self, access: PageAccess, throttle: AuthThrottle, invitations: Invitations
    ) -> None:
        self._access = access
        self._throttle = throttle
        self._invitations = invitations

    async def pair(self, request: Request) -> Response:
        """Pair the page that asks. Raises ``Problem``, and what ``Devices.pair_page`` does."""
        secure = own_page(request)
        asked = await _asked(request)
        delay = self._throttle.delay(request.peer)
        if delay > 0:
            wait = (("Retry-After", str(math.ceil(delay))),)
            raise Problem(429, "Too many wrong keys", "Try again a little later.", wait)
        taken = self._invitations.take(asked.token)
        if taken is None:
            self._throttle.wrong(request.peer)
            raise Problem(403, "No such invitation", _NO_INVITATION)
        self._throttle.right(request.peer)
        name, scope = taken.invitation.name or asked.name, taken.invitation.scope
        try:
            device, key, secret = await self._access.devices.pair_page(name, scope)
        except BaseException:
            self._invitations.give_back(taken)  # the person may choose another name
            raise
        log("Device paired", device=device.name, kind="web", scope=device.scope)
        cookie = ("Set-Cookie", set_cookie(self._access.port, secure, key))
        paired = _Paired(device.name, device.scope, secret)
        return Response(200, msgspec.json.encode(paired), headers=(cookie,))

    async def leave(self, request: Request) -> Response:
        """Take away the page that asks, and have its browser forget the key. Raises ``Problem``."""
        secure = own_page(request)
        secret = request.headers.get(SECRET_HEADER, "")
        cookie = request.headers.get("cookie", "")
        device = self._access.device_of(request.peer, cookie, secure, secret)
        gone = ("Set-Cookie", set_cookie(self._access.port, secure, "", seconds=0))
        if device is not None:
            await self._access.devices.revoke(device.name)
            log("Device revoked", device=device.name, by="itself")
        return Response(204, headers=(gone,))


def own_page(request: Request) -> bool:
    """Require that a page of our own asks; return whether it came over HTTPS.

    The gateway has judged an Origin that is there. Raises ``Problem``.
    """
    origin = request.headers.get("origin")
    if origin is None:
        raise Problem(403, detail=f"{request.path} takes requests of the gateway's own page alone.")
    site = request.headers.get("sec-fetch-site", "same-origin")
    if site != "same-origin":
        raise Problem(403, detail="Pages of other origins may not ask for this.")
    return origin.lower().startswith("https:")


async def _asked(request: Request) -> _Pair:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Problem(415, detail="The body has to be application/json.")
    try:
        return msgspec.json.decode(await request.body(_MOST_BYTES), type=_Pair)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise Problem(422, detail=f"The body is not as expected: {error}.") from None
