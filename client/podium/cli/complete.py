"""Completion at the shell: one engine over the table of commands, a small script for each shell.

The scripts hand every word to ``podium __complete``, so they stay right when commands change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from podium import text
from podium.agent_kinds import LABELS
from podium.commands.spec.all import COMMANDS, Argument, Command
from podium.errors import OK, Failure
from podium.render.words import status_words
from podium.rpc.connection import call

if TYPE_CHECKING:
    from podium import protocol

Candidate = tuple[str, str]

FILES, DIRECTORIES = ":files", ":directories"
"""Asks the shell for its own completion of paths."""

BASH = r"""
_podium() {
    local line word quote words=()
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do  # as they are typed: quotes, backslashes
        case "$word" in
            [\'\"]*) quote=${word:0:1} word=${word:1} word=${word%"$quote"} ;;
            *) quote=; IFS= read word <<< "$word" ;;
        esac
        words+=("$word")
    done
    while IFS= read -r line; do
        case "$line" in
            :files|:directories) compopt -o filenames 2>/dev/null
                while IFS= read -r line; do
                    COMPREPLY+=("$line")
                done < <(compgen "-${line:1:1}" -- "$word")
                continue ;;
        esac
        line=${line%%$'\t'*}
        [[ $line != *= ]] || compopt -o nospace 2>/dev/null
        case "$quote" in
            "'") line=${line//$quote/$quote\\$quote$quote} ;;
            '"') line=$(printf '%s' "$line" | sed 's/[\\"$`]/\\&/g') ;;
            *) printf -v line '%q' "$line" ;;
        esac
        COMPREPLY+=("$line")
    done < <(podium __complete "${words[@]}" 2>/dev/null)
}
complete -F _podium podium
"""

ZSH = r"""
#compdef podium
_podium() {
    local line value
    local -a found
    for line in "${(@f)$(podium __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        case "$line" in
            '') ;;
            :files) _files ;;
            :directories) _files -/ ;;
            *) value="${${line%%$'\t'*}//:/\\:}"; found+=("$value:${line#*$'\t'}") ;;
        esac
    done
    (( ${#found} )) && _describe 'podium' found
}
compdef _podium podium
"""

FISH = r"""
function __podium_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (podium __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :directories
                __fish_complete_directories "$current"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c podium -f -a '(__podium_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion(shell: str) -> int:
    """``podium completion``."""
    text.emit(SCRIPTS[shell].lstrip("\n"))
    return OK


def candidates(words: list[str]) -> int:
    """Print what may stand in the last word's place, ``VALUE<tab>MEANING`` a line; never fails."""
    *before, current = words or [""]
    typed = ""
    if "=" in (current, *before[-1:]):  # bash takes NAME=VALUE apart, and wants the value alone
        at = len(before) if current == "=" else len(before) - 1
        typed, before = f"{words[at - 1]}=", before[: at - 1]
        current = typed + ("" if current == "=" else current)
    for value, meaning in complete(before, current):
        if value.startswith(current) or value in (FILES, DIRECTORIES):
            shown = text.fold(value.removeprefix(typed))
            text.emit(f"{shown}\t{text.fold(meaning, 60)}".rstrip("\t") + "\n")
    return OK


def complete(before: list[str], current: str) -> Iterable[Candidate]:
    """List all that may follow the words ``before``; ``current`` decides only for options."""
    path: tuple[str, ...] = ()
    while before and any(
        command.path[: len(path) + 1] == (*path, before[0]) for command in COMMANDS
    ):
        path, before = (*path, before[0]), before[1:]
    below = [one for one in COMMANDS if one.path[:-1] == path]
    found = next((one for one in COMMANDS if one.path == path), None)
    own = [] if found is None else list(_arguments(found, before, current))
    if before:
        return own
    options = [("--help", "help"), *([] if path else [("--version", "print the version")])]
    named = [(one.path[-1], one.summary) for one in below]
    return own + (options if current.startswith("-") else named)


def _arguments(command: Command, before: list[str], current: str) -> Iterable[Candidate]:
    options = {name: one for one in command.arguments if one.is_option for name in one.names}
    if before and (last := options.get(before[-1])) and not last.flag:
        return _values(last, _placed(before[:-1], options))
    if current.startswith("-"):
        used = {options[word].dest for word in before if word in options}
        return [
            (name, one.help) for name, one in options.items() if one.repeat or one.dest not in used
        ]
    placed = _placed(before, options)
    positionals = [one for one in command.arguments if not one.is_option]
    if positionals and positionals[-1].repeat:
        positionals += positionals[-1:] * len(placed)
    return _values(positionals[len(placed)], placed) if len(placed) < len(positionals) else []


def _placed(before: list[str], options: dict[str, Argument]) -> list[str]:
    """List the words that are neither options nor their values; a recipe may be one's too."""
    placed: list[str] = []
    last: Argument | None = None
    for word in before:
        valued = last is not None and not last.flag
        if (not valued and word not in options) or (valued and last and last.dest == "recipe"):
            placed.append(word)
        last = None if valued else options.get(word)
    return placed


def _values(argument: Argument, placed: list[str]) -> list[Candidate]:
    if argument.choices:
        return [(choice, "") for choice in argument.choices]
    source = SOURCES.get(argument.values)
    if source is None:
        return []
    try:
        return source(placed)
    except Failure:
        return []  # no daemon, no suggestions


def _runs(placed: list[str]) -> list[Candidate]:
    return [
        (str(run["run_id"]), f"{run.get('recipe')} {status_words(run)}")
        for run in call("runs.list", {"limit": 50})
    ]


def _sessions(placed: list[str]) -> list[Candidate]:
    return [_session(row) for row in call("sessions.list", {"limit": 50})["sessions"]]


def _gone(placed: list[str]) -> list[Candidate]:
    listed = call("sessions.list", {"limit": 1000})["sessions"]
    return [_session(row) for row in listed if row.get("gone")]


def _session(row: protocol.Session) -> Candidate:
    return str(row["session_id"]), f"{text.ago(row.get('last_modified'))}: {row.get('name')}"


def _questions(placed: list[str]) -> list[Candidate]:
    return [
        (str(one["question_id"]), f"{one.get('kind')}: {one.get('text')}")
        for one in call("questions.list")
    ]


def _answers(placed: list[str]) -> list[Candidate]:
    return [
        (str(choice["id"]), str(choice.get("label") or ""))
        for one in call("questions.list")
        if str(one["question_id"]).startswith(placed[0])
        for choice in one.get("choices") or []
    ]


def _recipes(placed: list[str]) -> list[Candidate]:
    listed = call("recipes.list", {"working_directory": os.getcwd()})
    return [(str(one["id"]), str(one.get("label") or "")) for one in listed]


def _params(placed: list[str]) -> list[Candidate]:
    """List the parameters of a recipe, each with its values where they are known."""
    if not placed:
        return []
    recipe = call("recipes.get", {"id": placed[0], "working_directory": os.getcwd()})
    return [
        (f"{name}={value}", meaning)
        for name, param in (recipe.get("params") or {}).items()
        for value, meaning in _values_of(param)
    ]


def _values_of(param: protocol.Param) -> list[Candidate]:
    """List the values of a parameter; an empty one where there are too many to know."""
    if param.get("type") == "agent":
        return _agents([])
    known = ("true", "false") if param.get("type") == "boolean" else param.get("choices") or ("",)
    return [(str(value), str(param.get("description") or "")) for value in known]


def _steps(placed: list[str]) -> list[Candidate]:
    recipe = call("recipes.get", {"id": placed[0], "working_directory": os.getcwd()})
    return [(str(name), "") for name in recipe.get("steps") or {}]


def _devices(placed: list[str]) -> list[Candidate]:
    return [
        (str(one["device"]), f"seen {text.ago(one.get('last_seen'))}")
        for one in call("gateway.devices")
    ]


def _commands(placed: list[str]) -> list[Candidate]:
    return [(one.path[-1], one.summary) for one in COMMANDS if list(one.path[:-1]) == placed]


def _agents(placed: list[str]) -> list[Candidate]:
    """List the agents that there always are, and those that the daemon reports as configured."""
    found = dict(LABELS)
    with suppress(Failure):
        for setting in call("daemon.configuration").get("values") or []:
            table, _, name = str(setting["key"]).rpartition(".")
            if name == "driver" and table.startswith("agents."):
                found[table.removeprefix("agents.")] = f"an agent of kind {setting['value']}"
    return list(found.items())


SOURCES: dict[str, Callable[[list[str]], list[Candidate]]] = {
    "runs": _runs,
    "sessions": _sessions,
    "gone": _gone,
    "questions": _questions,
    "answers": _answers,
    "recipes": _recipes,
    "params": _params,
    "steps": _steps,
    "commands": _commands,
    "devices": _devices,
    "agents": _agents,
    "files": lambda placed: [(FILES, "")],
    "directories": lambda placed: [(DIRECTORIES, "")],
}
