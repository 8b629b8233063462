# SPDX-License-Identifier: Apache-2.0
"""A document in an editor: Esc shows what would change, Enter there saves it as the next version of the chain."""

from __future__ import annotations

import shlex

from textual import events
from textual.app import ComposeResult

from deja_tui.documents import Document
from deja_tui.engine.doc_edits import diff_of
from deja_tui.errors import DejaError
from deja_tui.present.edits import diff_lines
from deja_tui.present.line import Span, heading, line, wrapped
from deja_tui.present.words import fenced, plural, short
from deja_tui.screens.base import DejaScreen, Typed
from deja_tui.screens.linked import GrainsAsked
from deja_tui.screens.reading import ReadingScreen
from deja_tui.widgets.editor import MOST, Editor
from deja_tui.widgets.hints import Hint, Hints
from deja_tui.widgets.pager import Pager


class DocumentScreen(ReadingScreen, GrainsAsked):
    """Editor and preview of one document. Nothing is written but by Enter in the preview, and then as a new version."""

    scope = "document"
    DEFAULT_CSS = """
    DocumentScreen #text { display: none; }
    DocumentScreen.-diff #text { display: block; }
    DocumentScreen.-diff #editor { display: none; }
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.document: Document | None = None
        self.typing = False
        self.held: list[Typed] = []

    def compose_body(self) -> ComposeResult:
        yield Editor(id="editor")
        yield Pager(id="text", more="j goes on", leads=True)

    @property
    def editor(self) -> Editor:
        return self.part(Editor, "editor")

    @property
    def changed(self) -> bool:
        """Whether there is something to save."""
        return self.document is not None and self.editor.draft.text != self.document.text

    def load(self) -> None:
        if self.document is None:
            path = self.path
            self.ask("document", lambda _: self.grains.docs.view(path), self.came, self.failed)

    def came(self, found: Document) -> None:
        if len(found.text) > MOST:
            self.leave(
                f"the document is longer than {MOST:,} characters: deja doc replace changes it", "warning"
            )
            return
        self.document = found
        self.editor.open(found.text)
        self.typing = True
        self.draw()
        if found.others:
            self.say(
                f"{plural(len(found.others), 'other version')} is current too: deja doc merge", "warning"
            )
        held, self.held = self.held, []
        for event in held:
            self.console_app.route(event)

    def failed(self, fault: DejaError) -> None:
        if self.document is None:
            self.leave(f"{fault.code} {fault.message}", "error")
        else:
            self.say_error(fault)

    def leave(self, told: str, meaning: str = "") -> None:
        """Back to where it was opened, with a word about it."""
        below = self.app.screen_stack[-2]
        self.dismiss()
        if isinstance(below, DejaScreen):
            below.say(told, meaning)

    # --- drawing ------------------------------------------------------------------------------------

    def draw(self) -> None:
        state = "reading …" if self.document is None else "editing" if self.typing else "preview, not saved"
        self.set_title(line(Span("deja ", "dim"), fenced(self.path, 60), f"  {state}"))
        self.set_class(not self.typing and self.document is not None, "-diff")
        if self.typing:
            keys = [Hint("Esc", "shows what would change"), Hint("^u ^k ^w", "empty"), Hint("^l", "repaint")]
            self.part(Hints, "hints").show_hints(keys)
        else:
            self.set_hints(without=() if self.changed else ("save",))
        self.draw_difference()

    def draw_difference(self) -> None:
        if self.document is None or self.typing:
            return
        room = self.app.size.width
        base = short(self.document.address)
        told = diff_lines(diff_of(self.document.text, self.editor.draft.text))
        head = heading(f"What changes in {base}, which stays in the chain", room)
        self.pager.show([head, *wrapped(told or [line("    nothing differs")], room, 8)])

    # --- keys ---------------------------------------------------------------------------------------

    def take(self, event: Typed) -> None:
        """What is typed before the text is there is meant for it."""
        if self.document is None:
            self.held.append(event)
        else:
            super().take(event)

    def press(self, key: str, character: str | None) -> None:
        if not self.typing or self.small:
            super().press(key, character)
            return
        self.flash.clear()
        if key == "escape":
            self.preview()
        elif not self.editor.take(key, character):
            self.anywhere(key)

    def pasted(self, event: events.Paste) -> None:
        if self.typing:
            self.editor.paste(event.text)

    def preview(self) -> None:
        """Stop typing; where nothing was changed there is nothing to look at."""
        if not self.changed:
            self.leave("nothing was changed")
            return
        self.typing = False
        self.draw()

    def do_again(self) -> None:
        """Go on editing."""
        self.typing = True
        self.draw()

    def do_back(self) -> None:
        self.do_again()

    def do_quit(self) -> None:
        self.leave("nothing was saved")

    def do_save(self) -> None:
        document = self.document
        if document is None or not self.changed:
            return
        text, base = self.editor.draft.text, document.address
        self.ask(
            "save",
            lambda _: self.grains.docs.write(document.path, text, base=base),
            lambda found: self.leave(
                f"saved as {short(found.address)}; {short(base)} stays in its chain", "ok"
            ),
            self.failed,
        )

    def do_copy(self) -> None:
        if self.document is not None:
            self.copy(self.document.address, "address")

    def do_command(self) -> None:
        verb = f"deja doc view {shlex.quote(self.path)}"
        self.copy(f"{verb} --db {self.console_app.quoted_file}", "command line")

    def cal_of_panel(self) -> str:
        return f"HISTORY OF sha256:{self.document.address}" if self.document else ""
