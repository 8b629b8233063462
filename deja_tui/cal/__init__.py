# SPDX-License-Identifier: Apache-2.0
"""Owns the query language. It is empty until the language is built; nothing else of deja depends on it. May
import ``errors``, ``text`` and ``store``. Never decides whether a recommendation may change status.
"""
