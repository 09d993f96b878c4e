"""Images that come with a prompt: read, checked and copied before anything is stored of it.

The copies are in ``STATE/images/RUN_ID``: what becomes of a person's file after the prompt was
acknowledged changes nothing, and a prompt that is sent again after a crash is the same.
"""

from __future__ import annotations

import base64
import errno
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import trio

from podiumd.core.analysis.check_agents import Images
from podiumd.core.run.fact import RunImage
from podiumd.drivers.fifo import MAX_LINE_BYTES
from podiumd.runtime.errors import InvalidParameter
from podiumd.runtime.locks.lockfile import make_private
from podiumd.runtime.run.kept_images import folder_of
from podiumd.tools.failpoints import failpoint
from podiumd.tools.files.durable_file import store_file
from podiumd.tools.files.plain_file import read_plain

MOST_BYTES: Final = 10 * 1024 * 1024
"""Bytes of one image, for an agent that reads it from its file."""

INLINE_BYTES: Final = 700 * 1024
"""Bytes of all images of a prompt, for an agent that gets them in the line of its words."""

_FRAME_BYTES: Final = 16 * 1024
"""Room in that line for all but the words and the images."""

_KINDS: Final = (
    ("image/png", "png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", "jpg", b"\xff\xd8\xff"),
    ("image/gif", "gif", b"GIF87a"),
    ("image/gif", "gif", b"GIF89a"),
)
_WHY: Final = {
    errno.ENOENT: "is not there",
    errno.ENOTDIR: "is not there",
    errno.EISDIR: "is a directory",
    errno.EINVAL: "is no plain file",
}


class Brought(msgspec.Struct, frozen=True):
    """An image that a person has named, as it was when it was read."""

    about: RunImage
    data: bytes


async def brought_images(
    files: Sequence[str], agent: str, takes: Images, text: str
) -> tuple[Brought, ...]:
    """Read the images of a prompt for an agent that ``takes`` them so.

    Raises:
        InvalidParameter: the agent takes none, or which of them is none, and why.
    """
    if not files:
        return ()
    if takes == "none":
        raise _wrong(f"Agent '{agent}' takes no images: leave them out, or ask another agent.")
    found = await trio.to_thread.run_sync(_read_all, files, takes)
    if takes == "inline":
        size = len(msgspec.json.encode(text)) + sum(_inline(one) for one in found)
        if size > MAX_LINE_BYTES - _FRAME_BYTES:
            raise _wrong(
                f"The words and the images are {size} bytes as '{agent}' gets them, in one piece; "
                f"at most {MAX_LINE_BYTES - _FRAME_BYTES} fit: send a smaller image or fewer words."
            )
    return found


def _inline(one: Brought) -> int:
    return len(base64.b64encode(one.data))


def _read_all(files: Sequence[str], takes: Images) -> tuple[Brought, ...]:
    most = INLINE_BYTES if takes == "inline" else MOST_BYTES
    found: list[Brought] = []
    total = 0
    for number, file in enumerate(files, 1):
        data = _read(file, most)
        total += len(data)
        if takes == "inline" and total > most:
            raise _wrong(f"The images are more than {most // 1024} KB together: send fewer.")
        found.append(Brought(_about(file, number, data), data))
    return tuple(found)


def _read(file: str, most: int) -> bytes:
    try:
        return read_plain(file, most, links=True)
    except OSError as error:
        why = _WHY.get(error.errno or 0, f"cannot be read: {error.strerror}")
        if error.errno == errno.EFBIG:
            why = f"is larger than {most // 1024} KB, which is the most that this agent takes"
        raise _wrong(f"'{file}' {why}: name an image.") from error


def _about(file: str, number: int, data: bytes) -> RunImage:
    kinds = [(media, suffix) for media, suffix, head in _KINDS if data.startswith(head)]
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kinds = [("image/webp", "webp")]
    if not kinds:
        raise _wrong(f"'{file}' is no image: PNG, JPEG, GIF and WebP are taken, by their content.")
    media, suffix = kinds[0]
    return RunImage(file=file, name=f"{number}.{suffix}", media_type=media, size=len(data))


def _wrong(words: str) -> InvalidParameter:
    return InvalidParameter("files", words)


async def keep(state: Path, run_id: str, images: Sequence[Brought]) -> tuple[RunImage, ...]:
    """Copy the images of a prompt for its run; they are on the disk then. Raises ``OSError``."""
    if images:
        await trio.to_thread.run_sync(_keep, folder_of(state, run_id), images)
        failpoint("prompt.images-kept")
    return tuple(one.about for one in images)


def _keep(folder: Path, images: Sequence[Brought]) -> None:
    make_private(folder)
    for one in images:
        store_file(folder / one.about.name, one.data)


async def discard(state: Path, run_id: str) -> None:
    """Remove the copies of a prompt that has no run."""
    await trio.to_thread.run_sync(shutil.rmtree, folder_of(state, run_id), True)
