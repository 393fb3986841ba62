"""Vector passes of the sparse search against their twins in NumPy, and against all trees."""

import numba
import numpy as np
import pytest

from arboretum_gosdt.sparse import bounds, masked_counts, pair_counts

pytestmark = pytest.mark.compiled

sum_feature_weights, greatest_within = (
    pair_counts.sum_feature_weights,
    pair_counts.greatest_within,
)


@numba.njit
def sum_weights(node, counts):
    sum_feature_weights(node, counts)


@numba.njit
def greatest(values, bounds, limit, n):
    return greatest_within(values, bounds, limit, n)


keep_largest_leaves = masked_counts.keep_largest_leaves


@numba.njit
def keep_largest(cells, stride, counts, totals, alive, allowed, found):
    return keep_largest_leaves(cells, stride, counts, totals, alive, allowed, found)


move_lanes = bounds.move_lanes


@numba.njit
def move(values, lane, same, found):
    move_lanes(values, lane, same, found)


def test_values_of_the_level_above_follow_their_features():
    values, lane, found = np.arange(10, 50), np.array([0, 2, 3, 17, 39]), np.empty(5, np.int64)
    move(values, lane, False, found)
    assert found.tolist() == [10, 12, 13, 27, 49]
    move(values, np.arange(5), True, found)
    assert found.tolist() == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
@pytest.mark.parametrize("seed", range(20))
def test_weights_are_those_of_the_rows_however_many_words_a_group_has(seed, kind):
    rng = np.random.default_rng(seed)
    bits, stride, planes = np.iinfo(kind).bits, 32 * int(rng.integers(1, 4)), 3
    sizes = rng.integers(0, 20, 6)
    words = rng.integers(0, 1 << bits, (sizes.sum(), stride), dtype=np.uint64).astype(kind)
    factors, of_class = rng.integers(1, 4, 6), np.array([0, 1, 4, 6])
    counts = np.zeros(planes * stride, kind)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    sum_weights(
        pair_counts.Words(words.ravel(), starts, of_class, factors, planes, planes, planes, stride),
        counts,
    )
    of_word = np.repeat(factors, sizes)[:, None] * np.bitwise_count(words).astype(np.int64)
    expected = [
        of_word[starts[of_class[k]] : starts[of_class[k + 1]]].sum(axis=0) for k in range(planes)
    ]
    assert counts.reshape(planes, stride).tolist() == np.array(expected).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_the_greatest_value_within_a_limit_is_found_as_in_numpy(seed):
    rng = np.random.default_rng(seed)
    n, limit = int(rng.integers(0, 33)), int(rng.integers(-1, 10))
    values, bound = rng.integers(1, 1 << 40, 40), rng.integers(0, 10, 40)
    bound[n:] = 10
    within = values[bound <= limit]
    assert greatest(values, bound, limit, n) == (within.max() if len(within) else 0)


def least_loss(leaves, rows, has, label):
    """Least loss of so many leaves that one after the other take off a part of what is left (four
    and more: of such trees alone), and by literal (outcome first) of those that begin with it.
    """
    if leaves == 1:
        ones = int(label[rows].sum())
        return min(ones, int(rows.sum()) - ones), None
    first = np.full((2, has.shape[1]), 1 << 14)
    for outcome in range(2):
        for f, column in enumerate(has.T):
            leaf = rows & (column == outcome)
            if leaf.any() and (rows & ~leaf).any():
                first[outcome, f] = (
                    least_loss(1, leaf, has, label)[0]
                    + least_loss(leaves - 1, rows & ~leaf, has, label)[0]
                )
    return int(first.min()), first


@pytest.mark.parametrize("seed", (*range(30), 61))
def test_of_the_best_trees_that_begin_with_a_leaf_one_is_kept(seed):
    """And some that begin with another one are not; a thousand tables."""
    rng, dropped = np.random.default_rng(seed), 0
    for _ in range(33):
        n, tests, kind = int(rng.integers(12, 50)), int(rng.integers(3, 6)), np.uint16
        has, label = rng.random((n, tests)) < rng.random(tests), np.zeros(n, bool)
        for f in rng.permutation(tests)[:3]:  # leaves, the last one first
            label = np.where(has[:, f] ^ bool(rng.integers(0, 2)), rng.random() < 0.5, label)
        if rng.random() < 0.7:
            label = (has[:, 0] & has[:, 1]) | (has[:, 2] & bool(rng.integers(0, 2)))
        label = label ^ (rng.random(n) < rng.choice([0.05, 0.15, 0.3]))
        every = np.ones(n, bool)
        least = [least_loss(k, every, has, label) for k in range(1, 5)]
        for leaves in (3, 4):
            loss, first = least[leaves - 1]
            if loss >= least[leaves - 2][0]:
                continue  # fewer leaves lose no more
            cells, counts = np.zeros((6, 32), kind), np.zeros((2, 32), kind)
            for f in range(tests):
                for k in range(2):
                    counts[k, f] = (has[:, f] & (label == k)).sum()
                sides = np.stack([counts[:, f], [(label == k).sum() for k in range(2)]])
                sides[1] -= sides[0]
                cells[:4, f] = [v for side in sides for v in (side.min(), side.max())]
            found = np.zeros(masked_counts.KINDS, np.int64)
            kinds = 2 * (leaves - 3)
            found[kinds : kinds + 2] = (1 << tests) - 1
            totals = np.array([(label == k).sum() for k in range(2)], kind)
            allowed = np.full(2, loss, kind)
            alive = (np.arange(32) < tests).astype(kind)
            some = keep_largest(cells.ravel(), 32, counts.ravel(), totals, alive, allowed, found)
            kept = [[bool(found[kinds + side] >> f & 1) for f in range(tests)] for side in range(2)]
            assert some and loss in first[::-1][np.array(kept)]
            dropped += 2 * tests - int(np.sum(kept))
    assert dropped
