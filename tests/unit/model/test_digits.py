"""How many digits numbers need, and the ranks that say so."""

import numpy as np
import pytest

from arboretum.model.digits import SORTED, _rank_function


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
