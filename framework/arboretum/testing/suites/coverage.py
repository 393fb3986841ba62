"""Conformance of coverage functions: how close is an object to being identified?"""

from __future__ import annotations

import numpy as np

from arboretum.testing.suites.base import ComponentSuite, kind_of_table, tasks_of
from arboretum.testing.tables import SEEDS, toy_objects, toy_table

TOLERANCE = 1e-9
"""Absolute; values lie between 0 and 1 and come from a few dozen additions and one division."""


class CoverageSuite(ComponentSuite):
    """From 0 to 1, monotone and submodular in the tests asked, 1 for an object that stands alone."""

    kind = "coverage"

    def cases(self, component):
        """(objects, S, T, U): rows S, and two tests' answers T, U ⊆ S that share an object."""
        kind = kind_of_table(component, tasks_of(component)[0])
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed, n_rows=16, kind=kind))
            generator = np.random.default_rng(seed)
            for _ in range(8):
                keep = generator.random((2, objects.n_objects)) < 0.6
                keep[:, generator.integers(objects.n_objects)] = True
                everyone = np.arange(objects.n_objects)
                yield objects, everyone, everyone[keep[0]], everyone[keep[1]]

    @staticmethod
    def spread(component, objects, rows) -> np.ndarray:
        """float64[n_objects]: the value of each object in ``rows``, NaN elsewhere."""
        full = np.full(objects.n_objects, np.nan)
        full[rows] = component.covered(objects, rows)
        return full

    def test_it_gives_every_object_a_number_from_0_to_1(self, component):
        for objects, everyone, some, _ in self.cases(component):
            for rows in (everyone, some):
                found = component.covered(objects, rows)
                assert found.shape == (len(rows),) and found.dtype == np.float64
                assert (found >= 0).all() and (found <= 1 + TOLERANCE).all(), "NaN is not allowed either"

    def test_an_object_that_stands_alone_is_covered(self, component):
        for objects, everyone, _, _ in self.cases(component):
            for row in everyone[:4]:
                assert abs(component.covered(objects, np.array([row]))[0] - 1) <= TOLERANCE

    def test_asking_more_never_uncovers(self, component):
        for objects, everyone, some, others in self.cases(component):
            both = np.intersect1d(some, others)
            for large, small in ((everyone, some), (some, both), (others, both)):
                before, after = self.spread(component, objects, large)[small], self.spread(component, objects, small)[small]
                assert (after >= before - TOLERANCE).all()

    def test_a_test_gains_no_more_after_others_were_asked(self, component):
        """f(T) − f(S) ≥ f(T ∩ U) − f(U) for the objects that stay together."""
        for objects, everyone, some, others in self.cases(component):
            both = np.intersect1d(some, others)
            at = {name: self.spread(component, objects, rows)[both] for name, rows in
                  (("S", everyone), ("T", some), ("U", others), ("TU", both))}  # fmt: skip
            assert (at["T"] - at["S"] >= at["TU"] - at["U"] - TOLERANCE).all()

    def test_the_order_of_the_rows_does_not_matter(self, component):
        for objects, everyone, _, _ in self.cases(component):
            found = component.covered(objects, everyone)
            assert np.abs(component.covered(objects, everyone[::-1])[::-1] - found).max() <= TOLERANCE
