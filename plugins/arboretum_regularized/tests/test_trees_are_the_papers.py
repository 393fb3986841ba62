"""Whole trees: Algorithm 1 read literally, the identities between methods, and Theorem 1 on
instances with a known optimum.
"""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import definition_oracle
import numpy as np
import pytest
from definition_oracle import Instance
from hypothesis import assume, given, settings, strategies as st
from instances import instances, problem

import arboretum
from arboretum.api import CapabilityError, Context, Parts, Prices, Problem, Tree, grow
from arboretum.engine.verify import verify
from arboretum_basics.stopping import MassAtMost
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Misclassification
from arboretum_decision_tables.criteria import UnlikePairs as TotalPairs
from arboretum_regularized.coverages import (
    Covered,
    FewObjects,
    OthersExcluded,
    Probability,
    UnlikePairs,
)
from arboretum_regularized.criteria import (
    Balance,
    CostBenefit,
    ImpurePairs,
    Regularized,
    SubmodularRanking,
    Weighting,
)
from arboretum_regularized.guarantee import guarantee_of
from arboretum_regularized.impurities import Tsallis

CLOSE = 1e-9
"""Of scores up to 20: a term is right to 1e-11 (test_terms_are_the_papers), and λ is at most 10."""
FEW = settings(deadline=None, max_examples=settings().max_examples)


WITH_EXCLUDED = [
    ("probability", "excluded"),
    ("pairs", "excluded"),
    ("probability", "pairs", "excluded"),
]


@attrs.frozen
class ByDefinition(Regularized):
    """The same score without a kernel: from what ``covered`` answers for each outcome."""

    lam: float = 1.0
    theta: float = 0.0
    d_term: Weighting = Weighting.paper

    def kernel(self, impurity, coverage=()):
        return None


def parts_of(criterion, impurity, theta, coverage=("probability", "pairs"), *stopping) -> Parts:
    made = {
        "probability": Probability(theta=float(theta)),
        "pairs": UnlikePairs(),
        "excluded": OthersExcluded(),
    }
    rules = (MassAtMost(theta=float(theta)), *stopping)
    return Parts(
        method=None,
        criterion=criterion,
        impurity=impurity,
        coverage=tuple(made[c] for c in coverage),
        stopping=rules,
    )


def grown(x: Instance, parts: Parts, total: float = 0.0) -> Tree:
    """The tree of the search loop, verified."""
    asked = problem(x, parts, total)
    solution = grow(asked, Context())
    verify(solution.tree, asked, asked.objects.table, {}, solution)
    return solution.tree


def structure(tree: Tree) -> list:
    """Tests and children, node by node."""
    return [
        None if tree.is_leaf[v] else (tree.rule(v).describe(), tree.children(v).tolist())
        for v in range(tree.n_nodes)
    ]


def check(x: Instance, tree: Tree, score) -> None:
    """At every inner node the chosen test's literal score is the highest; every leaf is one by
    the paper's rule.
    """
    stack = [(0, x.everyone, [])]
    while stack:
        v, part, asked = stack.pop()
        tests = list(definition_oracle.candidates(x, part, asked))
        if tree.is_leaf[v]:
            assert x.is_leaf(part) or not tests
            continue
        assert not x.is_leaf(part)
        chosen = int(tree.rule(v).columns[0].removeprefix("t"))
        found = {d: float(score(part, asked, d)) for d in tests}
        assert found[chosen] >= max(found.values()) - CLOSE
        assert tree.score[v] == pytest.approx(found[chosen], abs=CLOSE)
        below = [int(c) for c in tree.children(v) if c >= 0]
        stack += [
            (c, s, [*asked, chosen]) for c, s in zip(below, x.outcomes(part, chosen), strict=True)
        ]


def z(x, family, lam, impurity, authors=False):
    """The literal Z of (S, D', d)."""
    h = lambda masses: float(impurity.value(np.array([float(m) for m in masses])))

    def score(part, asked, d):
        gained = definition_oracle.discrimination(x, h, part, d, authors=authors)
        if lam == math.inf:
            return gained / x.price[d]
        regular = definition_oracle.balance(x, part, d) + definition_oracle.efficiency(
            x, family, part, asked, d
        )
        return (regular + (lam * gained if lam else 0)) / x.price[d]

    return score


@FEW
@given(
    instances(),
    st.sampled_from(
        [("probability", "pairs"), ("probability",), ("pairs",), ("excluded",), *WITH_EXCLUDED]
    ),
    st.sampled_from([0.0, 1.0, 10.0, math.inf]),
    st.sampled_from([Entropy(), Gini(), Tsallis()]),
    st.booleans(),
)
def test_the_tree_is_that_of_algorithm_1(x, family, lam, impurity, authors):
    form = Weighting.authors if authors else Weighting.paper
    criterion = Regularized(lam=lam, theta=float(x.theta), d_term=form)
    check(
        x,
        grown(x, parts_of(criterion, impurity, x.theta, family)),
        z(x, family, lam, impurity, authors),
    )


@FEW
@given(
    instances(max_objects=14, max_tests=6),
    st.sampled_from(WITH_EXCLUDED),
    st.sampled_from([0.0, 1.0, 10.0]),
    st.sampled_from([Entropy(), Gini(), Misclassification(), TotalPairs()]),
    st.sampled_from([0.0, 1.0]),
)
def test_the_tree_of_a_disjunctions_kernel_is_that_of_its_definition(
    x, family, lam, impurity, total
):
    """Where every test of either tree is the best by the other's score: a tie may be rounded to
    either side.
    """
    parts = parts_of(Regularized(lam=lam, theta=float(x.theta)), impurity, x.theta, family)
    by_definition = attrs.evolve(parts, criterion=ByDefinition(lam=lam, theta=float(x.theta)))
    fast, slow = (grown(x, each, total) for each in (parts, by_definition))
    if structure(fast) == structure(slow):
        assert fast.score == pytest.approx(slow.score, abs=CLOSE, nan_ok=True)
    elif impurity != TotalPairs():
        check(x, fast, z(x, family, lam, impurity))
        check(x, slow, z(x, family, lam, impurity))
    else:
        assert fast.score[0] == pytest.approx(slow.score[0], abs=CLOSE)


def test_every_family_with_objects_excluded_has_a_kernel_where_the_impurity_has_one():
    for family in WITH_EXCLUDED:
        for impurity in (Entropy(), Gini(), Misclassification(), TotalPairs()):
            made = parts_of(None, None, 0, family).coverage
            assert Regularized().kernel(impurity, made) is not None
            assert Regularized().kernel(impurity, made[::-1]) is Regularized().kernel(
                impurity, made
            )
        assert ByDefinition().kernel(Entropy(), made) is None


@FEW
@given(instances(), st.booleans())
def test_ip_takes_the_test_that_tells_most_pairs_apart_per_price(x, authors):
    weigh = (lambda part: x.mass(part)) if authors else lambda part: 1
    score = lambda part, _, d: (
        (weigh(part) * x.pairs(part) - sum(weigh(s) * x.pairs(s) for s in x.outcomes(part, d)))
        / x.price[d]
    )
    criterion = ImpurePairs(weighting=Weighting.authors if authors else Weighting.paper)
    check(x, grown(x, parts_of(criterion, Gini(), x.theta, ())), score)


@FEW
@given(instances())
def test_bal_takes_the_most_even_test(x):
    def score(part, _, d):
        shares = [x.mass(s) for s in x.outcomes(part, d)]
        return min(shares) - max(shares)

    check(x, grown(x, parts_of(Balance(), Gini(), x.theta, ())), score)


@FEW
@given(instances())
def test_lambda_0_is_asr_node_for_node(x):
    plain = structure(
        grown(x, parts_of(Regularized(lam=0.0, theta=float(x.theta)), Gini(), x.theta))
    )
    assert plain == structure(
        grown(x, parts_of(SubmodularRanking(theta=float(x.theta)), Entropy(), x.theta))
    )


@FEW
@given(instances(), st.sampled_from([Entropy(), Gini(), Tsallis()]))
def test_lambda_inf_is_the_cost_benefit_tree_node_for_node(x, impurity):
    endless = grown(x, parts_of(Regularized(lam=math.inf, theta=float(x.theta)), impurity, x.theta))
    assert structure(endless) == structure(grown(x, parts_of(CostBenefit(), impurity, x.theta, ())))


@FEW
@given(instances())
def test_at_equal_prices_the_cost_benefit_tree_is_the_plain_one_node_for_node(x):
    x = attrs.evolve(x, price=[Fraction(1)] * len(x.price))
    plain = grown(x, parts_of(Reduction(), Entropy(), x.theta, ()))
    assert structure(plain) == structure(grown(x, parts_of(CostBenefit(), Entropy(), x.theta, ())))


@FEW
@given(instances(), st.sampled_from([Entropy(), Gini()]))
def test_a_large_lambda_is_lambda_inf_where_no_two_tests_reduce_impurity_alike(x, impurity):
    h = lambda masses: float(impurity.value(np.array([float(m) for m in masses])))
    endless = grown(x, parts_of(Regularized(lam=math.inf, theta=float(x.theta)), impurity, x.theta))
    stack = [(0, x.everyone, [])]
    # B + E is at most 2 p(S) / c, so that a lead of 1e-6 in D / c is not made up at λ = 1e8
    while stack:
        v, part, asked = stack.pop()
        if endless.is_leaf[v]:
            continue
        found = sorted(
            definition_oracle.discrimination(x, h, part, d) / x.price[d]
            for d in definition_oracle.candidates(x, part, asked)
        )
        assume(len(found) < 2 or found[-1] - found[-2] > 1e-6)
        chosen = int(endless.rule(v).columns[0].removeprefix("t"))
        below = [int(c) for c in endless.children(v) if c >= 0]
        stack += [
            (c, s, [*asked, chosen]) for c, s in zip(below, x.outcomes(part, chosen), strict=True)
        ]
    large = grown(x, parts_of(Regularized(lam=1e8, theta=float(x.theta)), impurity, x.theta))
    assert structure(large) == structure(endless)


@FEW
@given(instances(), st.sampled_from([3, 5, 1000]))
def test_copying_every_row_k_times_leaves_the_tree_unchanged(x, k):
    """Coalescing makes k copies one object of k times the weight."""
    once = math.lcm(*(p.denominator for p in x.p))
    for criterion, coverage in (
        (Regularized(theta=float(x.theta)), ("probability", "pairs")),
        (ImpurePairs(), ()),
        (Balance(), ()),
    ):
        parts = parts_of(criterion, Entropy(), x.theta, coverage, FewObjects(most=1))
        assert structure(grown(x, parts, once * k)) == structure(grown(x, parts, once))


@FEW
@given(instances())
def test_stopping_where_all_are_covered_is_the_papers_leaf_rule(x):
    """f_i is 1 exactly where S has one class or p(S) ≤ θ."""
    criterion = Regularized(theta=float(x.theta))
    parts = parts_of(criterion, Gini(), x.theta)
    covered = attrs.evolve(parts, stopping=(Covered(),))
    assert structure(grown(x, covered)) == structure(grown(x, parts))


@settings(deadline=None, max_examples=30)
@given(instances(max_objects=6, max_tests=3))
def test_the_least_increment_is_bounded_from_below(x):
    objects = problem(x, parts_of(None, None, x.theta)).objects
    for family in (
        ("probability", "pairs"),
        ("probability",),
        ("pairs",),
        ("excluded",),
        ("probability", "excluded"),
    ):
        assume(not all(definition_oracle.disjunction(x, family, i, []) == 1 for i in x.everyone))
        coverage = parts_of(None, None, x.theta, family).coverage
        found = guarantee_of(objects, coverage, float(x.theta), 0.0, None)
        assert not found.reason
        assert found.delta <= float(definition_oracle.least_increment(x, family)) * (1 + 1e-9)


@FEW
@given(
    instances(max_objects=7),
    st.sampled_from([0.0, 1.0, 10.0]),
    st.sampled_from([Entropy(), Gini()]),
)
def test_the_greedy_tree_keeps_theorem_1(x, lam, impurity):
    parts = parts_of(Regularized(lam=lam, theta=float(x.theta)), impurity, x.theta)
    asked: Problem = problem(x, parts)
    tree = grow(asked, Context()).tree
    cost = literal_cost(x, tree)
    least = float(definition_oracle.least_cost(x))
    promise = guarantee_of(asked.objects, parts.coverage, float(x.theta), lam, impurity)
    # exact Δ and ε_h make a tighter promise; it must hold, too
    delta = (
        float(definition_oracle.least_increment(x, ("probability", "pairs")))
        if not x.is_leaf(x.everyone)
        else 1.0
    )
    tight = 20 * 15 * (1 + math.log(1 / delta) + math.log2(len(x.p)) + lam * exact_eps(x, impurity))
    assert tight <= promise.ratio * (1 + 1e-9)
    assert least <= cost * (1 + 1e-9) and cost <= tight * least * (1 + 1e-9)


def literal_cost(x: Instance, tree: Tree) -> float:
    """Σ price × probability over the inner nodes, from the tree's own masses."""
    inner = np.flatnonzero(~tree.is_leaf)
    price = [float(x.price[int(tree.rule(v).columns[0].removeprefix("t"))]) for v in inner]
    return float(np.dot(price, tree.mass[inner]) / tree.mass[0])


def exact_eps(x: Instance, impurity) -> float:
    """max h_ℓ(x)(S) over all sets: the share of x's class is least where S is x and all objects
    of other classes.
    """
    least = min(
        x.p[i] / (x.p[i] + sum(x.p[j] for j in x.everyone if x.label[j] != x.label[i]))
        for i in x.everyone
    )
    return -math.log2(least) if isinstance(impurity, Entropy) else float(1 - least)


@pytest.mark.parametrize(
    "criterion",
    [Regularized(), SubmodularRanking(), CostBenefit(), ImpurePairs()],
    ids=lambda c: c.name,
)
def test_prices_that_a_score_cannot_divide_by_are_refused_before_work(criterion):
    x = Instance([Fraction(1, 2)] * 2, [0, 1], [[0, 1], [0, 1]], [1, 1])
    asked = problem(x, parts_of(criterion, Gini(), 0, ()))
    free = attrs.evolve(asked, prices=Prices(np.array([1.0, 0.0]), np.empty(0)))
    with pytest.raises(
        CapabilityError,
        match=r"divides by the price of a test, which must be > 0; got 0 for column '.+': raise it",
    ):
        grow(free, Context())
    again = attrs.evolve(asked, prices=attrs.evolve(asked.prices, once_per_column=True))
    with pytest.raises(
        CapabilityError, match="a column that was asked before is free; choose cost=table"
    ):
        grow(again, Context())


def test_what_the_criterion_says_is_a_note_of_the_run_and_not_of_growth():
    bounds = {}
    for method in ("ec45", "cc45"):
        record = arboretum.run(["dataset=iris", f"method={method}", "theta=0.02"])
        bounds[method] = [
            note
            for note in record.notes
            if note.startswith("guarantee: expected cost at most 20γ = ")
        ]
    assert [len(notes) for notes in bounds.values()] == [1, 0]
    x = Instance([Fraction(1, 2)] * 2, [0, 1], [[0, 1]], [1])
    assert grow(problem(x, parts_of(Regularized(), Gini(), 0)), Context()).notes == ()
