"""The campaign's tests need the agent's binary, as the end-to-end tests do."""

from tests.e2e.conftest import claude_binary

__all__ = ["claude_binary"]
