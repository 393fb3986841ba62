"""The greedy algorithms: kernels and twins, ties and fall-backs, the trees of the paper, what
runs say and refuse.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from small_instances import Instance, component, drawn, grown

import arboretum
from arboretum.api import CapabilityError, Encoded, Prices
from arboretum.testing import CriterionSuite
from arboretum.testing.tables import toy_objects, toy_table
from arboretum_maxcost.greedy import kernels, reference
from arboretum_maxcost.greedy.criteria import EG2, WorstCase
from arboretum_maxcost.greedy.impurities import HingedPairs, Powers

PAIRS = component("impurity", "pairs")


@attrs.frozen
class Cubes:
    """An admissible impurity in NumPy alone."""

    kind = "impurity"
    name = "cubes"
    paper = ""
    capabilities = ("classification", "multiclass", "weights", "admissible")
    scale = "total"

    def value(self, weights: np.ndarray) -> np.ndarray:
        return np.maximum(weights.sum(axis=-1) ** 3 - (weights**3).sum(axis=-1), 0.0)


class TestWorstCaseOfPowers(CriterionSuite):
    component = WorstCase()
    impurity = pytest.fixture(lambda self: Powers(3))


class TestWorstCaseOfHingedPairsShifted(CriterionSuite):
    component = WorstCase(delta=3.5)
    impurity = pytest.fixture(lambda self: HingedPairs(0.5))


class TestWorstCaseOfPairsShifted(CriterionSuite):
    component = WorstCase(delta=7.0)
    impurity = pytest.fixture(lambda self: PAIRS)


class TestWorstCaseInNumPy(CriterionSuite):
    component = WorstCase()
    impurity = pytest.fixture(lambda self: Cubes())


class TestWorstCaseOfAnotherImpurity(CriterionSuite):
    component = WorstCase(any_impurity=True)


class TestEG2(CriterionSuite):
    component = EG2(w=0.5)


def test_every_kernel_equals_its_twin():
    generator = np.random.default_rng(0)
    for trial in range(400):
        weights = generator.integers(0, 6, (3, 3)) * generator.choice([0.5, 1.0, 1.75])
        weights[0, 0] += 1.0
        whole = weights.sum(axis=0)
        given = (weights, np.ceil(weights).astype(np.int64), float(trial % 5), np.zeros((3, 0)))
        for function, value in (
            (reference.rt, "worst_case_rt"),
            (lambda row: reference.powers(row, 3), "worst_case"),
        ):
            of = SimpleNamespace(
                params=[generator.choice([0.0, 2.5]), 0.0],
                impurity=function(whole),
                impurity_of=function,
            )
            assert getattr(kernels, value)(*given, of) == pytest.approx(
                getattr(reference, value)(*given, of), rel=1e-12
            )
        paid, node = (*given[:2], 1.0 + trial % 5, given[3]), SimpleNamespace(params=[0.5])
        # both subtract sums of some bits, and round them by 2⁻⁵⁰
        for name in ("eg2", "idx", "cs_id3"):
            assert getattr(kernels, name)(*paid, node) == pytest.approx(
                getattr(reference, name)(*paid, node), rel=1e-9, abs=1e-14
            )


def test_the_numpy_form_says_what_the_kernel_says():
    for seed, function in itertools.product(
        range(6), (PAIRS, Powers(3), HingedPairs(1.0), HingedPairs(2.0))
    ):
        x = drawn(seed, n=14)
        by_kernel, plain = x.problem(function), x.problem(attrs.evolve(_without_kernel(function)))
        assert grown(by_kernel) == grown(plain)


def _without_kernel(function):
    body = {
        "value": lambda self, weights: function.value(weights),
        "capabilities": function.capabilities,
        "scale": "total",
    }
    return attrs.frozen(
        type("Plain", (), {**body, "kind": "impurity", "name": function.name, "paper": ""})
    )()


def exact(function, counts) -> Fraction:
    return Fraction(float(function.value(counts)))  # whole numbers and halves


def asked(
    x: Instance, function, members: frozenset[int], delta: Fraction = Fraction(0)
) -> int | None:
    """The test that Algorithm 1 asks, in exact arithmetic; None where none divides the set."""
    over = lambda own: max(exact(function, x.counts(own)) - delta, Fraction(0))
    found: list[tuple[bool, Fraction, int]] = []
    for test in range(x.answers.shape[1]):
        if len(parts := x.children(members, test)) > 1:
            lowered = {o: over(members) - over(own) for o, own in parts.items()}
            stuck = min(lowered.values()) <= 0
            worst = (
                Fraction(0)
                if stuck
                else max(Fraction(float(x.price[test, o])) / d for o, d in lowered.items())
            )
            found.append((stuck, worst, test))
    return min(found)[2] if found else None


@pytest.mark.parametrize("prices", ["unit", "unequal", "by outcome"])
@pytest.mark.parametrize(
    "function", [PAIRS, Powers(3), Powers(5), HingedPairs(1.0), HingedPairs(2.5)], ids=str
)
def test_every_tree_is_that_of_algorithm_1_in_exact_arithmetic(function, prices):
    stuck = 0
    for seed, delta in itertools.product(range(8), (0, 6)):
        x = drawn(seed, n=14, values=3 if seed % 2 else 2, tests=5, prices=prices)
        tree = grown(x.problem(function, criterion=WorstCase(delta=float(delta))))
        waiting = [(0, frozenset(range(len(x.label))))]
        while waiting:
            node, members = waiting.pop()
            if tree.is_leaf[node]:
                assert np.count_nonzero(x.counts(members)) == 1
                continue
            test = asked(x, function, members, Fraction(delta))
            assert tree.rule(node).column == f"t{test}"
            stuck += tree.score[node] == kernels.NO_PROGRESS
            parts = x.children(members, test)
            waiting += [
                (int(child), parts[o]) for o, child in enumerate(tree.children(node)) if child >= 0
            ]
    assert (stuck > 0) or function in (Powers(3), Powers(5), PAIRS)


def test_the_first_test_that_divides_is_asked_where_none_lowers_f_in_every_outcome():
    """Hinged pairs with α = 9 of 9 + 9 objects: F is 0."""
    label = np.repeat([0, 1], 9)
    constant = np.zeros(18, int)
    one_out = (np.arange(18) == 17).astype(int)
    two_out = (np.arange(18) >= 16).astype(int)
    x = Instance(np.stack([constant, two_out, one_out, label], axis=1), label, np.ones((4, 2)))
    tree = grown(x.problem(HingedPairs(9.0), criterion=WorstCase()))
    assert tree.rule(0).column == "t1" and tree.score[0] == kernels.NO_PROGRESS
    assert grown(x.problem(HingedPairs(1.0))).rule(0).column == "t3", "it separates the classes"


def test_a_free_test_that_lowers_f_everywhere_is_the_best_and_a_free_one_that_does_not_is_not():
    label = np.repeat([0, 1, 0, 1], 4)
    halves, classes, alone = (np.arange(16) < 8).astype(int), label, (np.arange(16) < 1).astype(int)
    price = np.array([[5.0, 5.0], [0.0, 0.0], [1.0, 1.0]])
    x = Instance(np.stack([halves, classes, alone], axis=1), label, price)
    tree = grown(x.problem(PAIRS))
    assert tree.rule(0).column == "t1" and tree.score[0] == 0
    third = np.where(alone, 2, label)
    single = Instance(np.stack([halves, alone], axis=1), third, np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert HingedPairs(1.0).value(np.bincount(third).astype(float)) == HingedPairs(1.0).value(
        np.bincount(label[1:]).astype(float)
    )
    assert grown(single.problem(HingedPairs(1.0))).rule(0).column == "t0", (
        "to take out a class below the hinge is no progress, free or not"
    )


def test_equal_ratios_go_to_the_lowest_test_and_close_ones_do_not():
    """1/327425 against 1/327170 differ by 2.4e-9: far below 1e-12 of F, far above 1e-12 of
    themselves.
    """
    record = arboretum.run(
        ["dataset=dfep-synthetic", "method=greedytree_pairs", "split=none", "tracker=none"]
    )
    assert record.tree.impurity[0] == 393216 and record.tree.score[0] == pytest.approx(
        -1 / 327425, rel=1e-15
    )
    x = drawn(3)
    twice = attrs.evolve(
        x,
        answers=np.concatenate([x.answers, x.answers], axis=1),
        price=np.concatenate([x.price, x.price]),
    )
    tree = grown(twice.problem(PAIRS))
    assert {tree.rule(node).column for node in np.flatnonzero(~tree.is_leaf)} <= {
        f"t{t}" for t in range(x.answers.shape[1])
    }


@pytest.mark.parametrize(
    "impurity", [[], ["impurity=powers", "impurity.l=3"], ["impurity=powers", "impurity.l=5"]]
)
def test_the_tree_of_the_1024_objects(impurity):
    record = arboretum.run(
        [
            "dataset=dfep-synthetic",
            "method=greedytree_pairs",
            *impurity,
            "split=none",
            "tracker=none",
        ]
    )
    tree, metrics = record.tree, record.metrics
    assert tree.rule(0).column == "t1" and [
        tree.rule(child).column for child in tree.children(0)
    ] == ["t2", "t2"]
    assert (metrics["max_cost"], metrics["depth"], metrics["n_leaves"], metrics["train_error"]) == (
        10,
        10,
        36,
        0,
    )
    assert metrics["expected_cost"] == 3.9921875
    errors = [
        int((tree.mass[level] - tree.weights[level].max(axis=1)).sum())
        for level in (at_depth(tree, d) for d in range(11))
    ]
    assert errors == [768, 512, 4, 4, 4, 4, 4, 4, 4, 4, 0]
    if not impurity:
        assert set(tree.impurity[tree.depth_of == 1]) == {65791} and set(
            tree.impurity[tree.depth_of == 2]
        ) == {255}
        assert any(note.startswith("guarantee: max cost at most 13.882") for note in record.notes)
        assert math.log(393216) + 1 == pytest.approx(13.882, abs=1e-3)


def at_depth(tree, depth: int) -> np.ndarray:
    """Nodes of a depth, and the leaves above it: what the tree cut at that depth ends in."""
    return np.flatnonzero((tree.depth_of == depth) | (tree.is_leaf & (tree.depth_of < depth)))


@pytest.mark.parametrize("delta", [255, 65790])
def test_the_1024_objects_with_early_stopping(delta):
    record = arboretum.run(
        [
            "dataset=dfep-synthetic",
            "method=greedytree_pairs",
            f"stopping.impurity.delta={delta}",
            "split=none",
            "tracker=none",
        ]
    )
    assert (record.metrics["max_cost"], record.metrics["train_error"]) == (2, 4 / 1024)


def test_the_1024_objects_with_hinged_pairs_and_lemma_4_4():
    common = ["dataset=dfep-synthetic", "method=greedytree_hinged", "split=none", "tracker=none"]
    record = arboretum.run([*common, "impurity.alpha=5"])
    assert record.tree.rule(0).column == "t2"
    assert (
        record.metrics["max_cost"],
        record.metrics["train_error"],
        record.metrics["n_leaves"],
    ) == (2, 4 / 1024, 4)
    assert (
        f"at most {4 * 3 * 5 * 4 / 1024:.4g} of the weight is misclassified (Lemma 4.4)"
        in record.notes
    )
    assert (
        "that many times the least of all trees that misclassify at most 5 of the weight, "
        "too (Theorem 4.6)" in record.notes
    )
    same = arboretum.run([*common, f"impurity.epsilon={5 / 1024}", "certify=true"])
    assert same.tree == record.tree, (
        "the share is that of the training objects, for growth and verification alike"
    )


def test_prices_by_outcome_are_read_outcome_by_outcome():
    """By its costliest outcome t0 would cost 9; the objects that pay it gain the most."""
    label = np.array([0] * 6 + [1] * 6)
    answers = np.stack([(np.arange(12) >= 11).astype(int), (np.arange(12) % 2), label], axis=1)
    price = np.array([[1.0, 9.0], [2.0, 2.0], [30.0, 30.0]])
    x = Instance(answers, label, price)
    tree = grown(x.problem(PAIRS))
    ratio = {0: max(1 / (36 - 30), 9 / 36), 1: 2 / (36 - 9), 2: 30 / 36}
    assert tree.rule(0).column == f"t{min(ratio, key=ratio.get)}" and tree.score[
        0
    ] == pytest.approx(-min(ratio.values()))
    dear = attrs.evolve(x, price=np.array([[1.0, 9.0], [9.0, 9.0], [30.0, 30.0]]))
    assert grown(dear.problem(PAIRS)).rule(0).column == "t0"


def test_a_run_with_prices_by_outcome_is_verified_and_says_why_it_grows_node_by_node():
    common = [
        "dataset=play-tennis",
        "method=greedytree_pairs",
        "cost=by_outcome",
        "split=none",
        "tracker=none",
    ]
    record = arboretum.run([*common, "cost.prices={outlook: {sunny: 3}, humidity: {high: 0}}"])
    assert record.verified and "no kernel for impurity" not in " ".join(record.notes)
    assert any("prices depend on the path or on the outcome" in note for note in record.notes)
    assert any(
        note.startswith(f"guarantee: max cost at most {3 * (math.log(45) + 1):.5}")
        for note in record.notes
    ), "ρ = 3 of outlook"


@attrs.frozen
class Listed:
    """A cost component with these prices."""

    kind = "cost"
    name = "listed"
    paper = ""
    capabilities = ()
    values: tuple[float, ...] = ()

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        return Prices(np.array(self.values), np.zeros(0))


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf])
def test_prices_that_are_none_are_refused_before_any_work(price):
    from arboretum.engine.check import check_prices
    from arboretum.errors import ContractError

    objects = toy_objects(toy_table(0))
    prices = Listed((price,) * int(objects.test_offset[-1])).price_list(objects, 0)
    with pytest.raises(ContractError, match="finite numbers ≥ 0"):
        check_prices(Listed(), prices, objects)


def test_an_impurity_that_is_not_admissible_is_refused_and_allowed_by_option():
    common = [
        "dataset=iris",
        "method=greedy",
        "criterion=worst_case",
        "encoder=multiway",
        "tracker=none",
    ]
    with pytest.raises(
        CapabilityError,
        match=r"impurity gini is not admissible: not monotone: F\(1, 1\) .*any_impurity=true",
    ):
        arboretum.run([*common, "impurity=gini"])
    with pytest.raises(CapabilityError, match="impurity me is not admissible: not supermodular"):
        arboretum.run([*common, "impurity=me"])
    record = arboretum.run([*common, "impurity=gini", "criterion.any_impurity=true"])
    assert any("impurity gini is not admissible: not monotone" in note for note in record.notes)
    assert "no guarantee: impurity gini does not declare to be admissible" in record.notes


def test_levels_beyond_the_useful_range_are_told_and_negative_ones_refused():
    common = ["dataset=iris", "method=greedytree_pairs", "split=none", "tracker=none"]
    record = arboretum.run([*common, "stopping.impurity.delta=7500"])
    assert (
        "impurity rt of the whole table is 7500: the root is a leaf; choose a smaller δ, or "
        "a smaller α" in record.notes
    )
    budget = ["stopping=[max_cost]", "stopping.max_cost.limit=0.5"]
    notes = arboretum.run([*common, *budget]).notes
    assert (
        "the cheapest test costs 1, and stopping.max_cost.limit is 0.5: the root is a leaf; "
        "allow at least 1" in notes
    )
    assert any(
        note.startswith("no guarantee: limit max_cost (it is 0.5) makes leaves") for note in notes
    )
    assert (
        "no guarantee: not every test competes at a node; leave method.max_features out"
        in arboretum.run([*common, "method.max_features=2"]).notes
    )
    for wrong in (
        "stopping.impurity.delta=-1",
        "criterion.delta=-1",
        "criterion.delta=nan",
        "criterion.delta=inf",
    ):
        with pytest.raises(arboretum.ArboretumError, match="delta must be"):
            arboretum.run([*common, wrong])


def test_values_beyond_53_bits_are_told():
    record = arboretum.run(
        ["dataset=iris", "method=greedytree_powers", "impurity.l=9", "split=none", "tracker=none"]
    )
    assert any("beyond 2^53 its values are rounded" in note for note in record.notes)


@pytest.mark.parametrize(("name", "divides"), [("eg2", False), ("idx", True), ("cs_id3", True)])
def test_the_classics_weigh_information_by_price(name, divides):
    free = [
        "dataset=iris",
        f"method={name}",
        "cost=table",
        "cost.prices={petal_length: 0}",
        "tracker=none",
    ]
    if divides:
        with pytest.raises(CapabilityError, match="price"):
            arboretum.run(free)
    else:
        assert arboretum.run(free).tree.n_nodes > 1
    cheap, dear = (
        arboretum.run([*free[:3], f"cost.prices={{petal_length: {p}, petal_width: {p}}}", free[4]])
        for p in (1, 1000)
    )
    assert dear.metrics["expected_cost"] / 1000 < cheap.metrics["expected_cost"], (
        "it avoids what is dear"
    )
    label, price = np.array([0, 0, 1, 1]), np.array([[2.0, 2.0], [3.0, 3.0]])
    x = Instance(np.array([[0, 0], [0, 0], [1, 0], [1, 1]]), label, price)
    score = {"eg2": 1 / 3, "idx": 1 / 2, "cs_id3": 1 / 2}[name]  # one bit for 2
    assert grown(x.problem(PAIRS, criterion=component("criterion", name))).score[
        0
    ] == pytest.approx(score)


def test_the_promise_stands_beside_the_certified_ratio():
    record = arboretum.run(
        [
            "dataset=play-tennis",
            "method=greedytree_pairs",
            "split=none",
            "certify=true",
            "tracker=none",
        ]
    )
    found = record.certificate.complexities["max_cost"]
    assert found.proven and 1 <= found.ratio <= found.promised == pytest.approx(
        math.log(45) + 1, rel=1e-8
    )
