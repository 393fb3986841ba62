"""What verification says where something does not come out."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from arboretum.errors import VerificationError


def fail(rule: str, recomputed: Any = None) -> NoReturn:
    """Raise VerificationError.   rule : what must hold, and what is reported instead."""
    found = "" if recomputed is None else f", recomputed {recomputed}"
    raise VerificationError(f"verification failed: {rule}{found}; please report this run's record")


def at_every_node(rule: str, holds: np.ndarray, reported: np.ndarray, own: np.ndarray | None = None) -> None:
    """Fail for the first node where it does not hold.   holds : bool[n_nodes].   reported, own : [n_nodes, …]."""
    if not holds.all():
        node = int(np.argmin(holds))
        fail(f"node {node}: {rule}: reported {reported[node].tolist()}", None if own is None else own[node].tolist())


def equal(what: str, reported: float, own: float, slack: float) -> None:
    """Fail unless both are the same number.   slack : relative, absolute below 1."""
    if not (math.isfinite(own) and abs(reported - own) <= slack * max(1.0, abs(own))):
        fail(f"{what}: reported {reported}", own)


def at_most(rule: str, low: float, high: float, slack: float) -> None:
    """Fail unless ``low`` is at most ``high``, which is finite."""
    if not (math.isfinite(high) and low <= high + slack * max(1.0, abs(high))):
        fail(f"{rule}: {low} is above {high}")
