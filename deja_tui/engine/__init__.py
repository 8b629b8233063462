# SPDX-License-Identifier: Apache-2.0
"""Owns the loop: the substrate protocol, views, analyzers, the pipeline, the lifecycle, apply and its inverse.
May import ``errors`` and ``text`` only. Never reads the clock, never touches a store or a screen directly,
never writes prose: analyzers emit a template id and arguments.

Map: ``substrate`` (what is asked of a memory) → ``views`` (set-based reads) → ``analyzer``, ``draft``, ``analyzers/``
→ ``pipeline`` (a run) → ``wire`` (loop objects as grains), ``ledger`` (status), ``audit`` (chains) → ``lifecycle``
(decisions) → ``operations``, ``apply`` (the change and its inverse) → ``reports`` (what surfaces read).
"""

from deja_tui.engine.pipeline import AnalyzerConfig, RunOptions, run

__all__ = ["AnalyzerConfig", "RunOptions", "run"]
