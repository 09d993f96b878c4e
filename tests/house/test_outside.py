"""What connects to another machine: to agents' providers, a person's own servers, for downloads."""

import ast

import pytest

from tests.house.source import name_of, naming, tree

LIBRARIES = {
    "ftplib",
    "http.client",
    "httpx2",
    "huggingface_hub",
    "requests",
    "smtplib",
    "urllib.request",
}
CALLS = {"create_connection", "open_tcp_stream", "open_ssl_over_tcp_stream"}
# File -> what it connects to. An entry that is no longer needed fails too.
MAY_CONNECT = {
    "daemon/podiumd/agents/native/model/http.py": "the model's server",
    "daemon/podiumd/agents/native/model/opening.py": "the model's server",
    "daemon/podiumd/doctor/provider.py": "the agents' providers, without a byte sent",
    "daemon/podiumd/speech/engines/openai.py": "the speech server of the configuration",
    "daemon/podiumd/speech/engines/wyoming.py": "the speech server of the configuration",
    "daemon/podiumd/speech/worker/fetch.py": "the hub of models, at 'podium voice install'",
}


def _connects(module: ast.AST) -> bool:
    """Whether it imports a library that connects, or calls what does."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names) if {name.name for name in names} & LIBRARIES:
                return True
            case ast.ImportFrom(module=str(name), level=0) if name in LIBRARIES:
                return True
            case ast.Attribute(attr=name) if name in CALLS:
                return True
    return False


@pytest.mark.parametrize(
    "line", ["import httpx2", "await trio.open_tcp_stream(a, 1)", "from requests import get"]
)
def test_what_connects_is_recognised(line: str) -> None:
    assert _connects(ast.parse(line))


def test_only_these_modules_connect_to_another_machine() -> None:
    near = naming(LIBRARIES | CALLS, "daemon", "client")
    found = {name_of(path) for path in near if _connects(tree(path))}

    assert found == MAY_CONNECT.keys()
