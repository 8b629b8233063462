# SPDX-License-Identifier: Apache-2.0
"""The items that readers of formats hand over; they stand in `deja_tui.items`, which the facade reads spooled ones with."""

from __future__ import annotations

from deja_tui.items import CHUNK as CHUNK
from deja_tui.items import PENDING as PENDING
from deja_tui.items import UNKNOWN_TOOL as UNKNOWN_TOOL
from deja_tui.items import CaptureItem as CaptureItem
from deja_tui.items import CaptureResult as CaptureResult
from deja_tui.items import CaptureSink as CaptureSink
from deja_tui.items import ItemType as ItemType
