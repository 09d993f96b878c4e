"""Rounds of a native turn, for tests of how they are told to its model."""

from __future__ import annotations

from typing import Any

from podiumd.core.reply.actions import Action
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.run.native_loop_state import ActionState, CommitNote, LoopState, Round, WordsAt


def digest(letter: str) -> str:
    """A sha256 that is easy to tell from others."""
    return letter * 64


def read(path: str, version: str, text: str = "1\tx = 1\n") -> ActionState:
    """A file that was read."""
    head = f"{path}: lines 1 to 1 of 1, sha256 {digest(version)}\n"
    result = lf.Result(action="read_file", success=True, message="read", output=head + text)
    return ActionState(action=Action("read_file", {"path": path}), result=result)


def changed(name: str, path: str, before: str, after: str) -> ActionState:
    """A file that was written or patched."""
    change = lf.FileChange(path=path, before=digest(before), after=digest(after))
    intended = lf.ActionIntended(
        turn_id="t",
        reply=1,
        index=0,
        action=name,
        changes=(change,),
    )
    result = lf.Result(action=name, success=True, message=f"modified {path}")
    where = "file" if name == "patch" else "path"
    return ActionState(action=Action(name, {where: path}), intended=intended, result=result)


def ended(name: str, output: str = "", *, success: bool = True, **args: Any) -> ActionState:
    """An action that is over."""
    result = lf.Result(action=name, success=success, message="exit code 0", output=output)
    return ActionState(action=Action(name, args), result=result)


def turn(
    *rounds: tuple[str, tuple[ActionState, ...]],
    words: tuple[tuple[int, str], ...] = (),
    fault: str | None = None,
    commit: CommitNote | None = None,
) -> LoopState:
    """A turn of these replies with their actions; fault and commit are of the last one."""
    made = [
        Round(
            number=number,
            text=text,
            stop="end",
            actions=actions,
            fault=fault if number == len(rounds) else None,
            commit=commit if number == len(rounds) else None,
        )
        for number, (text, actions) in enumerate(rounds, 1)
    ]
    said = tuple(WordsAt(after=after, uuid="u", text=text) for after, text in words)
    return LoopState(rounds=tuple(made), words=said)
