"""What the checker makes of a table."""

import numpy as np
import pytest

from arboretum.proof.ground import merge_rows


@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 25])
def test_rows_are_merged_by_all_of_their_bytes_and_stand_in_their_order(width):
    generator = np.random.default_rng(width)
    packed = np.zeros((60, width), np.uint8)
    packed[:, generator.integers(0, width, 60)] = generator.integers(0, 3, (60, 1)) * 100
    packed[generator.integers(0, 60, 20), -1] = 255  # rows that differ in their last byte alone
    merged, group = merge_rows(packed)
    expected, which = np.unique(packed, axis=0, return_inverse=True)
    assert np.array_equal(merged, expected)
    assert np.array_equal(group, which.ravel())


def test_rows_without_any_test_are_one():
    merged, group = merge_rows(np.zeros((3, 0), np.uint8))
    assert merged.shape == (1, 0) and group.tolist() == [0, 0, 0]
