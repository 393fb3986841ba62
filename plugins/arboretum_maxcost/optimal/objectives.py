"""The maximum path cost, over the trees that err little enough."""

import math

import attrs
import numpy as np

from arboretum.api import Problem, Tree, param

ROUNDING = 1e-9
"""Relative: the errors allowed are meant up to it."""


@attrs.frozen
class MaxCost:
    """Largest price of a path, over trees whose training error is at most ``error``.

    Without error it is ``objective=zero_error complexity=max_cost stopping=[pure]``, where the tree
    must divide all that can be divided; this one stops wherever the errors allow it.
    """

    kind = "objective"
    name = "max_cost"
    paper = "Nan, Wang & Saligrama 2015, section 2"
    capabilities = ("classification", "multiclass", "weights", "prices")
    example = "dataset=monk1-full method=max_cost objective=max_cost objective.error=0.2"

    error: float = param(
        0.0, "ε, the share of the weight that may be misclassified", ge=0.0, le=1.0
    )

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the largest price of a path; ∞ if more than ε is misclassified."""
        ends, rest = tree.is_end, tree.resting
        wrong = rest.sum() - rest[np.arange(tree.n_nodes), tree.label].sum()
        allowed = self.error * float(tree.mass[0]) * (1 + ROUNDING) + ROUNDING * float(
            tree.weights.max()
        )
        return float((tree.price_to + tree.price)[ends].max()) if wrong <= allowed else math.inf


class TrainingError:
    """What is certified of a run that has no objective: the share of the weight that is
    misclassified.
    """

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return the share of the weight, from 0 to 1, that rests where the tree predicts another
        class.
        """
        rest = tree.resting
        return float(rest.sum() - rest[np.arange(tree.n_nodes), tree.label].sum()) / float(
            tree.mass[0]
        )
