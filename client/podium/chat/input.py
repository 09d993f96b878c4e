"""Input of a chat: whole messages, and what is typed while the agent works.

``Lines`` reads them from a pipe or a file, ``Person`` from a person at a terminal. The chat knows
only what both have; another way to speak has to offer the same.
"""

from __future__ import annotations

import codecs
import os
import select
import signal
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from podium import text
from podium.chat import history
from podium.chat.terminal import Terminal
from podium.dialog.slash_commands import goes_on
from podium.render.screen import Screen

ENTER = "\r\n"
ERASE = "\x7f\x08"
ERASE_ALL, ERASE_WORD = "\x15", "\x17"
END = "\x04\0"
"""Ctrl-D, and what Linux makes of one that was pressed while the terminal had its line mode."""

ESCAPE = "\x1b"


class Draft:
    """The line that is being typed: ``words`` so far. ``ended``: Ctrl-D on an empty one.

    Knows the keys that a terminal's own line mode knows. Keys that move a cursor do nothing.
    """

    def __init__(self) -> None:
        self.words = ""
        self.ended = False
        self._sequence = ""

    def take(self) -> str:
        """Take the unfinished line and clear it."""
        words, self.words = self.words, ""
        return words

    def pressed(self, keys: str) -> list[str]:
        """Take keys; returns the lines that they end."""
        lines = []
        for key in keys:
            if self._sequence or key == ESCAPE:
                self._sequence = _after(self._sequence, key)
            elif key in ENTER:
                lines.append(self.take())
            else:
                self._edit(key)
        return lines

    def _edit(self, key: str) -> None:
        if key in ERASE:
            self.words = self.words[:-1]
        elif key == ERASE_ALL:
            self.words = ""
        elif key == ERASE_WORD:
            self.words = self.words.rstrip().rpartition(" ")[0]
            self.words += " " if self.words else ""
        elif key in END:
            self.ended = self.ended or not self.words
        elif key.isprintable() or key == "\t":
            self.words += key


def _after(sequence: str, key: str) -> str:
    """Extend the escape sequence by a key; empty once it is complete.

    Examples are ``ESC [ 1 ; 5 A`` and ``ESC x``.
    """
    sequence += key
    if sequence in (ESCAPE, f"{ESCAPE}[", f"{ESCAPE}O"):
        return sequence
    if sequence.startswith(f"{ESCAPE}[") and not "@" <= key <= "~":
        return sequence
    return ""


PROMPT, MORE = "> ", "... "
CTRL_C = "\x03"


class Lines:
    """Messages from standard input, a line each; one that ends in a backslash goes on.

    ``interactive``: a person may type while the agent works. ``ended``: no more will come. ``said``
    are the lines that were read and not taken yet. ``prompt`` asks for the next message.
    ``attended``: a person has typed them, and no program.
    """

    interactive = False
    draft = ""
    prompt = PROMPT

    def __init__(self, screen: Screen) -> None:
        self.ended = False
        self.said: deque[str] = deque()
        self._screen = screen
        self.attended = text.is_terminal(sys.stdin)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def fileno(self) -> int:
        """Return the descriptor to wait on for more."""
        return sys.stdin.fileno()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While the agent works."""
        yield

    def pump(self) -> None:
        """Read what has come; blocks where nothing has."""
        data = os.read(self.fileno(), 65536)
        if data and self.attended and self._screen.style.terminal:
            self._screen.typed()
        *lines, self._rest = (self._rest + self._decoder.decode(data, not data)).split("\n")
        if not data:
            self.ended = True
            lines += [self._rest] if self._rest else []
            self._rest = ""
        self.said.extend(line.removesuffix("\r") for line in lines)

    def next(self, draft: str = "") -> str | None:
        """Read the next message; ``None`` at the end of input. ``draft`` is its initial text.

        Raises:
            KeyboardInterrupt: Ctrl-C, where no line is there for it to clear.
        """
        parts: list[str] = []
        while (line := self._line(MORE if parts else self.prompt, draft)) is not None:
            draft = ""
            if not goes_on(line):
                return "\n".join([*parts, line])
            parts.append(line[:-1])
        return "\n".join(parts) if parts else None

    def switches(self, message: str) -> bool:
        """Carry out a line that changes how lines are read; true if it is one. None is here."""
        return False

    def keep(self, message: str) -> None:
        """Keep a message for the next chats."""

    def answered(self, words: str) -> None:
        """Take note of the agent's answer."""

    def catch_up(self) -> str:
        """Take everything that was typed up to now, and return the unfinished line; a terminal
        without line editing keeps that."""
        while not self.ended and select.select([self], [], [], 0)[0]:
            self.pump()
        return ""

    def resume(self, draft: str) -> None:
        """Go on with a line that was put aside, unless another one has been begun."""

    def begin_again(self) -> bool:
        """Take back an end made by a person who is still there; false if there is none."""
        return False

    def _line(self, prompt: str, draft: str) -> str | None:
        if self.attended and not self.said:
            self._screen.write(prompt)
        while not self.said and not self.ended:
            self.pump()
        return self.said.popleft() if self.said else None


class Person(Lines):
    """A person at a terminal, with line editing where the library has it.

    While the agent works, keys are read as they are pressed, and the unfinished line is ``draft``.
    """

    interactive = True

    def __init__(self, screen: Screen, terminal: Terminal) -> None:
        super().__init__(screen)
        self._terminal = terminal
        self._typed = Draft()
        self._complained = False
        self._draft = ""
        self._gone = False
        self._at_work = 0
        self._edits = False
        try:
            import readline
        except ImportError:  # Python was built without it
            self._readline = None
        else:
            self._readline = readline
            self._edits = "libedit" not in (readline.__doc__ or "")
            self._set_up()
        self._between()

    @property
    def draft(self) -> str:  # type: ignore[override]
        """Return the unfinished line."""
        return self._typed.words

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Take keys as they are pressed, while the agent works."""
        self._at_work += 1
        self._terminal.keys(shown=False, ctrl_c=True)
        try:
            yield
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._between()

    def pump(self) -> None:
        """Read the keys that were pressed."""
        try:
            data = os.read(self.fileno(), 65536)
        except OSError:  # the terminal is gone
            data = b""
        self._gone = not data
        keys = self._decoder.decode(data, not data)
        if CTRL_C in keys:  # pressed before it was a signal again
            signal.raise_signal(signal.SIGINT)
        self.said.extend(self._typed.pressed(keys))
        self.ended = self._gone or self._typed.ended

    def begin_again(self) -> bool:
        """Take back an end that Ctrl-D has made."""
        was, self.ended = self.ended, self._gone
        self._typed.ended = False
        return was and not self._gone

    def catch_up(self) -> str:
        super().catch_up()
        return self._typed.take()

    def resume(self, draft: str) -> None:
        if not self._typed.words:
            self._typed.words = draft

    def keep(self, message: str) -> None:
        """Offer a message to the arrow keys, in this chat and the next ones."""
        if self._readline is not None:
            self._readline.add_history(message)
        try:
            history.add(message)
        except OSError as error:
            if not self._complained:
                where = history.path()
                self._screen.line(f"(not kept in {text.fold(where)}: {error.strerror})")
            self._complained = True

    def _between(self) -> None:
        """Leave the terminal to line editing, or to its own line mode where there is none."""
        if self._edits:
            self._terminal.keys(shown=True, ctrl_c=False)
        else:
            self._terminal.restore()

    def _set_up(self) -> None:
        readline = self._readline
        assert readline is not None
        if self._edits:
            # A paste is one text with its line ends. Alt-Enter begins a new line. Ctrl-C ends the
            # line with a mark: as a signal it would wait for the next key if it came between two.
            readline.parse_and_bind("set enable-bracketed-paste on")
            readline.parse_and_bind(r'"\C-c": "\C-v\C-c\C-m"')
            for enter in ("m", "j"):
                readline.parse_and_bind(rf'"\e\C-{enter}": "\C-v\C-j"')
        readline.set_auto_history(False)
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
        readline.set_startup_hook(self._begin_line)
        for message in history.read():
            readline.add_history(message)

    def _begin_line(self) -> None:
        if self._readline is not None and self._draft:
            self._readline.insert_text(self._draft)
            self._draft = ""

    def _line(self, prompt: str, draft: str) -> str | None:
        if self.said:
            return self.said.popleft()
        if self.ended:
            return None
        self._screen.fresh_line()
        self._draft = "\n".join(filter(None, (draft, self._typed.take())))
        try:
            line = input(prompt)
        except EOFError:
            self._screen.write("\n")
            self.ended = True
            return None
        except KeyboardInterrupt:
            self._screen.write("\n")
            raise
        self._screen.typed()
        if CTRL_C in line:
            raise KeyboardInterrupt
        return line
