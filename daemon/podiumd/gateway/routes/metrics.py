"""``GET /metrics``: the daemon's figures, as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from podiumd.gateway.http import Request, Response
from podiumd.runtime.api import Service

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


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
            ("sessions", "Sessions of agents in the index.", status["sessions"]),
            ("runs_active", "Recipes that have not ended.", status["runs_active"]),
            ("prompts_active", "Prompts that have not ended.", status["prompts_active"]),
            ("questions_open", "Questions for a person.", status["questions_open"]),
            ("gateway_clients", "Phones connected.", self._clients()),
            ("resident_memory_bytes", "Memory of the daemon.", self._memory()),
            ("uptime_seconds", "Since the gateway started.", round(self._uptime(), 3)),
        ]
        return Response(200, exposition(rows).encode(), content_type=CONTENT_TYPE)


def exposition(rows: Sequence[tuple[str, str, float]]) -> str:
    """Gauges in the text format: each with its help, its type and its value."""
    lines = []
    for row, words, value in rows:
        name = f"podium_{row}"
        lines += [f"# HELP {name} {words}", f"# TYPE {name} gauge", f"{name} {value}"]
    return "\n".join(lines) + "\n"
