# SPDX-License-Identifier: Apache-2.0
"""What the console writes to a terminal, and how keys come in: a driver for Textual that compares each frame with the last.

* DRIVER-1  What Textual writes is taken into a grid; only what differs from what the terminal shows is sent.
* DRIVER-2  Resizing, resuming and repainting forget what the terminal shows: everything is sent again. So does a window that
  changed and changed back before anybody looked.
* DRIVER-3  What is not about cells (modes, titles, the clipboard) passes through in its order.
* DRIVER-4  A large frame is marked as one update where the terminal offers that; a small one needs no marks.
* DRIVER-5  Leaving the screen leaves the terminal's own colours behind, and nothing is painted until it is entered again.
* DRIVER-6  Of a mouse only presses and the wheel are asked for: a hand that moves sends nothing.
* DRIVER-7  The terminal is written to as standard output: where errors go, into a file or not, shows nothing less.
* DRIVER-8  Stopped by what cannot be caught, it goes on with one reader of keys, and paints anew.
"""

from __future__ import annotations

import curses
import os
import selectors
import shutil
import signal
import sys
import threading
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from deja_tui.console import guard
from deja_tui.console.delta import Pen, draw
from deja_tui.console.grid import PLAIN, Grid, Style
from deja_tui.console.pasting import Pasting

_READ: Final = 4_096  # bytes
_WAIT: Final = 0.1  # seconds; the parser's own time-out for a lone Esc is looked at this often
_SYNC_BEGIN: Final = "\x1b[?2026h"
_SYNC_END: Final = "\x1b[?2026l"
_ENTER: Final = "\x1b[?1049h"
_LEAVE: Final = "\x1b[?1049l"
_LARGE: Final = 1_024  # characters
_MOUSE_ON: Final = "\x1b[?1000h\x1b[?1006h"
_MOUSE_OFF: Final = "\x1b[?1006l\x1b[?1000l"


class TerminalDriver(LinuxDriver):
    """Reads keys on a thread of its own. Bytes that are no UTF-8 are shown as such, never fatal."""

    def __init__(self, app: Any, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        # Textual writes to standard error; a launch checks that standard output is the terminal (DRIVER-7).
        self._file = sys.__stdout__ or self._file

    def start_application_mode(self) -> None:
        """Begin, or come back from a stop. The line settings to leave behind are those from before the guard's (GUARD-8)."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if guard.current is not None:
            self.attrs_before = guard.current.lines

    def _sigcont_application(self, *_: object) -> None:
        if self._auto_restart:
            if self._key_thread is not None and self._key_thread.is_alive():
                self.suspend_application_mode()  # nobody could say that it would stop (DRIVER-8)
            self.resume_application_mode()

    def _enable_mouse_pixels(self) -> None:
        """Cells are enough (DRIVER-6), and nobody would switch it off again."""

    def run_input_thread(self) -> None:
        pasting, parser = Pasting(), XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_WAIT):
                    read = os.read(self.fileno, _READ)
                    if not read:
                        # The terminal is gone; whoever ends the app does it by a signal.
                        self.exit_event.wait(_WAIT)
                    text = pasting.tame(decode(read))
                    for message in parser.feed(text) if text else ():
                        self.process_message(message)
                for message in parser.tick():
                    self.process_message(message)

    def switch_mouse(self, on: bool) -> None:
        """Ask the terminal for its mouse from now on, or give it back (DRIVER-6)."""
        self._disable_mouse_support()
        self._mouse = on
        self._enable_mouse_support()

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            self.write(_MOUSE_ON)
            self.flush()

    def _disable_mouse_support(self) -> None:
        if self._mouse:
            self.write(_MOUSE_OFF)
            self.flush()


class Canvas:
    """What the terminal shows, what it should show, and the bytes between the two. Used under one lock."""

    def __init__(self, columns: int, lines: int, *, bce: bool = False) -> None:
        self.wanted = Grid(columns, lines)
        self.shown = Grid(columns, lines)
        self.pen = Pen(bce=bce)
        self.known = False
        self.away = False
        self.sent = 0  # characters, for the help screen

    def resize(self, columns: int, lines: int) -> None:
        """Take another size; what was there is painted anew by the program (DRIVER-2)."""
        if (columns, lines) != (self.wanted.columns, self.wanted.lines):
            self.wanted = Grid(columns, lines)
            self.forget()

    def forget(self) -> None:
        """Nothing is known of what the terminal shows (DRIVER-2)."""
        self.known = False

    def frame(self, data: str, *, sync: bool) -> str:
        """What to send for what was written (DRIVER-1, DRIVER-3, DRIVER-4)."""
        passed = self.wanted.feed(data)
        before = "".join(code for code in passed if code not in (_SYNC_BEGIN, _SYNC_END, _LEAVE))
        after = ""
        if _ENTER in passed:
            self.away = False
            self.forget()
        if _LEAVE in passed:
            # What Textual writes after this (the cursor, the focus) must not bring the frame onto the shell's lines (DRIVER-5).
            after = "\x1b[m" + _LEAVE
            self.pen.forget()
            self.known, self.away = False, True
        elif not self.away:
            self._draw()
        cells = self.pen.take()
        if sync and len(cells) > _LARGE:
            cells = _SYNC_BEGIN + cells + _SYNC_END
        told = before + cells + after
        self.sent += len(told)
        return told

    def again(self) -> str:
        """Everything, for a terminal that something else has written on (DRIVER-2)."""
        self.forget()
        if not self.away:
            self._draw()
        told = self.pen.take()
        self.sent += len(told)
        return told

    def _draw(self) -> None:
        if not self.known:
            if all(cell == row[0] for row in self.wanted.rows for cell in row):
                return  # nothing was painted yet
            ground = Style("", self._ground())
            self.shown = Grid(self.wanted.columns, self.wanted.lines, ground)
            self.pen.forget()
            self.pen.dress(PLAIN)
            self.pen.dress(ground)
            self.pen.out.append("\x1b[H\x1b[2J")
            self.pen.x = self.pen.y = 0
            self.known = True
        draw(self.shown, self.wanted, self.pen)
        x, y = min(self.wanted.x, self.wanted.columns - 1), self.wanted.y
        self.pen.place(x, y)

    def _ground(self) -> str:
        """The background to clear the screen in: the commonest, where the terminal erases in colour (DELTA-4)."""
        if not self.pen.bce:
            return ""
        return Counter(style.bg for row in self.wanted.rows for _, style in row).most_common(1)[0][0]


def erases_in_colour(fd: int) -> bool:
    """Whether terminfo says that what is erased takes the background that is set; unknown terminals do not."""
    try:
        curses.setupterm(fd=fd)
    except curses.error:
        return False
    return curses.tigetflag("bce") == 1


class DifferenceDriver(TerminalDriver):
    """Sends changed cells only."""

    def __init__(self, app: Any, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        self.canvas = Canvas(*self._get_terminal_size(), bce=erases_in_colour(self.fileno))
        self.sync = False
        # Inside a multiplexer a mark of one update does not help (TERMINAL-3).
        self.marks = getattr(getattr(app, "terminal", None), "sync", True)
        self.lock = threading.RLock()

    def write(self, data: str) -> None:
        """Take what Textual writes; what the terminal is sent of it is decided here."""
        with self.lock:
            self.sync = self.marks and (self.sync or data == _SYNC_BEGIN)
            self.canvas.resize(*shutil.get_terminal_size())
            told = self.canvas.frame(data, sync=self.sync)
        if told:
            super().write(told)

    def repaint(self) -> None:
        """Send everything again."""
        with self.lock:
            told = self.canvas.again()
        super().write(told)

    def start_application_mode(self) -> None:
        """Begin, or come back from a stop: whatever the terminal shows now is not ours (DRIVER-2)."""
        with self.lock:
            self.canvas.forget()
        super().start_application_mode()
        former = signal.getsignal(signal.SIGWINCH)
        if callable(former):
            signal.signal(signal.SIGWINCH, lambda number, frame: self._resized(former, number, frame))

    def _resized(
        self, former: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None
    ) -> None:
        with self.lock:
            self.canvas.forget()
        former(number, frame)
        # Of a window that has its former size again nothing would be drawn.
        self._app.call_after_refresh(self._paint_unknown)

    def _paint_unknown(self) -> None:
        if not self.canvas.known:
            self.repaint()
