# SPDX-License-Identifier: Apache-2.0
"""Owns the loop: the substrate protocol, views, analyzers, the pipeline, the lifecycle, apply and its inverse.
May import ``errors`` and ``text`` only. Never reads the clock, never touches a store or a screen directly,
never writes prose: analyzers emit a template id and arguments.
"""
