"""Load a recipe from TOML text: read every table, collect every fault, give the recipe as data.

Faults that one look at each table can show are found here and in ``core.recipe.rules``; those that
need the whole graph (steps that cannot be reached, cycles without a bound) belong to
``core.analysis.check``.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import UNSET

from podiumd.core.findings import Finding, Notes, RecipeInvalid, TooManyFindings
from podiumd.core.recipe.context import DECLARATION, TYPES, declared_key, fits, is_declaration
from podiumd.core.recipe.fields import (
    ANY_TEXT,
    PLAIN,
    Table,
    is_name,
    is_variable_name,
    one_of,
)
from podiumd.core.recipe.format import (
    LIMIT_FIELDS,
    PARAM_FIELDS,
    PARAM_KEYS,
    TOP_FIELDS,
    TOP_KEYS,
)
from podiumd.core.recipe.model import Limits, Param, Recipe
from podiumd.core.recipe.params import ParamError, bind_params, param_value
from podiumd.core.recipe.rules import check_rules
from podiumd.core.recipe.steps import StepReader
from podiumd.core.structs import replace
from podiumd.core.toml_lines import TomlLines

__all__ = [
    "Finding",
    "ParamError",
    "RecipeInvalid",
    "bind_params",
    "load_recipe",
    "read_recipe",
]

_AT_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")
_KEY: Final = r"(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
#: A key of so many names joined by dots. No recipe has one, and the parser's time grows with the
#: square of their number: a small file could keep it busy for minutes.
_DEEP_KEY: Final = re.compile(rf"(?:{_KEY}[ \t]*+\.[ \t]*+){{64}}")


def load_recipe(text: str, *, file: str, read_prompt: Callable[[str], str]) -> Recipe:
    """Read one recipe.

    ``file`` is its name in findings; ``read_prompt`` returns the text of a prompt file by the
    name the recipe gives, raising OSError or ValueError with a message where it cannot.
    Raises RecipeInvalid with all findings.
    """
    return read_recipe(text, file=file, read_prompt=read_prompt)[0]


def read_recipe(text: str, *, file: str, read_prompt: Callable[[str], str]) -> tuple[Recipe, Notes]:
    """Read one recipe as ``load_recipe`` does, and return its notes too: empty, with its lines."""
    data = _parse(text, file)
    notes = Notes(file, TomlLines(text.replace("\r\n", "\n")))
    recipe = None
    with suppress(TooManyFindings):
        recipe = _recipe(text, data, notes, read_prompt)
    if recipe is None or notes.findings:
        id_ = data.get("id")
        raise RecipeInvalid(notes.sorted(), id_ if is_name(id_) else None)
    return recipe, notes


def _recipe(
    text: str, data: Mapping[str, Any], notes: Notes, read_prompt: Callable[[str], str]
) -> Recipe:
    """Read every table; what is wrong with the recipe is in the notes then."""
    top = Table(notes, data, (), TOP_KEYS)
    _check_format(top)
    named = 'the recipe\'s name in kebab-case, such as "ship-a-fix"'
    id_ = top.need("id", TOP_FIELDS["id"], "", named)
    if id_ and not is_name(id_):
        _bad_name(notes, ("id",), id_)
    params = _params(top)
    limits = _limits(top)
    context = _context(top)
    reader = StepReader(top, read_prompt)
    recipe = Recipe(
        id=id_,
        label=top.get("label", TOP_FIELDS["label"], id_),
        description=top.get("description", TOP_FIELDS["description"], ""),
        initial=top.need("initial", TOP_FIELDS["initial"], "", "the name of the first step"),
        params=params,
        limits=limits,
        context=context,
        steps=reader.read(),
        digest=_digest(text, reader.prompt_files),
        needs=top.get("needs", TOP_FIELDS["needs"], ()),
    )
    check_rules(recipe, notes, reader)
    return recipe


def _parse(text: str, file: str) -> dict[str, Any]:
    """Parse TOML; a syntax error, or values nested without end, is one finding."""
    deep = _DEEP_KEY.search(text)
    try:
        if deep is None:
            return tomllib.loads(text)
        message = "a key of more than 64 names joined by dots"
        line = text.count("\n", 0, deep.start()) + 1
    except (ValueError, RecursionError) as error:
        message = str(error)
        at = _AT_LINE.search(message)
        line = int(at.group(1)) if at else text.count("\n") + 1
    finding = Finding(
        code="syntax",
        line=line,
        message=f"this is not valid TOML: {message}. Correct it",
        file=file,
    )
    raise RecipeInvalid([finding])


def _check_format(top: Table) -> None:
    number = top.need("format", PLAIN, 1, "format = 1")
    if number is not None and (number != 1 or not isinstance(number, int) or number is True):
        top.notes.add(
            "bad-format",
            ("format",),
            "this version reads recipes of format 1 only; write format = 1",
        )


def _bad_name(notes: Notes, path: tuple[str, ...], name: str) -> None:
    notes.add(
        "bad-name",
        path,
        f"'{name[:80]}' is no name: expected lower-case words joined by hyphens, at most 64 "
        "characters, such as 'code-review'",
    )


def _params(top: Table) -> dict[str, Param]:
    """Read ``[params.NAME]``: each with a type, a default of that type, choices for a choice."""
    params: dict[str, Param] = {}
    parent = Table(top.notes, top.mapping("params"), ("params",), tuple(top.mapping("params")))
    for name in parent.data:
        table = parent.table(name, PARAM_KEYS)
        if not is_variable_name(name):
            top.notes.add(
                "bad-name",
                table.path,
                f"parameter '{name[:80]}' cannot be written between braces: expected letters, "
                "digits, '_' and '-', beginning with a letter",
            )
        params[name] = _param(name, table)
    return params


def _param(name: str, table: Table) -> Param:
    fields = PARAM_FIELDS
    what = 'the kind of value, such as type = "string"'
    type_ = table.need("type", fields["type"], "string", what)
    choices = table.get("choices", fields["choices"], ())
    if type_ == "choice" and not choices:
        table.need(
            "choices", fields["choices"], (), 'what can be chosen, such as ["fast", "thorough"]'
        )
        if table.data.get("choices") == []:
            table.bad("choices", "expected at least one text")
    elif type_ != "choice" and choices:
        table.bad("choices", 'only a parameter with type = "choice" has choices; remove the key')
    description = table.get("description", fields["description"], "")
    needed = table.get("needed", fields["needed"], None)
    param = Param(type=type_, choices=choices, description=description, needed=needed)
    default = table.data.get("default")
    if default is None:
        if needed is not None:
            table.bad("needed", "a parameter without a default is always needed; remove the key")
        return param
    try:
        # A file has types of its own: only a command line writes numbers as texts.
        text_for_typed = isinstance(default, str) and type_ in ("integer", "boolean")
        value = param_value(name, param, None if text_for_typed else default)
    except ParamError as error:
        table.bad("default", error.message)
        return param
    return replace(param, default=value)


def _limits(top: Table) -> Limits:
    table = top.table("limits", tuple(LIMIT_FIELDS))
    values = {key: table.get(key, expected) for key, expected in LIMIT_FIELDS.items()}
    return Limits(**{key: value for key, value in values.items() if value is not None})


def _context(top: Table) -> dict[str, Any]:
    """Read ``[context]``: the keys that a conversation fills, with what they begin as."""
    data = top.mapping("context")
    table = Table(top.notes, data, ("context",), tuple(data))
    for name in data:
        if not is_variable_name(name):
            _bad_name(top.notes, ("context", name), name)
    return {name: _context_value(table, name) for name in data}


def _context_value(table: Table, name: str) -> Any:
    """Read what declares one key: the name of a type, a table with one, or a first value."""
    value = table.get(name, PLAIN, "")
    meant = isinstance(value, dict) and "type" in value and {*value} <= {*DECLARATION}
    if meant or is_declaration(value):
        inner = table.table(name, DECLARATION)
        inner.get("type", one_of(*TYPES))
        inner.get("description", ANY_TEXT)
        key = declared_key(value)
        if key.default is not UNSET and not fits(key.type, key.default):
            inner.bad("default", f"expected {TYPES[key.type]}")
    return list(value) if isinstance(value, tuple) else value


def _digest(text: str, prompt_files: Mapping[str, str]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, content in sorted(prompt_files.items()):
        digest.update(f"\0{name}\0{content}".encode())
    return digest.hexdigest()
