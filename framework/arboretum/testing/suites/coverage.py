"""Conformance of coverage functions: how close is an object to being identified?"""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from arboretum.api import Encoded
from arboretum.testing.suites.base import ComponentSuite, kind_of_table, skip_if
from arboretum.testing.tables import SEEDS, ToyExcluded, outcomes, toy_objects, toy_table

NEAR = 1e-9  # absolute; values lie between 0 and 1 and come from a few dozen additions and one division
N_TESTS = 5  # tests of the small tables whose subsets are all looked at
Family = dict[frozenset[int], np.ndarray]  # set of tests asked → float64[objects], f_i of each, NaN for one that is left out


def family_of(component: Any, objects: Encoded, tests: list[int]) -> Family:
    """f_i of every object for every subset of the tests: of the objects that agree with it on all of them."""
    answers = {t: outcomes(objects, t, np.arange(objects.n_objects)) for t in tests}
    found = {}
    for asked in (frozenset(c) for size in range(len(tests) + 1) for c in itertools.combinations(tests, size)):
        values = np.full(objects.n_objects, np.nan)
        given = np.array([answers[t] for t in sorted(asked)]).reshape(len(asked), objects.n_objects)
        for i in np.flatnonzero(np.isnan(values)):
            together = np.flatnonzero((given == given[:, i : i + 1]).all(axis=0))
            values[i] = component.covered(objects, together)[together.tolist().index(i)]
        found[asked] = values
    return found


def breaks_monotony(family: Family) -> float:
    """The largest fall of any f_i when one more test is asked; at most 0 for a monotone family."""
    tests = max(family, key=len)
    return max(float(np.nanmax(family[a] - family[a | {t}])) for a in family for t in tests - a)


def breaks_submodularity(family: Family) -> float:
    """The largest excess of a gain after one more test over the gain before it; at most 0 for a submodular family.

    For all A and all tests s, t outside A: f(A + t) − f(A) ≥ f(A + s + t) − f(A + s), which is equivalent to the same for all
    supersets of A (Schrijver 2003, Combinatorial Optimization, theorem 44.1).
    """
    tests, worst = max(family, key=len), -np.inf
    for a in family:
        for s, t in itertools.combinations(tests - a, 2):
            excess = family[a | {s, t}] - family[a | {s}] - family[a | {t}] + family[a]
            worst = max(worst, float(np.nanmax(excess)))
    return worst


class CoverageSuite(ComponentSuite):
    """From 0 to 1, monotone and submodular in the tests asked, 1 for an object that stands alone."""

    kind = "coverage"

    def cases(self, component):
        """(objects, S, T, U): rows S, and two tests' answers T, U ⊆ S that share an object."""
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed, n_rows=16, kind=kind_of_table(component)))
            generator = np.random.default_rng(seed)
            for _ in range(8):
                keep = generator.random((2, objects.n_objects)) < 0.6
                keep[:, generator.integers(objects.n_objects)] = True
                everyone = np.arange(objects.n_objects)
                yield objects, everyone, everyone[keep[0]], everyone[keep[1]]

    def small(self, component) -> Iterator[tuple[Encoded, Family]]:
        """Tables whose objects are told apart by their five tests, with f for all 32 sets of tests."""
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed, n_rows=9, kind=kind_of_table(component)))
            generator = np.random.default_rng(seed)
            tests = sorted(generator.choice(int(objects.test_offset[-1]), N_TESTS, replace=False).tolist())
            answers = np.array([outcomes(objects, t, np.arange(objects.n_objects)) for t in tests])
            distinct = np.sort(np.unique(answers, axis=1, return_index=True)[1])
            objects = objects.take(distinct)
            if len(set(objects.label.tolist() if objects.label is not None else objects.y.tolist())) > 1:
                yield objects, family_of(component, objects, tests)

    def families(self, component) -> Iterator[Family]:
        """f over all sets of the tests of small tables, and over the sets of any two tests, NaN where an object is gone."""
        yield from (family for _, family in self.small(component))
        for objects, everyone, some, others in self.cases(component):
            family = {(): everyone, (0,): some, (1,): others, (0, 1): np.intersect1d(some, others)}
            for asked, rows in family.items():
                family[asked] = np.full(objects.n_objects, np.nan)
                family[asked][rows] = component.covered(objects, rows)
            yield {frozenset(asked): values for asked, values in family.items()}

    def test_nothing_is_covered_before_a_test_and_everything_after_all(self, component):
        for _, family in self.small(component):
            every = max(family, key=len)
            assert np.abs(family[frozenset()]).max() <= NEAR
            assert np.abs(family[every] - 1).max() <= NEAR, "all objects are told apart, hence covered"

    def test_asking_more_never_uncovers(self, component):
        assert max(breaks_monotony(family) for family in self.families(component)) <= NEAR

    def test_a_test_gains_no_more_after_others_were_asked(self, component):
        assert max(breaks_submodularity(family) for family in self.families(component)) <= NEAR

    def test_it_stays_so_when_truncated_by_a_constant(self, component):
        for _, family in self.small(component):
            for most in (0.25, 0.6, 0.9):
                cut = {asked: np.minimum(values, most) / most for asked, values in family.items()}
                assert breaks_monotony(cut) <= NEAR and breaks_submodularity(cut) <= NEAR / most

    def test_it_stays_so_when_joined_by_disjunction(self, component):
        for objects, family in self.small(component):
            tests = sorted(max(family, key=len))
            for other in (family, family_of(ToyExcluded(), objects, tests)):
                joined = {asked: 1 - (1 - values) * (1 - other[asked]) for asked, values in family.items()}
                assert max(breaks_monotony(joined), breaks_submodularity(joined)) <= NEAR

    def test_bound_to_its_root_it_answers_the_same(self, component):
        skip_if(not hasattr(component, "prepare"), "is not bound to a root")
        for objects, everyone, some, others in self.cases(component):
            bound = component.prepare(objects)
            for rows in (everyone, some, others):
                assert np.abs(bound.covered(objects, rows) - component.covered(objects, rows)).max() <= NEAR

    def test_many_sets_at_once_are_answered_as_each_by_itself(self, component):
        """Where it has ``covered_many``, or what it prepares has."""
        forms = lambda objects: [component, *([component.prepare(objects)] if hasattr(component, "prepare") else [])]  # noqa: E731
        objects = next(iter(self.cases(component)))[0]
        skip_if(not any(hasattr(form, "covered_many") for form in forms(objects)), "answers for one set at a time")
        for objects, everyone, some, others in self.cases(component):
            sets = [some, everyone, others[:1], others, some[::-1]]
            start = np.cumsum([0, *map(len, sets)])
            for form in forms(objects):
                if hasattr(form, "covered_many"):
                    found = form.covered_many(objects, np.concatenate(sets), start)
                    each = np.concatenate([component.covered(objects, rows) for rows in sets])
                    assert found.dtype == np.float64 and found.shape == each.shape
                    assert np.abs(found - each).max() <= NEAR

    def test_it_gives_every_object_a_number_from_0_to_1(self, component):
        for objects, everyone, some, _ in self.cases(component):
            for rows in (everyone, some):
                found = component.covered(objects, rows)
                assert found.shape == (len(rows),) and found.dtype == np.float64
                assert (found >= 0).all() and (found <= 1 + NEAR).all(), "NaN is not allowed either"

    def test_an_object_that_stands_alone_is_covered(self, component):
        for objects, everyone, _, _ in self.cases(component):
            for row in everyone[:4]:
                assert abs(component.covered(objects, np.array([row]))[0] - 1) <= NEAR

    def test_the_order_of_the_rows_does_not_matter(self, component):
        for objects, everyone, _, _ in self.cases(component):
            found = component.covered(objects, everyone)
            assert np.abs(component.covered(objects, everyone[::-1])[::-1] - found).max() <= NEAR
