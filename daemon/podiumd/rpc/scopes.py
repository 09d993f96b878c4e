"""Methods that a scope opens: those that need it or less. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, get_args

from podiumd.rpc.adapter import Method
from podiumd.rpc.context import RequestContext
from podiumd.runtime.errors import NotPermitted
from podiumd.wire import recipes, runs, sessions
from podiumd.wire.method import Scope

_ORDER: Final[tuple[Scope, ...]] = get_args(Scope)


def _names_a_file(given: object) -> Scope:
    return "look" if given is None else "all"  # it would be read wherever it is on the machine


_BY_PARAMETERS: Final[dict[str, Callable[[Any], Scope]]] = {
    recipes.CHECK.name: lambda params: _names_a_file(params.path),
    runs.START.name: lambda params: _names_a_file(params.script),
    sessions.PROMPT.name: lambda params: _names_a_file(params.script or params.files or None),
}
"""Methods that need more where a parameter names a file of the machine."""


def opens(scope: Scope, needed: Scope) -> bool:
    """Return whether a device of this scope has the right that is needed."""
    return _ORDER.index(scope) >= _ORDER.index(needed)


def opened(
    methods: Iterable[Method[RequestContext]], scope: Scope
) -> tuple[Method[RequestContext], ...]:
    """Return the methods as a device of this scope has them: those that need more refuse."""
    return tuple(_opened(method, scope) for method in methods)


def _opened(method: Method[RequestContext], scope: Scope) -> Method[RequestContext]:
    more = _BY_PARAMETERS.get(method.name)
    if scope == "all" or (opens(scope, method.needs) and more is None):
        return method

    async def handle(context: RequestContext, params: Any) -> Any:
        for needed in (method.needs, method.needs if more is None else more(params)):
            if not opens(scope, needed):
                raise NotPermitted(method.name, scope, needed)
        return await method.handler(context, params)

    return method._replace(handler=handle)
