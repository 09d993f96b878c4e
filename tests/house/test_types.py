"""What ``make types`` finds in the fold, the deciders, the projections and the client's requests:
each is broken here.

A module of ours is copied, one thing in it is made wrong, and mypy has to say so of that line.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.house.source import ROOT
from tests.patience import HANG_SECONDS


class Broken(NamedTuple):
    """A module in which ``old`` is replaced; mypy then complains of the line that
    ``at`` ends on, after the change, in ``words``."""

    module: str
    old: str
    new: str
    at: str
    words: str


LATEST = "client/podium/commands/latest.py"
BROKEN = {
    "a_misspelt_field": Broken(
        "daemon/podiumd/core/run/fold.py",
        "sends=state.sends + 1",
        "sendz=state.sends + 1",
        "    turn = begun(state, fact)\n    return replace(",
        'Unexpected keyword argument "sendz" for "replace" of "RunState"',
    ),
    "a_field_of_another_type": Broken(
        "daemon/podiumd/core/run/native_loop_state.py",
        "ending=fact, cost_usd=loop.cost_usd",
        "ending=fact.kind, cost_usd=loop.cost_usd",
        "ending=fact.kind",
        'Argument "ending" to "replace" of "LoopState" has incompatible type',
    ),
    "a_misspelt_status": Broken(
        "daemon/podiumd/core/run/state.py",
        '            return "parked"',
        '            return "parkd"',
        'return "parkd"',
        "Incompatible return value type (got \"Literal['parkd']\"",
    ),
    "a_status_that_is_no_status": Broken(
        "daemon/podiumd/gateway/agui/reporter.py",
        '= ("waiting", "paused", "ended")',
        '= ("waiting", "paused", "over")',
        '"over")',
        'Incompatible types in assignment (expression has type "tuple',
    ),
    "a_fact_that_the_fold_leaves_out": Broken(
        "daemon/podiumd/core/run/fold.py",
        "        case f.RunEnded():\n            return _run_ended(state, fact, at)\n",
        "",
        'AssertionError("a run starts once")\n        case _:\n            assert_never(fact)',
        'Argument 1 to "assert_never" has incompatible type "RunEnded"',
    ),
    "a_fact_of_a_native_turn_that_its_fold_leaves_out": Broken(
        "daemon/podiumd/core/run/native_loop_state.py",
        "        case f.EffectEnded():\n            return _committed(loop, fact)\n",
        "",
        "assert_never(fact)",
        'Argument 1 to "assert_never" has incompatible type "EffectEnded"',
    ),
    "a_command_without_a_rule": Broken(
        "daemon/podiumd/core/decide/workflow.py",
        '    .on(c.ReportFault, Rule(LIVE, _fault, to=("ended",)))\n',
        "",
        "assert_never(command)",
        'Argument 1 to "assert_never" has incompatible type "ReportFault"',
    ),
    "a_rule_for_another_command": Broken(
        "daemon/podiumd/core/decide/workflow.py",
        'c.ReportCheckEnd, Rule("check", _check_over,',
        'c.ReportCheckEnd, Rule("check", conversation.hook_over,',
        "assert_never(command)",
        'Argument 1 to "assert_never" has incompatible type "ReportCheckEnd"',
    ),
    "what_may_happen_in_a_native_turn_left_out": Broken(
        "daemon/podiumd/core/decide/native_loop.py",
        "        case lc.AddWords():\n            _steered(loop, happened)\n",
        "",
        "assert_never(happened)",
        'Argument 1 to "assert_never" has incompatible type "AddWords"',
    ),
    "a_fact_that_the_log_leaves_out": Broken(
        "daemon/podiumd/runtime/run/fact_log.py",
        "    | f.RunPaused\n",
        "",
        "assert_never(fact)",
        'Argument 1 to "assert_never" has incompatible type "RunPaused"',
    ),
    "a_fact_that_a_history_leaves_out": Broken(
        "daemon/podiumd/core/run/history.py",
        "            case f.RunResumed():\n                self._go_on(at)\n",
        "",
        "assert_never(fact)",
        'Argument 1 to "assert_never" has incompatible type "RunResumed"',
    ),
    "a_fact_that_no_voice_tells_of": Broken(
        "daemon/podiumd/core/voice/summary.py",
        "    | f.RunPaused\n",
        "",
        "assert_never(fact)",
        'Argument 1 to "assert_never" has incompatible type "RunPaused"',
    ),
    "a_fact_that_agui_leaves_out": Broken(
        "daemon/podiumd/gateway/agui/translate.py",
        "    | f.RunPaused\n",
        "",
        "assert_never(fact)",
        'Argument 1 to "assert_never" has incompatible type "RunPaused"',
    ),
    "a_fact_that_phones_are_not_told_of": Broken(
        "daemon/podiumd/gateway/phone/feed/run_events.py",
        "    | f.LimitHit\n",
        "",
        "self.board.take(event.run_id, fact)",
        'Argument 2 to "take" of "RecipeBoard" has incompatible type',
    ),
    "a_fact_that_snapshots_leave_out": Broken(
        "daemon/podiumd/runtime/run/snapshots.py",
        "            | f.EdgeTaken()\n",
        "",
        "assert_never(fact)",
        'Argument 1 to "assert_never" has incompatible type "EdgeTaken"',
    ),
    "a_method_that_there_is_not": Broken(
        LATEST,
        'call("runs.list", {"active": True, "limit": 1})',
        'call("runs.lst", {"active": True, "limit": 1})',
        '"runs.lst"',
        'No overload variant of "__call__" of "Call" matches argument types',
    ),
    "a_misspelt_parameter": Broken(
        LATEST,
        '{"active": True, "limit": 1}',
        '{"active": True, "limt": 1}',
        '"limt"',
        'No overload variant of "__call__" of "Call" matches argument types',
    ),
    "what_no_answer_has": Broken(
        LATEST,
        'found[0]["run_id"]',
        'found[0]["run_ids"]',
        'found[0]["run_ids"]',
        'TypedDict "Run" has no key "run_ids"',
    ),
}


def _text(broken: Broken) -> str:
    return (ROOT / broken.module).read_text(encoding="utf-8")


def _line(text: str, part: str) -> int:
    assert text.count(part) == 1, f"not once there: {part}"
    return text.count("\n", 0, text.index(part) + len(part)) + 1


def found(place: Path) -> dict[str, list[tuple[int, str]]]:
    """Have mypy check each broken module, and the same ones as they are, in ``place``. Returns
    what it says of each: line and words.

    All are checked in one go, with the cache that ``make types`` leaves: some seconds at most.
    """
    for name, broken in BROKEN.items():
        text = _text(broken)
        (place / f"sound_{Path(broken.module).stem}.py").write_text(text, encoding="utf-8")
        _line(text, broken.old)
        changed = text.replace(broken.old, broken.new)
        (place / f"{name}.py").write_text(changed, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--hide-error-context",
        "--no-error-summary",
        f"{place}",
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert done.stderr == ""
    said: dict[str, list[tuple[int, str]]] = {path.stem: [] for path in place.iterdir()}
    for line in done.stdout.splitlines():
        match = re.fullmatch(r".*?(\w+)\.py:(\d+): error: (.*)", line)
        if match is not None:
            said[match[1]].append((int(match[2]), match[3]))
    return said


def test_what_is_wrong_is_found_by_the_types_and_nothing_else(tmp_path: Path) -> None:
    """One test of them all: in several, each process of the tests would have mypy look again."""
    said = found(tmp_path)

    unfound = {
        name: said[name] for name, broken in BROKEN.items() if not _is_found(broken, said[name])
    }
    assert unfound == {}
    assert {name: words for name, words in said.items() if name not in BROKEN and words} == {}


def _is_found(broken: Broken, said: list[tuple[int, str]]) -> bool:
    """Whether the one complaint about the line that has ``broken.at`` is the expected one."""
    text = _text(broken)
    line = _line(text.replace(broken.old, broken.new), broken.at)
    of_the_line = [words for number, words in said if number == line]
    return len(of_the_line) == 1 and of_the_line[0].startswith(broken.words)
