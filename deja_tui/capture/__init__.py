# SPDX-License-Identifier: Apache-2.0
"""Owns what comes in from outside: importers (one file a source), starter templates. May import
everything up to ``facade``. Never keeps text that looks like a secret, never edits another tool's files.
"""
