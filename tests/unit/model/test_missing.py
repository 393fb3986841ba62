"""The forms of a missing value, and what makes one of another."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from arboretum.model.missing import (
    MISSING,
    UNSEEN,
    by_code,
    from_bins,
    is_missing,
    missing_among,
    to_bins,
)
from arboretum.model.table import Checksum, Column, ColumnKind

CODES = st.lists(st.integers(UNSEEN, 4), max_size=20).map(lambda codes: np.array(codes, np.int64))


@given(CODES)
def test_codes_and_bins_say_the_same(codes):
    codes = np.maximum(codes, MISSING)
    bins = to_bins(codes, 5).astype(np.uint8)  # no bin is negative
    assert bins.tolist() == [code if code >= 0 else 5 for code in codes.tolist()]
    assert from_bins(bins, 5).tolist() == codes.tolist()


@pytest.mark.parametrize(
    ("entries", "missing", "unseen", "dtype"),
    [
        (("a", "b", "c", "d", "e"), None, None, object),
        (np.arange(5.0) / 2, math.inf, None, None),
        ([4, 3, 2, 1, 0], MISSING, UNSEEN, np.int32),
    ],
)
@given(codes=CODES)
def test_the_entry_of_each_code(entries, missing, unseen, dtype, codes):
    by_hand = [
        entries[code] if code >= 0 else unseen if code == UNSEEN and unseen is not None else missing
        for code in codes.tolist()
    ]
    assert by_code(entries, codes, missing, unseen, dtype).tolist() == by_hand


def test_a_column_whose_every_value_is_missing_has_no_entries():
    assert by_code((), np.array([MISSING, MISSING]), None, dtype=object).tolist() == [None, None]


def test_what_is_missing_outside():
    given = [None, math.nan, np.float32("nan"), pd.NaT, pd.NA, "", "?", 0, 1.5]
    assert missing_among(np.array(given, object)).tolist() == [True] * 5 + [False] * 4
    assert [is_missing(one) for one in given if one is not pd.NA] == [True] * 4 + [False] * 4


def test_a_column_of_numbers_or_codes_as_numbers():
    number = Column("a", ColumnKind.continuous, np.array([-1.0, np.nan, 2.0]))
    code = Column("b", ColumnKind.ordinal, np.array([0, MISSING, 1]), ("low", "high"))
    for column, wanted in ((number, [-1.0, None, 2.0]), (code, [0.0, None, 1.0])):
        found = column.as_numbers().tolist()
        assert [None if math.isnan(one) else one for one in found] == wanted


def test_a_checksum_tells_missing_from_every_category_whatever_their_order():
    def checksum(categories, codes):
        column = Column("a", ColumnKind.categorical, np.array(codes, np.int32), categories)
        found = Checksum()
        found.begin(column)
        found.add(column.values)
        return found.sha256

    codes = [[0, 1, MISSING], [0, 1, 0], [0, 1, 1], [1, 0, MISSING]]
    assert len({checksum(("x", "y"), one) for one in codes}) == 4
    assert checksum(("y", "x"), [1, 0, MISSING]) == checksum(("x", "y"), [0, 1, MISSING])
    assert checksum(("x", "y"), [0, 1, UNSEEN]) == checksum(("x", "y"), [0, 1, MISSING])
