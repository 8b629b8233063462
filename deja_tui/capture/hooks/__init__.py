# SPDX-License-Identifier: Apache-2.0
"""What a coding agent calls while it works (issue 6, point 4): recall before a prompt, capture after a turn, a run at the end.

Numbered rules, cited by tests:

* HOOK-1  A hook never stops the agent: whatever happens it ends with status 0, and says nothing or one JSON object.
* HOOK-2  A capture reads a transcript from where the last one ended, and never past a torn line. Where it ended is kept in
  the act that stores what was read. The last reply is read again, because it may have grown; what is known is skipped.
* HOOK-3  A capture that cannot write within `BUSY_MS` lays its items down in the spool (D34).
* HOOK-4  What is recalled stands in a frame that says what it is, and cannot close the frame from inside. It is bounded.
* HOOK-5  Before approval nothing that a tool, a model or a person wrote is told of a recommendation: counts, and names of
  analyzers and targets that are made of plain characters.
* HOOK-6  What was recalled is counted as delivered only after it was written whole.
* HOOK-7  A failed call is captured from the event of its failure, and from the transcript, as one tool grain.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


BUSY_MS: Final = 2_000
ACTOR: Final = "hook:claude-code"
