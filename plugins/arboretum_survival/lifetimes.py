"""Times until an event, drawn at random, of which the best tree is known."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import EVENT, Column, ColumnKind, Table, Target, Task, param


@attrs.frozen
class Lifetimes:
    """Rows of three hazards: 3 where ``dose`` is above 6, else 1 where ``stage`` is "early", else
    0.3.

    Times are exponential; rows are last seen at a time of their own, so that about ``lost`` of them
    are censored.
    """

    kind = "dataset"
    name = "lifetimes"
    paper = ""
    capabilities = ("randomised",)
    offline = True

    n_rows: int = param(600, "rows drawn", ge=10, unit="rows")
    lost: float = param(0.3, "share of the rows that are last seen before the event", ge=0, lt=1)

    def load(self, seed: int) -> Table:
        """Draw the rows from ``seed``."""
        generator, n = np.random.default_rng([seed, 31]), self.n_rows
        dose, stage = generator.integers(0, 10, n).astype(float), generator.integers(0, 2, n)
        site = generator.integers(0, 3, n)
        hazard = np.where(dose > 6, 3.0, np.where(stage == 0, 1.0, 0.3))
        happens = generator.exponential(1 / hazard)
        seen = happens * generator.uniform(0.2, 1, n)
        lost = generator.random(n) < self.lost
        time = np.maximum(np.where(lost, seen, happens).round(3), 0.001)
        word = ColumnKind.categorical
        columns = (
            Column("dose", ColumnKind.continuous, dose),
            Column("stage", word, stage, ("early", "late")),
            Column("site", word, site, ("a", "b", "c")),
        )
        target = Target("time", Task.regression, values=time)
        return Table("lifetimes", columns, target, roles={EVENT: (~lost).astype(float)})
