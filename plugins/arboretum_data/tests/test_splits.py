"""Splits: the conformance suite, and the shares that each rule promises."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import Column, ColumnKind, ConfigError, DataError, Table, Target, Task
from arboretum.testing import SplitSuite
from arboretum.testing.effort import examples
from arboretum_data import splits
from arboretum_data.splits import Contiguous, Holdout, KFold

COMPONENTS = [
    Holdout(train=0.5, valid=0.0, test=0.5, stratify=False),
    KFold(),
    KFold(folds=3, repeats=2, fold=1, valid=0.2),
    Contiguous(),
    Contiguous(folds=4, fold=3, valid=0.25),
]


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: f"{c.name}{COMPONENTS.index(c)}")
class TestSplits(SplitSuite):
    """Every split, also with other than default fields."""


def table_of(codes, groups=None) -> Table:
    codes = np.array(codes, np.int32)
    column = Column("x", ColumnKind.continuous, np.arange(float(len(codes))))
    target = Target(
        "y", Task.classification, codes, tuple(f"c{k}" for k in range(int(codes.max()) + 1))
    )
    return Table(
        "t", (column,), target, groups=None if groups is None else np.array(groups, np.int64)
    )


@given(st.lists(st.integers(0, 4), min_size=2, max_size=120), st.integers(0, 10))
@examples(100)
def test_holdout_gives_every_class_its_share_to_within_a_row(codes, seed):
    """A share is a difference of two rounded cumulative sums, so it is off by less than 1; a row
    may be given back.
    """
    table = table_of(codes)
    division = Holdout().divide(table, seed)
    for k in np.unique(codes):
        size = np.sum(table.target.codes == k)
        n_train = np.sum(table.target.codes[division.train] == k)
        assert n_train >= 1, "every class trains"
        for part, share in ((division.valid, 0.1), (division.test, 0.2)):
            assert abs(np.sum(table.target.codes[part] == k) - share * size) < 1 + (size < 5)


def test_holdout_of_a_round_number_is_exact():
    division = Holdout().divide(table_of([0] * 500 + [1] * 300 + [2] * 200), 1)
    assert [len(division.train), len(division.valid), len(division.test)] == [700, 100, 200]


def test_a_class_with_one_row_teaches():
    table = table_of([0] * 30 + [1])
    for seed in range(20):
        assert 30 in Holdout().divide(table, seed).train


def test_the_division_of_a_seed_is_the_same_everywhere():
    """Written down: PCG64 gives the same numbers on every platform."""
    division = Holdout().divide(table_of([0, 1] * 5), 7)
    assert (division.valid.tolist(), division.test.tolist()) == ([2], [4, 9])


@given(
    st.lists(st.sampled_from([0, 1, 3]), min_size=1, max_size=60),
    st.integers(0, 10),
    st.integers(1, 9),
)
@examples(100)
def test_rows_shuffled_in_blocks_are_those_of_a_permutation_sorted_by_stratum(codes, seed, block):
    strata = np.array(codes, np.uint8)
    known = np.random.default_rng(seed).permutation(len(codes))
    known = known[np.argsort(strata[known], kind="stable")]
    found = np.empty(len(codes), np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "BLOCK", block)
        for rows, place in splits.shuffled_by_class(strata, np.random.default_rng(seed)):
            found[place] = rows
    assert found.tolist() == known.tolist()


def test_contiguous_groups_stand_where_their_first_row_stands():
    table = table_of([0, 1] * 5, groups=[7, 7, 3, 3, 7, 5, 5, 3, 9, 9])
    tests = [Contiguous(folds=2, fold=k).divide(table, 0).test.tolist() for k in range(2)]
    assert tests == [[0, 1, 2, 3, 4, 7], [5, 6, 8, 9]]


def test_folds_are_stratified_and_of_equal_size():
    table = table_of([0] * 60 + [1] * 43)
    sizes, ones = [], []
    for fold in range(5):
        test = KFold(folds=5, fold=fold).divide(table, 0).test
        sizes.append(len(test))
        ones.append(int(table.target.codes[test].sum()))
    assert max(sizes) - min(sizes) <= 1
    assert max(ones) - min(ones) <= 1


def test_repeats_deal_anew_and_folds_of_a_repeat_belong_together():
    table = table_of([0, 1] * 20)
    tests = [KFold(folds=4, repeats=2, fold=k).divide(table, 0).test for k in range(8)]
    for repeat in (tests[:4], tests[4:]):
        assert sorted(np.concatenate(repeat).tolist()) == list(range(40))
    assert tests[0].tolist() != tests[4].tolist()


def test_contiguous_folds_are_stretches_in_order():
    table = table_of([0, 1] * 5)
    assert [Contiguous(folds=3, fold=k).divide(table, 0).test.tolist() for k in range(3)] == [
        [0, 1, 2, 3],
        [4, 5, 6],
        [7, 8, 9],
    ]
    division = Contiguous(folds=5, fold=0, valid=0.25).divide(table, 0)
    assert (division.train.tolist(), division.valid.tolist()) == ([2, 3, 4, 5, 6, 7], [8, 9])


def test_grouped_holdout_comes_near_its_shares():
    generator = np.random.default_rng(0)
    groups = generator.integers(0, 60, 600)
    table = table_of(generator.integers(0, 2, 600), groups)
    division = Holdout().divide(table, 0)
    largest = np.bincount(groups).max()
    for part, share in ((division.train, 0.7), (division.valid, 0.1), (division.test, 0.2)):
        assert abs(len(part) - 600 * share) <= largest


def test_impossible_fields_are_refused():
    with pytest.raises(
        ConfigError,
        match=r"split.train \+ split.valid \+ split.test must be 1; got 0.7 \+ 0.1 \+ 0.3",
    ):
        Holdout(test=0.3)
    with pytest.raises(
        ConfigError, match=r"split.fold must be < 10 \(folds are counted from 0\); got 10"
    ):
        KFold(fold=10)
    with pytest.raises(ConfigError, match=r"split.fold must be < 3"):
        Contiguous(folds=3, fold=3)
    with pytest.raises(ValueError, match="split.folds must be ≥ 2; got 1"):
        KFold(folds=1)


def test_too_many_folds_are_refused():
    for split in (KFold(folds=9, fold=8), Contiguous(folds=9, fold=1)):
        with pytest.raises(DataError, match="9 folds are too many"):
            split.divide(table_of([0, 1, 0]), 0)


def test_regression_targets_are_divided_without_strata():
    table = attrs.evolve(
        table_of([0, 1] * 50), target=Target("y", Task.regression, values=np.arange(100.0))
    )
    division = Holdout().divide(table, 0)
    assert [len(division.train), len(division.valid), len(division.test)] == [70, 10, 20]


def test_no_fold_is_empty_where_there_are_groups_enough():
    groups = np.repeat(np.arange(12), [9, 8, 7, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    table = table_of(np.arange(len(groups)) % 2, groups)
    tests = [KFold(folds=10, fold=k).divide(table, 0).test for k in range(10)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(len(groups)))
    assert Holdout().divide(table_of([0, 1, 0], [4, 5, 6]), 0).test.size == 1
