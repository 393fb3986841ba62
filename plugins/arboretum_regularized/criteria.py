"""Scores of a test d at a node S with the outcomes S_v; p(S) is the share of the weight, φ(S) the
number of unlike pairs.

The closed form of E that the kernels use.  Every object of S has been asked the same tests, so that
f_i at S depends on x_i only by q_i = max(p_i, θ); with 1 − f_i = (p(S) − q_i)/(1 − q_i) ·
φ(S)/φ(X),

    E(d) = Σ_v [p(S_v) − C_v φ(S_v)/φ(S)],
    C_v = Σ_{i ∈ S_v} p_i (p(S_v) − q_i)⁺ / (p(S) − q_i)
        = p(S_v) − (p(S) − p(S_v)) W_v where p(S_v) > θ, else 0,
    W_v = Σ_{i ∈ S_v} p_i / (p(S) − q_i).

W_v is p(S_v)/(p(S) − θ) and, for each object heavier than θ, p_i (p_i − θ) / ((p(S) − p_i)(p(S) −
θ)) more: the column ``excess_weight``.

With ``excluded`` in the disjunction 1 − f_i depends on the class ℓ of x_i, too, by the factor
g_ℓ(S)/g_ℓ(X), g_ℓ the number of objects of other classes.  The sums are taken class by class, and
so is the column:

    E(d) = Σ_v Σ_ℓ [p_ℓ(S_v) − C_vℓ φ(S_v)/φ(S) g_ℓ(S_v)/g_ℓ(S)],
    C_vℓ = p_ℓ(S_v) − (p(S) − p(S_v)) W_vℓ where p(S_v) > θ, else 0.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    ConfigError,
    DataError,
    Node,
    Problem,
    Tables,
    Tree,
    param,
)
from arboretum.kernels import known_impurity
from arboretum_regularized import kernels
from arboretum_regularized.coverages import COVERAGES
from arboretum_regularized.guarantee import Guarantee, broken, guarantee_of

if TYPE_CHECKING:
    from arboretum.interfaces.coverage import Coverage
    from arboretum.interfaces.impurity import Impurity


CLASSES = ("classification", "multiclass", "weights", "missing", "multiway", "thresholds")
PAPER = "Zhang & Gionis 2023"


class Weighting(enum.IntEnum):
    """How impurity or pairs of a branch are weighted, as printed or as in the authors' program; a
    kernel finds it in the last of ``node.params``.
    """

    paper = 0
    authors = 1


def form_of(impurity: Impurity | None) -> str | None:
    """Return how kernels sum an impurity: "entropy", "gini", "mean" or "total" (any other with a
    kernel); None where ``impurity`` is None or has no kernel.
    """
    kernel = getattr(impurity, "kernel", None)
    if impurity is None or kernel is None:
        return None
    return known_impurity(getattr(impurity, "name", ""), kernel) or impurity.scale


def paid(tables: Tables, name: str) -> np.ndarray:
    """Return float64[tests]: prices that a score may divide by.

    name : of the criterion, for the message.  Raises DataError on a price that is not positive.
    """
    if tables.n_tests and not (tables.price > 0).all():
        price = float(tables.price[~(tables.price > 0)][0])
        raise DataError(
            f"criterion {name} divides by the price of a test, which must be > 0; got {price:g}: "
            "choose cost=unit, or raise it"
        )
    return tables.price


def reduction(tables: Tables, node: Node, form: Weighting, name: str) -> np.ndarray:
    """Return D, float64[tests]: the impurity reduction, as a share of the root's weight times the
    impurity.

    form : the paper's or the authors' weights of the outcomes.
    name : of the criterion, for the message.
    Raises CapabilityError for the authors' form with an impurity that is a total.
    """
    if tables.impurity_scale == "total":
        if form is Weighting.authors:
            raise CapabilityError(_no_authors_form(name))
        fallen: np.ndarray = node.impurity - tables.impurity(tables.weights).sum(axis=-1)
        return fallen / node.total_mass
    share = node.mass / node.total_mass
    after = (tables.mass * tables.impurity(tables.weights)).sum(axis=-1) / node.total_mass
    found: np.ndarray = (
        share * (node.impurity - after)
        if form is Weighting.authors
        else share * node.impurity - after
    )
    return found


def _no_authors_form(name: str) -> str:
    return (
        f"criterion {name}: d_term=authors weighs means; choose an impurity that is a mean, or "
        "d_term=paper"
    )


def _lam(default: float) -> Any:
    return param(default, "weight λ of the impurity reduction; inf leaves nothing else", ge=0.0)


_THETA = param(
    0.0,
    "θ of the coverage probability; both must agree",
    ge=0.0,
    le=1.0,
    unit="share of the total weight",
    shared="theta",
)
_D_TERM = param(
    Weighting.paper,
    "impurity of an outcome weighted by its share of the node (paper) or of the root (authors)",
)


@attrs.frozen
class Regularized:
    """Balance, coverage and impurity reduction over the price: Z = (B + E + λD) / c.

    B = p(S) − p(S_v*), v* the outcome with the most objects (the first of several).   E = Σ_i p_i
    (f_i(S_v) − f_i(S)) / (1 − f_i(S)) over the objects of S, f the disjunction of the run's
    coverages (0 without any).   D = p(S) (h(S) − h(S|d)). λ = 0 is ASR; λ = inf means Z = D / c.
    With an impurity I that is a total, D = (I(S) − Σ I(S_v)) / M, M the root's weight.

    For any disjunction of the coverages ``probability``, ``pairs`` and ``excluded``, and none, with
    an impurity that has a kernel, the score is compiled; any other family is scored by its
    definition, object by object.
    """

    kind = "criterion"
    name = "regularized"
    paper = f"{PAPER}, equation 2"
    capabilities = (*CLASSES, "prices")
    needs = ("impurity",)
    counts_objects = True
    needs_gain = True
    divides_by_price = True

    lam: float = _lam(1.0)
    theta: float = _THETA
    d_term: Weighting = _D_TERM

    column = staticmethod(kernels.excess_weight)

    def kernel(
        self, impurity: Impurity | None, coverage: Sequence[Coverage] = ()
    ) -> Callable[..., float] | None:
        """Return the kernel for this impurity and these coverages; None if one of them has no
        compiled form.

        Raises ConfigError where θ here and in the coverage differ, CapabilityError for
        d_term=authors with a total.
        """
        for each in coverage:
            theta = getattr(each, "theta", self.theta) if each.name == "probability" else self.theta
            if theta != self.theta:
                raise ConfigError(
                    f"criterion.theta is {self.theta:g} and coverage.probability.theta "
                    f"{theta:g}; set both by theta=VALUE"
                )
        if (
            self.d_term is Weighting.authors
            and getattr(impurity, "scale", "") == "total"
            and self.lam > 0
        ):
            raise CapabilityError(_no_authors_form(self.name))
        form = form_of(impurity) if self.lam > 0.0 else ""
        names = frozenset(each.name for each in coverage if type(each) in COVERAGES)
        if self.lam == math.inf:
            return (
                kernels.kernel_of("cost_benefit", form)
                if form and self.d_term is Weighting.paper
                else None
            )
        if form is None or len(names) < len(coverage):
            return None
        return kernels.kernel_of("regularized" if form else "submodular", form, names)

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        return self.terms(tables, node)["Z"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """B, E, D (0 where λ = 0 leaves it out) and Z."""
        price = paid(tables, self.name)
        heaviest = tables.counts.sum(axis=-1).argmax(axis=-1)
        kept = np.take_along_axis(tables.mass, heaviest[:, None], axis=1)[:, 0]
        balance = (node.mass - kept) / node.total_mass
        gain = tables.gain
        efficiency = (
            np.zeros(tables.n_tests) if gain is None else gain.sum(axis=-1) / node.total_mass
        )
        gained = (
            reduction(tables, node, self.d_term, self.name)
            if self.lam > 0
            else np.zeros(tables.n_tests)
        )
        joined = gained if self.lam == math.inf else balance + efficiency + self.lam * gained
        return {"B": balance, "E": efficiency, "D": gained, "Z": joined / price}

    def notes(self, problem: Problem, tree: Tree | None = None) -> tuple[str, ...]:
        """Return what Theorem 1 promises for this run, or why it promises nothing; and that
        probabilities are shares of weights, where they are.
        """
        promise, total = str(self._guarantee(problem)), float(problem.objects.weight.sum())
        if problem.objects.table.weights is None or abs(total - 1.0) <= 1e-9:
            return (promise,)
        return (
            f"the weights of the training rows sum to {total:.6g}: probabilities are their shares",
            promise,
        )

    def promises(self, problem: Problem) -> dict[str, float]:
        """Theorem 1's factor for the expected cost; empty where it says nothing of this run."""
        found = self._guarantee(problem)
        return {} if found.reason else {"expected_cost": found.ratio}

    def _guarantee(self, problem: Problem) -> Guarantee:
        """Return the bound of Theorem 1, or the reason why it does not hold here."""
        found = guarantee_of(
            problem.objects, problem.parts.coverage, self.theta, self.lam, problem.parts.impurity
        )
        return (
            found
            if found.reason
            else attrs.evolve(found, reason=self._other_score() or broken(problem, self.lam))
        )

    def _other_score(self) -> str:
        """Return where the score is not the theorem's Z."""
        if type(self) not in CRITERIA:
            return f"criterion {self.name} may score otherwise than those of its plugin"
        authors = self.d_term is Weighting.authors and self.lam > 0
        return "the theorem is proved for criterion.d_term=paper" if authors else ""


@attrs.frozen
class SubmodularRanking(Regularized):
    """The criterion ``regularized`` with λ = 0: (B + E) / c, the greedy rule of adaptive
    submodular ranking (ASR).
    """

    name = "regularized_asr"
    paper = "Navidi, Kambadur & Nagarajan 2020"

    # all three again: a field that is declared anew moves to the end, and kernels find them by
    # their order
    lam: float = _lam(0.0)
    theta: float = _THETA
    d_term: Weighting = _D_TERM


@attrs.frozen
class EC45(Regularized):
    """The criterion ``regularized`` with λ = 100, the first value of the paper's tuning rule: for
    entropy (EC4.5).

    Of the values in the paper's Figure 2, 100 is the least that loses no more than 0.01 of ROC AUC
    on average over its data sets against the best value of each, at an expected cost below that of
    λ = 0.
    """

    name = "regularized_ec45"
    lam: float = _lam(100.0)
    theta: float = _THETA
    d_term: Weighting = _D_TERM


@attrs.frozen
class ECART(Regularized):
    """The criterion ``regularized`` with λ = 100, as for EC4.5: for Gini's index (ECART)."""

    name = "regularized_ecart"
    lam: float = _lam(100.0)
    theta: float = _THETA
    d_term: Weighting = _D_TERM


@attrs.frozen
class CostBenefit:
    """Impurity reduction over the price: D / c, D = p(S) (h(S) − h(S|d)); the limit of
    ``regularized`` for large λ.
    """

    kind = "criterion"
    name = "cost_benefit"
    paper = f"{PAPER}, section 6 (CC4.5, CCART)"
    capabilities = (
        *CLASSES,
        "prices",
        "additive",
    )
    needs = ("impurity",)
    divides_by_price = True

    def kernel(self, impurity: Impurity | None) -> Callable[..., float] | None:
        """Return the kernel for this impurity; None if it is written in NumPy only."""
        form = form_of(impurity)
        return None if form is None else kernels.kernel_of("cost_benefit", form)

    def bounded_by_vertices(self, impurity: Impurity | None) -> bool:
        """With a concave mean impurity the score is convex in the class weights of an outcome."""
        declared = {getattr(c, "value", c) for c in getattr(impurity, "capabilities", ())}
        return getattr(impurity, "scale", "") == "mean" and "concave" in declared

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        return self.terms(tables, node)["D/c"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the impurity reduction, and the same over the price."""
        gained = reduction(tables, node, Weighting.paper, self.name)
        return {"D": gained, "D/c": gained / paid(tables, self.name)}


@attrs.frozen
class Balance:
    """The most even division: minus (max p(S_v) − min p(S_v)) over the outcomes that have objects
    (BAL).

    Looks at neither classes nor prices.
    """

    kind = "criterion"
    name = "balance"
    paper = f"{PAPER}, section 6 (BAL)"
    capabilities = (*CLASSES, "additive")

    def kernel(self, impurity: Impurity | None) -> Callable[..., float]:
        """Return the score as a kernel, one for all impurities: it looks at none."""
        kernel: Callable[..., float] = kernels.balance
        return kernel

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests], ≤ 0; see the class."""
        return self.terms(tables, node)["score"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the share of the heaviest and of the lightest outcome with objects; their
        difference, negative.
        """
        mass = tables.mass / node.total_mass
        most, least = mass.max(axis=-1), np.where(mass > 0, mass, np.inf).min(axis=-1)
        return {"most": most, "least": least, "score": least - most}


@attrs.frozen
class ImpurePairs:
    """Pairs of objects of different classes that a test tells apart: φ(S) − Σ φ(S_v) (IP); every
    object counts once.

    ``weighting=authors``: p(S) φ(S) − Σ p(S_v) φ(S_v), as the authors' program has it.
    """

    kind = "criterion"
    name = "impure_pairs"
    paper = f"{PAPER}, section 6 (IP)"
    capabilities = (*CLASSES, "prices")
    counts_objects = True

    per_price: bool = param(True, "divide by the price of the test")
    weighting: Weighting = param(
        Weighting.paper,
        "pairs of an outcome as they are (paper), or times its share of the weight (authors)",
    )

    @property
    def divides_by_price(self) -> bool:
        """Whether the score is divided by the price, so that no test may be free."""
        return self.per_price

    def kernel(self, impurity: Impurity | None) -> Callable[..., float]:
        """Return the score as a kernel, one for all impurities: it looks at none."""
        kernel: Callable[..., float] = kernels.impure_pairs
        return kernel

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        return self.terms(tables, node)["score"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Pairs before and after, and the score."""
        before, after = _pairs(tables.counts.sum(axis=1)), _pairs(tables.counts)
        if self.weighting is Weighting.authors:
            before = before * (node.mass / node.total_mass)
            after = after * (tables.mass / node.total_mass)
        told_apart = before - after.sum(axis=-1)
        score = told_apart / paid(tables, self.name) if self.per_price else told_apart
        return {"before": before, "after": after.sum(axis=-1), "score": score}


def _pairs(counts: np.ndarray) -> np.ndarray:
    """φ over the last axis: int64[…, classes] → float64[…]."""
    n = counts.astype(float)
    pairs: np.ndarray = (n.sum(axis=-1) ** 2 - (n * n).sum(axis=-1)) / 2
    return pairs


CRITERIA = [Regularized, SubmodularRanking, EC45, ECART, CostBenefit]
BASELINES = [Balance, ImpurePairs]
