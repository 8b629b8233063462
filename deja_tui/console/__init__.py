# SPDX-License-Identifier: Apache-2.0
"""Owns launching the console, the action table, the key map, themes and the feed that does store work on a
thread. May import ``widgets`` and everything above it. Never draws a screen itself.
"""
