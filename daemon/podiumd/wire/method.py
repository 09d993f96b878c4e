"""Declare a method, or a notification, of the protocol once: its name, its types, its purpose."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, get_args

import msgspec

P = TypeVar("P", bound=msgspec.Struct)
R = TypeVar("R")

Scope = Literal["look", "answer", "work", "all"]
"""The right that a caller must hold, each with those before it: to look, to answer questions, to
have work done, to change who may do what. The socket serves one person, who holds all of them."""

Pace = Literal["instant", "ordered", "waiting"]
"""``instant`` never suspends; ``ordered`` may, and the connection's next request waits for it;
``waiting`` takes as long as an agent or a person does and runs beside the others."""


class _Typed:
    """A declaration that keeps the types it was made with: ``Method[OneRun, Run](...)``."""

    __orig_class__: Any  # set by ``typing`` once the declaration is made

    @property
    def types(self) -> tuple[Any, ...]:
        return get_args(self.__orig_class__)


class Method(_Typed, Generic[P, R]):
    """A method: ``GET = Method[OneRun, WholeRun]("runs.get", "Return one run.")``."""

    def __init__(
        self,
        name: str,
        purpose: str,
        *,
        pace: Pace = "ordered",
        needs: Scope = "all",
        reads: bool = False,
    ) -> None:
        """Declare a method. ``needs``: "all" where nothing says less, so that none is open by
        oversight. ``reads``: it changes nothing, so it need not begin where no client waits for its
        answer."""
        self.name = name
        self.purpose = purpose
        self.pace = pace
        self.needs = needs
        self.reads = reads

    @property
    def params(self) -> type[P]:
        """Return the struct of its parameters."""
        kind: type[P] = self.types[0]
        return kind

    @property
    def result(self) -> Any:
        """Return the type of its result: a struct, a list of one, or several that it may be."""
        return self.types[1]


class Notification(_Typed, Generic[P]):
    """A notification that the daemon sends."""

    def __init__(self, name: str, purpose: str) -> None:
        self.name = name
        self.purpose = purpose

    @property
    def params(self) -> type[P]:
        """Return the struct of its parameters."""
        kind: type[P] = self.types[0]
        return kind
