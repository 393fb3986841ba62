"""Contract: what does asking a test cost?"""

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded, Prices


class Cost(Component, Protocol):
    """A price list for tests."""

    def price_list(self, objects: Encoded, seed: int) -> Prices:
        """Return the price of every test, finite and ≥ 0, all in one unit.  Called once per run,
        after encoding.

        A price that depends on what the path has asked (a set-up that is shared by several
        columns): ``Prices.after`` answers the list below such a path, from what it has asked and
        paid.  No price may rise on the way down.  A price that depends on the outcome:
        :meth:`Prices.by_outcome`.  Kernels of whole subtrees, bulk growth and exact solvers know
        one number per test: such trees are grown node by node, and solvers and certificates refuse
        the run in one line.  A criterion sees the largest price of a test unless it declares
        ``needs_outcome_prices``.

        seed : the run's; equal seeds give equal prices.

        Raises DataError when a price names an unknown column.
        """
