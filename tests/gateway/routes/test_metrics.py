"""``GET /metrics``: what a scraper reads, parsed as Prometheus parses it."""

from __future__ import annotations

import re

from tests.gateway.routes.station import Station

ROW = re.compile(
    r'(?P<name>[a-z_]+)(?:\{(?P<labels>[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*)\})? (?P<value>\S+)'
)


def families(text: str) -> dict[str, tuple[str, dict[str, float]]]:
    """Each family's type, and its samples by name and labels. Fails for what is out of order."""
    found: dict[str, tuple[str, dict[str, float]]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in found
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2] == name
            found[name] = (line.split(" ")[3], {})
        else:
            row = ROW.fullmatch(line)
            assert row is not None and row["name"].startswith(name), line
            key = row["name"].removeprefix(name) + (row["labels"] or "")
            assert key not in found[name][1]
            found[name][1][key] = float(row["value"])
    return found


async def test_a_scraper_gets_counters_gauges_and_a_histogram(station: Station) -> None:
    line = await station.server.connected()
    await station.daemon.prompt()
    turn = await station.daemon.turn()
    station.meters.gauge("agents_working", "Runs.", lambda: 1)
    station.meters.loop.add(0.0002)
    station.meters.rpc_requests.add()

    answer = await station.get("/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = families(answer.body.decode())
    assert {name: kind for name, (kind, _) in found.items()} == {
        "podium_runs_started_total": "counter",
        "podium_runs_total": "counter",
        "podium_prompts_total": "counter",
        "podium_turns_total": "counter",
        "podium_rpc_requests_total": "counter",
        "podium_gateway_messages_total": "counter",
        "podium_loop_delay_seconds": "histogram",
        "podium_agents_working": "gauge",
        "podium_sessions": "gauge",
        "podium_runs_active": "gauge",
        "podium_prompts_active": "gauge",
        "podium_prompts_waiting": "gauge",
        "podium_questions_open": "gauge",
    }
    assert found["podium_prompts_active"][1] == {"": 1}
    assert found["podium_rpc_requests_total"][1] == {"": 1}
    delays = found["podium_loop_delay_seconds"][1]
    assert delays['_bucketle="0.0001"'] == 0 and delays['_bucketle="0.00025"'] == 1
    assert delays['_bucketle="+Inf"'] == delays["_count"] == 1 and delays["_sum"] == 0.0002
    head = await station.ask("HEAD", "/metrics")
    assert (head.status, head.body) == (200, b"")
    turn.complete()
    line.hang_up()
