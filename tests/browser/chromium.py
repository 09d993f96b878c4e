"""A headless Chromium with a profile of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.needs import need

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str:
    """The browser: CHROMIUM, else one on PATH."""
    given = os.environ.get("CHROMIUM")
    if given is not None:
        if not os.access(given, os.X_OK):
            pytest.fail(f"CHROMIUM={given} is no program.")
        return given
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        need("chromium")
    return found or NAMES[0]


@asynccontextmanager
async def browsing(profile: Path, url: str, rules: str) -> AsyncIterator[None]:
    """A browser with this address open, names resolved by ``rules`` (as --host-resolver-rules
    has them); ended at the end."""
    profile.mkdir()
    command = [
        find(),
        "--headless=new",
        "--no-sandbox",  # a container's root has no other way
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        "--no-proxy-server",
        "--remote-debugging-port=0",  # keeps it running
        f"--user-data-dir={profile}",
        f"--host-resolver-rules={rules}",
        url,
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(profile), "LANG": "C.UTF-8"}
    with (profile / "log").open("wb") as log:
        process = await trio.lowlevel.open_process(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        yield
    finally:
        with trio.CancelScope(shield=True):
            os.killpg(process.pid, 9)
            await process.wait()
