"""What was noted of repeated runs."""

from __future__ import annotations

import math

from arboretum_regularized.paper.observed import Observed


def test_what_was_noted_of_runs_has_means_and_errors():
    found = Observed({("unit", "iris"): [{"auc": 1.0}, {"auc": None}, {"auc": 3.0}, {}]})
    assert found.values("unit", "iris", "auc").tolist() == [1.0, 3.0]
    assert found.mean("unit", "iris", "auc") == 2.0 and found.error("unit", "iris", "auc") == 1.0
    assert math.isnan(found.mean("unit", "letter", "auc")) and math.isnan(
        found.error("unit", "letter", "auc")
    )
