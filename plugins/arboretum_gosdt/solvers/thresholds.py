"""All thresholds of columns that an encoder cut: what an optimum of a restricted problem is
worth.
"""

import attrs
import numpy as np

from arboretum.api import (
    Attempt,
    CapabilityError,
    Context,
    Family,
    Prices,
    Problem,
    RawFeature,
    refuse_prices,
)
from arboretum_gosdt.solvers.gosdt import Gosdt


def with_all_thresholds(problem: Problem) -> Problem:
    """Return the same problem, whose continuous columns have every threshold besides the tests of
    the encoder.

    A column that the encoder left out stays out.  A threshold has the least price of its column's
    tests, so that no minimum is above that of the problem as it was.  Raises CapabilityError where
    objects hold rows of different values, or one number does not say what a test costs.
    """
    objects, prices = problem.objects, problem.prices
    refuse_prices("gosdt_thresholds", objects, prices)
    cut = [
        f
        for f, feature in enumerate(objects.features)
        if objects.table.columns[feature.position].is_continuous
    ]
    kept = [
        f
        for f, feature in enumerate(objects.features)
        if f not in cut or feature.family is not Family.thresholds
    ]
    own = [
        np.arange(objects.test_offset[f], objects.test_offset[f + 1])
        for f in range(len(objects.features))
    ]
    values, price = [], []
    for f in cut:
        name = objects.features[f].column
        column = objects.table.columns[objects.features[f].position].values
        values.append(column[objects.row_of_object])
        price.append(prices.tests[own[f]].min())
        if not np.array_equal(column, values[-1][objects.object_of_row], equal_nan=True):
            raise CapabilityError(
                f"objects hold rows with different values of column {name!r}; for all its "
                "thresholds use encoder.coalesce=none"
            )
    features = [
        RawFeature(one.column, one.position, objects.table.columns[one.position].unit)
        for one in map(objects.features.__getitem__, cut)
    ]
    wide = attrs.evolve(
        objects,
        features=tuple(objects.features[f] for f in kept),
        codes=np.asfortranarray(objects.codes[:, kept]),
        raw_features=(*objects.raw_features, *features),
        raw=np.column_stack([objects.raw, *values]),
    )
    tests = np.concatenate([np.zeros(0), *(prices.tests[own[f]] for f in kept)])
    return attrs.evolve(
        problem,
        objects=wide,
        prices=Prices(tests, np.append(prices.raw, price), prices.once_per_column),
    )


@attrs.frozen
class GosdtThresholds(Gosdt):
    """gosdt over all thresholds of continuous columns, whatever cuts the encoder made: of bins,
    quantiles, guesses, buckets.

    As ``certifier=gosdt_thresholds`` it says how far the optimum of such a restricted problem, or
    any tree, is from the best tree of all thresholds; beyond the budget it says how far at most.
    """

    name = "gosdt_thresholds"
    example = "dataset=iris method=gosdt encoder=bins"
    tests = "all thresholds"

    def begin(self, problem: Problem, context: Context = Context()) -> Attempt:
        """The attempt at the problem with all thresholds; raises what :func:`with_all_thresholds`
        and gosdt raise.
        """
        return super().begin(with_all_thresholds(problem), context)

    def problem_of_proof(self, problem: Problem) -> Problem:
        """The problem with all thresholds, which a proof is about."""
        return with_all_thresholds(problem)

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Load the kernels that the problem with all thresholds will call."""
        super().warm_up(with_all_thresholds(problem), context)
