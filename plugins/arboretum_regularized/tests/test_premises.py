"""Theorem 1 is promised only where coverage and leaf rule are one problem: by brute force over
sets and trees, and by counterexample.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import attrs
import numpy as np
import pytest
from definition_oracle import Instance
from instances import problem

import arboretum
from arboretum.api import (
    Column,
    ColumnKind,
    Context,
    Encoded,
    Family,
    Parts,
    Prices,
    Problem,
    Table,
    Target,
    Task,
    grow,
)
from arboretum.testing.effort import tries
from arboretum.testing.tables import ToyFeature
from arboretum_basics.methods import Exact, Greedy
from arboretum_basics.stopping import ImpurityAtMost, MassAtMost, Pure, Standard
from arboretum_classic.criteria.impurities import Entropy, Gini
from arboretum_classic.pruning.cost_complexity import CostComplexity
from arboretum_regularized.coverages import (
    Covered,
    FewObjects,
    OthersExcluded,
    Probability,
    UnlikePairs,
)
from arboretum_regularized.criteria import Regularized, Weighting

SHARES = [Fraction(0), Fraction(1, 50), Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)]
FAMILIES = [
    ("probability", "pairs"),
    ("probability",),
    ("pairs",),
    ("excluded",),
    ("probability", "excluded"),
    ("pairs", "excluded"),
]


def drawn(seed: int) -> tuple[Instance, tuple[str, ...], Fraction, list]:
    """A small instance with distinct objects, a family of coverages, its θ, and leaf rules that
    may or may not fit.
    """
    generator = np.random.default_rng(seed)
    rows = np.unique(generator.integers(0, 3, (8, 3)), axis=0)
    n = len(rows)
    weight = generator.choice([1, 1, 2, 5], n)
    label = np.arange(n) if seed % 4 == 0 else generator.integers(0, 2, n)
    label[:2] = 0, 1
    theta, other = (SHARES[k] for k in generator.integers(0, len(SHARES), 2))
    other = theta if generator.random() < 0.5 else other
    p = [Fraction(int(w), int(weight.sum())) for w in weight]
    prices = [Fraction(int(c)) for c in generator.integers(1, 5, 3)]
    x = Instance(p, label.tolist(), rows.T.tolist(), prices, theta)
    rules = [
        [Pure()],
        [MassAtMost(theta=float(other))],
        [Covered()],
        [Standard()],
        [Standard(min_split=3)],
        [FewObjects(most=1)],
        [FewObjects()],
        [ImpurityAtMost(delta=0.3)],
        [MassAtMost(theta=float(other)), Covered()],
        [],
    ]
    return (
        x,
        FAMILIES[generator.integers(len(FAMILIES))],
        theta,
        rules[generator.integers(len(rules))],
    )


def parts_of(family, theta, stopping, lam=1.0, impurity=None, **more) -> Parts:
    made = {
        "probability": Probability(theta=float(theta)),
        "pairs": UnlikePairs(),
        "excluded": OthersExcluded(),
    }
    criterion = Regularized(lam=lam, theta=float(theta))
    coverage = tuple(made[name] for name in family)
    return Parts(
        **{
            "method": Greedy(),
            "criterion": criterion,
            "impurity": impurity or Gini(),
            "coverage": coverage,
            "stopping": tuple(stopping),
            **more,
        }
    )


def covered(x: Instance, family, part) -> list[bool]:
    """Of each object of a set whether some f_i is 1, from the definition of f by what is still
    together.
    """
    alone = {
        "probability": lambda i: x.mass(part) <= max(x.p[i], x.theta),
        "pairs": lambda i: x.pairs(part) == 0,
        "excluded": lambda i: x.others(i, part) == 0,
    }
    return [any(alone[name](i) for name in family) for i in part]


def is_leaf(x: Instance, family, rules, part) -> bool:
    """The leaf rules read literally; with ``stop``, what the search loop does."""
    h = 1 - sum(
        (x.mass([i for i in part if x.label[i] == k]) / x.mass(part)) ** 2 for k in set(x.label)
    )
    found = x.pairs(part) == 0
    for rule in rules:
        found |= {
            "pure": lambda: False,
            "mass": lambda: float(x.mass(part)) <= rule.theta + 1e-12,
            "covered": lambda: all(covered(x, family, part)),
            "standard": lambda: len(part) < rule.min_split,
            "few_objects": lambda: len(part) <= rule.most,
            "impurity": lambda: float(h) <= rule.delta + 1e-12,
        }[rule.name]()
    return found


def reached(x: Instance) -> set:
    """Every set of objects that some tests leave together."""
    found, waiting = {x.everyone}, [x.everyone]
    while waiting:
        part = waiting.pop()
        for d in x.tests:
            new = set(x.outcomes(part, d)) - found
            found |= new
            waiting += new
    return found


def least(x: Instance, leaf) -> Fraction:
    """The least expected cost of a tree that obeys the leaf rule."""

    @cache
    def of(part) -> Fraction:
        divided = [(d, x.outcomes(part, d)) for d in x.tests if len(x.outcomes(part, d)) > 1]
        if leaf(part) or not divided:
            return Fraction(0)
        return min(x.price[d] * x.mass(part) + sum(map(of, below)) for d, below in divided)

    return of(x.everyone)


def cost_of(x: Instance, tree) -> float:
    inner = np.flatnonzero(~tree.is_leaf)
    return float(
        sum(
            float(x.price[int(tree.rule(v).columns[0].removeprefix("t"))]) * tree.mass[v]
            for v in inner
        )
        / tree.mass[0]
    )


@pytest.mark.slow
def test_whatever_is_promised_is_kept_and_about_one_problem():
    made = refused = 0
    for seed in range(tries(400)):
        x, family, theta, rules = drawn(seed)
        lam = [0.0, 1.0, 100.0][seed % 3]
        asked = problem(x, parts_of(family, theta, rules, lam, [Gini(), Entropy()][seed % 2]))
        promised = asked.parts.criterion.promises(asked)
        said = asked.parts.criterion.notes(asked)[-1]
        assert said.startswith("guarantee: " if promised else "no guarantee: ")
        leaf = lambda part: is_leaf(x, family, rules, part)
        same = all(set(covered(x, family, part)) == {leaf(part)} for part in reached(x))
        if not promised:
            refused += not same
            continue
        assert same, (seed, family, theta, rules, said)
        made += 1
        tree = grow(asked, Context()).tree
        assert cost_of(x, tree) <= promised["expected_cost"] * float(least(x, leaf)) * (1 + 1e-9)
        assert promised["expected_cost"] < math.inf
    assert min(made, refused) > tries(80)


def test_most_of_what_could_be_promised_is():
    """Where it is not, a set that no test reaches is at fault: the premises are decided without
    listing the sets.
    """
    kept = missed = 0
    for seed in range(400):
        x, family, theta, rules = drawn(seed)
        asked = problem(x, parts_of(family, theta, rules))
        if all(
            set(covered(x, family, part)) == {is_leaf(x, family, rules, part)}
            for part in reached(x)
        ):
            promised = bool(asked.parts.criterion.promises(asked))
            kept, missed = kept + promised, missed + (not promised)
    assert kept > 8 * missed


# -- the counterexample ----------------------------------------------------------------------------

N = 1 << 14
"""Objects; one of them is of another class, and the test ``id`` tells all apart at a price that
greed pays: 2/c > 3/n.
"""
CHEAP, DEAR = 1.0, 8192.0


def one_among_many(weights=None) -> Encoded:
    label = (np.arange(N) == 0).astype(np.int32)
    names = tuple(f"v{i}" for i in range(N))
    columns = (
        Column("tell", ColumnKind.categorical, label, ("b", "a")),
        Column("id", ColumnKind.categorical, np.arange(N, dtype=np.int32), names),
    )
    features = (
        ToyFeature("tell", 0, Family.multiway, 2, categories=("b", "a")),
        ToyFeature("id", 1, Family.multiway, N, categories=names),
    )
    weight = np.ones(N) if weights is None else weights
    return Encoded(
        Table("one", columns, Target("y", Task.classification, label, ("B", "A")), weight),
        features,
        np.stack([label, np.arange(N)], axis=1).astype(np.uint16),
        (),
        np.empty((N, 0)),
        label,
        None,
        weight,
        np.ones(N, np.int64),
        np.arange(N),
    )


def expected_cost(tree) -> float:
    return float((tree.price * tree.mass)[~tree.is_leaf].sum() / tree.mass[0])


def test_where_coverage_asks_for_more_than_the_leaf_rule_greed_pays_thousands_for_1():
    """f_i = 1 asks every object to be alone, and a tree may end at two classes: no theorem
    bounds that ratio.
    """
    asked = Problem(
        one_among_many(),
        Prices(np.array([CHEAP, DEAR]), np.empty(0)),
        parts_of(("probability",), 0, [Pure()], 0.0),
    )
    criterion = asked.parts.criterion
    tree = grow(asked, Context()).tree
    numbers = 20 * 15 * (1 + math.log(N) + math.log2(N))  # Δ ≥ p_min at θ = 0
    assert expected_cost(tree) == DEAR > numbers * CHEAP
    assert criterion.promises(asked) == {}
    assert criterion.notes(asked)[-1] == (
        "no guarantee: nodes of one class are leaves, but not covered; choose "
        "coverage=[probability,pairs]"
    )
    both = attrs.evolve(asked, parts=parts_of(("probability", "pairs"), 0, [Pure()], 0.0))
    factor = both.parts.criterion.promises(both)["expected_cost"]
    assert expected_cost(grow(both, Context()).tree) <= factor * CHEAP


def test_prices_that_ties_hide_are_no_case_of_the_theorem():
    """Two tests that divide alike, at 10¹³ and 10¹⁷: the scores differ by less than what a tie
    is, and the first is taken.
    """
    x = Instance(
        [Fraction(1, 4)] * 4,
        [0, 0, 1, 1],
        [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1]],
        [Fraction(10**17), Fraction(10**13), Fraction(10**17)],
    )
    asked = problem(x, parts_of(("probability", "pairs"), 0, [Pure()]))
    tree = grow(asked, Context()).tree
    assert cost_of(x, tree) == 1e17 > 2000 * float(least(x, lambda part: x.pairs(part) == 0))
    assert asked.parts.criterion.notes(asked)[-1].startswith(
        "no guarantee: rounding and ties may hide"
    )


BOTH = ("probability", "pairs")
REFUSED = [
    (
        dict(family=("pairs",), theta=0.3, stopping=[MassAtMost(theta=0.3)]),
        "nodes of at most 0.3 of the weight are leaves, but not covered",
    ),
    (
        dict(family=BOTH, theta=0.3, stopping=[MassAtMost(theta=0.6)]),
        "leaves, but covered at theta=0.3 only; set both by theta=VALUE",
    ),
    (
        dict(family=BOTH, theta=0.3, stopping=[MassAtMost(theta=0.3, tolerance=0.1)]),
        "nodes of at most 0.4 of the weight are leaves",
    ),
    (
        dict(family=BOTH, theta=0.3, stopping=[Pure()]),
        "nodes of at most theta=0.3 are divided further; choose stopping=[mass]",
    ),
    (
        dict(family=BOTH, theta=0.3, stopping=[Covered(), MassAtMost(theta=0.6)]),
        "covered at theta=0.3 only",
    ),
    (
        dict(family=BOTH, theta=0, stopping=[ImpurityAtMost(delta=0.0)]),
        "nodes of an impurity of at most 0 are leaves",
    ),
    (
        dict(family=BOTH, theta=0, stopping=[FewObjects()]),
        "nodes of fewer than 3 objects are leaves, but not covered",
    ),
    (
        dict(family=BOTH, theta=0, stopping=[Standard(min_split=4)]),
        "nodes of fewer than 4 rows are leaves",
    ),
    (dict(family=BOTH, theta=0, stopping=[Standard(max_depth=2)]), "no limit max_depth (it is 2)"),
    (dict(family=BOTH, theta=0, stopping=[Standard(max_leaves=3)]), "no limit max_leaves"),
    (dict(family=BOTH, theta=0, stopping=[Standard(min_mass=0.1)]), "no limit min_mass"),
    (dict(family=BOTH, theta=0, stopping=[Standard(min_decrease=0.0)]), "no limit min_decrease"),
    (
        dict(family=BOTH, theta=0, stopping=[], pruner=CostComplexity(alpha=0.1)),
        "leave pruner cost_complexity out",
    ),
    (
        dict(family=BOTH, theta=0, stopping=[], method=Greedy(allow_constant=True)),
        "tests that divide nothing compete",
    ),
    (
        dict(family=BOTH, theta=0, stopping=[], method=Exact()),
        "method exact is not known to be Algorithm 1",
    ),
    (dict(family=BOTH, theta=0, stopping=[], lam=1e308), "its factor is not finite at lam=1e+308"),
    (
        dict(family=BOTH, theta=0, stopping=[], lam=1e15),
        "rounding and ties may hide balance and coverage of a test (lam=1e+15",
    ),
    (dict(family=BOTH, theta=0, stopping=[], lam=math.inf), "lam=inf leaves out"),
    (dict(family=(), theta=0, stopping=[]), "it needs coverages"),
    (
        dict(family=BOTH, theta=0, stopping=[], criterion=Regularized(d_term=Weighting.authors)),
        "criterion.d_term=paper",
    ),
]


@pytest.mark.parametrize(
    ("parts", "reason"), REFUSED, ids=lambda each: each if isinstance(each, str) else ""
)
def test_every_premise_that_is_not_kept_is_named(parts, reason):
    answers = [[i >> bit & 1 for i in range(8)] for bit in range(3)]
    x = Instance([Fraction(1, 8)] * 8, [0, 1, 1, 0] * 2, answers, [Fraction(1)] * 3)
    asked = problem(x, parts_of(**parts))
    assert asked.parts.criterion.promises(asked) == {}
    said = asked.parts.criterion.notes(asked)[-1]
    assert said.startswith("no guarantee: ") and reason in said and "\n" not in said


def test_prices_that_depend_on_the_path_are_no_case_of_the_theorem():
    x = Instance(
        [Fraction(1, 4)] * 4, [0, 0, 1, 1], [[0, 1, 0, 1], [0, 0, 1, 1]], [Fraction(1)] * 2
    )
    asked = problem(x, parts_of(BOTH, 0, []))
    for change in ({"once_per_column": True}, {"after": lambda asked: None}):
        cheaper = attrs.evolve(asked, prices=attrs.evolve(asked.prices, **change))
        assert cheaper.parts.criterion.promises(cheaper) == {}


def test_a_criterion_that_only_looks_like_the_papers_promises_nothing():
    @attrs.frozen
    class Mine(Regularized):
        def score(self, tables, node):
            return -super().score(tables, node)

    x = Instance(
        [Fraction(1, 4)] * 4, [0, 0, 1, 1], [[0, 1, 0, 1], [0, 0, 1, 1]], [Fraction(1)] * 2
    )
    asked = problem(x, parts_of(BOTH, 0, []))
    assert asked.parts.criterion.promises(asked)
    assert Mine().promises(asked) == {}


def test_missing_values_whose_branch_is_chosen_at_each_node_are_no_case_of_the_theorem(tmp_path):
    rows = ["a,b,class", *(f"{'' if i == 3 else i % 4},{i % 3},{i % 2}" for i in range(12))]
    (tmp_path / "t.csv").write_text("\n".join(rows), encoding="utf-8")
    run = [
        "dataset=file",
        f"dataset.path={tmp_path / 't.csv'}",
        "dataset.target=class",
        "split=null",
        "tracker=null",
        "method=ec45",
    ]
    kept = arboretum.run([*run, "encoder.missing=keep"])
    assert any(
        note.startswith("no guarantee: column 'a' has missing values") for note in kept.notes
    )
    told = arboretum.run([*run, "encoder.missing=category"])
    assert any(note.startswith("guarantee: ") for note in told.notes)


def test_a_set_of_several_classes_that_is_almost_covered_is_not():
    """Two of 200,000 objects left together miss 1 by 4/n³ = 5·10⁻¹⁶, which a mean near 1 cannot
    show by itself.
    """
    n = 200_000
    label = (np.arange(n) % 2).astype(np.int32)
    objects = attrs.evolve(
        one_among_many(), label=label, weight=np.ones(n), count=np.ones(n, np.int64)
    )
    from arboretum.engine.search.coverage_state import CoverageState

    covering = CoverageState.of((Probability(), UnlikePairs()), objects)
    mean = lambda *rows: covering.mean(np.array(rows), covering.left(np.array(rows)))
    assert mean(0, 1) < 1.0 == mean(0, 2) == mean(0)
