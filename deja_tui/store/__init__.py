# SPDX-License-Identifier: Apache-2.0
"""Owns the memory file: grain bytes, types, tables, chains, the op-log, search and settings. May import
``errors`` and ``text``. Never knows what a recommendation means, a surface or the clock of the engine; SQL, paths
and row ids do not leave this room.
"""
