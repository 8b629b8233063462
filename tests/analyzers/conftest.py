# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the analyzers' tests."""

from __future__ import annotations

from tests.analyzers.worlds import world

__all__ = ["world"]
