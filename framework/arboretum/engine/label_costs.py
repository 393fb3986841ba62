"""What labels cost at the nodes of a tree, and which trees say a label of least cost."""

from typing import cast

import attrs
import numpy as np

from arboretum.interfaces.method import Parts, Problem
from arboretum.interfaces.sums import SumsByLeaf, leaf_answers, moments_of
from arboretum.model.tree import Tree
from arboretum.model.walk import Arrivals, sum_subtrees
from arboretum.solving.additive import label_costs, shares_of_costs, sum_by_group


def has_own_labels(parts: Parts) -> bool:
    """Return whether trees of a run predict labels of least cost by its objective, rather than the
    heaviest class, or the mean: those of solvers, and all where it weighs objects, has costs of
    each or sums them up by leaf.
    """
    objective = parts.objective
    by_class = hasattr(objective, "label_costs") and (
        parts.solver is not None or hasattr(objective, "weigh")
    )
    return by_class or hasattr(objective, "costs") or hasattr(objective, "moments")


@attrs.frozen(eq=False)
class LabelCosts:
    """Of a problem, by its objective."""

    problem: Problem

    def at_nodes(self, weights: np.ndarray, arrived: Arrivals) -> tuple[np.ndarray, float]:
        """Return float64[nodes, labels], what each label costs, and what sums of the root's costs
        are rounded by: the sum of their absolute values, at most.

        weights : float64[nodes, classes].
        """
        own = shares_of_costs(self.problem)
        if own is None:
            eye = label_costs(self.problem, np.eye(weights.shape[1]))
            found, total = label_costs(self.problem, weights), np.abs(eye).max() * weights[0].sum()
        else:
            mine = own[arrived.who] * arrived.share[:, None]
            at = sum_by_group(mine, arrived.node, arrived.tree.n_nodes)
            found = label_costs(self.problem, weights, sum_subtrees(at, arrived.tree))
            total = np.abs(own).max(axis=1).sum()
        return found, float(total)

    @property
    def are_free(self) -> bool:
        """Whether no leaf has to say what is not best for itself."""
        return not getattr(self.problem.parts.solver, "constrains_labels", False)


def labelled(tree: Tree, problem: Problem) -> Tree:
    """Return the tree with labels of least cost, ties going to the first; of sums by leaf with the
    numbers that the objective predicts.
    """
    if hasattr(problem.parts.objective, "moments"):
        return attrs.evolve(tree, value=predicted(problem, arrivals_of(tree, problem)))
    return attrs.evolve(tree, label=costs_at_nodes(tree, problem).argmin(axis=1))


def costs_at_nodes(tree: Tree, problem: Problem) -> np.ndarray:
    """Return float64[nodes, labels]: what each label costs at each node, by the problem's
    objective.
    """
    if not hasattr(problem.parts.objective, "costs"):
        return label_costs(problem, tree.weights)
    return LabelCosts(problem).at_nodes(tree.weights, arrivals_of(tree, problem))[0]


def arrivals_of(tree: Tree, problem: Problem) -> Arrivals:
    """Return where the problem's objects come to rest."""
    objects = problem.objects
    places = tree.places(objects.table)
    return Arrivals.of(tree, objects.object_of_row, objects.n_objects, places)


def predicted(problem: Problem, arrived: Arrivals) -> np.ndarray:
    """Return float64[nodes]: what the objective predicts of the sums at each node."""
    mine = moments_of(problem)[arrived.who] * arrived.share[:, None]
    sums = sum_subtrees(sum_by_group(mine, arrived.node, arrived.tree.n_nodes), arrived.tree)
    return leaf_answers(cast(SumsByLeaf, problem.parts.objective), sums)
