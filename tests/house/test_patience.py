"""No test passes or fails by the speed of the machine: one guard against hanging, no stopwatch."""

import ast
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.house.source import VIRTUAL_CLOCKS, modules, name_of, naming, tree
from tests.patience import HANG_SECONDS

SCOPES = {"fail_after", "fail_at", "move_on_after", "move_on_at", "settimeout"}
WAITS = {"wait", "join"}
WAITERS = {"subprocess", "threading", "multiprocessing"}
CLOCKS = {
    "current_time", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
    "process_time", "process_time_ns", "thread_time", "time", "time_ns",
}  # fmt: skip
# Without one of these words a file bounds no wait, or reads no clock.
BOUNDING = [*SCOPES, *WAITERS, "timeout", "CancelScope"]
READING = [f"{clock}(" for clock in CLOCKS]

# File -> why a time of its own bounds a wait there. An entry that is no longer needed fails too.
MAY_BOUND = {
    "tests/e2e/install_claude.py": "downloads hundreds of megabytes",
    "tests/gateway/autobahn.py": "plays the whole suite of another project",
    "tests/package/newcomer.py": "installs from the package index",
    "tests/phone/campaign.py": "passes data on in bursts, as a bad network does",
    "tests/service/test_activation.py": "a daemon that hangs is silent for some periods",
    "tests/speech/assets.py": "downloads hundreds of megabytes",
    "tests/tools/test_registry.py": "the limit that a command is given is what is tested",
}

# File -> what it reads the machine's time for: never to judge how long something took.
MAY_READ_CLOCKS = {
    "tests/client/processes.py": "gives up on outputs that do not end",
    "tests/client/terminal.py": "gives up on words that never come beside a live line",
    "tests/core/walks.py": "tells how long it took",
    "tests/doors/test_keys.py": "as many guesses may be looked at as fit into the time that passed",
    "tests/e2e/test_agent_errors.py": "an account is used up until a time of day",
    "tests/faults/campaign.py": "tells how long it took",
    "tests/faults/trial.py": "tells how long it took, for the moments of the next trial",
    "tests/histories/campaign.py": "tells how long it took",
    "tests/histories/disk.py": "stamps files",
    "tests/histories/service.py": "lets a moment pass that chance has chosen",
    "tests/histories/shrink.py": "looks for a shorter story only for a while",
    "tests/load/crowd.py": "tells the delays of messages",
    "tests/load/soak.py": "goes on for the time that it is told to",
    "tests/load/work.py": "names a run that hangs",
    "tests/phone/campaign.py": "tells how long it took",
    "tests/runtime/harness.py": "the clock of the daemon that it makes",
    "tests/runtime/test_foreign.py": "a process began when it was begun",
    "tests/service/restarts.py": "tells how long it took",
}


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _numbers(module: ast.Module) -> set[str]:
    """The names that a module gives to numbers."""
    return {
        target.id
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_number(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }


def _is_number(node: ast.AST | None) -> bool:
    """Whether it is a number that means some time: 0 is no time."""
    return isinstance(node, ast.Constant) and type(node.value) in {int, float} and node.value != 0


def _calls(node: ast.AST, virtual: bool = False) -> Iterator[tuple[ast.Call, bool]]:
    """Every call; whether a function around it has a test clock."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        virtual = virtual or bool(VIRTUAL_CLOCKS & {arg.arg for arg in node.args.args})
    if isinstance(node, ast.Call):
        yield node, virtual
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, virtual)


def _bounds(module: ast.Module) -> list[int]:
    """The lines that bound a wait by a number, or by a name of one, that is not the guard."""
    numbers = _numbers(module)
    imported = {
        name.name for node in module.body if isinstance(node, ast.Import) for name in node.names
    }
    waits = WAITS if imported & WAITERS else set[str]()

    def by_number(node: ast.AST) -> bool:
        return any(
            _is_number(one) or (isinstance(one, ast.Name) and one.id in numbers)
            for one in ast.walk(node)
        )

    lines = []
    for call, virtual in _calls(module):
        given = [word.value for word in call.keywords if word.arg == "timeout"]
        if _name(call) in SCOPES:
            given += call.args
        if _name(call) in waits:
            given += [
                one for one in call.args if isinstance(one, ast.Constant | ast.Name | ast.BinOp)
            ]
        if _name(call) == "CancelScope":
            given += [word.value for word in call.keywords if word.arg == "deadline"]
        if not virtual and any(map(by_number, given)):
            lines.append(call.lineno)
    return lines


def _readings(module: ast.Module) -> list[int]:
    """The lines that read a clock which no test sets."""
    has_test_clock = any(virtual for _, virtual in _calls(module))
    lines = []
    for call, virtual in _calls(module):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = getattr(owner, "id", "")
        read = _name(call) in CLOCKS and (name in {"time", "trio"} or owner is None)
        if read and not virtual and not (name == "trio" and has_test_clock):
            lines.append(call.lineno)
    return lines


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("trio.fail_after(5)", 1),
        ("trio.fail_after(HANG_SECONDS)", 0),
        ("PATIENCE = 5.0\nwith trio.move_on_after(2 * PATIENCE): pass", 1),
        ("trio.CancelScope(shield=True, deadline=trio.current_time() + 5)", 1),
        ("async def test_a(autojump_clock): trio.fail_after(5)", 0),
        ("subprocess.run(command, timeout=20)", 1),
        ("import subprocess\nprocess.wait(5)", 1),
        ("play.wait(5)", 0),
    ],
)
def test_a_bound_of_its_own_is_told_from_the_guard(code: str, count: int) -> None:
    assert len(_bounds(ast.parse(code))) == count


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("began = time.monotonic()", 1),
        ("began = perf_counter()", 1),
        ("def test_a(): trio.current_time()", 1),
        ("def test_a(mock_clock): trio.current_time()", 0),
        ("def test_a(mock_clock): time.monotonic()", 0),
        ("row.time()", 0),
    ],
)
def test_a_clock_of_the_machine_is_told_from_a_virtual_one(code: str, count: int) -> None:
    assert len(_readings(ast.parse(code))) == count


def test_waits_are_bounded_by_the_one_guard_alone() -> None:
    found = {name_of(path): _bounds(tree(path)) for path in naming(BOUNDING, "tests")}
    bounded = {name: lines for name, lines in found.items() if lines}

    assert bounded.keys() == MAY_BOUND.keys(), f"waits bounded by other times: {bounded}"
    assert HANG_SECONDS >= 120


def test_no_test_measures_how_long_it_takes() -> None:
    found = {name_of(path): _readings(tree(path)) for path in naming(READING, "tests")}
    measured = {name: lines for name, lines in found.items() if lines}

    assert measured.keys() == MAY_READ_CLOCKS.keys(), f"clocks read: {measured}"


def test_no_property_fails_because_its_examples_take_long() -> None:
    assert settings().deadline is None
    assert HealthCheck.too_slow in settings().suppress_health_check


def test_how_many_examples_there_are_is_said_in_one_place() -> None:
    own = {name_of(path) for path in modules("tests") if "max_" + "examples" in path.read_text()}
    assert own == {"tests/examples.py"}
