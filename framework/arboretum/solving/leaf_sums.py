"""Objectives of sums by leaf: what a leaf costs is a function of sums over its objects; λ per leaf.

A plugin says which numbers of objects are added up (``moments``), what a leaf of such sums costs
(``leaf``) and predicts (``predicts``), and in which unit (``unit``).  Squared errors are one of
these (n, Σ y, Σ y²), likelihoods of counts and of survival times are others.

What a leaf costs is what ``leaf`` says of the sums of its objects, each the float next to the exact
sum of what ``moments`` says (as ``math.fsum`` has it).  So it does not depend on the order in which
somebody adds: a root of a difference of sums would make 1e-7 of a sum that is off by 1e-14.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, cast

import attrs
import numpy as np

from arboretum.interfaces.component import param
from arboretum.interfaces.method import Problem
from arboretum.interfaces.sums import SumsByLeaf, leaf_costs, moments_of, unit_of
from arboretum.model.encoded import Encoded
from arboretum.model.tree import Tree


@attrs.frozen
class SumsObjective:
    """What leaves cost by the sums of their objects, as a mean over the weight, + λ · leaves.

    superadditive : (class attribute) leaf(a + b) ≥ leaf(a) + leaf(b) for all sums of objects, as
        for whatever a leaf fits best, alone or together: then a set costs no less than its objects,
        each its own leaf, which is the bound that a search has.  A promise: each run tries it on a
        few of its objects.
    above_zero : (class attribute) its targets are numbers above 0: the conformance suite tries it
        on such; ``moments`` refuses others by name.
    by_value : (class attribute) ``moments`` says of an object what its target, weight and roles
        say, beside what is estimated of all rows: ``fitted(table)``, where it is there, returns the
        objective with what it estimates of a table of the different targets and roles, each of the
        weight of its rows.  Then greedy growth takes rows in parts.  A promise: each such run tries
        it on a few rows.
    needs_all_rows : (optional) why it is not so; a refusal says it.
    """

    kind = "objective"
    paper = ""
    capabilities: ClassVar[tuple[str, ...]] = ("regression", "weights")
    shape = "sums"
    superadditive: ClassVar[bool] = True
    above_zero: ClassVar[bool] = False
    by_value: ClassVar[bool] = False

    lam: float = param(
        0.01,
        "λ, what a leaf costs: a split stays where it lowers the loss by more",
        ge=0.0,
        lt=math.inf,
    )

    @abstractmethod
    def moments(self, objects: Encoded) -> np.ndarray:
        """Return float64[objects, k]: what each object adds, its weight among it.  Subclasses say
        it.
        """
        raise NotImplementedError

    @abstractmethod
    def leaf(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: what leaves cost whose objects have these sums, float64[…, k].
        Subclasses say it; rounding may put it below 0.
        """
        raise NotImplementedError

    @abstractmethod
    def predicts(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…]: what leaves of these sums, float64[…, k], predict.  Subclasses say
        it.
        """
        raise NotImplementedError

    def unit(self, objects: Encoded) -> float:
        """Return what costs are divided by, above 0: the weight of all objects."""
        return float(objects.weight.sum())

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the objective of a tree by where the objects come to rest."""
        objects, moments = problem.objects, moments_of(problem)
        at = tree.apply(objects.table)[objects.row_of_object]
        said = cast(SumsByLeaf, self)
        cost = math.fsum(leaf_costs(said, rounded_sums(moments, at)))
        return cost / unit_of(said, objects) + self.lam * int(tree.is_end.sum())


def rounded_sums(moments: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return float64[leaves, k], of each leaf that holds objects the floats next to the exact sums.

    moments : float64[objects, k].   at : int64[objects], their leaves.
    """
    order = np.argsort(at, kind="stable")
    begin = np.flatnonzero(np.diff(at[order])) + 1
    return np.array(
        [[math.fsum(column) for column in part.T] for part in np.split(moments[order], begin)]
    )
