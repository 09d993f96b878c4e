"""Fifty secrets as they turn up in commands, headers, files and messages; none is real.

Each holds a core that nothing else holds, so that a log can be searched for it.
"""

from __future__ import annotations

CORE = "q7Zk"


def _core(number: int, length: int = 28) -> str:
    """Letters and digits that begin with the mark and end with the number."""
    return (CORE + "Xw3mB9vR2tLp8sNc5dFh6jGy4" * 3)[: length - 2] + f"{number:02d}"


def _hex(number: int, length: int = 32) -> str:
    """Hex digits with a mark of their own."""
    return ("7e57ab1e" + "9c4d2b80" * 8)[: length - 2] + f"{number:02x}"


CORES = (CORE, "7e57ab1e")
"""What no log may hold."""

_SHAPES = (
    "sk-ant-api03-{}",
    "sk-ant-oat01-{}",
    "sk-proj-{}",
    "sk-{}",
    "untethered-{hex}",
    "ghp_{}",
    "gho_{}",
    "ghs_{}",
    "github_pat_{}",
    "glpat-{}",
    "xoxb-1-{}",
    "npm_{}",
    "pypi-{}",
    "hf_{}",
    "AIza{}abcdefgh",
    "ya29.{}",
    "eyJhbGciOi.eyJzdWIi.{}",
    "Authorization: Bearer {}",
    "authorization: bearer {}",
    "Authorization: Basic {}",
    "Proxy-Authorization: Basic {}",
    'Authorization="{}"',
    '{{"Authorization": "Bearer {}"}}',
    "{{'authorization': 'Token {}'}}",
    "Bearer {}",
    "X-Api-Key: {}",
    "x-api-key={}",
    "ANTHROPIC_API_KEY={}",
    "ANTHROPIC_AUTH_TOKEN={}",
    "CLAUDE_CODE_OAUTH_TOKEN={}",
    "OPENAI_API_KEY='{}'",
    'export GITHUB_TOKEN="{}"',
    "AWS_SECRET_ACCESS_KEY={}",
    "AWS_SESSION_TOKEN={}",
    '"api_key": "{}"',
    '"apiKey":"{}"',
    "'client_secret': '{}'",
    "password={}",
    "passwd: {}",
    "passphrase = '{}'",
    "--api-key {}",
    "--password={}",
    "--token {}",
    "https://user:{}@example.org/repo.git",
    "https://{}@example.org/x",
    "https://example.org/x?token={}&a=1",
    "wss://example.org/?api_key={}",
    "Cookie: session={}",
    "Set-Cookie: sid={}; Path=/",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
)

SECRETS = tuple(
    shape.format(_core(number), hex=_hex(number)) for number, shape in enumerate(_SHAPES, 1)
)


def leaked(text: str) -> list[str]:
    """The lines that hold a part of a secret."""
    return [line for line in text.splitlines() if any(core in line for core in CORES)]
