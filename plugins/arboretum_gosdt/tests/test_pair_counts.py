"""Vector passes of the sparse search against their twins in NumPy."""

import numba
import numpy as np
import pytest

from arboretum_gosdt.sparse import bounds, pair_counts

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
