"""From nothing to a page over HTTPS: ``podium web setup`` with a daemon that runs."""

from __future__ import annotations

import json
from pathlib import Path

import trio

from tests.doors.house import House
from tests.e2e.machine import PATH
from tests.patience import HANG_SECONDS
from tests.web.chromium import browsing
from tests.web.proxy import certificate

STATUS = json.dumps({"BackendState": "Running", "Self": {"DNSName": "localhost."}})
TAILSCALE = """\
#!/bin/sh
case $1 in
status) echo '{status}' ;;
cert) cp {made} "$3" && cp {made} "$5" ;;
esac
"""


async def test_setup_restarts_the_daemon_which_then_serves_the_page_over_https(
    house: House, tmp_path: Path
) -> None:
    made, programs = tmp_path / "made", tmp_path / "programs"
    certificate(made)
    (both,) = made.rglob("gateway.pem")
    programs.mkdir()
    tailscale = programs / "tailscale"
    tailscale.write_text(TAILSCALE.format(status=STATUS, made=both))
    tailscale.chmod(0o755)
    before = house.podium.pid
    house.podium.next_environment(PATH=f"{programs}:{PATH}")

    done = await house.podium.cli("web", "setup", "--yes")
    try:
        assert (done.code, done.err) == (0, ""), done
        await house.podium.wait()
        status = await house.podium.rpc("daemon.status")
        assert status["pid"] != before
        assert status["gateway"]["url"].startswith("wss://localhost:")
        assert (await house.podium.cli("web", "--print")).out.startswith("The page: https://")
        invitation = await house.podium.rpc("gateway.pair", kind="web", scope="work")
        assert invitation["url"].startswith("https://localhost:")
        async with browsing(tmp_path / "profile", "", "--ignore-certificate-errors") as chromium:
            tab = await chromium.tab()
            await tab.go(invitation["url"])
            await tab.shows("live")
    finally:
        with trio.move_on_after(HANG_SECONDS, shield=True):
            await house.podium.cli("down")
