"""Contract: is this node a leaf?"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Node, Tables

if TYPE_CHECKING:
    from arboretum.interfaces.method import Problem
    from arboretum.model.tree import Tree

T = TypeVar("T", bound=attrs.AttrsInstance)


@attrs.frozen
class Limits:
    """Bounds the search loop itself enforces; several rules combine to the tightest.

    max_depth : tests on a path.
    max_leaves : leaves of the tree (best-first growth spends them by gain).
    min_leaf : rows in every branch that receives any.
    min_decrease : a test whose score is not above it is refused.
    min_mass : share of the total weight in every branch that receives any.
    max_cost : what a path from the root to a leaf pays; a test is asked only where its costliest
        outcome can still be paid.
    """

    max_depth: int | None = None
    max_leaves: int | None = None
    min_leaf: int = 1
    min_decrease: float | None = None
    min_mass: float = 0.0
    max_cost: float | None = None

    @property
    def certified(self) -> Limits:
        """Those that a certificate holds all trees to; without the others there are more trees,
        and no greater minimum.
        """
        return attrs.evolve(self, min_decrease=None, min_mass=0.0)

    @property
    def given(self) -> dict[str, float]:
        """Those that are set, by name."""
        return {
            field.name: value
            for field in attrs.fields(Limits)
            if (value := getattr(self, field.name)) != field.default
        }

    def most_paid(self, n_tests: int | np.ndarray) -> float | np.ndarray:
        """Return what a path of so many tests (int, or int[·]) may have paid, added up in any
        order: ``max_cost`` and the rounding of sums; ∞ without such a limit.

        Prices and the limit are decimals, each kept with a relative error of u = 2⁻⁵³ at most, and
        a sum of k of them adds (k − 1) u: a path whose decimals add up to the limit or less lies
        above it by some (k + 1) u, for which (k + 2) ε = 2 (k + 2) u leaves room: 0.1 + 0.2 is not
        more than 0.3.  All engines compare with this.
        """
        return (
            math.inf
            if self.max_cost is None
            else self.max_cost * (1.0 + (n_tests + 2) * sys.float_info.epsilon)
        )

    def min_weight(self, total: float, n_objects: int) -> float:
        """Return the weight that every branch must reach, in the unit of the weights: ``min_mass``
        of ``total``, less the rounding of sums; 0 without such a limit.

        A branch's weight is a sum of up to n terms, or the difference of two such sums, added up in
        any order.  Each sum is wrong by at most n · u · total (u = 2⁻⁵³, the rounding of one
        addition: Higham, Accuracy and Stability, eq. 4.4), a parent's histogram less its children's
        by as much again, the total itself, too: 4 n u · total = 2 n ε · total covers them.  So a
        branch that holds exactly the share is let through, whoever adds it up.  All engines compare
        with this.
        """
        if self.min_mass <= 0.0:
            return 0.0
        return max(0.0, (self.min_mass - 2.0 * n_objects * sys.float_info.epsilon) * total)


def tightest(cls: type[T], limits: Sequence[T]) -> T:
    """Return several limits as one: of each field the least (max_…) or the most (all others) that
    any of them asks for.
    """
    if len(limits) == 1:
        return limits[0]
    asked = {
        name: [value for one in limits if (value := getattr(one, name)) is not None]
        for name in attrs.fields_dict(cls)
    }
    return cls(
        **{
            name: (min if name.startswith("max_") else max)(values)
            for name, values in asked.items()
            if values
        }
    )


class Stopping(Component, Protocol):
    """A leaf rule.  A node with one class (zero variance) is always a leaf.

    ``needs_coverage`` (optional) : True: it looks at ``node.coverage``, which is computed for it
    where the run has coverages.
    """

    def limits(self) -> Limits:
        """Called once per run."""

    def is_leaf(self, node: Node) -> bool:
        """Called once per node, before its tests are scored."""


@attrs.frozen
class LeafRule:
    """A leaf rule that looks at a node's objects alone, so that exact solvers can obey it, too.

    A node is a leaf when it has one class, or fewer than ``min_split`` rows, or a mass of at most
    ``theta`` of the total, or an impurity (the run's) of at most ``delta`` (None: never for that
    reason), or fewer than ``min_objects`` objects (rows that the encoder merged are one).

    ROUNDING : relative; θ and δ are meant up to it, so that a node of exactly θ or δ is a leaf,
        whoever adds it up.  A sum of n weights in any order is wrong by at most n u of itself (u =
        2⁻⁵³).  An impurity such as 1 − Σ p² is a difference of sums near 1, each wrong by some u,
        of which at least 1/n remains: by some n u of itself.  4 n u of two million.
    """

    ROUNDING = 1e-9

    min_split: int = 0
    theta: float = 0.0
    delta: float | None = None
    min_objects: int = 0

    def holds(
        self,
        mass: float,
        total_mass: float,
        count: int,
        impurity: float,
        n_objects: int | None = None,
    ) -> bool:
        """Return whether a node of several classes is a leaf.

        n_objects : asked for by ``min_objects`` alone; None: enough.
        mass, total_mass : weight of the node and of all objects.   count : its rows.
        impurity : the run's; NaN where none is known: no leaf by ``delta``.
        """
        light, mixed = self.levels(total_mass)
        few = count < self.min_split or (n_objects is not None and n_objects < self.min_objects)
        return few or mass <= light or impurity <= mixed

    def levels(self, total_mass: float) -> tuple[float, float]:
        """Return the weight, and impurity, at or below which a node is a leaf (−∞: never); what
        every engine compares with.
        """
        more = 1.0 + self.ROUNDING
        return (
            self.theta * total_mass * more,
            -math.inf if self.delta is None else self.delta * more,
        )


@attrs.frozen
class Within:
    """A stopping rule of nothing but limits."""

    kind, name = "stopping", "within"
    held: Limits

    def limits(self) -> Limits:
        """Return the limits that the rule holds trees to."""
        return self.held

    def is_leaf(self, node: Node) -> bool:
        """Return False for every node: limits alone end a path."""
        return False

    def leaf_rule(self) -> LeafRule:
        """Return the rule that makes no node of several classes a leaf."""
        return LeafRule()


class StoppingOptional(Protocol):
    """What a leaf rule may have besides."""

    def is_leaf_among(self, tables: Iterator[Tables], node: Node) -> bool:
        """Called once per node that no rule made a leaf, before its tests are scored: ``tables``
        of all that compete, many at a time.
        """

    def significance(self) -> tuple[Callable[..., float], bool]:
        """Return the same for kernels: a criterion kernel, and whether a node is a leaf where no
        test scores 1, or (True) as many as compete.
        """

    def notes(self, problem: Problem, tree: Tree) -> Sequence[str]:
        """Return what can be said about a run, as a criterion's."""

    def leaf_rule(self) -> LeafRule:
        """Return a promise: ``is_leaf(node)`` is ``leaf_rule().holds(…)`` of the node's mass, rows,
        impurity and objects, whatever its depth or path.  Exact solvers ask for it; and whole
        subtrees can be grown inside one kernel, where ``is_leaf`` is not called.
        """
