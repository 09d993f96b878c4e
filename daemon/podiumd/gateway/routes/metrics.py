"""``GET /metrics``: the daemon's figures, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable

from podiumd.gateway.http import Request, Response
from podiumd.runtime.api import Service

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsRoute:
    """``clients``: phones connected now; ``memory``: bytes resident; ``uptime``: seconds."""

    def __init__(
        self,
        service: Service,
        clients: Callable[[], int],
        memory: Callable[[], int],
        uptime: Callable[[], float],
    ) -> None:
        self._service = service
        self._clients = clients
        self._memory = memory
        self._uptime = uptime

    async def __call__(self, _request: Request, _device: str) -> Response:
        status = await self._service.status()
        rows = [
            ("podium_sessions", "Sessions of agents in the index.", status["sessions"]),
            ("podium_runs_active", "Recipes that have not ended.", status["runs_active"]),
            (
                "podium_prompts_active",
                "Prompts that have not ended.",
                status["prompts_active"],
            ),
            (
                "podium_questions_open",
                "Questions for a person.",
                status["questions_open"],
            ),
            ("podium_gateway_clients", "Phones connected.", self._clients()),
            ("podium_resident_memory_bytes", "Memory of the daemon.", self._memory()),
            ("podium_uptime_seconds", "Since the daemon started.", round(self._uptime(), 3)),
        ]
        return Response(200, exposition(rows).encode(), content_type=CONTENT_TYPE)


def exposition(rows: list[tuple[str, str, float]]) -> str:
    """Gauges in the text format: each with its help, its type and its value."""
    lines = []
    for name, words, value in rows:
        lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge", f"{name} {value}"]
    return "\n".join(lines) + "\n"
