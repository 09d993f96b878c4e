"""`make lint` says of the trio rules what flake8 says of them, whatever rule is broken."""

import importlib
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.house import source
from tests.patience import HANG_SECONDS

# A rule of flake8-async -> code that breaks it.
BROKEN = {
    "ASYNC101": """
        def numbers():
            with trio.CancelScope():
                yield 1
    """,
    "ASYNC102": """
        async def close():
            try:
                pass
            finally:
                await trio.sleep(1)
    """,
    "ASYNC103": """
        def swallow():
            try:
                pass
            except BaseException:
                pass
    """,
    "ASYNC104": """
        def swallow():
            try:
                pass
            except BaseException:
                return 1
    """,
    "ASYNC106": "from trio import sleep_forever",
    "ASYNC111": """
        async def serve(handle):
            async with trio.open_nursery() as nursery:
                with open("x") as file:
                    nursery.start_soon(handle, file)
    """,
    "ASYNC112": """
        async def one(work):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work)
    """,
    "ASYNC113": """
        @asynccontextmanager
        async def service():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(notify)
                yield
    """,
    "ASYNC114": """
        async def unlisted(task_status):
            task_status.started()
    """,
    "ASYNC118": """
        async def wait():
            gone = anyio.get_cancelled_exc_class()
            return gone
    """,
    "ASYNC119": """
        async def lines():
            with open("x") as file:
                yield file
    """,
    "ASYNC120": """
        async def retry():
            try:
                pass
            except ValueError:
                await trio.sleep(1)
                raise
    """,
    "ASYNC121": """
        async def early():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(early)
                return
    """,
    "ASYNC122": """
        async def late():
            scope = trio.fail_after(5)
            with scope:
                await trio.sleep(1)
    """,
    "ASYNC123": """
        def unpack():
            try:
                pass
            except* ValueError as group:
                raise group.exceptions[0]
    """,
    "ASYNC125": """
        async def never():
            with trio.fail_at(5):
                await trio.sleep(1)
    """,
    "ASYNC126": "class Many(ExceptionGroup): pass",
    "ASYNC127": "import httpx",
    "ASYNC128": """
        async def begin(task_status):
            await trio.sleep(1)
    """,
    "ASYNC211": """
        import urllib3
        async def fetch(pool):
            pool.request("GET", "http://localhost")
    """,
    "ASYNC231": """
        import os
        async def read():
            os.fdopen(1)
    """,
    "ASYNC232": """
        async def read():
            file = open("x")
            file.read()
    """,
    "ASYNC300": """
        import asyncio
        async def start(work):
            asyncio.create_task(work())
    """,
    "ASYNC400": """
        def first():
            try:
                pass
            except* OSError as group:
                return group.errno
    """,
    "ASYNC401": """
        def test():
            with pytest.raises(ExceptionGroup):
                pass
    """,
    "ASYNC900": """
        async def numbers():
            yield 1
    """,
    "ASYNC913": """
        async def spin():
            while True:
                pass
    """,
}


def written(folder: Path, rule: str) -> Path:
    path = folder / f"{rule.lower()}.py"
    path.write_text("import anyio\nimport pytest\nimport trio\n" + textwrap.dedent(BROKEN[rule]))
    return path


@pytest.fixture
def trio_rules() -> Any:
    """The checker: loaded here, since it takes a second, and all collect these tests."""
    return importlib.import_module("tests.house.trio_rules")


def flake8(*paths: Path) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "flake8",
        "--config",
        str(source.ROOT / ".flake8"),
        *map(str, paths),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert done.stderr == ""
    return sorted(done.stdout.splitlines())


def test_each_rule_finds_what_flake8_finds(tmp_path: Path, trio_rules: Any) -> None:
    paths = [written(tmp_path, rule) for rule in BROKEN]

    found = {path: trio_rules.check(path) for path in paths}

    assert sorted(f"{path}:{error}" for path in paths for error in found[path]) == flake8(*paths)
    codes = {path.stem: {error.code.lower() for error in found[path]} for path in paths}
    assert [name for name in codes if name not in codes[name]] == []


def test_every_rule_that_ruff_lacks_is_enabled_but_those_that_the_settings_explain(
    trio_rules: Any,
) -> None:
    from flake8_async.visitors import ERROR_CLASSES, ERROR_CLASSES_CST

    options, _ = trio_rules._settings(trio_rules.SETTINGS)
    every = {
        code
        for checker in (*ERROR_CLASSES, *ERROR_CLASSES_CST)
        for code in checker.error_codes
        if "_" not in code
    }
    command = [str(Path(sys.executable).with_name("ruff")), "rule", "--all", "--output-format=json"]
    told = subprocess.run(command, capture_output=True, timeout=HANG_SECONDS, check=True).stdout
    stable = {rule["code"] for rule in json.loads(told) if rule["code"] and not rule["preview"]}
    explained = {"ASYNC124", "ASYNC200", "ASYNC910", "ASYNC911", "ASYNC912"}

    assert options.enabled_codes == every - stable - explained == BROKEN.keys()


def test_a_comment_exempts_no_line(tmp_path: Path, trio_rules: Any) -> None:
    path = written(tmp_path, "ASYNC126")
    path.write_text(path.read_text() + "  # noqa: ASYNC126")

    assert [error.code for error in trio_rules.check(path)] == ["ASYNC126"]


def test_what_the_settings_ignore_in_some_files_is_found_in_the_others(
    tmp_path: Path, trio_rules: Any
) -> None:
    settings = tmp_path / "settings"
    settings.write_text(
        "[flake8]\nselect = ASYNC\nenable = ASYNC101, ASYNC126\n"
        "per-file-ignores = *101.py: ASYNC101"
    )
    ignored, other = written(tmp_path, "ASYNC101"), written(tmp_path, "ASYNC126")

    assert trio_rules.check(ignored, settings) == []
    other.write_text(ignored.read_text())
    assert [error.code for error in trio_rules.check(other, settings)] == ["ASYNC101"]


def test_a_file_found_clean_is_not_read_again_until_it_changes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    trio_rules: Any,
) -> None:
    monkeypatch.setattr(source, "ROOT", tmp_path)
    monkeypatch.setattr(trio_rules, "CLEAN", tmp_path / "cache" / "clean")
    code = tmp_path / "code"
    code.mkdir()
    broken, clean = written(code, "ASYNC126"), code / "clean.py"
    clean.write_text("import trio\n")

    def told() -> tuple[int, str]:
        return trio_rules.main(["code"]), capsys.readouterr().out

    status, first = told()
    assert status == 1 and "code/async126.py:4:1: ASYNC126 " in first
    assert "2 of 2 files read, 1 findings" in first
    assert "1 of 2 files read, 1 findings" in told()[1]
    broken.write_text("import trio\n")
    assert told() == (0, "1 of 2 files read, 0 findings of flake8-async.\n")
    assert told() == (0, "0 of 2 files read, 0 findings of flake8-async.\n")
    clean.write_text("class Many(ExceptionGroup): pass\n")
    assert told()[0] == 1
