"""How badly leaves of one hazard ratio each explain what was followed."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.api import EVENT, Encoded, SumsObjective, Table, Tree
from arboretum_survival.hazards import Followed, concordance, integrated_brier


@attrs.frozen
class Survival(SumsObjective):
    """Mean deviance of the full likelihood, each leaf having one ratio θ to the hazard of all rows,
    + λ · leaves.

    The target is a time above 0, ``dataset.event=COLUMN`` says whether it is that of the event (1)
    or of the last look (0).  With H the cumulative hazard of all training rows (Nelson–Aalen) a
    leaf of D events predicts θ = D / Σ H(t), and costs 2 (Σ over events of −log H(t) − D log θ).  A
    leaf without events predicts 0.
    """

    name = "survival"
    paper = "LeBlanc & Crowley 1992; Zhang, Xin, Seltzer & Rudin 2024"
    reads = (EVENT,)
    by_value = True
    example = "dataset=lifetimes method=leaf_sums stopping.standard.max_depth=3"

    def moments(self, objects: Encoded) -> np.ndarray:
        """Return float64[objects, 4]: w, w δ, w H(t), −w δ log H(t).  Raises DataError for times
        that are not above 0.
        """
        table = objects.table
        followed = Followed.of(table)
        hazard = self.hazards(followed).hazard_until(followed.time)
        own = -followed.event * np.log(np.where(followed.event == 1, hazard, 1.0))
        ones = np.ones(table.n_rows)
        by_row = np.stack([ones, followed.event, hazard, own], axis=1)
        return np.asarray(objects.mean_of_rows(by_row) * objects.weight[:, None])

    def hazards(self, followed: Followed) -> Followed:
        """Return the rows whose hazards count: those that are asked about."""
        return followed

    def fitted(self, table: Table) -> Survival:
        """Return the objective with the hazards of these rows, whichever are asked about."""
        return OfRows(self.lam, all_rows=Followed.of(table, merged=True))

    def leaf(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…], the deviance; 0 for leaves without events."""
        _, events, hazard, own = np.moveaxis(sums, -1, 0)
        some = events > 0
        ratio = np.where(some, events, 1.0) / np.where(some, hazard, 1.0)
        return np.where(some, 2 * (own - events * np.log(ratio)), 0.0)

    def predicts(self, sums: np.ndarray) -> np.ndarray:
        """Return float64[…], θ."""
        _, events, hazard, _ = np.moveaxis(sums, -1, 0)
        return np.where(events > 0, events / np.where(hazard > 0, hazard, 1.0), 0.0)

    def metrics(self, tree: Tree, rows: Table, train: Table) -> Mapping[str, float]:
        """Return ``concordance`` and ``integrated_brier`` of a tree's ratios on some rows."""
        followed, ratio = Followed.of(rows), tree.predict(rows)
        return {
            "concordance": concordance(followed, ratio),
            "integrated_brier": integrated_brier(Followed.of(train), followed, ratio),
        }


@attrs.frozen(eq=False)
class OfRows(Survival):
    """With hazards.   all_rows : those that train."""

    all_rows: Followed = attrs.field(default=None, kw_only=True)

    def hazards(self, followed: Followed) -> Followed:
        """Return the rows that train."""
        return self.all_rows
