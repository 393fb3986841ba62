"""Contracts: how mixed is a node, how close is an object to being identified, where does a row without a value go?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.rules import TestRule
from arboretum.model.table import Task


class Impurity(Component, Protocol):
    """A function of the class weights of a set of objects (of the moments Σw, Σwy, Σwy² for regression).

    scale : "mean" (entropy, gini: does not grow with the mass) or "total" (pairs, powers: does).  Only mean impurities
        are weighted by mass in a reduction.

    A kernel form may be given as a static method ``kernel`` marked by ``arboretum.kernels.impurity_kernel``:
    ``kernel(weights: float64[classes]) -> float64``, called inside numba, must not allocate.
    """

    scale: ClassVar[str]

    def value(self, weights: np.ndarray) -> np.ndarray:
        """float64[…, classes] → float64[…], finite and ≥ 0; 0 where the mass is 0 and where one class has all of it.

        Called once per batch of tables; may allocate; must not change ``weights``.
        """


class ImpurityForTask(Protocol):
    """Optional: a name that stands for another impurity per kind of target (``auto``)."""

    def for_task(self, task: Task) -> Any:
        """The impurity meant.  Called once per run."""


class ImpurityOfValues(Protocol):
    """An impurity of numbers that no additive table determines (absolute error): these instead of ``value``.

    It works on raw columns, with a criterion that states ``reads_prefix_costs = True``: mass × impurity of every outcome
    reaches it as ``tables.extra[..., 0]``.  A static method ``prefix`` marked by ``arboretum.kernels.prefix_kernel``,
    ``prefix(y, weight, out)``, writes mass × impurity of every prefix of a sequence; inside numba, may allocate.
    """

    def of_values(self, y: np.ndarray, weight: np.ndarray) -> float:
        """The impurity of some objects.   y, weight : float64[n], n ≥ 1, in any order.  Called once per node.

        ``y`` is the target minus its mean over the training objects, in the target's unit.
        """

    def leaf_value(self, y: np.ndarray, weight: np.ndarray) -> float:
        """What a leaf with these objects predicts, about the same mean as ``y`` (also allowed beside ``value``; default:
        the weighted mean)."""


class Coverage(Component, Protocol):
    """A monotone submodular function f_i of the tests asked, per object, from 0 to 1 (Zhang & Gionis, section 4).

    A run with several coverages uses their disjunction, 1 − Π (1 − f): an object is covered when any of them covers it.
    """

    def covered(self, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """float64[len(rows)], 0 … 1: f_i for the objects ``rows`` (int64) that are still together at a node.

        f_i is 0 at the root (or 1: nothing to ask), never falls on the way down, and is 1 of an object that is alone; it depends
        on the set of objects alone, not on its order.  A value that misses 1 by 1e-12 or less counts as 1.  A run in which one
        of these is seen to be otherwise fails, naming coverage, object and value.
        """


class CoveragePrepared(Protocol):
    """Optional: what depends on the root alone is computed once per growth instead of at every node."""

    def prepare(self, objects: Encoded) -> Any:
        """A value with ``covered(objects, rows)`` that answers what the component itself answers on these objects."""


class CoverageMany(Protocol):
    """Optional, of the component and of what it prepares: many sets of objects in one call, where a call per set is slow."""

    def covered_many(self, objects: Encoded, rows: np.ndarray, start: np.ndarray) -> np.ndarray:
        """float64[len(rows)]: what ``covered`` answers for each set; set k is ``rows[start[k]:start[k + 1]]``.

        rows : int64[m], one set after the other; an object may be in several.   start : int64[sets + 1], from 0 to m; no set
        is empty.
        """


BETTER_SIDE = "better_side"
"""The rule of the growth kernels: a two-way test tries such rows in either outcome, a multiway test has them in its heaviest."""


class Missing(Component, Protocol):
    """What becomes of rows without the value that a test asks for, while tests compete at a node and below the one chosen.

    counted : such rows are in the tables that compete, in the outcome where they are placed; else in none.
    discounted : a score is multiplied by the share of the node's weight whose value is known (C4.5).
    kernel : BETTER_SIDE where it is that rule; "" where growth has to ask ``placements``: then it goes by shares, node by node
        and without kernels.

    ``encoder.missing`` is for columns that are coded before growth; asking for both is refused.
    """

    counted: ClassVar[bool]
    discounted: ClassVar[bool]
    kernel: ClassVar[str]

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Where such rows may go, of a test with the weights ``known`` (float64[n outcomes]) of the rows with a value.

        An outcome; n: one of their own (``TestRule.with_missing``; a test without that form does not compete); MISSING_STOPS;
        MISSING_SPLITS.  Each is scored, the best is kept, the first of equals; where ``counted`` is False there is one.
        Where no row of a node lacks a value, later ones follow the heaviest of these outcomes, else the first placement.
        """


class MissingSurrogates(Protocol):
    """Optional: tests that stand in for the chosen one, asked of rows without a value before ``placements`` holds."""

    def surrogates(
        self, rule: TestRule, others: Sequence[TestRule], objects: Encoded, rows: np.ndarray, weight: np.ndarray
    ) -> Sequence[tuple[TestRule, tuple[int, ...]]]:
        """(test, the outcome of ``rule`` that each of its outcomes stands for, or −1), in the order in which they are asked.

        rows : int64[k], rows of ``objects.table`` at the node, with their weight there (float64[k]).   others : the fixed tests.
        """
