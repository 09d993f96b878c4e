"""The parameters of a run: what was given, checked against what the recipe declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from podiumd.core.findings import nearest
from podiumd.core.recipe.model import Param, Recipe

Value = str | int | bool

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}")
_MOST: Final = 10**18


class ParamError(ValueError):
    """A parameter that cannot be used; ``param`` names it, ``message`` says what to do.
    ``missing``: it was not given."""

    def __init__(self, param: str, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.param = param
        self.missing = missing
        self.message = message


def bind_params(
    recipe: Recipe, given: Mapping[str, Any], *, new_session: bool = False
) -> dict[str, Value]:
    """Return a value for every parameter of ``recipe``, in the order it declares them.

    A command line gives texts: ``"3"`` is taken for an integer, ``"true"`` and ``"false"`` for
    a boolean. ``new_session``: the run begins without a conversation.
    Raises ParamError for an unknown name, a wrong value, or one that is missing: a needed one
    that is given without anything in it is as good as not given.
    """
    for name in given:
        if name not in recipe.params:
            hint = nearest(name, recipe.params) if recipe.params else "it takes none"
            raise ParamError(name, f"recipe '{recipe.id}' has no parameter '{name}'; {hint}")
    return {
        name: _given(name, param, given[name], new_session)
        if name in given
        else _default(name, param, new_session)
        for name, param in recipe.params.items()
    }


def _given(name: str, param: Param, value: Any, new_session: bool) -> Value:
    needed = param.default is None or (param.needed == "new-session" and new_session)
    if needed and isinstance(value, str) and not value.strip():
        message = f"parameter '{name}' is empty: it needs {_wanted(param)}"
        raise ParamError(name, message, missing=True)
    return param_value(name, param, value)


def _default(name: str, param: Param, new_session: bool) -> Value:
    if param.needed == "new-session" and new_session:
        message = f"parameter '{name}' is needed: this conversation is new"
        raise ParamError(name, message, missing=True)
    if param.default is None:
        message = f"parameter '{name}' is missing: it needs {_wanted(param)}"
        raise ParamError(name, message, missing=True)
    return param.default


def param_value(name: str, param: Param, value: Any) -> Value:
    """Return ``value`` in the parameter's own type, or raise ParamError."""
    if param.type == "boolean":
        value = {"true": True, "false": False}.get(value, value) if _is_text(value) else value
        good = isinstance(value, bool)
    elif param.type == "integer":
        value = int(value) if _is_text(value) and _WHOLE.fullmatch(value) else value
        good = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST
    elif param.type == "choice":
        good = _is_text(value) and value in param.choices
    elif param.type == "path":
        good = _is_text(value) and bool(value.strip())
    else:
        good = _is_text(value)
    if not good:
        message = f"parameter '{name}' cannot be {value!r:.80}: it needs {_wanted(param)}"
        raise ParamError(name, message)
    accepted: Value = value
    return accepted


def _is_text(value: object) -> bool:
    """Say whether ``value`` is text that a prompt and an argument list can carry."""
    return isinstance(value, str) and "\0" not in value


def _wanted(param: Param) -> str:
    return {
        "string": "a text",
        "integer": "a whole number",
        "boolean": "true or false",
        "choice": "one of " + ", ".join(param.choices),
        "path": "a path",
        "agent": "the name of an agent",
    }[param.type]
