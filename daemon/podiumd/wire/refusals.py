"""The data that a refusal carries for programs, beside its sentence for people."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from podiumd.core.findings import Finding
from podiumd.wire.sessions import LockHolder


class RefusalData(msgspec.Struct, kw_only=True):
    """The ``data`` of an error, the same at every edge. Each refusal has a few of these fields
    (``runtime.errors``); the others are not sent."""

    parameter: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    id: str | UnsetType = UNSET
    by: str | UnsetType | None = UNSET
    holder: LockHolder | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    working_directory: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    what: str | UnsetType = UNSET
    files: tuple[str, ...] | UnsetType = UNSET
    findings: tuple[Finding, ...] | UnsetType = UNSET
    missing: str | UnsetType = UNSET
    fix: str | UnsetType = UNSET
    known: tuple[str, ...] | UnsetType = UNSET
    retry_after_ms: int | UnsetType = UNSET
    scope: str | UnsetType = UNSET
