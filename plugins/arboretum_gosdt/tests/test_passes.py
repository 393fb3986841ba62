"""Vector passes over the tests of a set against their twins in NumPy."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from arboretum_gosdt.all_trees import passes

pytestmark = pytest.mark.compiled

NEVER = passes.NEVER


@numba.njit
def vector_count(planes, mask, at, shift, into, first, last, lanes):
    passes_count(planes, mask, at, shift, into, first, last, lanes)


@numba.njit
def vector_two(sums, both, found, stride, lanes):
    passes_two(sums, both, found, stride, lanes)


@numba.njit
def vector_few(sums, both, found, stride, lanes):
    passes_few(sums, both, found, stride, lanes)


@numba.njit
def vector_raise(low, high, bound, known_bound, near, of_one, given, stride, lanes):
    passes_raise(low, high, bound, known_bound, near, of_one, given, stride, lanes)


passes_count, passes_raise = passes.count_common, passes.raise_siblings
passes_two, passes_few = passes.least_losses_of_two, passes.least_losses_of_few


def both_ways(vector, plain, arrays, *numbers):
    """Arrays after the vector code, and after the twin, of one beginning."""
    ours, theirs = ([one.copy() for one in arrays] for _ in range(2))
    vector(*ours, *numbers)
    plain(*theirs, *numbers)
    return ours, theirs


@pytest.mark.parametrize("seed", range(30))
def test_what_a_test_has_in_common_with_others_is_counted_as_in_numpy(seed):
    rng = np.random.default_rng(seed)
    stride = 8 * int(rng.integers(1, 6))
    lanes, words = 8 * int(rng.integers(1, stride // 8 + 1)), int(rng.integers(1, 6))
    terms = int(rng.integers(0, 9))
    planes = rng.integers(0, 1 << 63, (words, stride)).astype(np.uint64) * np.uint64(2)
    arrays = [
        planes,
        rng.integers(0, 1 << 63, terms + 1).astype(np.uint64) * np.uint64(2) + np.uint64(1),
        stride * rng.integers(0, words, terms + 1),
        rng.integers(0, 9, terms + 1),
        np.full(stride, 7),
    ]
    first = int(rng.integers(0, terms + 1))
    ours, theirs = both_ways(vector_count, passes.count_common.plain, arrays, first, terms, lanes)
    assert ours[-1].tolist() == theirs[-1].tolist()
    expected = sum(
        ((planes[arrays[2][t] // stride, 0] & arrays[1][t]).item().bit_count() << arrays[3][t])
        for t in range(first, terms)
    )
    assert ours[-1][0] == expected


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_losses_of_few_leaves_are_those_of_all_second_tests(seed, many):
    rng = np.random.default_rng(seed)
    stride = 8 * int(rng.integers(1, 5))
    lanes = 8 * int(rng.integers(1, stride // 8 + 1))
    cells = rng.integers(0, 3 if seed % 2 else 30, (2, 2, stride))  # side of i, answer, test
    cells[..., rng.random(stride) < 0.3] = 0
    whole = cells.max(axis=2) + rng.integers(0, 9, (2, 2))
    sums, both = np.zeros((5, stride), np.int64), np.full((3, stride), 5)
    sums[:2], both[:2] = cells.sum(axis=0), cells[0]
    found = np.append(whole.ravel(), np.zeros(4, np.int64))
    pass_, vector = (passes_few, vector_few) if many else (passes_two, vector_two)
    ours, theirs = both_ways(vector, pass_.plain, [sums, both, found], stride, lanes)
    for one, other in zip(ours, theirs, strict=True):
        assert one.tolist() == other.tolist()
    two, three = [], []
    for side in range(2):
        pairs = [(cells[side, :, j], whole[side] - cells[side, :, j]) for j in range(lanes)]
        two.append(min(one.min() + rest.min() for one, rest in pairs))
        three.append(
            min(
                (min(a.min(), b.min()) for a, b in pairs if a.sum() and b.sum()),
                default=NEVER,
            )
        )
    assert ours[2][: 4 if many else 2].tolist() == [*two, *three][: 4 if many else 2]


@pytest.mark.parametrize("seed", range(30))
def test_bounds_of_siblings_are_raised_as_in_numpy(seed):
    rng = np.random.default_rng(seed)
    stride = 8 * int(rng.integers(1, 5))
    lanes, q = 8 * int(rng.integers(1, stride // 8 + 1)), int(rng.integers(1, 60))
    low = rng.integers(0, 200, (2, stride))
    of_one = rng.integers(0, 40, stride)
    near = rng.integers(0, of_one + 1)
    one, rest = (int(x) if rng.random() < 0.8 else None for x in rng.integers(0, 900, 2))
    weights = rng.integers(0, 40, 2)
    given = [q]
    for cost, weight in zip((one, rest), weights.tolist(), strict=True):
        given += [-NEVER, -NEVER] if cost is None else [cost, cost - q * weight]
    arrays = [
        low,
        low + rng.integers(0, 90, (2, stride)),
        np.zeros(stride, np.int64),
        rng.integers(0, 300, stride),
        near,
        of_one,
        np.array([*given, 7]),
    ]
    ours, theirs = both_ways(vector_raise, passes.raise_siblings.plain, arrays, stride, lanes)
    for a, b in zip(ours, theirs, strict=True):
        assert a.tolist() == b.tolist()
    for j in range(lanes):
        raised = low[:, j].copy()
        for side, cost in enumerate((one, rest)):
            common = near[j] if side == 0 else of_one[j] - near[j]
            if cost is not None:
                raised = np.maximum(
                    raised,
                    np.minimum(
                        arrays[1][:, j],
                        [cost - q * (weights[side] - common), cost - q * common],
                    ),
                )
        assert ours[0][:, j].tolist() == raised.tolist()
        assert ours[2][j] == max(raised.sum(), arrays[3][j])
    assert ours[0][:, lanes:].tolist() == low[:, lanes:].tolist()
