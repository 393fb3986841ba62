"""All trees of two and three leaves, from the sums of all pairs of tests."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from arboretum_gosdt.problem.trees import preorder_to_nodes

BLOCK = 1 << 9
PAIRS = 1 << 28
"""Pairs of tests, times objects, up to which trees of three leaves are gone through."""


class Shape(NamedTuple):
    """Trees of one shape.

    order : 0 or 1, which test, −1: a leaf; outcome 1 first.
    leaves : float64[planes, tests] or [planes, tests, tests] each, what lies there.

    last : of the two leaves below the last test, the first.
    """

    order: tuple[int, ...]
    leaves: tuple[np.ndarray, ...]
    last: int

    def tests_of_tree(self, at: tuple[np.intp, ...]) -> list[int]:
        """Return the tests of a tree, −1: a leaf, in order.

        at : its index in an array of the shape's trees.
        """
        return [int(at[which]) if which >= 0 else -1 for which in self.order]


def most_leaves_listed(outcome: np.ndarray, limit: int | None, depth: int | None) -> int:
    """Return up to how many leaves all trees are enumerated: 3, fewer with limits or many tests, 1:
    none but the leaf.

    outcome : uint8[objects, tests].
    limit : most leaves of a tree; None: no limit.
    depth : most tests on a path; None: no limit.
    """
    n, tests = outcome.shape
    most = 3 if tests * tests * n <= PAIRS else 2
    return min(
        most if tests else 1,
        *(one for one in (most, limit, None if depth is None else depth + 1) if one is not None),
    )


def shapes_of_few_leaves(outcome: np.ndarray, planes: np.ndarray, most: int) -> Iterator[Shape]:
    """Yield the shapes of all trees of two leaves, and of three if ``most`` is, with what is
    counted in their leaves.

    outcome : uint8[objects, tests].
    planes : int64[objects, planes], what is counted, below 2⁵³.
    """
    if most < 2:
        return
    whole = planes.sum(axis=0).astype(float)[:, None]
    if most < 3:
        one = np.zeros((planes.shape[1], outcome.shape[1]))
        # some at a time: all of them, as floats, do not fit a cache
        for start in range(0, len(outcome), BLOCK):
            some = slice(start, start + BLOCK)
            one += planes[some].T.astype(float) @ outcome[some].astype(float)
        yield Shape((0, -1, -1), (one, whole - one), 0)
        return
    both = sum_pairs(outcome, planes).astype(float)
    one = np.diagonal(both, axis1=1, axis2=2)
    rest, wide = whole - one, both.shape
    yield Shape((0, -1, -1), (one, rest), 0)
    yield Shape(
        (0, 1, -1, -1, -1),
        (both, one[:, :, None] - both, np.broadcast_to(rest[:, :, None], wide)),
        0,
    )
    other = one[:, None, :] - both
    yield Shape(
        (0, -1, 1, -1, -1),
        (np.broadcast_to(one[:, :, None], wide), other, rest[:, :, None] - other),
        1,
    )


def sum_pairs(outcome: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """Return int64[planes, tests, tests]: sums over the objects that have both of two tests.

    outcome : uint8[objects, tests].   planes : int64[objects, planes] ≥ 0, below 2⁵³.
    """
    from arboretum_gosdt.all_trees.pair_sums import add_pairs

    def packed(columns: np.ndarray) -> np.ndarray:
        """uint64[columns, words], bit r of a row is object r's."""
        bits = np.packbits(columns, axis=0, bitorder="little")
        into = np.zeros((columns.shape[1], -(-len(columns) // 64) * 8), np.uint8)
        into[:, : len(bits)] = bits.T
        return into.view(np.uint64)

    digits = [int(most).bit_length() for most in planes.max(axis=0, initial=0).tolist()]
    number = np.repeat(np.arange(len(digits)), digits)
    shift = np.concatenate([np.arange(many) for many in digits])
    tests, masks = packed(outcome), packed((planes[:, number] >> shift & 1).astype(np.uint8))
    both = np.zeros((len(digits), len(tests), len(tests)), np.int64)
    add_pairs(tests, masks, number, shift, np.empty(tests.shape[1], np.uint64), both)
    return both


def best_tree_of_each_shape(
    outcome: np.ndarray, weights: np.ndarray, depth: int | None = None
) -> tuple[int, list[tuple[int, int, np.ndarray]]]:
    """Return up to how many leaves all trees are gone through (``most_leaves_listed``), and of each
    shape of two and of three leaves the tree of least loss: its loss, its leaves, and its nodes,
    int64[nodes, 4], as a search hands them over.

    outcome : uint8[objects, tests].
    weights : int64[objects, classes], what an answer saves.
    depth : most tests on a path; None: no limit.
    """
    most, whole = most_leaves_listed(outcome, None, depth), weights.sum(axis=0)
    found: list[tuple[float, list[int]]] = []
    if most == 3:
        from arboretum_gosdt.all_trees.pair_sums import best_trees_of_three_leaves

        best = np.empty((3, 3), np.int64)
        best_trees_of_three_leaves(sum_pairs(outcome, weights), whole, best)
        (two, i, _), (three, j, k), (other, m, n) = best.tolist()
        found = [(two, [i, -1, -1]), (three, [j, k, -1, -1, -1]), (other, [m, -1, n, -1, -1])]
    else:
        for shape in shapes_of_few_leaves(outcome, weights, most):
            saved = sum(leaf.max(axis=0) for leaf in shape.leaves)
            at = np.unravel_index(int(saved.argmax()), saved.shape)
            found.append((saved[at], shape.tests_of_tree(at)))
    total = int(whole.sum())
    return most, [
        (total - int(saved), (len(tests) + 1) // 2, nodes_of_preorder(tests))
        for saved, tests in found
    ]


def nodes_of_preorder(tests: Iterable[int]) -> np.ndarray:
    """Return int64[nodes, 4], as a search hands them over, of tests in preorder, outcome 1 first,
    −1: a leaf.
    """
    three = preorder_to_nodes(tests)
    nodes = np.zeros((len(three), 4), np.int64)
    nodes[:, 0], nodes[:, 2:] = three[:, 0], three[:, 1:]
    return nodes
