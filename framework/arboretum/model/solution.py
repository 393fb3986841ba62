"""What a solver returns, and what a greedy method returns too: a tree and what is known of its value."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import Any

import attrs

from arboretum.model.reading import refuse_misfits
from arboretum.model.tree import Tree


class Status(enum.Enum):
    """What is proven about a solution's value."""

    optimal = "optimal"
    feasible = "feasible"
    infeasible = "infeasible"


@attrs.frozen(eq=False)
class Solution:
    """A tree with its value and a proven bound.

    value : the objective's value of ``tree``.
    lower_bound : no feasible tree is below it (proven).
    subproblems : number of subproblems looked at.
    finished : False when a budget cut the work short; the same request may give another tree next time.
    notes : what the user should know of it, a sentence each.
    details : more that was proven, in words of JSON (number of optimal trees as a decimal string, minima of further stages).
    others : further optimal trees, where they were asked for.
    curve : (seconds, lower bound, value) as they improved, for a solver that says so while it works; the value is ∞ before
        there is a tree.
    """

    tree: Tree | None
    value: float
    lower_bound: float
    status: Status
    subproblems: int = 0
    finished: bool = True
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = attrs.field(factory=dict)
    others: tuple[Tree, ...] = ()
    curve: tuple[tuple[float, float, float], ...] = ()

    @property
    def gap(self) -> float:
        """``value − lower_bound`` (same unit as the objective), 0 when optimal."""
        return self.value - self.lower_bound

    def to_json(self) -> dict[str, Any]:
        """The numbers, without the tree; one that is not known or not finite is None (JSON knows neither NaN nor ∞)."""
        return {
            "value": _finite_or_none(self.value),
            "lower_bound": _finite_or_none(self.lower_bound),
            "gap": _finite_or_none(self.gap),
            "status": self.status.value,
            "subproblems": self.subproblems,
            **({"details": dict(self.details)} if self.details else {}),
            **({"curve": [[_finite_or_none(number) for number in point] for point in self.curve]} if self.curve else {}),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any], tree: Tree | None = None) -> Solution:
        """Rebuild a solution around a tree; raises KeyError or ValueError when the mapping is not one."""
        refuse_misfits(data, {"value": float | None, "lower_bound": float | None, "subproblems": int, "details": dict, "curve": list})
        value, bound = (math.nan if data[name] is None else data[name] for name in ("value", "lower_bound"))
        curve = tuple((at, _bound(low, -math.inf), _bound(best, math.inf)) for at, low, best in data.get("curve", ()))
        return Solution(tree, value, bound, Status(data["status"]), data["subproblems"], details=data.get("details", {}), curve=curve)


def _bound(number: float | None, unknown: float) -> float:
    return unknown if number is None else number


def _finite_or_none(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
