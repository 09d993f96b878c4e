"""Recipes: which there are, and what can be known of one before it runs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from podiumd.core.analysis.rehearse import Accepted, PhasePlay, Rejected, StepPlay
from podiumd.core.analysis.simulate import Trace
from podiumd.core.analysis.worst_case import WorstCase
from podiumd.core.findings import Finding
from podiumd.core.recipe.model import Recipe, Source
from podiumd.core.recipe.paths import Paths, Way
from podiumd.wire.fields import AnyText, Digest, Directory, File, Name, Params, Result, Word
from podiumd.wire.method import Method

# -- parameters ------------------------------------------------------------------------------


class InDirectory(Params, frozen=True, kw_only=True):
    """Recipes as seen from a directory."""

    working_directory: Directory | None = None


class GetRecipe(Params, frozen=True, kw_only=True):
    """``recipes.get``."""

    id: Name
    working_directory: Directory | None = None


class ParseOutcome(Params, frozen=True, kw_only=True):
    """``recipes.outcome``."""

    id: Name
    step: Name
    text: AnyText
    working_directory: Directory | None = None


class CheckRecipe(Params, frozen=True, kw_only=True):
    """``recipes.check``: one of ``path``, ``text`` and ``id``."""

    path: File | None = None
    text: AnyText | None = None
    id: Name | None = None
    working_directory: Directory | None = None


class Simulate(Params, frozen=True, kw_only=True):
    """``recipes.simulate``; what a step cannot end with, the simulation says best."""

    id: Name
    outcomes: Annotated[tuple[Word, ...], Meta(max_length=1000)]
    working_directory: Directory | None = None


class DrawRecipe(Params, frozen=True, kw_only=True):
    """``recipes.graph``."""

    id: Name
    format: Literal["mermaid", "dot"] = "mermaid"
    working_directory: Directory | None = None


class Rehearse(Params, frozen=True, kw_only=True):
    """``recipes.rehearse``."""

    id: Name
    step: Name
    replies: Annotated[tuple[AnyText, ...], Meta(max_length=100)]
    working_directory: Directory | None = None


class TrustRecipes(Params, frozen=True, kw_only=True):
    """``recipes.trust``; without ``digests`` every recipe of the project as it is now."""

    working_directory: Directory
    digests: dict[Name, Digest] | None = None


# -- results ---------------------------------------------------------------------------------


class RecipeRow(Result, frozen=True, kw_only=True):
    """A recipe in a list. ``shadows`` are the sources of the recipes of its id that it hides;
    ``ok`` is false where it has faults."""

    id: str
    label: str
    description: str
    first_prompt: str
    source: Source
    path: str
    shadows: tuple[str, ...]
    trusted: bool
    changed: bool
    ok: bool


class KnownRecipe(Recipe, frozen=True, kw_only=True):
    """A recipe as data, where it is from, where each step can lead, and what it may cost at
    worst (``None``: it calls one that cannot be called)."""

    source: Source
    path: str
    shadows: tuple[str, ...]
    trusted: bool
    changed: bool
    ways: dict[str, tuple[Way, ...]]
    worst_case: WorstCase | None


class CheckReport(Result, frozen=True, kw_only=True):
    """The findings of a recipe's check. ``ok``: none of them is an error."""

    ok: bool
    findings: tuple[Finding, ...]
    worst_case: WorstCase | None


class Drawing(Result, frozen=True, kw_only=True):
    """A recipe as a text that a program draws."""

    text: str


class TrustedRecipe(Result, frozen=True, kw_only=True):
    """A recipe that is trusted now."""

    id: str
    digest: str


# -- methods ---------------------------------------------------------------------------------

CHECK = Method[CheckRecipe, CheckReport](
    "recipes.check", "The faults of a recipe.", reads=True, needs="look"
)
GET = Method[GetRecipe, KnownRecipe]("recipes.get", "One recipe as data.", reads=True, needs="look")
GRAPH = Method[DrawRecipe, Drawing](
    "recipes.graph", "A recipe as a picture's text.", reads=True, needs="look"
)
LIST = Method[InDirectory, list[RecipeRow]](
    "recipes.list", "The recipes, shadowed ones left out.", reads=True, needs="look"
)
OUTCOME = Method[ParseOutcome, Accepted | Rejected](
    "recipes.outcome", "What a reply would mean.", reads=True, needs="look"
)
PATHS = Method[GetRecipe, Paths](
    "recipes.paths", "Every simple path to each exit.", reads=True, needs="look"
)
REHEARSE = Method[Rehearse, StepPlay | PhasePlay](
    "recipes.rehearse", "Play one step with replies.", reads=True, needs="look"
)
SIMULATE = Method[Simulate, Trace](
    "recipes.simulate", "Walk a recipe without an agent.", reads=True, needs="look"
)
TRUST = Method[TrustRecipes, list[TrustedRecipe]]("recipes.trust", "Trust a project's recipes.")
