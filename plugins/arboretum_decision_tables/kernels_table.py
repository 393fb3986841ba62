"""The decision table as the solver's kernels see it, and its leaf rule."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.function_pointers import call_impurity
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import goes


class Table(NamedTuple):
    """Objects, tests and leaf rule.

    codes : uint[F, n].   family, n_bins, first_test : int64[F].   price : float64[tests].   even : bool[F], all tests of the
    feature cost the same.   label, purity : int32[n], class; objects that may share a leaf of one class have equal purity.
    group : int64[n], class that bounds may count on, −1 for an object that shares a leaf of one class with no other.
    weight : float64[n].   count : int64[n], see ``few``.   words : uint64[n, 2].   rule : float64[4], see
    ``space.Space.rule_array``.   impurity : address of the one that the leaf rule asks for, or 0.
    """

    codes: np.ndarray
    family: np.ndarray
    n_bins: np.ndarray
    first_test: np.ndarray
    price: np.ndarray
    even: np.ndarray
    label: np.ndarray
    purity: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    words: np.ndarray
    rule: np.ndarray
    impurity: int


@jit(inline=True, borrow=True)
def few(counts, rule):
    """Whether a subtable has fewer than rule[0] rows, or fewer than rule[3] objects.

    counts : its rows; where rule[3] > 0 its rows · 2³² + its objects, so that one sum (or difference) counts both.
    """
    if rule[3] > 0.0:
        return counts >> 32 < rule[0] or (counts & 0xFFFFFFFF) < rule[3]
    return counts < rule[0]


@jit(borrow=True)
def is_light_or_pure_enough(table, rows, low, high, f, index, outcome, vector):
    """Whether one branch of a test is a leaf by its mass or impurity; summed in the order of rows, so that the answer does
    not depend on the way that led to the subtable.   vector : scratch, float64[classes].
    """
    vector[:] = 0.0
    mass, column, family = 0.0, table.codes[f], table.family[f]
    for k in range(low, high):
        r = rows[k]
        if goes(family, np.int64(column[r]), index, outcome):
            mass += table.weight[r]
            vector[table.label[r]] += table.weight[r]
    if mass <= table.rule[1]:
        return True
    return not np.isnan(table.rule[2]) and call_impurity(table.impurity, vector) <= table.rule[2]
