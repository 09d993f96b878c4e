"""The files of the web client, as they are served: in memory, with digests, zipped once.

A file's address has the release in it, which is a digest of all files: it never changes, and a
browser keeps it for good. The page itself is asked for each time, and names the release.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from podiumd.gateway.http.exchange import Problem, Request, Response

PREFIX: Final = "/w/"
SCREENS: Final = frozenset({"pair", "runs", "sessions", "recipes", "locks", "devices", "start"})
"""First parts of the addresses that are screens of the page."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'none'; "
    "img-src 'self' data:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types podium"
)
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_SMALL_BYTES: Final = 512  # below it a zipped file is hardly smaller
_IMPORT: Final = re.compile(r'\b(?:from|import)\s*"(\.{1,2}/[^"]+)"')
_HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "microphone=(self), camera=(), geolocation=(), payment=(), usb=()"),
    ("Vary", "Accept-Encoding"),
)


class File(msgspec.Struct, frozen=True):
    """A file as it is sent; ``zipped`` is ``None`` where that would gain nothing."""

    body: bytes
    zipped: bytes | None
    content_type: str
    etag: str
    lasts: str


class Files:
    """All files. ``release`` is the digest of all of them."""

    def __init__(self, release: str, page: File, files: Mapping[str, File]) -> None:
        self.release = release
        self._page = page
        self._files = files

    def answer(self, request: Request) -> Response | None:
        """Return the answer to a request for a file or a screen; ``None``: it is for neither.

        Raises ``Problem``: the file is not there, or of another release.
        """
        if request.method not in ("GET", "HEAD"):
            return None
        path = request.path
        if path.startswith(PREFIX):
            found = self._files.get(path)
            if found is None:
                words = f"There is no such file in release {self.release}: load the page anew."
                raise Problem(404, detail=words)
            return _response(request, found)
        if path == "/" or path[1:].partition("/")[0] in SCREENS:
            return _response(request, self._page)
        return None


def load(directory: Path) -> Files:
    """Read the files in ``directory``. Raises OSError."""
    found = {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.suffix in _TYPES and path.is_file()
    }
    together = hashlib.sha256()
    for name, body in found.items():
        together.update(f"{name}\0{len(body)}\0".encode() + body)
    release = together.hexdigest()[:16]
    page = found.pop("index.html", b"")
    scripts = {name: body.decode() for name, body in found.items() if name.endswith(".js")}
    links = "\n".join(
        f'<link rel="modulepreload" href="{PREFIX}{release}/{name}">'
        for name in needed_at_first("app.js", scripts)
    )
    text = page.decode().replace("{{release}}", release).replace("{{modules}}", links)
    files = {
        f"{PREFIX}{release}/{name}": _file(name, body, _FOR_EVER) for name, body in found.items()
    }
    return Files(release, _file("index.html", text.encode(), "no-cache"), files)


def needed_at_first(first: str, scripts: Mapping[str, str]) -> Iterable[str]:
    """Return the modules that ``first`` imports, and those that they do, each once, itself first.

    A browser is sent them at once in place of learning of each from the one before.
    """
    needed, waiting = dict[str, None](), [first]
    while waiting:
        name = waiting.pop(0)
        if name in needed or name not in scripts:
            continue
        needed[name] = None
        folder = Path(name).parent
        waiting += [_normal(folder / path) for path in _IMPORT.findall(scripts[name])]
    return needed


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _file(name: str, body: bytes, lasts: str) -> File:
    zipped = gzip.compress(body, 9, mtime=0) if len(body) >= _SMALL_BYTES else body
    return File(
        body=body,
        zipped=zipped if len(zipped) < len(body) else None,
        content_type=_TYPES[Path(name).suffix],
        etag=f'"{hashlib.sha256(body).hexdigest()[:16]}"',
        lasts=lasts,
    )


def _response(request: Request, file: File) -> Response:
    headers = [*_HEADERS, ("ETag", file.etag), ("Cache-Control", file.lasts)]
    if file.etag in {one.strip() for one in request.headers.get("if-none-match", "").split(",")}:
        return Response(304, headers=tuple(headers))
    taken = {one.partition(";")[0].strip() for one in _encodings(request)}
    if file.zipped is not None and "gzip" in taken:
        headers.append(("Content-Encoding", "gzip"))
        return Response(200, file.zipped, file.content_type, tuple(headers))
    return Response(200, file.body, file.content_type, tuple(headers))


def _encodings(request: Request) -> list[str]:
    return request.headers.get("accept-encoding", "").lower().split(",")
