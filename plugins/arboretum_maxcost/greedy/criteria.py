"""Criteria: the worst-case reduction of GREEDYTREE (Algorithm 1), and three older ones that
weigh information by price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Node,
    Problem,
    Tables,
    Tree,
    not_admissible,
    param,
    sure,
)
from arboretum.kernels import known_impurity
from arboretum_maxcost.greedy import kernels
from arboretum_maxcost.greedy.guarantee import Guarantee, declares_admissible, guarantee_of
from arboretum_maxcost.greedy.impurities import HingedPairs, class_weights

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity


_ANY = (
    "classification",
    "multiclass",
    "weights",
    "missing",
    "multiway",
    "thresholds",
    "prices",
    "additive",
)
RT = (("rt", (5.0, 3.0, 0.3125)),)
"""Pairs have a kernel of their own: their values of the trial vectors, by hand."""
EXACT = 2.0**53
"""Whole numbers up to this are numbers of 64 bits."""


@attrs.frozen
class WorstCase:
    """The price per reduction of F in the worst outcome, R(t) = max_i c_i / (F(G) − F(G_i)); the
    least wins, so the score is −R.

    Only outcomes that an object of the node has count; prices may differ by outcome.  A test of
    price 0 that lowers F in every outcome has R = 0, the best there is.  A test with an outcome
    that does not lower F (R = ∞) comes after all others: where every test is one, the first of them
    that divides the node is asked. ``delta`` runs the greedy on [F − δ]₊, for which the theorem
    holds where nodes of F ≤ δ are leaves (``stopping.impurity.delta``). The impurity must declare
    ``admissible``; with ``any_impurity`` another will do, and nothing is promised.

    Ties: by 1e-12 of R alone; F is exact on whole numbers below 2⁵³, so that tests of equal R are
    equal.
    """

    kind = "criterion"
    name = "worst_case"
    paper = "Nan, Wang & Saligrama 2015, Algorithm 1"
    capabilities = _ANY
    needs = ("impurity",)
    example = "impurity=pairs"
    needs_outcome_prices = True
    own_unit = True

    delta: float = param(0.0, "δ of the function [F − δ]₊ that is reduced", ge=0.0, lt=np.inf)
    any_impurity: bool = param(
        False,
        "take an impurity that does not declare to be admissible, too; no bound is known then",
    )

    def kernel(self, impurity: Impurity | None) -> Callable[..., float] | None:
        """Return the kernel for this impurity; None if it is written in NumPy only.  Raises
        CapabilityError for one that is not admissible.
        """
        if not declares_admissible(impurity) and not self.any_impurity:
            instead = (
                "choose pairs, powers, hinged_pairs or polynomial, or say "
                "criterion.any_impurity=true"
            )
            raise CapabilityError(
                f"criterion {self.name} needs an admissible impurity; "
                f"{_explain_inadmissible(sure(impurity))}; {instead}"
            )
        if impurity is None or (own := getattr(impurity, "kernel", None)) is None:
            return None
        found: Callable[..., float] | None = (
            kernels.worst_case_rt
            if known_impurity(impurity.name, own, RT) == "rt"
            else kernels.worst_case
        )
        return found

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        found: np.ndarray = np.maximum(self.terms(tables, node)["-R"], kernels.NO_PROGRESS)
        return found

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return −R, and the least reduction of [F − δ]₊ in an outcome, by name; float64[tests]
        each.
        """
        inside = np.maximum(tables.impurity(tables.weights) - self.delta, 0.0)
        lowered = max(node.impurity - self.delta, 0.0) - inside
        price = tables.price[:, None] if tables.outcome_price is None else tables.outcome_price
        there = tables.counts.sum(axis=-1) > 0
        each = np.divide(
            price + 0.0 * lowered, lowered, out=np.full(lowered.shape, np.inf), where=lowered > 0
        )
        return {
            "-R": -np.where(there, each, 0.0).max(axis=-1),
            "least reduction": np.where(there, lowered, np.inf).min(axis=-1),
        }

    def notes(self, problem: Problem, tree: Tree | None = None) -> tuple[str, ...]:
        """Return what Theorem 2.2 promises, or why nothing; what the impurity is not; of a hinged
        tree Theorem 4.6 and Lemma 4.4's bound of errors.
        """
        impurity, promise = problem.parts.impurity, self._guarantee(problem)
        found = [str(promise)]
        total = float(sure(impurity).value(class_weights(problem.objects)))
        if not declares_admissible(impurity):
            found.append(_explain_inadmissible(sure(impurity)))
        if total > EXACT:
            found.append(
                f"impurity {sure(impurity).name} of the whole table is {total:.4g}: beyond 2^53 "
                "its values are rounded to 53 bits"
            )
        if isinstance(impurity, HingedPairs) and not promise.reason:
            found.append(
                "that many times the least of all trees that misclassify at most "
                f"{impurity.alpha:g} of the weight, too (Theorem 4.6)"
            )
        if tree is not None and tree.n_nodes == 1:
            found.append(_explain_single_leaf(problem, total))
        if (
            tree is not None
            and isinstance(impurity, HingedPairs)
            and not impurity.value(tree.weights[tree.is_leaf]).any()
        ):
            bound = impurity.error_bound(tree.mass[tree.is_leaf], tree.weights.shape[1])
            found.append(f"at most {bound:.4g} of the weight is misclassified (Lemma 4.4)")
        return tuple(found)

    def promises(self, problem: Problem) -> dict[str, float]:
        """Return the factor for the max cost; empty where the theorem says nothing of this run."""
        found = self._guarantee(problem)
        return {} if found.reason else {"max_cost": found.factor}

    def _guarantee(self, problem: Problem) -> Guarantee:
        """Return what Theorem 2.2 promises of this run; nothing of a subclass, which may score
        otherwise.
        """
        own = type(self) is WorstCase
        return (
            guarantee_of(problem, self.delta)
            if own
            else Guarantee(reason=f"criterion {self.name} may score otherwise than its parent")
        )


def _explain_single_leaf(problem: Problem, total: float) -> str:
    """Return the note that says why nothing is asked: no test is within the budget, or F of the
    whole table is small enough.

    total : F of the whole table.
    """
    prices, most = problem.prices, problem.parts.limits().max_cost
    cheapest = min(
        (max(prices.of(test)) for test in range(len(prices.tests) + len(prices.raw))), default=0.0
    )
    if most is not None and cheapest > most:
        return (
            f"the cheapest test costs {cheapest:g}, and stopping.max_cost.limit is {most:g}: the "
            f"root is a leaf; allow at least {cheapest:g}"
        )
    return (
        f"impurity {sure(problem.parts.impurity).name} of the whole table is {total:g}: the root "
        "is a leaf; choose a smaller δ, or a smaller α"
    )


def _explain_inadmissible(impurity: Impurity) -> str:
    """Return the sentence that says what keeps an impurity from being admissible."""
    broken = (
        not_admissible(impurity) or "it does not declare to be, though no counterexample was found"
    )
    return f"impurity {impurity.name} is not admissible: {broken}"


class _PerPrice:
    """Base of the criteria that weigh information gain, in bits, by price.

    The score of two outcomes is a growing function of the gain, which is convex in the class
    weights of an outcome.
    """

    kind = "criterion"
    capabilities = _ANY

    def bounded_by_vertices(self, impurity: Impurity | None) -> bool:
        return True


@attrs.frozen
class EG2(_PerPrice):
    """Economic generalizer: (2^ΔI − 1) / (C + 1)^w, ΔI the information gain in bits, C the
    price; a price of 0 divides by 1.
    """

    name = "eg2"
    paper = "Núñez 1991"
    score = staticmethod(kernels.eg2)

    w: float = param(1.0, "how much prices count; 0: not at all", ge=0.0, lt=np.inf)


@attrs.frozen
class IDX(_PerPrice):
    """Information gain in bits per price: ΔI / C; a run with a price of 0 is refused."""

    name = "idx"
    paper = "Norton 1989"
    divides_by_price = True
    score = staticmethod(kernels.idx)


@attrs.frozen
class CSID3(_PerPrice):
    """Square of the information gain in bits per price: ΔI² / C; a run with a price of 0 is
    refused.
    """

    name = "cs_id3"
    paper = "Tan & Schlimmer 1990"
    divides_by_price = True
    score = staticmethod(kernels.cs_id3)


CRITERIA = [WorstCase, EG2, IDX, CSID3]
