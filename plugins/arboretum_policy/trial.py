"""A trial drawn at random, of which the best policy is known."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import OUTCOME, PROPENSITY, Column, ColumnKind, Table, Target, Task, param


@attrs.frozen
class Trial:
    """Rows of a trial with two actions, "treat" and "wait", of which ``treat`` was the likelier the
    older the row.

    Treating gains 1 where ``age`` is above 50 and ``marker`` is "high", and costs ½ elsewhere: the
    best policy is a tree of three leaves, worth half of the share of those rows more than waiting.
    """

    kind = "dataset"
    name = "trial"
    paper = ""
    capabilities = ("randomised",)
    offline = True

    n_rows: int = param(1000, "rows drawn", ge=10, unit="rows")
    noise: float = param(1.0, "standard deviation of the outcomes", ge=0.0)
    known: bool = param(True, "whether the table says how likely each action was")

    def load(self, seed: int) -> Table:
        """Draw the trial from ``seed``."""
        generator, n = np.random.default_rng([seed, 28]), self.n_rows
        age = generator.integers(20, 80, n).astype(np.float64)
        marker, site = generator.integers(0, 2, n), generator.integers(0, 3, n)
        likely = 0.3 + 0.4 * (age - 20) / 60
        treated = generator.random(n) < likely
        gain = np.where((age > 50) & (marker == 1), 1.0, -0.5)
        outcome = 0.02 * age + gain * treated + self.noise * generator.normal(size=n)
        word = ColumnKind.categorical
        known = {PROPENSITY: np.where(treated, likely, 1 - likely)} if self.known else {}
        roles = {OUTCOME: outcome.round(3), **known}
        columns = (
            Column("age", ColumnKind.continuous, age, unit=""),
            Column("marker", word, marker, ("low", "high")),
            Column("site", word, site, ("a", "b", "c")),
        )
        target = Target("action", Task.classification, treated.astype(np.int32), ("wait", "treat"))
        return Table("trial", columns, target, roles=roles)
