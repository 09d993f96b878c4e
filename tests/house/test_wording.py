"""The project stands alone: no file speaks of the machine it was written on."""

import re

import pytest

from tests.house.source import ROOT, name_of, text, texts

# A folder of a real person or of a build machine; examples belong to these people.
MACHINE_PATH = re.compile(
    r"(?<![\w.~}])/(?:(?:home|Users)/(?!(?:ada|dev|me|user|you|\w)\b)|root/|work/|workspace/)\w"
)


@pytest.mark.parametrize("line", ["/home/bob/x", "'/Users/bob'", "cd /root/podium", "/work/a"])
def test_a_path_of_a_machine_is_recognised(line: str) -> None:
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize("line", ["/home/ada/x", "docs/work/a", "~/work/a", "/usr/bin", "/root"])
def test_a_path_of_nobody_is_not(line: str) -> None:
    assert not MACHINE_PATH.search(line)


def test_no_file_names_a_path_of_a_machine() -> None:
    found = [
        f"{name_of(path)}:{number}: {line.strip()}"
        for path in texts()
        if path.name != "test_wording.py"
        and (MACHINE_PATH.search(text(path)) or str(ROOT) in text(path))
        for number, line in enumerate(text(path).splitlines(), 1)
        if MACHINE_PATH.search(line) or str(ROOT) in line
    ]

    assert found == []
