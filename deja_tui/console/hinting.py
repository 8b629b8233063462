# SPDX-License-Identifier: Apache-2.0
"""Three hints of one line for the first time at a place, each shown once and never again.

Which were shown is kept in the state folder, as names, one a line (D48). A folder that cannot be written keeps nothing;
then no hint is shown at all, because it would come back each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILE_NAME: Final = "hints"
# scope of a screen → what is said there the first time; {…} is the key of an action.
HINTS: Final[Mapping[str, str]] = {
    "queue": "{queue.walk} walks what waits, one by one; {app.help} lists the keys here; {app.palette} finds any of them",
    "detail": "{move.next_section} and {move.previous_section} go from part to part; {queue.approve} and {queue.reject} decide, "
    "with a reason you type",
    "receipt": "{app.copy} copies the audit address, {app.copy_cal} the CAL that reads the trail; "
    "{queue.rollback} undoes what was applied",
}


def default_path() -> Path:
    """Where it is kept which hints were shown (D48)."""
    import platformdirs

    return Path(platformdirs.user_state_dir("deja")) / FILE_NAME


class Hintbook:
    """Which hints this person has seen. ``path`` None: none is shown, none is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.seen = self._read()

    def take(self, scope: str) -> str:
        """The hint for a place, once: from now on it was shown. Empty where there is none, or it was shown before."""
        if self.path is None or scope not in HINTS or scope in self.seen:
            return ""
        self.seen = (*self.seen, scope)
        return HINTS[scope] if self._write(self.path) else ""

    def _read(self) -> tuple[str, ...]:
        if self.path is None:
            return ()
        try:
            return tuple(self.path.read_text(encoding="utf-8").split())
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError):
            # what cannot be read cannot say what was shown: show nothing rather than the same again and again
            return tuple(HINTS)

    def _write(self, path: Path) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{scope}\n" for scope in self.seen), encoding="utf-8")
        except OSError:
            return False
        return True
