"""Theorems 2.1 and 2.2, B.1 to B.10 and C.1 to C.3 of Lin et al. 2020, each on random tables in
exact fractions; where the print says too much, what disproves it.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import attrs
import pytest

HALF = Fraction(1, 2)
OMEGA = 7
ADDITIVE: dict[str, Callable] = {
    "accuracy": lambda fp, fn, p, n: (fp + fn) / (p + n),
    "balanced": lambda fp, fn, p, n: HALF * (fn / p + fp / n),
    "weighted": lambda fp, fn, p, n: (fp + OMEGA * fn) / (OMEGA * p + n),
}
MONOTONE = ADDITIVE | {
    "f_score": lambda fp, fn, p, n: (fp + fn) / (2 * p + fp - fn),
    "jaccard": lambda fp, fn, p, n: (fp + fn) / (p + fp),
    # its best labels are no threshold on the share of positives
    "corner": lambda fp, fn, p, n: max(fp / n, fn / p),
}
THETAS = {"auc": Fraction(1), "pauc": Fraction(1, 4)}
TABLES, SOLVED = 60, 15
"""Random tables, and those of which all trees are tried."""


@attrs.frozen(eq=False)
class Drawn:
    """Rows (answers to binary tests, positives, negatives), among them equal ones with other
    labels; λ.
    """

    rows: tuple[tuple[tuple[int, ...], Fraction, Fraction], ...]
    lam: Fraction
    rng: random.Random

    @staticmethod
    def of(seed: int, tests: int = 3, whole: bool = False) -> Drawn:
        rng = random.Random(seed)
        weights = [[1], [1, 2, 3], [1, HALF, Fraction(5, 4)]][rng.randrange(2 if whole else 3)]
        rows = [
            (
                tuple(rng.randrange(2) for _ in range(tests)),
                Fraction(rng.choice(weights)),
                Fraction(0),
            )
            for _ in range(rng.randint(3, 10))
        ]
        rows = [(x, p, n) if rng.random() < 0.5 else (x, n, p) for x, p, n in rows]
        rows[0], rows[1] = (
            (rows[0][0], Fraction(1), Fraction(0)),
            (rows[1][0], Fraction(0), Fraction(1)),
        )
        return Drawn(
            tuple(rows), rng.choice([Fraction(1, 100), Fraction(1, 20), Fraction(1, 8)]), rng
        )

    @property
    def everything(self) -> frozenset[int]:
        return frozenset(range(len(self.rows)))

    def held(self, leaf: frozenset[int]) -> tuple[Fraction, Fraction]:
        return sum(self.rows[i][1] for i in leaf), sum(self.rows[i][2] for i in leaf)

    @property
    def totals(self) -> tuple[Fraction, Fraction]:
        return self.held(self.everything)

    def halves(self, leaf: frozenset[int]) -> list[tuple[frozenset[int], frozenset[int]]]:
        parts = [
            (
                frozenset(i for i in leaf if self.rows[i][0][t]),
                frozenset(i for i in leaf if not self.rows[i][0][t]),
            )
            for t in range(len(self.rows[0][0]))
        ]
        return [both for both in parts if all(both)]

    def groups(self, leaf: frozenset[int]) -> list[frozenset[int]]:
        """Rows with equal answers."""
        return [
            frozenset(i for i in leaf if self.rows[i][0] == x)
            for x in {self.rows[i][0] for i in leaf}
        ]

    def grown(self, leaf: frozenset[int], often: float = 0.7) -> tuple | frozenset[int]:
        """A random tree: a leaf, or two trees."""
        ways = self.halves(leaf)
        return (
            tuple(self.grown(part, often) for part in self.rng.choice(ways))
            if ways and self.rng.random() < often
            else leaf
        )

    def trees(self, leaf: frozenset[int] | None = None) -> list:
        leaf = self.everything if leaf is None else leaf
        return [
            leaf,
            *(
                both
                for parts in self.halves(leaf)
                for both in itertools.product(*map(self.trees, parts))
            ),
        ]

    def parted(self) -> tuple[list, list, list]:
        """A tree's leaves that stay, those that may be divided, and the leaves of a tree below
        it.
        """
        fixed, split, below = [], [], []
        for leaf in leaves(self.grown(self.everything)):
            stays = self.rng.random() < HALF
            (fixed if stays else split).append(leaf)
            below += [leaf] if stays else leaves(self.grown(leaf))
        return fixed, split, below

    def loss(self, name: str, parts: list[frozenset[int]]) -> Fraction:
        """Of the leaves of a tree, with the best of all labels; of some leaves, as if the rest
        had no errors.
        """
        if name in THETAS:
            return 1 - area([self.held(leaf) for leaf in parts], THETAS[name])
        return min(MONOTONE[name](fp, fn, *self.totals) for fp, fn in self.labelled(parts))

    def labelled(self, parts: list[frozenset[int]]) -> set[tuple[Fraction, Fraction]]:
        """(FP, FN) of all labels."""
        wrong = {(Fraction(0), Fraction(0))}
        for p, n in map(self.held, parts):
            wrong = {(fp + n, fn) for fp, fn in wrong} | {(fp, fn + p) for fp, fn in wrong}
        return wrong

    def value(self, name: str, parts: list[frozenset[int]]) -> Fraction:
        return self.loss(name, parts) + self.lam * len(parts)


def leaves(tree: tuple | frozenset[int]) -> list[frozenset[int]]:
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


@cache
def solved(name: str) -> list[tuple[Drawn, list]]:
    """Tables with all their optimal trees."""
    found = []
    for seed in range(SOLVED):
        table = Drawn.of(seed)
        values = [(table.value(name, leaves(tree)), tree) for tree in table.trees()]
        least = min(value for value, _ in values)
        found.append((table, [tree for value, tree in values if value == least]))
    return found


def cut(tree: tuple | frozenset[int]) -> Iterator[tuple[list, frozenset[int]]]:
    """The leaves that are left where a pair of siblings becomes one leaf, and that leaf."""
    if isinstance(tree, tuple):
        a, b = tree
        if not isinstance(a, tuple) and not isinstance(b, tuple):
            yield [], a | b
        yield from ((rest + leaves(b), leaf) for rest, leaf in cut(a))
        yield from ((rest + leaves(a), leaf) for rest, leaf in cut(b))


def ordered(held: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """By falling share of positives."""
    return sorted(
        (one for one in held if sum(one)), key=lambda one: one[0] / sum(one), reverse=True
    )


def area(held: list[tuple[Fraction, Fraction]], theta: Fraction = Fraction(1)) -> Fraction:
    """Below the curve up to a rate of false positives; up to 1 that is equation 2."""
    positives, negatives = (sum(one[k] for one in held) for k in range(2))
    x = y = found = Fraction(0)
    for p, n in ordered(held):
        if n:
            width = max(Fraction(0), min(n / negatives, theta - x))
            found += width * (y + HALF * p / positives * width / (n / negatives))
        x, y = x + n / negatives, y + p / positives
    return found


def every(seeds: int = TABLES, **more) -> Iterator[Drawn]:
    return (Drawn.of(seed, **more) for seed in range(seeds))


MONOTONE_LOSSES = pytest.mark.parametrize("name", MONOTONE)
ADDITIVE_LOSSES = pytest.mark.parametrize("name", ADDITIVE)
AREAS = pytest.mark.parametrize("name", THETAS)
ALL = pytest.mark.parametrize("name", [*MONOTONE, *THETAS])


def auc_bound(table: Drawn, fixed: list, split: list) -> Fraction:
    """Theorem 2.1 as printed."""
    (positives, negatives), held = table.totals, ordered([table.held(leaf) for leaf in fixed])
    split_p, split_n = (sum(table.held(leaf)[k] for leaf in split) for k in range(2))
    right, above = Fraction(0), Fraction(0)
    for p, n in held:
        right, above = right + n * (split_p + above + HALF * p), above + p
    return (
        1
        - (right + positives * split_n) / (positives * negatives)
        + table.lam * (len(fixed) + len(split))
    )


def pure(table: Drawn, fixed: list, split: list, theta: Fraction) -> Fraction:
    """The same by its curve, also up to θ."""
    held = [table.held(leaf) for leaf in split]
    whole = [(sum(p for p, _ in held), Fraction(0)), (Fraction(0), sum(n for _, n in held))]
    return (
        1 - area([*map(table.held, fixed), *whole], theta) + table.lam * (len(fixed) + len(split))
    )


def test_2_1_pure_leaves_in_place_of_those_to_be_divided_bound_the_auc_of_the_tree():
    for table in every():
        fixed, split, _ = table.parted()
        bound = auc_bound(table, fixed, split)
        assert bound == pure(table, fixed, split, Fraction(1)) <= table.value("auc", fixed + split)


@AREAS
def test_2_2_and_that_of_every_tree_below_it(name):
    for table in every():
        fixed, split, below = table.parted()
        assert pure(table, fixed, split, THETAS[name]) <= table.value(name, below)


@MONOTONE_LOSSES
def test_b_1_errors_of_leaves_that_stay_are_made_below_as_well(name):
    for table in every():
        fixed, split, below = table.parted()
        assert table.loss(name, fixed) + table.lam * len(fixed + split) <= table.value(name, below)


@MONOTONE_LOSSES
def test_b_2_a_tree_below_has_a_leaf_more_to_pay(name):
    for table in every():
        fixed, split, below = table.parted()
        if len(below) > len(fixed + split):
            assert table.loss(name, fixed) + table.lam * (len(fixed + split) + 1) <= table.value(
                name, below
            )


@ADDITIVE_LOSSES
def test_b_3_bounds_of_subtrees_add_up(name):
    for table, best in solved(name):
        for tree in best:
            if isinstance(tree, tuple):
                sides = [
                    table.loss(name, leaves(side)) + table.lam * len(leaves(side)) for side in tree
                ]
                assert max(sides) <= sum(sides) == table.value(name, leaves(tree))


@ALL
def test_b_4_number_of_leaves_of_an_optimal_tree(name):
    for table, best in solved(name):
        known = table.value(name, leaves(table.grown(table.everything)))
        assert all(
            len(leaves(tree)) <= min(known // table.lam, 2 ** len(table.rows[0][0]))
            for tree in best
        )


@MONOTONE_LOSSES
def test_b_5_number_of_leaves_of_a_better_tree_below(name):
    for table in every():
        fixed, split, below = table.parted()
        known = table.value(name, leaves(table.grown(table.everything)))
        if table.value(name, below) <= known:
            size = len(fixed + split)
            bound = table.loss(name, fixed) + table.lam * len(fixed + split)
            assert len(below) <= min(
                size + (known - bound) // table.lam, 2 ** len(table.rows[0][0])
            )


def to_decide(table: Drawn, name: str, rest: list, leaf: frozenset[int]) -> Fraction:
    """τ of B.6 as printed: what the tree of rest and leaf would lose less without the errors of
    the leaf, its labels kept.
    """
    values = []
    for fp, fn in table.labelled(rest):
        values += [
            (MONOTONE[name](fp + n, fn + p, *table.totals), n, p, fp, fn)
            for p, n in ((0, table.held(leaf)[1]), (table.held(leaf)[0], 0))
        ]
    loss, _, _, fp, fn = min(values)
    return loss - MONOTONE[name](fp, fn, *table.totals)


@ADDITIVE_LOSSES
def test_b_6_a_leaf_that_is_worth_dividing_could_save_lambda(name):
    for table, best in solved(name):
        for tree in best:
            assert all(to_decide(table, name, rest, leaf) >= table.lam for rest, leaf in cut(tree))


def crossed(j: tuple[int, int], k: tuple[int, int], lam: Fraction) -> Drawn:
    """Two leaves of the first test, of so many positives and negatives; the second test divides
    each by its classes, but the other way round.
    """
    rows = [((0, 0), j[0], 0), ((0, 1), 0, j[1]), ((1, 1), k[0], 0), ((1, 0), 0, k[1])]
    return Drawn(tuple((x, Fraction(p), Fraction(n)) for x, p, n in rows), lam, random.Random(0))


def test_b_6_of_a_set_that_is_still_to_be_divided_fails_for_f():
    """The leaf j could save less than λ as long as k is undivided; the only optimal tree divides
    both.
    """
    table = crossed((1, 2), (2, 7), Fraction(1, 10))
    j, k = frozenset({0, 1}), frozenset({2, 3})
    assert to_decide(table, "f_score", [k], j) == Fraction(4, 65) < table.lam
    values = {
        frozenset(leaves(tree)): table.value("f_score", leaves(tree)) for tree in table.trees()
    }
    assert [len(tree) for tree, value in values.items() if value == min(values.values())] == [4]


@ALL
def test_b_7_a_division_of_an_optimal_tree_gains_lambda(name):
    for table, best in solved(name):
        for tree in best:
            assert all(
                table.loss(name, [*rest, leaf]) - table.loss(name, leaves(tree)) >= table.lam
                for rest, leaf in cut(tree)
            )


def test_b_7_of_a_set_that_is_still_to_be_divided_fails_for_auc():
    """Dividing j gains nothing beyond its own pairs while k is one leaf, and more as soon as k
    is divided.
    """
    a, b, k, parts = (3, 1), (1, 1), (20, 1), [(18, 0), (2, 1)]
    j = (4, 2)
    gains = [area([a, b, *rest]) - area([j, *rest]) for rest in ([k], parts)]
    assert gains[0] < gains[1]


@ALL
def test_b_8_a_set_of_leaves_has_one_value_whatever_its_order_and_its_tree(name):
    for table in every(10):
        known: dict[frozenset, Fraction] = {}
        for tree in table.trees()[:40]:
            parts = leaves(tree)
            table.rng.shuffle(parts)
            assert known.setdefault(frozenset(parts), table.value(name, parts)) == table.value(
                name, parts
            )


def equivalent(table: Drawn, fixed: list, split: list) -> list[frozenset[int]]:
    return fixed + [group for leaf in split for group in table.groups(leaf)]


@MONOTONE_LOSSES
def test_b_9_rows_that_agree_on_every_test_stay_together(name):
    for table in every():
        fixed, split, below = table.parted()
        parts = equivalent(table, fixed, split)
        if len(parts) <= 8:
            assert table.loss(name, parts) + table.lam * len(fixed + split) <= table.value(
                name, below
            )


@ADDITIVE_LOSSES
def test_b_9_as_printed_by_the_minority_of_each(name):
    for table in every():
        fixed, split, below = table.parted()
        fp, fn = min(table.labelled(fixed), key=lambda wrong: MONOTONE[name](*wrong, *table.totals))
        for group in (group for leaf in split for group in table.groups(leaf)):
            p, n = table.held(group)
            fp, fn = (
                (fp + n, fn)
                if MONOTONE[name](n, 0, *table.totals) < MONOTONE[name](0, p, *table.totals)
                else (fp, fn + p)
            )
        assert MONOTONE[name](fp, fn, *table.totals) + table.lam * len(
            fixed + split
        ) <= table.value(name, below)


def test_b_9_by_the_smaller_class_of_each_fails_for_f():
    """Of a group of one positive and one negative the positive is given up, which costs F more
    than the negative.
    """
    p, n = 4, 4
    as_printed, better = MONOTONE["f_score"](0, 1, p, n), MONOTONE["f_score"](1, 0, p, n)
    assert better < as_printed


def test_b_1_with_the_labels_that_f_likes_best_above_fails():
    """Leaves of 1 + 3 rows, which stays, and of 1 + 2: both say yes; once the second is pure,
    the first says no.
    """
    lam, (p, n) = Fraction(1, 100), (Fraction(2), Fraction(5))
    loss = MONOTONE["f_score"]
    above = {(fp, fn): loss(fp, fn, p, n) for fp, fn in ((0, 2), (3, 1), (2, 1), (5, 0))}
    # both say yes: the leaf that stays has 3 false positives
    assert min(above, key=above.get) == (5, 0)
    below = min(loss(0, 1, p, n), loss(3, 0, p, n)) + 3 * lam
    assert loss(3, 0, p, n) + 2 * lam > below  # its label is no longer that
    assert min(loss(3, 0, p, n), loss(0, 1, p, n)) + 2 * lam <= below


@MONOTONE_LOSSES
def test_b_10_two_tests_that_send_few_rows_to_different_sides(name):
    tried = 0
    for table in every(150, whole=True):
        leaf = table.rng.choice(leaves(table.grown(table.everything, 0.4)))
        ways = table.halves(leaf)
        if len(ways) < 2:
            continue
        one, other = table.rng.sample(ways, 2)
        # the same in both trees, but for the node
        says = {i: table.rng.randrange(2) for i in table.everything - leaf} | dict.fromkeys(leaf, 0)
        answers = [
            says | dict.fromkeys(both[0], first) | dict.fromkeys(both[1], second)
            for both in (one, other)
            for first, second in [(1, 0)]
        ]
        moved = {i for i in leaf if answers[0][i] != answers[1][i]}
        size = sum(sum(table.held(frozenset({i}))) for i in moved)

        def wrong(answer, rows):
            held = [(answer[i], *table.held(frozenset({i}))) for i in rows]
            return sum(n for yes, _, n in held if yes), sum(p for yes, p, _ in held if not yes)

        fp, fn = wrong(answers[0], table.everything - moved)
        p, n = table.totals
        losses = [MONOTONE[name](*wrong(answer, table.everything), p, n) for answer in answers]
        most = max(
            MONOTONE[name](fp + a, fn + size - a, p, n)
            for a in range(int(size) + 1)
            if fn + size - a <= p
        )
        assert abs(losses[0] - losses[1]) <= most - MONOTONE[name](fp, fn, p, n)
        tried += 1
    assert tried > 40


@AREAS
def test_c_1_the_area_never_falls_when_a_leaf_is_divided(name):
    for table in every():
        parts = leaves(table.grown(table.everything, 0.5))
        for leaf in parts:
            for ways in table.halves(leaf):
                assert table.loss(
                    name, [*(one for one in parts if one != leaf), *ways]
                ) <= table.loss(name, parts)


def to_decide_auc(held: list[tuple[Fraction, Fraction]], at: int) -> Fraction:
    """τ of C.2 as printed, of a leaf among others."""
    (p_j, n_j), rest = held[at], ordered(held[:at] + held[at + 1 :])
    positives, negatives = (sum(one[k] for one in held) for k in range(2))
    right = above = Fraction(0)
    for p, n in rest:
        right, above = right + n * (p_j + above + HALF * p), above + p
    return (right + positives * n_j) / (positives * negatives) - area(held)


def test_c_2_a_leaf_that_is_worth_dividing_could_save_lambda():
    for table, best in solved("auc"):
        for tree in best:
            for rest, leaf in cut(tree):
                assert (
                    to_decide_auc([*map(table.held, rest), table.held(leaf)], len(rest))
                    >= table.lam
                )


def test_c_2_holds_for_a_set_that_is_still_to_be_divided():
    """τ never grows when other leaves are divided; it is Σ_k min(n_j⁺ n_k⁻, n_j⁻ n_k⁺) + ½ n_j⁺
    n_j⁻ pairs.
    """
    for table in every():
        fixed, split, _ = table.parted()
        for leaf in fixed:
            others = [
                part
                for other in fixed + split
                if other != leaf
                for part in leaves(table.grown(other))
            ]
            (p_j, n_j), (positives, negatives) = table.held(leaf), table.totals
            above = [
                table.held(leaf),
                *(table.held(other) for other in fixed + split if other != leaf),
            ]
            below = [table.held(leaf), *map(table.held, others)]
            pairs = sum(min(p_j * n, n_j * p) for p, n in above[1:]) + HALF * p_j * n_j
            assert (
                to_decide_auc(below, 0)
                <= to_decide_auc(above, 0)
                == pairs / (positives * negatives)
            )


@AREAS
def test_c_3_equivalent_points_as_leaves_bound_the_area_also_up_to_theta(name):
    for table in every():
        fixed, split, below = table.parted()
        assert table.loss(name, equivalent(table, fixed, split)) + table.lam * len(
            fixed + split
        ) <= table.value(name, below)
