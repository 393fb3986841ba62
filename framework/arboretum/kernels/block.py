"""A block of tables that wait for their scores, and the best test so far.

A block fills up over the features of a node and is scored in one call; a test of another number of
outcomes empties it first.  Without a kernel to score them tables are listed: as many as there is
room for, after those that are skipped::

    make_room: if the block is full, or its tables have another arity: flush;  t ← used
    (the caller writes table t)
    named: price and place of table t;  used ← used + 1, if the price can be paid
    flush: scores ← one call for the first ``used`` tables;  used ← 0
        for each of them, in order: s ← score · factor
            if s > best + what ties differ by, or it is the first above −∞: it is the best test

Invariants:

- The first ``used`` tables are waiting, and all have ``arity`` outcomes: table t of outcomes o is
  at (t · arity + o) · width of the flat arrays.  What lies behind them is stale.
- There is room for min(BLOCK, 2 · BLOCK / ARITY) tables, one at least; whoever writes a table makes
  room before.
- ``best`` is the score of the test in feature, index, side; −∞ and feature −1 before any.
- The test of the first score that is NaN is the best, with a score of ∞, and ``broken``: no other
  test replaces it.
- Where tables are listed, ``used`` counts all, and one that is not kept is written to the last
  place.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.function_pointers import call_batch
from arboretum.kernels.jit import inline, inner
from arboretum.kernels.tables import BLOCK, slack

STATE = np.dtype(
    [
        ("used", np.int64),  # tables in the block
        ("arity", np.int64),  # their outcomes
        ("skipped", np.int64),  # tables that are not kept; of scored ones, how many there were
        ("broken", np.int64),  # 1: a score broke the contract, and the test is its
        ("feature", np.int64),  # the best test, feature −1 for none
        ("index", np.int64),
        ("side", np.int64),
        ("best", np.float64),  # its score
    ],
    align=True,
)
"""What is known while a node's tests are scored."""

BlockMemory = namedtuple(
    "BlockMemory", "weights counts extra shaped_w shaped_c shaped_e price scores place state"
)
"""weights, counts, extra : flat.

shaped_w, shaped_c, shaped_e : the same memory as tables of the largest arity: a change of shape
    costs as much as a table.
price, scores : float64[tables].
place : int32[tables, 3], feature, index, side.
state : STATE[1].
"""


def block_for(arity: int, width: int, count_width: int, own: int, listed: int = 0) -> BlockMemory:
    """Allocate a block for tables of at most ``arity`` outcomes.

    width, count_width : of a row of weights, and of counts.
    own : columns of the criterion's own.
    listed : tables kept, and not scored; 0: they are scored.
    """
    size = max(2 * BLOCK, arity * (listed + 1))
    most = listed + 1 if listed else min(BLOCK, size // arity)
    w, c, e = np.empty(size * width), np.empty(size * count_width, np.int64), np.empty(size * own)
    return BlockMemory(
        w,
        c,
        e,
        w[: most * arity * width].reshape(most, arity, width),
        c[: most * arity * count_width].reshape(most, arity, count_width),
        e[: most * arity * own].reshape(most, arity, own),
        np.empty(max(BLOCK, most)),
        np.empty(BLOCK),
        np.empty((max(BLOCK, most), 3), np.int32),
        np.zeros(1, STATE),
    )


@inline
def reset(block):
    """Forget the tables of a block, and the best test."""
    state = block.state[0]
    state.used, state.arity, state.skipped, state.broken = 0, 0, 0, 0
    state.feature, state.index, state.side, state.best = -1, 0, 0, -np.inf


@inline
def score(n, arity, block, scoring):
    """Score the first n tables of the block, of ``arity`` outcomes each, into ``block.scores``; the
    best test is left alone.
    """
    width = block.shaped_w.shape[2]
    count_width = block.shaped_c.shape[2]
    own = block.shaped_e.shape[2]
    if arity == block.shaped_w.shape[1]:
        call_batch(
            scoring.batch,
            block.shaped_w[:n],
            block.shaped_c[:n],
            block.price[:n],
            block.shaped_e[:n],
            scoring.node,
            block.scores[:n],
        )
    else:
        call_batch(
            scoring.batch,
            block.weights[: n * arity * width].reshape(n, arity, width),
            block.counts[: n * arity * count_width].reshape(n, arity, count_width),
            block.price[:n],
            block.extra[: n * arity * own].reshape(n, arity, own),
            scoring.node,
            block.scores[:n],
        )


@inner
def flush(block, scoring):
    """Score the tables of the block and empty it; without a kernel (batch 0) do nothing.

    A test replaces the best so far only if it beats it by more than ties differ.
    """
    state = block.state[0]
    n = state.used
    if n == 0 or scoring.batch == 0:
        return
    state.used, state.skipped = 0, state.skipped + n
    score(n, state.arity, block, scoring)
    top = state.best
    for t in range(n):
        s = block.scores[t] * scoring.factor
        if s != s and state.broken == 0:
            state.broken, top = 1, np.inf
            state.feature = block.place[t, 0]
            state.index = block.place[t, 1]
            state.side = block.place[t, 2]
        if s > top and (state.feature < 0 or s > top + slack(top, scoring.ties)):
            top = s
            state.feature = block.place[t, 0]
            state.index = block.place[t, 1]
            state.side = block.place[t, 2]
    state.best = top


@inline
def make_room(arity, block, scoring):
    """Empty the block where it is full, or holds tables of another arity; return where the next
    table goes.

    Where tables are listed, one that is not kept goes to the last place, which is overwritten.
    """
    state = block.state[0]
    if scoring.batch == 0:
        t, last = state.used - state.skipped, block.shaped_w.shape[0] - 1
        return t if 0 <= t < last else np.int64(last)
    if state.used > 0 and (
        state.arity != arity or state.used >= min(BLOCK, max(1, 2 * BLOCK // arity))
    ):
        flush(block, scoring)
    state.arity = arity
    return state.used


@inline
def named(t, f, index, side, price, block):
    """Say that table t is test ``index`` of feature f with missing rows on ``side``, and count it,
    unless the path cannot pay its price (∞).
    """
    block.price[t] = price
    block.place[t, 0], block.place[t, 1], block.place[t, 2] = f, index, side
    block.state[0].used += price < np.inf
