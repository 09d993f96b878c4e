"""``GET /metrics``: the daemon's figures, as Prometheus reads them."""

from __future__ import annotations

from typing import Final

from podiumd.gateway.http.exchange import Request, Response
from podiumd.observe.metrics import Meters
from podiumd.runtime.service import Service

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_ASKED: Final = {
    "sessions": "Sessions of agents in the index.",
    "runs_active": "Recipes that have not ended.",
    "prompts_active": "Prompts that have not ended.",
    "prompts_waiting": "Prompts of these that wait in line and have not begun.",
    "questions_open": "Questions for a person.",
}


class MetricsRoute:
    """The counts of ``meters``, and those that the service makes on request."""

    def __init__(self, service: Service, meters: Meters) -> None:
        self._service = service
        self._meters = meters

    async def __call__(self, _request: Request, _device: str) -> Response:
        status = await self._service.status()
        asked = [(name, words, getattr(status, name)) for name, words in _ASKED.items()]
        text = self._meters.exposition(asked)
        return Response(200, text.encode(), content_type=CONTENT_TYPE)
