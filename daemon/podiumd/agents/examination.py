"""Looking whether an agent can be used: what its folder's module ``doctor`` is given, and gives."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar, cast

import msgspec

from podiumd.agents.environment import agent_environment
from podiumd.agents.kind import ConfiguredAgent, Kind
from podiumd.core.excerpt import beginning
from podiumd.observe.checks import Check
from podiumd.tools.process.short_answer import (
    MOST_ANSWERED,
    AnsweredTooMuchError,
    short_answer,
)

T = TypeVar("T")

ANSWER_SECONDS: Final = 5.0
"""How long all agents of one look may take to answer; they are asked side by side."""

_MOST_SAID: Final = 200


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that is looked at.

    ``environ`` is the environment of who looks, ``daemon_environ`` that of the daemon. ``anew`` is
    the command, quoted, that gives the daemon the environment of the shell that it is typed in.
    ``at_hand``: other agents that can work and need no program. ``answers`` is what programs have
    answered already, whichever check asked. ``until`` is when (``time.monotonic``) none is waited
    for any more.
    """

    agent: ConfiguredAgent
    environ: Mapping[str, str]
    daemon_environ: Mapping[str, str]
    anew: str
    at_hand: tuple[str, ...] = ()
    answers: dict[tuple[object, ...], Any] = {}
    until: float = math.inf

    @property
    def check(self) -> str:
        """Return the name of the finding."""
        return f"agent {self.agent.name}"

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the agent's environment, where ``base``, else the daemon's own, is the daemon's.

        It is without what is Podium's own.
        """
        given = agent_environment(self.agent, self.daemon_environ if base is None else base, "")
        return {name: value for name, value in given.items() if not name.startswith("PODIUM_")}

    @property
    def seconds(self) -> float:
        """Return how long a program may still take to answer."""
        return seconds_until(self.until)

    def version(self, program: str, environment: Mapping[str, str]) -> tuple[str, str]:
        """Return the version that a program tells, or what is wrong with it. It is asked once."""
        return self._once(ask, program, ["--version"], environment)

    def answer(
        self, program: str, options: Sequence[str], environment: Mapping[str, str]
    ) -> tuple[int | None, str, str]:
        """Return status and words of a program, or why there are none. It is asked once."""
        return self._once(answer, program, options, environment)

    def _once(
        self,
        ask: Callable[[str, Sequence[str], Mapping[str, str], float], T],
        program: str,
        options: Sequence[str],
        environment: Mapping[str, str],
    ) -> T:
        key = (program, *options, *sorted(environment.items()))
        if key not in self.answers:
            self.answers[key] = ask(program, options, environment, self.until)
        found: T = self.answers[key]
        return found


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The program of an agent, as it was found.

    ``there``: its program, whose path is ``program``, or it needs none. ``version`` is what it
    tells of itself. ``mark``: what is to be known of this version, as that it is untried.
    """

    there: bool = True
    program: str | None = None
    version: str | None = None
    mark: str | None = None


class Provider(msgspec.Struct, frozen=True):
    """The server that an agent asks: its URL, what sets that, and an environment with its proxy."""

    url: str
    setting: str
    environ: Mapping[str, str]


class Doctor(Protocol):
    """The module ``doctor`` of an agent's folder. It changes nothing."""

    def examine(self, asked: Examined) -> Check:
        """Look at the agent."""
        ...

    def found(self, asked: Examined) -> Found:
        """Look for it, and ask it for its version."""
        ...

    def is_ready(self, asked: Examined) -> bool:
        """Return whether it can work on anything, as far as can be known without asking a model."""
        ...

    def at_hand(self, asked: Examined) -> bool:
        """Return whether it can, and needs no program for it. Start none."""
        ...

    def provider(self, asked: Examined) -> Provider | None:
        """Return the server that it asks; ``None`` where it is not set up, or not known."""
        ...


def doctor_of(kind: Kind) -> Doctor:
    """Load what looks at agents of a kind."""
    return cast("Doctor", import_module(f"{kind.package}.doctor"))


def seconds_until(until: float) -> float:
    """Return how long a program may take to answer that is waited for until a time."""
    return min(ANSWER_SECONDS, max(until - time.monotonic(), 0.0))


def ask(
    program: str, options: Sequence[str], environment: Mapping[str, str], until: float = math.inf
) -> tuple[str, str]:
    """Return the first line that a program prints, or what is wrong with it."""
    status, said, fault = answer(program, options, environment, until)
    words = said.partition("\n")[0]
    if fault:
        return "", fault
    if status != 0:
        return "", f"{' '.join(options)} ended with status {status}: {beginning(words, _MOST_SAID)}"
    return beginning(words, _MOST_SAID) or "no version told", ""


def answer(
    program: str, options: Sequence[str], environment: Mapping[str, str], until: float = math.inf
) -> tuple[int | None, str, str]:
    """Status and words of a program, or why there are none. It is waited for until that time."""
    try:
        done = short_answer([program, *options], environment, seconds_until(until), cwd="/")
    except OSError as error:
        return None, "", f"cannot be run: {error.strerror}"
    except subprocess.TimeoutExpired:
        return None, "", f"{' '.join(options)} did not answer within {ANSWER_SECONDS:g} s"
    except AnsweredTooMuchError:
        most = f"{MOST_ANSWERED // 1024} KiB"
        return None, "", f"{' '.join(options)} printed more than {most}"
    return done.returncode, (done.stdout or done.stderr).decode(errors="replace").strip(), ""
