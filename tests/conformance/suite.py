# SPDX-License-Identifier: Apache-2.0
"""The checks that third parties use, `deja_tui.engine.conformance`, under the names the tests know: SUB-1 to SUB-6.

`test_kit` holds each of them to failing where its rule is broken.
"""

from __future__ import annotations

from deja_tui.engine.conformance import CHECKS, Check, check
from deja_tui.engine.conformance.filling import FiveOnly, addresses, new_fact, there
from deja_tui.engine.conformance.viewed import SPACES, furnished

__all__ = ["CHECKS", "SPACES", "Check", "FiveOnly", "addresses", "check", "furnished", "new_fact", "there"]
