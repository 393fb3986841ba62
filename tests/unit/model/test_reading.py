"""JSON from elsewhere is taken for what it is."""

from __future__ import annotations

import numpy as np
import pytest

from arboretum.model.reading import fits, read_array


def test_truth_values_are_no_numbers():
    assert fits(1, int) and fits(1, float) and not fits(1.5, int)
    assert not fits(True, int) and not fits(True, float | None) and not fits([True], list[int])
    assert read_array("price", [0, 1.5], np.float64).tolist() == [0.0, 1.5]
    for name, dtype in (("label", np.int32), ("price", np.float64)):
        with pytest.raises(ValueError, match="numbers; got True"):
            read_array(name, [0, True], dtype)
