"""The permissions of a native turn, by the rules of people alone."""

from __future__ import annotations

from podiumd.core.decide import policy


class Rules:
    """The permissions that people give this turn; no text of the model changes them.

    Parameters: ``tools`` is what exists for it, ``allow`` what needs no word.
    """

    def __init__(
        self, mode: policy.Mode, tools: str | tuple[str, ...], allow: tuple[str, ...]
    ) -> None:
        self._mode = mode
        self._tools = () if tools == "none" else tools
        self._allow = allow

    def judge(self, name: str, risk: policy.Risk, command: str | None = None) -> policy.Verdict:
        """Judge whether an action may be done."""
        return policy.judge(
            name, risk, mode=self._mode, tools=self._tools, allow=self._allow, command=command
        )

    def knows(self, name: str, risk: policy.Risk) -> bool:
        """Return whether an action exists for this turn, be it allowed or refused."""
        verdict = policy.judge(name, risk, mode="allow-all", tools=self._tools)
        return not isinstance(verdict, policy.Deny)

    def offers(self, name: str, risk: policy.Risk) -> bool:
        """Return whether an action may be done, at once or after a person's word."""
        return not isinstance(self.judge(name, risk), policy.Deny)

    @property
    def commands_unasked(self) -> bool:
        """Return whether any command may be run without a word, as of now."""
        return isinstance(self.judge("run_command", "exec", "any"), policy.Allow)

    def always(self, rule: str) -> None:
        """Allow this for the rest of the run, as a person has decided."""
        self._allow = (*self._allow, rule)
