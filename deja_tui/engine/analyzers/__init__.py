# SPDX-License-Identifier: Apache-2.0
"""The analyzers, one file each, and the explicit list of them in the order a run calls them.

Adding one is: a file here, a line in `ANALYZERS`, its template in ``engine/templates.py``, fixtures in
``tests/analyzers/<name>/``.
"""

from __future__ import annotations

from typing import Final

from deja_tui.engine.analyzer import Analyzer
from deja_tui.engine.analyzers.budget_pressure import BudgetPressure
from deja_tui.engine.analyzers.cold_grains import ColdGrains
from deja_tui.engine.analyzers.contradictions import ContradictionSweep
from deja_tui.engine.analyzers.coverage_gap import CoverageGap
from deja_tui.engine.analyzers.duplicates import DuplicateSweep
from deja_tui.engine.analyzers.forks import ForkSurfacing
from deja_tui.engine.analyzers.goal_stagnation import GoalStagnation
from deja_tui.engine.analyzers.outcome_review import OutcomeReview
from deja_tui.engine.analyzers.retention import RetentionSweep
from deja_tui.engine.analyzers.skill_stall import SkillStall
from deja_tui.engine.analyzers.staleness import Staleness
from deja_tui.engine.analyzers.tool_failures import ToolFailures

# the order in which a run calls them (loop-engine §3)
ANALYZERS: Final[tuple[Analyzer, ...]] = (
    ToolFailures(),
    DuplicateSweep(),
    ContradictionSweep(),
    ForkSurfacing(),
    Staleness(),
    SkillStall(),
    GoalStagnation(),
    ColdGrains(),
    CoverageGap(),
    BudgetPressure(),
    OutcomeReview(),
    RetentionSweep(),
)
