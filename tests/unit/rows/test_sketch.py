"""Sketches: exact while values are few, quantiles within the error they state, the same in any
parting of the rows but for that error.
"""

import numpy as np
import pytest

from arboretum.model.table import Column, ColumnKind
from arboretum.rows import sketch as room
from arboretum.rows.mapped import pairwise_sum
from arboretum.rows.sketch import ColumnSketch, QuantileSketch
from arboretum.rows.values import adds_exactly


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(room, "SIZE", 16)


def drawn(kind, n):
    draw = np.random.default_rng(3)
    return {
        "normal": draw.normal(size=n),
        "ascending": np.arange(float(n)),
        "ties": draw.integers(0, 5, n).astype(float),
        "heavy": np.exp(3 * draw.normal(size=n)),
    }[kind]


@pytest.mark.parametrize("kind", ["normal", "ascending", "ties", "heavy"])
@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize("merged", [False, True])
def test_ranks_are_within_the_stated_error(kind, parts, merged, small):
    values = drawn(kind, 5_000)
    whole = QuantileSketch()
    for piece in np.array_split(values, parts):
        if merged:
            other = QuantileSketch()
            other.add(piece)
            whole.merge(other)
        else:
            whole.add(piece)
    assert whole.n == len(values) and 0 < whole.error < 0.3
    count = 20
    ordered = np.sort(values)
    held = [whole.rest, *(one for level in whole.levels for one in level)]
    weight = [np.ones(len(whole.rest))]
    weight += [np.full(16, 2.0 ** (k + 1)) for k, one in enumerate(whole.levels) for _ in one]
    numbers, weights = np.concatenate(held), np.concatenate(weight)
    assert weights.sum() == len(values)
    for wanted in whole.quantiles(count):
        told = weights[numbers <= wanted].sum()
        true = np.searchsorted(ordered, wanted, side="right")
        assert abs(told - true) <= whole.error * len(values) + 1e-9


def test_the_error_is_the_one_that_the_page_states():
    whole = QuantileSketch()
    n = 1_000_000
    for _ in range(10):
        whole.add(np.random.default_rng(0).random(n // 10))
    assert whole.error <= np.ceil(np.log2(n / room.SIZE)) / (2 * room.SIZE)
    found = whole.quantiles(100)
    assert np.abs(found - (np.arange(100) + 0.5) / 100).max() < 0.005


def columns(n_parts):
    draw = np.random.default_rng(0)
    values = draw.integers(0, 12, 300).astype(float)
    values[draw.random(300) < 0.1] = np.nan
    for piece in np.array_split(values, n_parts):
        yield Column("x", ColumnKind.continuous, piece), piece


def test_few_values_are_kept_and_their_rows_counted_and_coded():
    own, seen = ColumnSketch(12), []
    for column, piece in columns(5):
        codes = own.add(column)
        assert np.array_equal(np.append(own.values, np.nan)[codes], piece, equal_nan=True)
        seen.append(piece)
    values, counts = np.unique(np.concatenate(seen), return_counts=True)
    assert (
        own.values.tolist() == values[:-1].tolist() and own.counts.tolist() == counts[:-1].tolist()
    )
    assert own.missing == counts[-1]


@pytest.mark.parametrize("merged", [False, True])
def test_one_value_more_than_fit_makes_quantiles_that_forget_no_row(merged):
    own = ColumnSketch(11)
    for column, _ in columns(5):
        if merged:
            other = ColumnSketch(11)
            other.add(column)
            own.merge(other)
        else:
            own.add(column)
    assert own.quantiles is not None and own.quantiles.n + own.missing == 300
    assert not len(own.values)


def test_a_sum_of_pieces_is_the_sum_to_the_last_bit(monkeypatch):
    monkeypatch.setattr("arboretum.rows.mapped.PAIRWISE", 300)
    draw = np.random.default_rng(0)
    for n in (0, 1, 7, 127, 128, 129, 1_000, 4_321, 10_007):
        values = draw.random(n) / 7
        assert pairwise_sum(lambda a, b, values=values: values[a:b], n) == values.sum()


def test_weights_add_up_exactly_where_they_are_whole_numbers_of_a_small_power_of_two():
    assert adds_exactly(np.array([1.0, 3.0, 0.25, 2.0**-20]))
    assert not adds_exactly(np.array([0.1])) and not adds_exactly(np.array([2.0**-21]))
    assert not adds_exactly(np.array([2.0**33]))
