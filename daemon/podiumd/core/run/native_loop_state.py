"""Fold the facts of a native turn into its state, which says what is to be done next. Pure."""

from __future__ import annotations

from typing import Literal, assert_never

import msgspec

from podiumd.core.reply.actions import Action
from podiumd.core.reply.report import Tokens
from podiumd.core.run import facts as f
from podiumd.core.run import native_loop_facts as lf
from podiumd.core.structs import replace

ChangeKind = Literal["created", "modified", "deleted"]

MOST_REFUSALS = 2
"""Times in one turn that a refused commit is reported to the model. A fault that it cannot mend
then only a person can, and each time costs a request and the hook's time."""

ASK = "ask"
"""The one of Podium's own tools with which the turn ends: a person's answer begins the next."""


class Begin(msgspec.Struct, frozen=True, tag=True):
    """Report the settings of the turn."""


class Ask(msgspec.Struct, frozen=True, tag=True):
    """Ask the model."""


class Act(msgspec.Struct, frozen=True, tag=True):
    """Do action ``index`` of the present reply; with a plan it had begun before a crash."""

    index: int


class Commit(msgspec.Struct, frozen=True, tag=True):
    """Commit what the turn has changed. ``checkpoint``: the work did not come to its end."""

    checkpoint: bool


class Over(msgspec.Struct, frozen=True, tag=True):
    """Report the end of the turn."""

    ending: lf.LoopEnded


Next = Begin | Ask | Act | Commit | Over


class CommitNote(msgspec.Struct, frozen=True):
    """The result of a commit. ``state`` is a ``CommitState``."""

    state: str
    sha: str | None = None
    detail: str = ""


class ActionState(msgspec.Struct, frozen=True, kw_only=True):
    """An action of a reply. ``intended`` says with which changes it was begun, ``result`` what
    came of it."""

    action: Action
    intended: lf.ActionIntended | None = None
    result: lf.Result | None = None
    refused: bool = False


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A reply of the model, and what came of it. ``commit`` is a commit after it that a hook
    refused, which is reported to the model."""

    number: int
    text: str
    stop: lf.Stop
    fault: str | None = None
    actions: tuple[ActionState, ...] = ()
    commit: CommitNote | None = None

    @property
    def due(self) -> int | None:
        """Return which action is to be done next."""
        for index, action in enumerate(self.actions):
            if action.result is None:
                return index
        return None


class WordsAt(msgspec.Struct, frozen=True):
    """A person's words, and the number of replies after which the model gets them."""

    after: int
    uuid: str
    text: str


class LoopState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a native turn: all that its decisions need and that it can go on from.

    ``rounds`` are the replies so far, the present one last; ``iterations`` counts them. ``changes``
    are the changes of files, in order. ``words`` are a person's messages meanwhile, ``refusals``
    are the actions that one refused. ``cost_usd`` is what asking has cost, ``tokens`` what it took
    as far as models tell it.
    """

    settings: lf.LoopSettings | None = None
    rounds: tuple[Round, ...] = ()
    invalid_in_a_row: int = 0
    changes: tuple[lf.FileChange, ...] = ()
    words: tuple[WordsAt, ...] = ()
    refusals: tuple[Action, ...] = ()
    cost_usd: float = 0.0
    tokens: Tokens = Tokens()
    ending: lf.LoopEnded | None = None
    commit: CommitNote | None = None

    @property
    def iterations(self) -> int:
        return len(self.rounds)

    @property
    def present(self) -> Round | None:
        """Return the last reply."""
        return self.rounds[-1] if self.rounds else None

    @property
    def asked(self) -> bool:
        """Return whether the model has asked a person something, with the tool for it."""
        if self.settings is None or ASK not in self.settings.served or self.present is None:
            return False
        return any(
            one.action.name == ASK and one.result is not None and one.result.success
            for one in self.present.actions
        )

    @property
    def files(self) -> tuple[tuple[str, ChangeKind], ...]:
        """List what the turn has changed: each file that differs from what it was, and how."""
        whole: dict[str, lf.FileChange] = {}
        for change in self.changes:
            first = whole.get(change.path, change)
            whole[change.path] = replace(change, before=first.before)
        changed = [change for change in whole.values() if change.before != change.after]
        return tuple((change.path, _kind(change)) for change in changed)

    @property
    def next(self) -> Next:
        """Decide what is to be done now."""
        if self.settings is None:
            return Begin()
        if self.ending is not None:
            if self._commit_is_due(self.settings):
                return Commit(checkpoint=self.ending.kind != "done")
            return Over(self.ending)
        due = self.present.due if self.present is not None else None
        return Ask() if due is None else Act(due)

    @property
    def part(self) -> str:
        """Name what of the turn is begun once more where it is cut off now: the reply that is asked
        for, by its number, an action of a reply, or what is done beside them."""
        match self.next:
            case Ask():
                return f"{self.iterations + 1}"
            case Act(index):
                return f"{self.iterations}/{index}"
            case Begin() | Commit() | Over():
                return ""
            case beyond:
                assert_never(beyond)

    @property
    def refused(self) -> CommitNote | None:
        """Return a hook's refusal of the work as it is now: nothing done since could have changed
        it."""
        for one in reversed(self.rounds):
            if one.commit is not None:
                return one.commit
            if any(action.intended is not None for action in one.actions):
                return None
        return None

    @property
    def takes_earlier(self) -> bool:
        """Return whether the leftovers of earlier turns are part of the commit: if the work is
        done."""
        done = self.ending is not None and self.ending.kind == "done" and not self.asked
        return done and self.settings is not None and self.settings.since is not None

    def _commit_is_due(self, settings: lf.LoopSettings) -> bool:
        """Want one commit at the end; a hook that has refused this very work would do so again."""
        wanted = settings.commit and (bool(self.files) or self.takes_earlier)
        return wanted and self.commit is None and self.refused is None


def _kind(change: lf.FileChange) -> ChangeKind:
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "modified"


def evolve(loop: LoopState, fact: lf.AnyLoopFact | f.EffectEnded) -> LoopState:
    """Return the loop's state after one more fact of its turn."""
    match fact:
        case lf.ActionIntended():
            now = _action(loop, fact)
            return replace(loop, rounds=_with(loop, fact.index, replace(now, intended=fact)))
        case lf.ActionEnded():
            return _ended(loop, fact)
        case lf.ReplyReceived():
            return _replied(loop, fact)
        case f.EffectEnded():
            return _committed(loop, fact)
        case lf.WordsAdded():
            added = [WordsAt(after=loop.iterations, uuid=w.uuid, text=w.text) for w in fact.words]
            return replace(loop, words=(*loop.words, *added), ending=None)
        case lf.LoopStarted():
            return replace(loop, settings=fact.settings)
        case lf.LoopEnded():
            return replace(loop, ending=fact, cost_usd=loop.cost_usd + fact.cost_usd)
        case _:
            assert_never(fact)


def _replied(loop: LoopState, fact: lf.ReplyReceived) -> LoopState:
    assert fact.number == len(loop.rounds) + 1, "a reply is missing"
    new = Round(
        number=fact.number,
        text=fact.text,
        stop=fact.stop,
        fault=fact.fault,
        actions=tuple(ActionState(action=action) for action in fact.actions),
    )
    return replace(
        loop,
        rounds=(*loop.rounds, new),
        invalid_in_a_row=0 if fact.fault is None else loop.invalid_in_a_row + 1,
        cost_usd=loop.cost_usd + fact.cost_usd,
        tokens=Tokens(
            read=loop.tokens.read + fact.usage.input,
            cached=loop.tokens.cached + fact.usage.cached,
            written=loop.tokens.written + fact.usage.output,
        ),
    )


def _action(loop: LoopState, fact: lf.ActionIntended | lf.ActionEnded) -> ActionState:
    """Return the action that a fact is about, as it was before."""
    assert fact.reply == len(loop.rounds), "the reply of this action is missing"
    return loop.rounds[-1].actions[fact.index]


def _with(loop: LoopState, index: int, action: ActionState) -> tuple[Round, ...]:
    """Return the replies with another state of one action of the present one."""
    present = loop.rounds[-1]
    actions = list(present.actions)
    actions[index] = action
    return (*loop.rounds[:-1], replace(present, actions=tuple(actions)))


def _ended(loop: LoopState, fact: lf.ActionEnded) -> LoopState:
    now = _action(loop, fact)
    after = replace(now, result=fact.result, refused=fact.refused)
    return replace(
        loop,
        rounds=_with(loop, fact.index, after),
        changes=(*loop.changes, *fact.changes),
        refusals=(*loop.refusals, now.action) if fact.refused else loop.refusals,
    )


def _committed(loop: LoopState, fact: f.EffectEnded) -> LoopState:
    """Keep what came of a commit; a hook's refusal is reported to the model, some times a turn."""
    note = CommitNote(state=fact.state, sha=fact.commit, detail=fact.detail)
    done = loop.ending is not None and loop.ending.kind == "done" and not loop.asked
    told = sum(one.commit is not None for one in loop.rounds)
    if fact.state == "refused" and done and told < MOST_REFUSALS:
        present = replace(loop.rounds[-1], commit=note)
        return replace(loop, ending=None, rounds=(*loop.rounds[:-1], present))
    return replace(loop, commit=note)
