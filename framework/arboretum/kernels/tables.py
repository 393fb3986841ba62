"""What every search does with contingency tables, said once: rows added up, branches that may be,
scores that count as equal.

A row of a table is the class weights of an outcome, or its moments (Σw, Σwy, Σwy²)::

    slack(s) = max(relative · |s|, floor)
    a later test replaces the best one if its score > bar_of(best) = best + slack(best)
    a score equals the best one if it ≥ equal_from(best) = best − slack(best)
    a branch may be if it has at least ``least.rows`` rows, and ``least.weight`` weight

Invariants: the best score is −∞ as long as there is none.  The weight of a row is the sum over its
classes, or the first of its moments.  Only the first n tables of a block are scored.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from arboretum.kernels.function_pointers import call_batch, make_node
from arboretum.kernels.jit import inline, jit, merged
from arboretum.kernels.kernel_decorators import KernelNode

NOTHING = -1  # in place of a position: no test is admissible
NO_SIDE = -1  # no row lacks a value, so that none needs to be sent anywhere
BLOCK = 128  # tables scored per call of a criterion; 128 of 2 × 3 stay in the first-level cache

Objects = namedtuple("Objects", "label y weight count unit")
"""What is added up, by object; label or y is empty.   unit : all weigh 1 and count once."""


class Least(NamedTuple):
    """What a branch must have.   rows : by shares a part of one; weight : 0 without such a rule."""

    rows: float
    weight: float


class Ties(NamedTuple):
    """Two scores are equal where they differ by at most ``relative`` times the better one, or by
    ``floor``.
    """

    relative: float
    floor: float


class Scorer(NamedTuple):
    """A criterion at a node.

    batch, impurity : addresses.
    scalars, params : see ``make_node``.
    """

    batch: int
    scalars: np.ndarray
    params: np.ndarray
    impurity: int
    ties: Ties


class NodeScorer(NamedTuple):
    """What a kernel scores the tables of a node with.   factor : of the scores."""

    node: KernelNode
    batch: int
    ties: Ties
    factor: float


@jit(inner=True)
def scoring_of(scorer):
    """Make of a :class:`Scorer` what kernels score with: a NodeScorer, its scores taken as they
    are.
    """
    return NodeScorer(
        make_node(scorer.scalars, scorer.params, scorer.impurity), scorer.batch, scorer.ties, 1.0
    )


@jit(inline=True)
def score_block(n, weights, counts, price, extra, scoring, scores):
    """Score the first n tables by the criterion of ``scoring``, into ``scores``.

    weights, counts : float64[≥ n, outcomes, width], int64[≥ n, outcomes, count width].
    price, extra : float64[≥ n], float64[≥ n, outcomes, k].
    """
    call_batch(
        scoring.batch,
        weights[:n],
        counts[:n],
        price[:n],
        extra[:n],
        scoring.node,
        scores[:n],
    )


@jit
def slack(score, ties):
    """By how much scores around this one may differ and count as equal."""
    return max(ties.relative * abs(score), ties.floor)


@jit
def bar_of(best, ties):
    """What a later test has to exceed: ties go to the first.   best : −inf where there is none."""
    return best + slack(best, ties) if best > -np.inf else best


@jit
def equal_from(best, ties):
    """The lowest score that counts as equal to the best."""
    return best - slack(best, ties) if best > -np.inf else best


@merged
def add_moments(sums, v, w, y):
    """Add an object of weight w and target y to row v of a table of moments."""
    sums[v, 0] += w
    sums[v, 1] += w * y
    sums[v, 2] += w * y * y


@inline
def mass_of(table, v, moments):
    """Return the weight of row v of a table: its first entry if it holds ``moments``, else the sum
    over its classes.
    """
    mass = table[v, 0]
    if not moments:
        for k in range(1, table.shape[1]):
            mass += table[v, k]
    return mass


@jit(inline=True)
def enough_weight(table, moments, least):
    """Whether both outcomes of a two-way table, its first two rows, reach ``least.weight``; 0 is no
    rule.

    moments : the first column is the weight; else the sum of all.
    """
    return least.weight <= 0.0 or (
        mass_of(table, 0, moments) >= least.weight and mass_of(table, 1, moments) >= least.weight
    )


@jit(inline=True)
def enough_rows(left, total, least):
    """Whether ``left`` rows of ``total``, and the others, are each ``least.rows`` or more."""
    return left >= least.rows and total - left >= least.rows
