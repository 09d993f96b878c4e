"""A daemon that asks no agent what has arrived: ``python -m tests.faults.without_marks``.

Taking a turn up, it writes once more what no answer in the spool is to. It is the campaign's
control, which has to double prompts.
"""

from __future__ import annotations

import runpy

from podiumd.drivers import steps
from podiumd.drivers.steps import Steps

_plan = Steps.plan


def _plan_without_mark(self: Steps, name: str, *lines: bytes, marked: bool = True) -> None:
    _plan(self, name, *lines, marked=False)


def _write_blindly(self: Steps) -> None:
    for step in self._steps.values():
        if step.fate is steps._Fate.DOUBTFUL:
            step.fate = steps._Fate.PLANNED


if __name__ == "__main__":
    Steps.plan = _plan_without_mark  # type: ignore[method-assign]
    Steps.attached = _write_blindly  # type: ignore[method-assign]
    runpy.run_module("podiumd", run_name="__main__", alter_sys=True)
