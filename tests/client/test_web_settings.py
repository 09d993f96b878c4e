"""Settings written into a configuration file that is a person's own."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.commands.web_settings import as_text, changed
from podium.errors import Failure

SETTINGS = {"host": "0.0.0.0", "tls": "auto"}
LINES = [
    "",
    "# a remark",
    "[gateway]",
    "[gateway] # mine",
    "  [gateway]",
    "[ gateway ]",
    '["gateway"]',
    "[[gateway]]",
    "[gateway.deep]",
    "[limits]",
    "[agents.mine]",
    "[[hooks]]",
    'host = "127.0.0.1"',
    "host = '::1' # here",
    "  tls   =   'off'",
    'tls = """',
    "[gateway]",
    '"""',
    "gateway.host = 'x'",
    "gateway = {host = 'x'}",
    "hosts = 1",
    "host_name = [",
    "  '[gateway]',",
    "]",
    "port = 8080",
    "host = {a = 1}",
]
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="#"), max_size=20)


def _remarks(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.splitlines() if "#" in line]


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=8),
    end=st.sampled_from(["\n", "", "\n\n"]),
    settings=st.dictionaries(st.sampled_from(["host", "tls", "cert_file"]), VALUES, min_size=1),
)
def test_a_file_that_is_taken_has_the_settings_and_all_else_that_it_had(
    lines: list[str], end: str, settings: dict[str, str]
) -> None:
    before = "\n".join(lines) + end
    try:
        after = changed(before, settings)
    except Failure:
        return  # it is refused, and what is refused is not written
    had = tomllib.loads(before)
    wanted = had | {"gateway": had.get("gateway", {}) | settings}
    assert tomllib.loads(after) == wanted
    assert _remarks(after) == _remarks(before)
    assert changed(after, settings) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[gateway]\nhost = "0.0.0.0"\ntls = "auto"\n'),
        ("[limits]\nx = 1", '[limits]\nx = 1\n\n[gateway]\nhost = "0.0.0.0"\ntls = "auto"\n'),
        (
            "[gateway]\nport = 1\n[limits]\nx = 1\n",
            '[gateway]\nhost = "0.0.0.0"\ntls = "auto"\nport = 1\n[limits]\nx = 1\n',
        ),
        (
            "[gateway] # mine\nhost = 'a'\n\n[voice]\nhost = 'b'\n",
            '[gateway] # mine\ntls = "auto"\nhost = "0.0.0.0"\n\n[voice]\nhost = \'b\'\n',
        ),
        (
            "[gateway]\nhost = '::1'  # here\ntls=\"off\"#now\n",
            '[gateway]\nhost = "0.0.0.0"  # here\ntls="auto"#now\n',
        ),
        ("[gateway]", '[gateway]\nhost = "0.0.0.0"\ntls = "auto"\n'),
    ],
)
def test_an_ordinary_file_is_taken_and_little_of_it_changes(before: str, after: str) -> None:
    assert changed(before, SETTINGS) == after


@pytest.mark.parametrize(
    "before",
    [
        "gateway = {port = 1}",
        'gateway = "x"',
        "gateway.port = 1\n",
        "[[gateway]]\nport = 1\n",
        '["gateway"]\nport = 1\n',
        'text = """\n[gateway]\n"""\n',
        "[gateway]\nhost = '''\nx'''\n",
        "[gateway\n",
        "x = 1\nx = 2\n",
    ],
)
def test_an_unusual_file_is_refused_with_the_lines_to_write(before: str) -> None:
    with pytest.raises(Failure) as refused:
        changed(before, SETTINGS)
    assert str(refused.value).endswith(f"under [gateway]:\n\n{as_text(SETTINGS)}")
