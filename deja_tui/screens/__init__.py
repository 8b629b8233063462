# SPDX-License-Identifier: Apache-2.0
"""Owns the screens, one file each, and the app. May import ``console`` and everything above it. Never runs SQL
and never waits for the store on the UI thread.
"""
