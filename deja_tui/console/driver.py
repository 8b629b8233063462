# SPDX-License-Identifier: Apache-2.0
"""How keys are read from the terminal: Textual's driver, with pastes tamed before they are parsed."""

from __future__ import annotations

import os
import selectors
from codecs import getincrementaldecoder
from typing import Final

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from deja_tui.console.pasting import Pasting

_READ: Final = 4_096  # bytes
_WAIT: Final = 0.1  # seconds; the parser's own time-out for a lone Esc is looked at this often


class TerminalDriver(LinuxDriver):
    """Reads keys on a thread of its own. Bytes that are no UTF-8 are shown as such, never fatal."""

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
