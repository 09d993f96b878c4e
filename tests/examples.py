"""How many examples a property is tried with: few in 'make test', as many as it asks for else."""

from __future__ import annotations

from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

ALL: Final = "all"
_FEW: Final = 10

# How long an example takes says nothing on a machine that does other things as well.
_STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The few are the same each time: what 'make test' says does not depend on chance.
settings.register_profile("few", _STEADY, max_examples=_FEW, derandomize=True)
settings.register_profile(ALL, _STEADY)


def examples(count: int) -> settings:
    """The settings of a property that asks for another number of examples than the usual 100."""
    few = settings().max_examples == _FEW
    return settings(max_examples=_FEW if few else count)


def keep_few_steady() -> None:
    """Draw no constants of the product where the examples are few.

    hypothesis reads them from all modules that happen to be imported by then: so which examples
    there are would depend on the tests before, and each process would parse the whole product.
    """
    if settings().derandomize:
        vars(providers)["_get_local_constants"] = lambda: providers._local_constants
