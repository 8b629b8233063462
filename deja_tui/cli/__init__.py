# SPDX-License-Identifier: Apache-2.0
"""Owns the verbs of ``deja``, one file a family, lazily loaded. May import everything; imports Textual only
inside the verb that opens the console. Never decides anything the library would not.
"""
