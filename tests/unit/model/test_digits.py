"""How many digits numbers need, and the ranks that say so."""

import numpy as np
import pytest

from arboretum.model.digits import SORTED, _rank_function, _shown_alike


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_ranks_are_counted_or_searched_alike(kind):
    draw = np.random.default_rng(0)
    values = draw.choice(draw.normal(size=20), 50).astype(kind)
    values[::7] = np.nan
    near = values[~np.isnan(values)].astype(np.float64)
    bounds = np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)])
    counted, searched = (_rank_function(values, n)(bounds) for n in (1, SORTED + 1))
    assert counted.tolist() == searched.tolist()
    assert counted[: len(near)].tolist() == [int((values <= v).sum()) for v in near]


@pytest.mark.filterwarnings("error")
def test_cuts_further_apart_than_float64_reaches_are_told_apart_without_a_warning():
    most = np.finfo(float).max
    assert _shown_alike(np.array([most, -most, most]), np.array([1.0, 2.0, 3.0])).tolist() == [
        True,
        False,
        True,
    ]
