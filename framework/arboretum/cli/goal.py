"""The metric a sweep looks at: its value in a record, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Mapping

from arboretum.config.settings import Settings
from arboretum.errors import ConfigError, unknown
from arboretum.measure import HIGHER, direction

DEFAULT = Settings().goal
STAND_INS = ("valid_error", "valid_mse", "test_error", "test_mse", "train_error", "train_mse")
"""Looked for in this order when nobody chose a goal and the runs have no validation rows, or no classes."""


def goal_of(goal: str, metrics: Mapping[str, float]) -> str:
    """The metric of this run that the goal means; raises ConfigError when the run has none of that name."""
    if goal in metrics:
        return goal
    if goal == DEFAULT:
        return next((name for name in STAND_INS if name in metrics), "")
    hint = " (split=none leaves no rows to judge on)" if goal.startswith(("valid_", "test_")) else ""
    raise ConfigError(f"goal: this run has no {goal}{hint}; " + unknown("metric", goal, metrics))


def worst(goal: str) -> float:
    """What a failed run returns to an optimiser: worse than anything."""
    return -math.inf if goal and direction(goal) == HIGHER else math.inf
