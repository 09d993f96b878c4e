"""The paired devices: one key each, kept as a digest, named, revocable.

All of them are one JSON value among the daemon's settings. A change is stored before it is
answered, but for revoking, which takes hold at once even if the disk fails.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import msgspec
import trio

from podiumd.gateway.access import keys
from podiumd.observe.logs import log
from podiumd.runtime.errors import InvalidParameter, NotFound, Refused
from podiumd.store.errors import StoreError
from podiumd.wire import gateway as wire
from podiumd.wire.method import Scope

SETTING: Final = "gateway.devices"
DEFAULT_NAMES: Final[dict[wire.DeviceKind, str]] = {"phone": "phone", "web": "browser"}
LONGEST_NAME: Final = 64
MOST_DEVICES: Final = 100

SEEN_SECONDS: Final = 60.0
"""How often at most it is stored when devices were seen."""

LAST_WRITE_SECONDS: Final = 2.0


class Settings(Protocol):
    """The place where the devices are kept; the store of facts is one."""

    async def setting(self, key: str) -> bytes | None: ...
    async def set_setting(self, key: str, value: bytes) -> None:
        """Durable when this returns."""
        ...


class Device(msgspec.Struct, frozen=True):
    """A paired device. Times are RFC 3339. ``told_pos``: up to which global position of events ends
    of runs have been reported to it.

    A page (``kind`` "web") has a key in a cookie and a secret in its origin's storage. A cookie
    goes to every port of its host, so the key alone opens nothing.
    """

    name: str
    key_sha256: str
    paired_at: str
    last_seen: str | None = None
    told_pos: int = 0
    kind: wire.DeviceKind = "phone"
    scope: Scope = "all"
    secret_sha256: str = ""


class DamagedDevices(Exception):
    """The stored value is no list of devices."""


class Devices:
    """The paired devices. ``now`` returns the present as RFC 3339."""

    def __init__(self, settings: Settings, now: Callable[[], str]) -> None:
        self._settings = settings
        self._now = now
        self._devices: dict[str, Device] = {}
        self._connections: dict[str, list[object]] = {}
        self._callbacks: list[Callable[[str], None]] = []
        self._position: Callable[[], int] = lambda: 0
        self._writing = trio.Lock()
        self._unstored = trio.Event()

    async def load(self) -> None:
        """Read what is stored.

        Raises:
            DamagedDevices: it cannot be read; the message says what to do.
            StoreError: the store itself cannot be read.
        """
        stored = await self._settings.setting(SETTING)
        try:
            found = [] if stored is None else msgspec.json.decode(stored, type=list[Device])
        except msgspec.DecodeError as error:
            raise DamagedDevices(
                f"The setting '{SETTING}' of facts.db, the list of paired devices, cannot be read "
                f"({error}). Put a copy of facts.db back."
            ) from None
        self._devices = {device.name: device for device in found}

    async def pair(self, name: str | None) -> tuple[Device, str]:
        """Add a device and return it with its key, which is not kept: it is stored when this
        returns. Without a name it is 'phone', 'phone-2' and so on.

        Raises:
            InvalidParameter: the name is impossible, or taken.
            Refused: there are MOST_DEVICES already.
            StoreError: it could not be stored; there is no such device then.
        """
        key = keys.new_key()
        return await self._add(name, Device("", keys.digest(key), self._now())), key

    async def pair_page(self, name: str | None, scope: Scope) -> tuple[Device, str, str]:
        """Add a page and return it with its key and its secret. Raises what ``pair`` does."""
        key, secret = keys.new_page_key(), keys.new_page_key()
        page = Device(
            "",
            keys.digest(key),
            self._now(),
            kind="web",
            scope=scope,
            secret_sha256=keys.digest(secret),
        )
        return await self._add(name, page), key, secret

    async def _add(self, name: str | None, device: Device) -> Device:
        async with self._writing:
            chosen = self._free_name(device.kind) if name is None else self._checked(name)
            if len(self._devices) >= MOST_DEVICES:
                raise Refused(
                    f"{MOST_DEVICES} devices are paired already: take one away with "
                    "'podium devices revoke NAME'."
                )
            added = msgspec.structs.replace(device, name=chosen, told_pos=self._position())
            await self._store({**self._devices, chosen: added})
            self._devices[chosen] = added
        return added

    def check(self, key: object) -> Device | None:
        """Return the phone whose key this is. Any key is compared with those of all devices."""
        text = key if isinstance(key, str) else ""
        found = self._of_key(text, "phone")
        return found if keys.well_formed(text) else None

    def check_page(self, key: str, secret: str) -> Device | None:
        """Return the page whose key and secret these are."""
        found = self._of_key(key, "web")
        kept = "0" * 64 if found is None else found.secret_sha256
        return found if keys.same(kept, keys.digest(secret)) else None

    def _of_key(self, key: str, kind: wire.DeviceKind) -> Device | None:
        sought, found = keys.digest(key), None
        for device in self._devices.values():
            if keys.same(device.key_sha256, sought) and device.kind == kind:
                found = device
        return found

    async def rescope(self, name: str, scope: Scope) -> Device:
        """Give a page another scope; its connections end, and come again with it.

        Raises:
            NotFound: there is no such device.
            Refused: it is a phone, which has no scope but "all".
            StoreError: it could not be stored; the device has the scope that it had.
        """
        async with self._writing:
            device = self._devices.get(name)
            if device is None:
                raise NotFound("device", name, f"There is no paired device '{name}'.")
            if device.kind != "web":
                raise Refused(f"'{name}' is a phone's app: its protocol knows no scopes.")
            changed = msgspec.structs.replace(device, scope=scope)
            await self._store({**self._devices, name: changed})
            self._devices[name] = changed
        self._cut(name)
        return changed

    async def revoke(self, name: str) -> Device:
        """Take a device away. Its key is wrong and its connections are to end at once.

        Raises:
            NotFound: there is no such device.
            StoreError: it is away now, but would be back after a restart.
        """
        device = self._devices.pop(name, None)
        if device is None:
            raise NotFound("device", name, f"There is no paired device '{name}'.")
        self._cut(name)
        self._unstored.set()  # should the disk refuse, it is tried again
        async with self._writing:
            await self._store(self._devices)
        return device

    def _cut(self, name: str) -> None:
        self._connections.pop(name, None)
        for callback in self._callbacks:
            callback(name)

    def begin_at(self, position: Callable[[], int]) -> None:
        """Set the position behind which events are reported to a device that is paired now."""
        self._position = position

    def on_revoke(self, callback: Callable[[str], None]) -> None:
        """Have ``callback`` called with the name of each device whose connections are to end; it
        must return at once and not raise."""
        self._callbacks.append(callback)

    @contextmanager
    def connected(self, name: str) -> Iterator[None]:
        """Count a connection of the device, and note when it was seen first and last.

        Raises NotFound if it has been revoked since its key was checked.
        """
        self._require(name)
        connection = object()
        self._connections.setdefault(name, []).append(connection)
        self._see(name)
        try:
            yield
        finally:
            open_ones = self._connections.get(name, [])
            if connection in open_ones:  # not so if it was revoked, or paired anew, meanwhile
                open_ones.remove(connection)
                self._see(name)

    async def told(self, name: str, pos: int) -> None:
        """Store that ends of runs up to ``pos`` have reached the device; never goes back.

        A device that has been revoked is none to note anything about. Raises StoreError.
        """
        async with self._writing:
            device = self._devices.get(name)
            if device is None or pos <= device.told_pos:
                return
            self._devices[name] = msgspec.structs.replace(device, told_pos=pos)
            await self._store(self._devices)

    def list(self) -> list[wire.Device]:
        """List all devices in the order of their pairing; no digest among it."""
        return [
            wire.Device(
                device=device.name,
                name=device.name,
                paired_at=device.paired_at,
                last_seen=device.last_seen,
                connected=bool(self._connections.get(device.name)),
                kind=device.kind,
                scope=device.scope,
            )
            for device in self._devices.values()
        ]

    async def keep(self) -> None:
        """Store what has not been stored at once, at most every SEEN_SECONDS and once more when
        cancelled: mainly when devices were seen.

        To run as a task for as long as devices connect. What the disk refuses is logged and
        tried again.
        """
        try:
            while True:
                await self._unstored.wait()
                await self._store_rest()
                await trio.sleep(SEEN_SECONDS)
        finally:
            with trio.move_on_after(LAST_WRITE_SECONDS, shield=True):
                await self._store_rest()

    def _see(self, name: str) -> None:
        device = self._devices[name]
        self._devices[name] = msgspec.structs.replace(device, last_seen=self._now())
        self._unstored.set()

    async def _store_rest(self) -> None:
        async with self._writing:
            if not self._unstored.is_set():
                return  # another change took it along
            try:
                await self._store(self._devices)
            except StoreError as error:
                log("Devices not stored", "warning", error=str(error))

    async def _store(self, devices: dict[str, Device]) -> None:
        rest = self._unstored.is_set()
        if rest:
            self._unstored = trio.Event()
        try:
            await self._settings.set_setting(SETTING, msgspec.json.encode(list(devices.values())))
        except BaseException:
            if rest:
                self._unstored.set()
            raise

    def _require(self, name: str) -> None:
        if name not in self._devices:
            raise NotFound("device", name, f"The device '{name}' is no longer paired.")

    def _free_name(self, kind: wire.DeviceKind) -> str:
        taken, plain = {_folded(name) for name in self._devices}, DEFAULT_NAMES[kind]
        number = 1
        while (name := plain if number == 1 else f"{plain}-{number}") in taken:
            number += 1
        return name

    def _checked(self, name: str) -> str:
        """Return the name as it is kept. Raises InvalidParameter."""
        kept = unicodedata.normalize("NFC", name)
        if not 1 <= len(kept) <= LONGEST_NAME or not kept.isprintable() or kept != kept.strip():
            raise InvalidParameter(
                "name",
                "Invalid params: parameter 'name': expected 1 to 64 printable characters without "
                "blanks around them.",
            )
        if _folded(kept) in {_folded(one) for one in self._devices}:
            raise InvalidParameter(
                "name",
                f"Invalid params: parameter 'name': a device '{kept}' is paired already: take "
                "another name, or take its key back with 'podium devices revoke NAME'.",
            )
        return kept


def _folded(name: str) -> str:
    """Names that a person could mistake for each other are one."""
    return unicodedata.normalize("NFKC", name).casefold()
