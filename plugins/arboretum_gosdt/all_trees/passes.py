"""Passes over the tests of a set, for one of them: what it has in common with every other, the
least losses of few leaves on its sides, and what its sides' costs say of those of others.

Kernels call vector code (:mod:`.pair_lanes`); in Python the twins do the same.  What arguments
are, where nothing else is said:

planes : uint64[words, stride]; sums : int64[answers + 3, stride].
both : int64[answers + 1, stride], of two answers where a pass reads the rows of answers.
low, high : int64[2, stride].
lanes : tests, rounded up to a vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.kernels.lazy import lazy_intrinsic

NEVER = 1 << 60
"""The loss of what does not exist."""


def _vectors() -> Any:
    """The vector code, which imports numba."""
    from arboretum_gosdt.all_trees import pair_lanes

    return pair_lanes


def _count_common(planes, mask, at, shift, into, first, last, lanes):
    """Write what the objects of terms add that have each test: Σ 2^shift · ones.

    mask : uint64[terms].   shift : int64[terms].
    at : int64[terms], where the word of the first test is in ``planes``.
    into : int64[stride], written.   first, last : the terms first … last − 1 are counted.
    """
    words, into[:lanes] = planes.reshape(-1), 0
    for t in range(first, last):
        common = words[at[t] : at[t] + lanes] & mask[t]
        into[:lanes] += np.bitwise_count(common).astype(np.int64) << shift[t]


@lazy_intrinsic(plain=_count_common)
def count_common(typingctx, planes, mask, at, shift, into, first, last, lanes):
    """Write what the objects of terms add that have each test."""
    return _vectors().count_common.define(
        typingctx, planes, mask, at, shift, into, first, last, lanes
    )


def _least_losses_of_two(sums, both, found, stride, lanes):
    """Write the least loss of two leaves on both sides of a test, over all second tests, and the
    sum of what pairs have of both answers, ``both[2]``.

    both : what the test has in common with the others.
    found : int64[4], the excesses of both answers on the side of outcome 1, then on the other;
        written: the least loss of two leaves of either.
    """
    _least_losses(sums, both, found, lanes, many=False)


def _least_losses_of_few(sums, both, found, stride, lanes):
    """Do what :func:`_least_losses_of_two` does, and write behind it the least loss of one leaf
    beside others (of three leaves and more), of both sides: over all second tests that split
    off something.
    """
    _least_losses(sums, both, found, lanes, many=True)


def _least_losses(sums, both, found, lanes, many):
    one, whole = both[:2, :lanes], found[:4].reshape(2, 2).copy()
    both[2, :lanes] = one[0] + one[1]
    for side, (x, y) in enumerate((one, sums[:2, :lanes] - one)):
        leaf = np.minimum(x, y)
        other = np.minimum(whole[side, 0] - x, whole[side, 1] - y)
        found[side] = (leaf + other).min(initial=NEVER)
        if many:
            splits = (x + y != 0) & (x + y != whole[side].sum())
            found[2 + side] = np.minimum(leaf, other)[splits].min(initial=NEVER)


@lazy_intrinsic(plain=_least_losses_of_two)
def least_losses_of_two(typingctx, sums, both, found, stride, lanes):
    """Write the least loss of two leaves on both sides of a test, over all second tests."""
    return _vectors().least_losses_of_two.define(typingctx, sums, both, found, stride, lanes)


@lazy_intrinsic(plain=_least_losses_of_few)
def least_losses_of_few(typingctx, sums, both, found, stride, lanes):
    """Write the same, and the least loss of one leaf beside others."""
    return _vectors().least_losses_of_few.define(typingctx, sums, both, found, stride, lanes)


def _raise_siblings(low, high, bound, known_bound, near, of_one, given, stride, lanes):
    """Raise the bounds of the sides of all tests by those of both sides of one (B.10).

    near : int64[stride], the weight that the side of outcome 1 has in common with that of every
        test.
    of_one : int64[stride], the weight of that.
    given : int64[≥ 5]: q; what the side of outcome 1 costs at least, and the same less q · its
        weight; both of the other side.
    """
    q, one, above_one, rest, above_rest = given[:5].tolist()
    common = q * near[:lanes]
    other = q * of_one[:lanes] - common
    sides = (
        np.maximum(above_one + common, above_rest + other),
        np.maximum(one - common, rest - other),
    )
    for side, raised in enumerate(sides):
        now = low[side, :lanes]
        now[:] = np.maximum(now, np.minimum(high[side, :lanes], raised))
    bound[:lanes] = np.maximum(low[0, :lanes] + low[1, :lanes], known_bound[:lanes])


@lazy_intrinsic(plain=_raise_siblings)
def raise_siblings(typingctx, low, high, bound, known_bound, near, of_one, given, stride, lanes):
    """Raise the bounds of the sides of all tests by those of both sides of one."""
    return _vectors().raise_siblings.define(
        typingctx, low, high, bound, known_bound, near, of_one, given, stride, lanes
    )
