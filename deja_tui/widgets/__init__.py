# SPDX-License-Identifier: Apache-2.0
"""Owns small Textual parts: rows, pager, reason, title bar, hints. May import ``errors``,
``text``, ``present.line`` and Textual.
Never knows a store or a recommendation, never parses markup.
"""
