# SPDX-License-Identifier: Apache-2.0
"""Owns the shape of what people read: facts in, plain lines and cell spans out. May import everything up to
``capture``. Never does I/O, never imports Textual; command line and screens share it.
"""
