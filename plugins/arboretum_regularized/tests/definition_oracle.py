"""The paper read literally, object by object: f_i of a set of tests, the terms B, E and D, the
greedy tree, and the least cost.

Nothing here is fast, and nothing is shared with the kernels.  With fractions for probabilities,
prices and θ the terms B and E are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import attrs

Objects = tuple[int, ...]
Shape = Any
"""A tree: () for a leaf, else (test, subtree per outcome that occurs)."""


@attrs.frozen(eq=False)
class Instance:
    """(X, L, D, ℓ, p, c, θ).

    p : probability of each object, summing to 1.
    label : class of each.
    value : per test the value of each object.
    price : of each test.
    """

    p: Sequence[Any]
    label: Sequence[int]
    value: Sequence[Sequence[int]]
    price: Sequence[Any]
    theta: Any = 0

    @property
    def everyone(self) -> Objects:
        return tuple(range(len(self.p)))

    @property
    def tests(self) -> range:
        return range(len(self.value))

    def mass(self, objects: Sequence[int]) -> Any:
        """p(S)."""
        return sum(self.p[i] for i in objects)

    def together(self, i: int, asked: Sequence[int]) -> Objects:
        """The objects that agree with x_i on every test asked."""
        return tuple(
            j for j in self.everyone if all(self.value[d][j] == self.value[d][i] for d in asked)
        )

    def pairs(self, objects: Sequence[int]) -> int:
        """φ(S): pairs of objects with different labels."""
        return sum(self.label[i] != self.label[j] for i, j in itertools.combinations(objects, 2))

    def others(self, i: int, objects: Sequence[int]) -> int:
        """Objects of another class than x_i."""
        return sum(self.label[j] != self.label[i] for j in objects)

    def outcomes(self, objects: Sequence[int], test: int) -> list[Objects]:
        """The outcomes that occur, by value."""
        values = sorted({self.value[test][i] for i in objects})
        return [tuple(i for i in objects if self.value[test][i] == v) for v in values]

    def is_leaf(self, objects: Sequence[int]) -> bool:
        return self.pairs(objects) == 0 or self.mass(objects) <= self.theta


def probability(x: Instance, i: int, asked: Sequence[int]) -> Any:
    """f^p, truncated by θ."""
    target = 1 - max(x.p[i], x.theta)
    return min((1 - x.mass(x.together(i, asked))) / target, 1) if target else 1


def pairs(x: Instance, i: int, asked: Sequence[int]) -> Any:
    """f^φ."""
    # of the probabilities' type, so that the quotient is
    whole = x.pairs(x.everyone) * (x.p[0] / x.p[0])
    return (whole - x.pairs(x.together(i, asked))) / whole if whole else 1


def excluded(x: Instance, i: int, asked: Sequence[int]) -> Any:
    """(g_i(X) − g_i(S)) / g_i(X)."""
    whole = x.others(i, x.everyone) * (x.p[0] / x.p[0])
    return (whole - x.others(i, x.together(i, asked))) / whole if whole else 1


FUNCTIONS = {"probability": probability, "pairs": pairs, "excluded": excluded}


def disjunction(x: Instance, names: Sequence[str], i: int, asked: Sequence[int]) -> Any:
    """f = 1 − Π (1 − f_j); 0 without functions."""
    uncovered = 1
    for name in names:
        uncovered *= 1 - FUNCTIONS[name](x, i, asked)
    return 1 - uncovered


def balance(x: Instance, objects: Objects, test: int) -> Any:
    """B: p(S) − p(S_v*), v* the first value with the most objects."""
    return x.mass(objects) - x.mass(max(x.outcomes(objects, test), key=len))


def efficiency(
    x: Instance, names: Sequence[str], objects: Objects, asked: Sequence[int], test: int
) -> Any:
    """E: Σ p_i (f_i(D' ∪ {d}) − f_i(D')) / (1 − f_i(D')) over the objects of S that are not
    covered.
    """
    gained = 0
    for i in objects:
        before = disjunction(x, names, i, asked)
        if before != 1:
            gained += x.p[i] * (disjunction(x, names, i, [*asked, test]) - before) / (1 - before)
    return gained


def discrimination(
    x: Instance, impurity: Callable, objects: Objects, test: int, *, authors: bool = False
) -> Any:
    """D: p(S) (h(S) − Σ p(S_v)/p(S) h(S_v)); with p(S_v) in place of the fraction as the authors'
    program has it.

    impurity : of the list of class probabilities of a set of objects.
    """
    h = lambda part: impurity(
        [x.mass([i for i in part if x.label[i] == k]) for k in sorted(set(x.label))]
    )
    below = 1 if authors else x.mass(objects)
    after = sum(x.mass(part) / below * h(part) for part in x.outcomes(objects, test))
    return x.mass(objects) * (h(objects) - after)


def candidates(x: Instance, objects: Objects, asked: Sequence[int]) -> Iterator[int]:
    """Tests not asked yet that tell objects of the node apart."""
    for test in x.tests:
        if test not in asked and len(x.outcomes(objects, test)) > 1:
            yield test


def greedy(
    x: Instance,
    score: Callable[[Objects, list[int], int], Any],
    objects: Objects,
    asked: Sequence[int] = (),
) -> Shape:
    """Algorithm 1 with any score of (S, D', d); ties go to the first test."""
    if x.is_leaf(objects):
        return ()
    tests = list(candidates(x, objects, asked))
    if not tests:
        return ()
    best = max(tests, key=lambda d: score(objects, list(asked), d))
    return (best, *(greedy(x, score, part, [*asked, best]) for part in x.outcomes(objects, best)))


def expected_cost(x: Instance, tree: Shape, objects: Objects) -> Any:
    """Σ over the inner nodes of the price times the probability."""
    if not tree:
        return 0
    below = zip(tree[1:], x.outcomes(objects, tree[0]), strict=True)
    return x.price[tree[0]] * x.mass(objects) + sum(
        expected_cost(x, sub, part) for sub, part in below
    )


def least_cost(x: Instance) -> Any:
    """The least expected cost of a feasible tree, by trying every test at every reachable set."""

    @cache
    def best(objects: Objects) -> Any:
        if x.is_leaf(objects):
            return 0
        costs = [
            x.price[d] * x.mass(objects) + sum(best(part) for part in x.outcomes(objects, d))
            for d in candidates(x, objects, ())
        ]
        return min(costs)

    return best(x.everyone)


def least_increment(x: Instance, names: Sequence[str]) -> Any:
    """Δ: the least positive f_i(D' ∪ {d}) − f_i(D') over all objects, sets of tests and tests."""
    found = []
    for size in range(len(x.tests)):
        for asked in itertools.combinations(x.tests, size):
            for i, d in itertools.product(x.everyone, x.tests):
                step = disjunction(x, names, i, [*asked, d]) - disjunction(x, names, i, asked)
                if step > 0:
                    found.append(step)
    return min(found)
