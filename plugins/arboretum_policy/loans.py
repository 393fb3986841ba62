"""Loans drawn at random, of which every wrong answer has a price of its own."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import Column, ColumnKind, Table, Target, Task, cost_role, param


@attrs.frozen
class Loans:
    """Rows of loans that were "repaid" or "lost": who is taken for one that repays and does not
    costs the amount, who is refused and would have repaid a tenth of it.

    The role ``costs`` says it for each label, in thousands.
    """

    kind = "dataset"
    name = "loans"
    paper = "Elkan 2001"
    capabilities = ("randomised",)
    offline = True

    n_rows: int = param(800, "rows drawn", ge=10, unit="rows")

    def load(self, seed: int) -> Table:
        """Draw the loans from ``seed``."""
        generator, n = np.random.default_rng([seed, 34]), self.n_rows
        income = generator.integers(15, 90, n).astype(np.float64)
        amount = generator.integers(1, 60, n).astype(np.float64)
        history = generator.integers(0, 3, n)
        chance = 1 / (1 + np.exp((amount - income) / 15 + 1 - history))
        repaid = generator.random(n) < chance
        word = ColumnKind.categorical
        columns = (
            Column("income", ColumnKind.continuous, income),
            Column("amount", ColumnKind.continuous, amount),
            Column("history", word, history, ("bad", "none", "good")),
        )
        roles = {
            cost_role("repaid"): np.where(repaid, 0.0, amount),
            cost_role("lost"): np.where(repaid, (amount / 10).round(1), 0.0),
        }
        codes = (~repaid).astype(np.int32)
        target = Target("end", Task.classification, codes, ("repaid", "lost"))
        return Table("loans", columns, target, roles=roles)
