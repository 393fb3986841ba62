"""The criterion of the sixteen greedy algorithms: an impurity of the outcomes, aggregated in one of
four ways; and two impurities of decision tables that grow with the table: totals, not shares.

The other two of the paper, entropy and gini, are the classical ones.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import Node, Tables, param
from arboretum.kernels import known_impurity
from arboretum_decision_tables import kernels

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity


_CLASSES = (
    "classification",
    "multiclass",
    "weights",
    "additive",
    "concave",
)
PAPER = "Alkhalid, Chikalov & Moshkov 2011, section 3"


@attrs.frozen
class OutsideMajority:
    """Weight outside the majority class: N − max N_j (me); no split raises its sum.

    Not supermodular, so not admissible: with one object of each of two classes the second one adds
    1; where its class is the heavier one it adds nothing.
    """

    kind = "impurity"
    name = "me"
    paper = PAPER
    capabilities = _CLASSES
    scale = "total"
    kernel = staticmethod(kernels.me)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…], weight."""
        others: np.ndarray = np.maximum(weights.sum(axis=-1) - weights.max(axis=-1), 0.0)
        return others


@attrs.frozen
class UnlikePairs:
    """Pairs of objects of different classes: Σ_{i<j} N_i N_j (rt); no split raises its sum.

    Admissible: an object of class k adds the weight outside k, which only grows with the table.
    """

    kind = "impurity"
    name = "rt"
    paper = PAPER
    capabilities = (*_CLASSES, "admissible")
    scale = "total"
    whole = True
    kernel = staticmethod(kernels.rt)

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…], square of weight."""
        before = np.cumsum(weights, axis=-1) - weights
        pairs: np.ndarray = (weights * np.maximum(before, 0.0)).sum(axis=-1)
        return pairs


OWN_VALUES = (("me", (2.0, 1.0, 0.5)), ("rt", (5.0, 3.0, 0.3125)))
"""The measures with a kernel of their own besides the classical ones: their values of the trial
vectors, by hand.
"""
_MEANING = "how the impurities of the outcomes become one number"


class Aggregation(enum.IntEnum):
    """How the impurities of the outcomes become one number; a kernel finds it in
    ``node.params[0]``.
    """

    sum = 0
    max = 1
    w_sum = 2
    w_max = 3

    @property
    def by_mass(self) -> bool:
        """Whether the impurity of an outcome is weighted by its share of the node's weight."""
        return self in (Aggregation.w_sum, Aggregation.w_max)


@attrs.frozen
class Aggregated:
    """The impurity I(T, f) of the division of a node T by a test f, which greedy algorithms
    minimise; the score is −I.

    With U the run's impurity, N the weight and T_j the outcomes: sum Σ U(T_j); max max U(T_j);
    w_sum Σ U(T_j) N(T_j)/N(T); w_max max U(T_j) N(T_j)/N(T).  U is taken as it is: me and rt are
    totals, and are not made means (Alkhalid et al.'s figures are those of totals, too).  I is
    evaluated on the node's own objects.

    Ties: scores within 1e-12 of the larger of |I| and the node's impurity count as equal, as
    everywhere.  rt is a whole number for objects of weight 1, so no true difference of its sum is
    taken for a tie below 1.4 million objects.
    """

    kind = "criterion"
    name = "aggregated"
    paper = PAPER
    capabilities = (
        "classification",
        "multiclass",
        "regression",
        "weights",
        "missing",
        "multiway",
        "thresholds",
        "additive",
    )
    needs = ("impurity",)

    aggregation: Aggregation = param(Aggregation.sum, _MEANING, alias="kind")

    def kernel(self, impurity: Impurity | None) -> Callable[..., float] | None:
        """Return the kernel for this impurity; None if the impurity is written in NumPy only."""
        if (own := getattr(impurity, "kernel", None)) is None:
            return None
        known = known_impurity(getattr(impurity, "name", ""), own, OWN_VALUES)
        found: Callable[..., float] = getattr(
            kernels, f"aggregated_{known}" if known else "aggregated"
        )
        return found

    def bounded_by_vertices(self, impurity: Impurity | None) -> bool:
        """With a concave mean impurity w_sum is, but for constants, the impurity reduction:
        convex in every outcome.
        """
        declared = {getattr(c, "value", c) for c in getattr(impurity, "capabilities", ())}
        mean = getattr(impurity, "scale", "") == "mean"
        return self.aggregation is Aggregation.w_sum and mean and "concave" in declared

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        return self.terms(tables, node)["score"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return all four aggregations of the impurity of the outcomes, and the score: minus the
        one that is chosen.
        """
        value = tables.impurity(tables.weights)
        weighted = value * tables.mass / node.mass
        found = {
            "sum": value.sum(axis=-1),
            "max": value.max(axis=-1),
            "w_sum": weighted.sum(axis=-1),
            "w_max": weighted.max(axis=-1),
        }
        return {**found, "score": -found[self.aggregation.name]}


@attrs.frozen
class AggregatedSum(Aggregated):
    """The criterion ``aggregated`` with ``kind=sum``: Σ U(T_j)."""

    name = "aggregated_sum"


@attrs.frozen
class AggregatedMax(Aggregated):
    """The criterion ``aggregated`` with ``kind=max``: max U(T_j)."""

    name = "aggregated_max"
    aggregation: Aggregation = param(Aggregation.max, _MEANING, alias="kind")


@attrs.frozen
class AggregatedWeightedSum(Aggregated):
    """The criterion ``aggregated`` with ``kind=w_sum``: Σ U(T_j) N(T_j)/N(T)."""

    name = "aggregated_w_sum"
    aggregation: Aggregation = param(Aggregation.w_sum, _MEANING, alias="kind")


@attrs.frozen
class AggregatedWeightedMax(Aggregated):
    """The criterion ``aggregated`` with ``kind=w_max``: max U(T_j) N(T_j)/N(T)."""

    name = "aggregated_w_max"
    aggregation: Aggregation = param(Aggregation.w_max, _MEANING, alias="kind")


CRITERIA = [Aggregated, AggregatedSum, AggregatedMax, AggregatedWeightedSum, AggregatedWeightedMax]
