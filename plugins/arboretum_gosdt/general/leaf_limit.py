"""The best tree of at most so many leaves, among all trees that a price of a leaf leaves.

At the price p + more each leaf of a tree costs more than in the problem.  Where a tree of k leaves
and the cost C is known, a better one of at most k leaves costs C − 1 + more · k at most at that
price.  All trees of such a cost are gone through (:mod:`arboretum_gosdt.all_trees`): of every set
only those that cost less, at the price p, than others of no more leaves.  They are few where the
price is the one that bounds best: then the gap is what a leaf or less costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from arboretum.api import BudgetError
from arboretum_gosdt.general.splits import SplitRules
from arboretum_gosdt.problem.prepared import MOST, Merged


def best_tree_of_leaves(
    merged: Merged,
    price: tuple[int, int, int],
    rules: SplitRules,
    cost: int,
    until: float | None,
    memory_bytes: int,
    report: Callable[[], None],
) -> tuple[bool, int, np.ndarray | None]:
    """Return whether it is known that no tree within the limits costs less than ``cost``, but for
    the best one that is returned; how many sets of objects that took; and that tree, int64[nodes,
    4] as a search's ``tree`` has it, None: there is none.

    price : p, q and more; p + more is above 0.
    rules : limits on leaves, depth and rows of a leaf, and no others.
    cost : of a tree within the limits.
    until : ``time.monotonic()`` value; half of the seconds that are left are taken.  None: no
        limit.
    memory_bytes : of the trees, at most.
    report : called after every slice.
    """
    from arboretum_gosdt.all_trees.enumeration import AllTrees
    from arboretum_gosdt.all_trees.few_leaves import nodes_of_preorder
    from arboretum_gosdt.all_trees.table import Rows
    from arboretum_gosdt.general.known import ANY

    (p, q, more), limits, found = price, rules.limits, None
    budget = cost - 1 + more * limits.leaves
    if budget >= MOST:
        return False, 0, None
    until = None if until is None else (time.monotonic() + until) / 2
    depth = None if limits.depth == ANY else limits.depth
    with suppress(BudgetError):  # pairs of tests may take too much
        trees = AllTrees(
            Rows.of_merged(merged), p + more, q, budget, depth, rules.least, memory_bytes
        )
        if trees.run(until, report):
            return False, trees.n_sets, None
        fronts = trees.fronts(np.empty((*merged.weights.shape, 0), np.int64), price_of_leaf=p)
        if fronts.run(until, report):
            return False, trees.n_sets, None
        for some in fronts.trees():
            costs = np.where(some.leaves <= limits.leaves, some.cost, cost)
            best = int(costs.argmin())
            if costs[best] < cost:
                cost, found = int(costs[best]), fronts.nodes_of_tree(some.origin[best])
        nodes = None if found is None else nodes_of_preorder(test for test, _ in found)
        return True, trees.n_sets, nodes
    return False, 0, None
