"""What a native turn may do, by the rules of people alone."""

from __future__ import annotations

from podiumd.core.decide import policy


class Rules:
    """What people allow this turn; nothing that the model says changes it.

    Parameters: ``tools`` is what exists for it, ``allow`` what needs no word.
    """

    def __init__(
        self, mode: policy.Mode, tools: str | tuple[str, ...], allow: tuple[str, ...]
    ) -> None:
        self._mode = mode
        self._tools = () if tools == "none" else tools
        self._allow = allow

    def judge(self, name: str, risk: policy.Risk, command: str | None = None) -> policy.Verdict:
        """Whether an action may be done."""
        return policy.judge(
            name, risk, mode=self._mode, tools=self._tools, allow=self._allow, command=command
        )

    def knows(self, name: str, risk: policy.Risk) -> bool:
        """Whether an action exists for this turn, be it allowed or refused."""
        verdict = policy.judge(name, risk, mode="allow-all", tools=self._tools)
        return not isinstance(verdict, policy.Deny)

    def offers(self, name: str, risk: policy.Risk) -> bool:
        """Whether an action may be done, at once or after a person's word."""
        return not isinstance(self.judge(name, risk), policy.Deny)

    @property
    def commands_unasked(self) -> bool:
        """Whether any command may be run without a word, as of now."""
        return isinstance(self.judge("run_command", "exec", "any"), policy.Allow)

    def always(self, rule: str) -> None:
        """A person has allowed this for the rest of the run."""
        self._allow = (*self._allow, rule)
