"""``storage``: what takes room in STATE, and removing what may go."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from podiumd.rpc import params as p
from podiumd.rpc.adapter import Method
from podiumd.rpc.context import RequestContext
from podiumd.runtime.api import Json


class Prune(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """``what``: parts, none is all of them. ``dry_run``: say what would go. ``vacuum``: give the
    disk back what of ``facts.db`` is not in use."""

    what: Annotated[list[str], Meta(max_length=20)] = []
    dry_run: bool = False
    vacuum: bool = False


async def _usage(context: RequestContext, params: p.Nothing) -> Json:
    return await context.service.storage.usage()


async def _prune(context: RequestContext, params: Prune) -> Json:
    return await context.service.storage.prune(
        params.what, dry_run=params.dry_run, vacuum=params.vacuum
    )


STORAGE_METHODS: Final[tuple[Method[RequestContext], ...]] = (
    Method("storage.prune", Prune, _prune, "Remove what retention says may go.", "waiting"),
    Method("storage.usage", p.Nothing, _usage, "What STATE takes, by part.", "waiting"),
)
