"""Theorem 2.2: the worst-case cost of the greedy tree is at most (ln F(S) + 1) times the least;
where that is so, and what is so elsewhere.

With c_k the price of the k-th test of the costliest path of the greedy tree, G_k the set that is
asked it, and OPT the least worst-case cost of a tree with F ≤ δ at every leaf, Lemmas 2.1 and 4.1
say c_k ≤ OPT (F(G_k) − F(G_k+1)) / (F(G_k) − δ).

* Greedy on [F − δ]₊, which is admissible (docs/paper.md), or δ = 0: the sum over the path is at
  most ln((F(S) − δ)/β) + 1, β the least positive value of [F − δ]₊.  For whole-number F and δ that
  is the paper's ln F(S) + 1.
* Greedy on F and δ > 0: the last step may lower F far below δ.  Its price is at most the highest,
  c_max, and OPT is at least the lowest, c_min: the factor is ln((F(S) − δ)/β) + c_max/c_min,
  Theorem 4.2's for equal prices alone.
* Prices that differ by outcome: the proof follows, in a best tree, the outcome that R is greatest
  for.  Where that tree asks a two-way test that outcome has objects, because else the test could be
  left out.  Of a multiway test it may have none, and nobody pays for it: a best tree for the
  highest price of every outcome then costs at most ρ OPT, ρ the largest ratio of prices within such
  a test, and so the factor is ρ times the one above.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import (
    Capability,
    CapabilityError,
    LeafRule,
    Limits,
    Problem,
    not_admissible,
    sure,
)
from arboretum_maxcost.greedy.impurities import class_weights

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity


TIES = 1e-9
"""Relative: equal scores are equal up to 1e-12, and a difference of impurities has lost that of
the number of objects at most.
"""


@attrs.frozen
class Guarantee:
    """At most ``factor`` times the least worst-case cost; NaN and the reason where nothing is
    known."""

    factor: float = math.nan
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"no guarantee: {self.reason}"
        return (
            f"guarantee: max cost at most {self.factor:.6g} times the least (Nan, Wang & "
            "Saligrama, Theorem 2.2)"
        )


def guarantee_of(problem: Problem, shift: float) -> Guarantee:
    """Return what Theorem 2.2 promises of the greedy tree of [F − shift]₊, before it is grown; or
    the reason why it promises nothing.

    shift : δ of the criterion, on the scale of F.
    """
    if reason := next(_broken_premises(problem), ""):
        return Guarantee(reason=reason)
    objects, impurity, prices = problem.objects, problem.parts.impurity, problem.prices
    rule = problem.parts.leaf_rule(counting_objects=True)
    delta, total = rule.delta or 0.0, float(sure(impurity).value(class_weights(objects)))
    level = rule.levels(0.0)[1] if delta else 0.0
    if total <= level:
        return Guarantee(reason="the root is a leaf")
    if shift not in (0.0, delta):
        return Guarantee(
            reason=(
                f"criterion.delta is {shift:g} and stopping.impurity.delta {delta:g}; let "
                "both be the same"
            )
        )
    least = _least_positive_value(problem, delta, level, rule.delta is None)
    if not math.isfinite(least):
        return Guarantee(
            reason=(
                f"the least positive value of {sure(impurity).name} above {delta:g} is not known "
                "for these objects"
            )
        )
    if stuck := _count_indistinct_objects(problem, level):
        return Guarantee(
            reason=(
                f"{stuck} objects share all answers and are not pure enough for a leaf; "
                "encoder.coalesce=one makes them one"
            )
        )
    last, apart = 1.0, 1.0
    each = [prices.of(test) for test in range(len(prices.tests) + len(prices.raw))]
    for paid in each:
        if len(paid) > 2:
            apart = max(apart, max(paid) / min(paid) if min(paid) > 0.0 else math.inf)
    if shift < delta:
        lowest = min(map(min, each))
        last = max(map(max, each)) / lowest if lowest > 0.0 else math.inf
    factor = apart * (math.log((total - delta) / least) + last) * (1.0 + TIES)
    return (
        Guarantee(factor)
        if math.isfinite(factor)
        else Guarantee(reason="a price is 0 where others are not")
    )


def _broken_premises(problem: Problem) -> Iterator[str]:
    """Yield a sentence for each premise of the theorem that does not hold in this run."""
    objects, parts, prices = problem.objects, problem.parts, problem.prices
    method = getattr(parts.method, "name", "greedy")
    if objects.is_regression:
        yield "the target is a number"
    if not declares_admissible(parts.impurity):
        yield f"impurity {sure(parts.impurity).name} does not declare to be admissible"
    if prices.after is not None or prices.once_per_column:
        yield "what a test costs depends on what was asked before; choose cost=unit or cost=table"
    if (
        method != "greedy"
        or getattr(parts.method, "allow_constant", False)
        or parts.predicate
        or parts.fractional_rows
    ):
        yield (
            f"method {method} is not the paper's here; choose method=greedy without constant "
            "tests, predicates and shares of objects"
        )
    if getattr(parts.method, "max_features", None) is not None:
        yield "not every test competes at a node; leave method.max_features out"
    if objects.incomplete:
        yield (
            "the branch of missing values is chosen at each node; choose "
            "encoder.missing=category (or drop_rows)"
        )
    limits = parts.limits()
    for field in attrs.fields(Limits):
        if (value := getattr(limits, field.name)) != field.default:
            yield (
                f"limit {field.name} (it is {value:g}) makes leaves that are neither pure nor of "
                "F ≤ δ; choose stopping=[pure] or [impurity]"
            )
    try:
        rule = parts.leaf_rule(counting_objects=True)
    except CapabilityError as error:
        yield f"leaves are not those of the theorem: {error}"
        return
    if rule != LeafRule(
        delta=rule.delta, min_split=min(rule.min_split, 2), min_objects=min(rule.min_objects, 2)
    ):
        yield (
            "nodes are leaves that are neither pure nor of little impurity; choose "
            "stopping=[pure] or [impurity]"
        )
    if refuted := refute_admissibility(parts.impurity, objects.n_classes) or refute_least_positive(
        parts.impurity, objects.n_classes
    ):
        yield refuted


def declares_admissible(impurity: Impurity | None) -> bool:
    """Return whether the impurity says that it is non-negative, 0 on pure sets, monotone and
    supermodular; False where ``impurity`` is None.
    """
    return Capability.admissible.value in {
        getattr(each, "value", each) for each in getattr(impurity, "capabilities", ())
    }


@lru_cache(maxsize=64)
def refute_admissibility(impurity: Impurity | None, n_classes: int) -> str:
    """Return why an impurity that declares to be admissible is not, by few small sets of
    ``n_classes`` classes; "" where they say nothing, or ``impurity`` declares nothing or is
    None.
    """
    if (
        impurity is None
        or not declares_admissible(impurity)
        or not (broken := not_admissible(impurity, n_classes))
    ):
        return ""
    return (
        f"impurity {impurity.name} declares admissible, but is {broken}; see arboretum lint "
        f"impurity.{impurity.name}"
    )


@lru_cache(maxsize=64)
def refute_least_positive(impurity: Impurity | None, n_classes: int) -> str:
    """Return why ``least_positive`` is above some positive value, by sets of at most two objects of
    each of three of ``n_classes`` classes; "" where it is not, or nothing is declared.
    """
    if impurity is None or not hasattr(impurity, "least_positive"):
        return ""
    k = min(n_classes, 3)
    sets = np.zeros((3**k, n_classes))
    sets[:, :k] = np.indices((3,) * k).reshape(k, -1).T
    value = np.asarray(impurity.value(sets))
    for whole in sets[(sets > 0).sum(axis=1) > 1]:
        below = np.where((sets <= whole).all(axis=1) & (value > 0), value, np.inf)
        if (reported := impurity.least_positive(whole)) > below.min() * (1 + TIES):
            least = f"F({', '.join(f'{n:g}' for n in sets[int(below.argmin())])}) = {below.min():g}"
            return f"least_positive of impurity {impurity.name} says {reported:g} where {least}"
    return ""


def _least_positive_value(problem: Problem, delta: float, level: float, until_pure: bool) -> float:
    """Return β, the least positive value of [F − δ]₊, or a number below it; NaN where it is not
    known.

    delta : δ; 0: F itself.
    level : impurity at or below which a node is a leaf.
    until_pure : whether only pure nodes are leaves.
    """
    objects, impurity = problem.objects, problem.parts.impurity
    if not delta:  # every mixed set holds two objects of two classes, and F is monotone
        lightest = np.full(objects.n_classes, np.inf)
        np.minimum.at(lightest, objects.label, objects.weight)
        two = [
            np.where(np.isin(range(len(lightest)), pair), lightest, 0.0)
            for pair in itertools.combinations(np.flatnonzero(lightest < np.inf), 2)
        ]
        least = float(sure(impurity).value(np.array(two)).min())
        if least > 0.0 or until_pure:
            return least if least > 0.0 else math.nan
    if (objects.weight != np.rint(objects.weight)).any():
        return math.nan
    if getattr(impurity, "whole", False):
        return math.floor(delta) + 1 - delta if math.floor(level) == math.floor(delta) else math.nan
    return (
        sure(impurity).least_positive(class_weights(objects))
        if not delta and hasattr(impurity, "least_positive")
        else math.nan
    )


def _count_indistinct_objects(problem: Problem, level: float) -> int:
    """Return how many objects are in groups that no test divides and that are no leaves, their
    impurity being above ``level``.

    Groups are told apart by a 64-bit hash.  Two that share it count as one, which can only make
    more of them.
    """
    objects = problem.objects
    columns = [
        *objects.codes.T,
        *(np.ascontiguousarray(column + 0.0, float).view(np.uint64) for column in objects.raw.T),
    ]
    mixed, draw = np.zeros(objects.n_objects, np.uint64), np.random.default_rng(0)
    for column in columns:
        mixed += (column.astype(np.uint64) + np.uint64(1)) * draw.integers(
            1, 2**63, dtype=np.uint64
        ) * np.uint64(2) + np.uint64(1)
        mixed ^= mixed >> np.uint64(29)
    _, group = np.unique(mixed, return_inverse=True)
    many = np.flatnonzero(np.bincount(group)[group] > 1)
    if not len(many):
        return 0
    _, group = np.unique(group[many], return_inverse=True)
    cells = group * objects.n_classes + objects.label[many]
    weights = np.bincount(
        cells, objects.weight[many], (group.max() + 1) * objects.n_classes
    ).reshape(-1, objects.n_classes)
    stuck = ((weights > 0).sum(axis=1) > 1) & (sure(problem.parts.impurity).value(weights) > level)
    return int(stuck[group].sum())
