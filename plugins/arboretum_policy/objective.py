"""What a policy is worth, less being better: the mean of what its actions are estimated to lose."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.api import (
    OUTCOME,
    PROPENSITY,
    AdditiveObjective,
    CapabilityError,
    Problem,
    Table,
    param,
)
from arboretum_policy.scores import Estimate, Model, Scoring, over_propensities, scores_of


@attrs.frozen
class PolicyValue(AdditiveObjective):
    """Less the mean worth of the actions that the tree prescribes, + λ · leaves.

    The target is the action that was taken (``dataset.treatment=COLUMN``), ``dataset.outcome`` what
    came of it, ``dataset.propensity`` how likely it was, where that is known.
    """

    name = "policy_value"
    paper = "Dudík, Langford & Li 2011; Athey & Wager 2021"
    capabilities = ("classification", "multiclass", "prices")  # no weights: models know none
    reads = (OUTCOME,)
    example = "dataset=trial method=gosdt objective.lam=0.01"

    estimate: Estimate = param(
        Estimate.doubly_robust, "of an action's worth: from propensities, outcomes, or both"
    )
    model: Model = param(Model.linear, "of outcomes, and of propensities that are not given")
    folds: int = param(5, "of the training rows: no row is scored by a model that saw it", ge=2)
    least: float = param(0.01, "below which no estimated propensity falls", gt=0.0, le=1.0)

    @property
    def linear_in_roles(self) -> bool:  # type: ignore[override]  # as the estimate has it
        """Whether no model is fitted to all rows."""
        return self.estimate is Estimate.inverse_propensity

    @property
    def needs_all_rows(self) -> str:
        """Why worths by models are not known of rows in parts."""
        return (
            "fits models of outcomes to all training rows at once "
            "(objective.estimate=inverse_propensity with dataset.propensity fits none)"
        )

    def linear_roles(self, table: Table) -> Mapping[str, np.ndarray]:
        """Return the outcomes over their propensities, and propensities of 1.  Raises
        CapabilityError for a table that does not say the propensities.
        """
        if PROPENSITY not in table.roles:
            raise CapabilityError(
                "objective policy_value estimates propensities by a model of all training rows, "
                "which rows in parts do not fit; name dataset.propensity, or use rows=memory"
            )
        likely = table.role(PROPENSITY)
        worth = over_propensities(table.role(OUTCOME), likely, table)
        return {**table.roles, OUTCOME: worth, PROPENSITY: np.ones(len(likely))}

    def costs(self, problem: Problem) -> np.ndarray:
        """Return float64[objects, actions]: less what an action is worth to an object."""
        objects = problem.objects
        how = Scoring(self.estimate, self.model, self.folds, self.least)
        found: np.ndarray = -objects.mean_of_rows(scores_of(objects.table, how))
        return found
