"""What the exact solver minimises: a complexity, over the trees that the leaf rule allows."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arboretum.api import CapabilityError, Problem, Tree, value_of


@attrs.frozen
class ZeroError:
    """The run's complexity, over trees that go on dividing until the leaf rule lets them stop (no error, with stopping=pure)."""

    kind = "objective"
    name = "zero_error"
    paper = "Alkhalid, Chikalov & Moshkov 2011, section 2"
    capabilities = ("classification", "multiclass", "weights", "prices")
    needs = ("complexity",)
    shape = "complexity"
    example = "dataset=monk1-full method=subtable_dp"

    def value(self, tree: Tree, problem: Problem) -> float:
        """ψ of the tree; ∞ if it has a leaf that the rule forbids although some test still divides its objects.

        Raises CapabilityError when the run has no complexity, or limits that are no leaf rule.
        """
        complexity = problem.parts.complexity
        if complexity is None:
            raise CapabilityError("objective zero_error needs a complexity; add complexity=NAME (arboretum plugins lists them)")
        return value_of(complexity, tree) if stops_lawfully(tree, problem) else math.inf


def stops_lawfully(tree: Tree, problem: Problem) -> bool:
    """Whether every leaf has one class, or is one by the leaf rule, or holds objects that no test tells apart."""
    rule, objects = problem.parts.leaf_rule(counting_objects=True), problem.objects
    impurity = problem.parts.impurity
    impurity = impurity.for_task(objects.task) if hasattr(impurity, "for_task") else impurity
    mixed = tree.is_leaf & ((tree.weights > 0).sum(axis=1) > 1)
    if not mixed.any():
        return True
    mass, rests = tree.mass, np.full(objects.n_objects, -1, np.int64)
    rests[objects.object_of_row] = tree.rest(objects.table)
    for node in np.flatnonzero(mixed):
        of_node = float(impurity.value(tree.weights[node])) if impurity is not None else math.nan
        if rule.holds(float(mass[node]), float(mass[0]), int(tree.counts[node]), of_node, int((rests == node).sum())):
            continue
        codes = objects.codes[rests == node]
        if (codes != codes[:1]).any():
            return False
    return True
