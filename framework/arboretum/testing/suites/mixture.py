"""Conformance of impurities and coverage functions: how mixed is a set of objects, how close is each to being identified?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from arboretum.api import Capability, Encoded, Task
from arboretum.testing.example_components import ToyExcluded
from arboretum.testing.suites.base import ComponentSuite, claims, kind_of_table, skip_if, tasks_of
from arboretum.testing.tables import SEEDS, outcomes, small_vectors, toy_objects, toy_table


TOLERANCE = 1e-12
"""Relative.  A vector has a handful of entries: sums and quotients of them differ by a few times 2⁻⁵² ≈ 2.2e-16 of the
largest term, and a power or a logarithm of them by some tens of that."""


def close(a, b, scale: float = 1.0) -> bool:
    return bool(np.all(np.abs(np.asarray(a) - np.asarray(b)) <= TOLERANCE * np.maximum(scale, np.abs(b))))


def both_forms(kernel: Callable) -> list[tuple[str, Callable]]:
    """A kernel as plain Python, and compiled."""
    import numba

    return [("as plain Python", kernel), ("compiled", numba.njit(error_model="numpy")(kernel))]


class ImpuritySuite(ComponentSuite):
    """Zero on pure and on empty, non-negative, symmetric; scale and concavity as declared; kernel equals value."""

    kind = "impurity"

    @pytest.fixture
    def task(self, component) -> Task:
        return tasks_of(component)[0]

    @pytest.fixture
    def vectors(self, component, task) -> np.ndarray:
        """float64[n, classes]."""
        skip_if(hasattr(component, "of_values"), "no function of additive moments")
        n_classes = 3 if claims(component, Capability.multiclass) else 2
        return np.array(list(small_vectors(task, n_classes)))

    def test_its_value_has_the_shape_of_the_batch_and_no_nan(self, component, vectors):
        value = np.asarray(component.value(vectors))
        assert value.shape == vectors.shape[:-1] and value.dtype == np.float64 and np.isfinite(value).all()
        stacked = np.asarray(component.value(np.stack([vectors, vectors[::-1]])))
        assert stacked.shape == (2, len(vectors))
        assert (stacked[0] == value).all() and (stacked[1] == value[::-1]).all()

    def test_one_vector_gives_what_the_batch_gives(self, component, vectors):
        assert close([float(component.value(vector)) for vector in vectors], component.value(vectors))

    def test_it_does_not_change_what_it_is_given(self, component, vectors):
        before = vectors.copy()
        component.value(vectors)
        assert (vectors == before).all()

    def test_it_is_zero_on_an_empty_set(self, component, vectors):
        assert float(component.value(np.zeros(vectors.shape[-1]))) == 0.0

    def test_it_is_zero_on_a_pure_set(self, component, task, vectors):
        if task is Task.regression:
            pure = np.array([[w, w * y, w * y * y] for w, y in itertools.product((0.5, 1.0, 4.0), (-2.0, 0.0, 1.5))])
        else:
            pure = np.array([weight * row for row in np.eye(vectors.shape[-1]) for weight in (0.25, 1.0, 3.0, 1e6)])
        assert close(component.value(pure), np.zeros(len(pure)))

    def test_it_is_never_negative_and_positive_on_some_mixed_set(self, component, vectors):
        found = np.asarray(component.value(vectors))
        assert (found >= 0).all() and (found > 0).any()

    def test_the_order_of_the_classes_does_not_matter(self, component, task, vectors):
        skip_if(task is Task.regression, "a regression target has no classes")
        for order in itertools.permutations(range(vectors.shape[-1])):
            assert close(component.value(vectors[:, order]), component.value(vectors))

    def test_a_class_without_objects_changes_nothing(self, component, task, vectors):
        skip_if(task is Task.regression or not claims(component, Capability.multiclass), "needs one class more")
        wider = np.concatenate([vectors, np.zeros((len(vectors), 1))], axis=1)
        assert close(component.value(wider), component.value(vectors))

    def test_its_scale_is_the_one_it_declares(self, component, vectors):
        """A mean does not change when all weights double; a total does."""
        assert component.scale in ("mean", "total")
        once, twice = np.asarray(component.value(vectors)), np.asarray(component.value(2 * vectors))
        if component.scale == "mean":
            assert close(twice, once)
        else:
            assert (np.abs(twice - once) > TOLERANCE).any(), "declared total, but doubling all weights changes nothing"

    def test_no_split_raises_it_where_it_declares_to_be_concave(self, component, task, vectors):
        skip_if(not claims(component, Capability.concave), "does not claim to be concave")
        left, right, value = vectors[:, None], vectors[None, :], component.value
        split, whole = value(left) + value(right), np.asarray(value(left + right))
        if component.scale == "mean":
            mass, more = (each[..., 0] if task is Task.regression else each.sum(axis=-1) for each in (left, right))
            split = (mass * value(left) + more * value(right)) / np.where(mass + more > 0, mass + more, 1.0)
        assert (split <= whole + 10 * TOLERANCE * np.maximum(1.0, whole)).all()

    def test_it_is_monotone_and_supermodular_where_it_declares_to_be_admissible(self, component, vectors):
        """R ⊆ S implies F(R) ≤ F(S), and F(R ∪ z) − F(R) ≤ F(S ∪ z) − F(S) (Nan, Wang & Saligrama, Definition 2)."""
        skip_if(not claims(component, Capability.admissible), "does not claim to be admissible")
        value = lambda w: np.asarray(component.value(w))  # noqa: E731
        small, large = vectors[:, None], vectors[:, None] + vectors[None, :]
        slack = 100 * TOLERANCE * np.maximum(1.0, value(large))
        assert (value(small) <= value(large) + slack).all()
        for z in np.eye(vectors.shape[-1]):
            slack = 100 * TOLERANCE * np.maximum(1.0, value(large + z))
            assert (value(small + z) - value(small) <= value(large + z) - value(large) + slack).all()

    def test_its_kernel_equals_its_value(self, component, vectors):
        kernel = getattr(component, "kernel", None)
        skip_if(kernel is None, "has no kernel form")
        for form, call in both_forms(kernel):
            assert close([call(vector) for vector in vectors], component.value(vectors)), f"the kernel {form}"

    @pytest.fixture
    def samples(self, component) -> list[tuple[np.ndarray, np.ndarray]]:
        """(y, weight) of small sets, for impurities of the values themselves."""
        skip_if(not hasattr(component, "of_values"), "is a function of additive tables")
        generator = np.random.default_rng(0)
        sizes = [1, 1, 2, 2, 3, 5, 8, 13]
        return [(generator.integers(-4, 5, n) * 0.5, generator.choice([0.5, 1.0, 2.5], n)) for n in sizes]

    def test_of_values_is_zero_on_equal_values_and_positive_on_others(self, component, samples):
        for y, weight in samples:
            found = component.of_values(y, weight)
            assert isinstance(found, float)
            assert found > 0 if len(set(y)) > 1 else abs(found) <= TOLERANCE

    def test_of_values_does_not_depend_on_the_order_of_the_objects(self, component, samples):
        for y, weight in samples:
            assert close(component.of_values(y[::-1], weight[::-1]), component.of_values(y, weight))

    def test_the_value_of_a_leaf_lies_among_the_values_of_its_objects(self, component, samples):
        for y, weight in samples:
            assert y.min() <= component.leaf_value(y, weight) <= y.max()

    def test_its_prefix_kernel_gives_mass_times_impurity_of_every_prefix(self, component, samples):
        prefix = getattr(component, "prefix", None)
        skip_if(prefix is None, "has no prefix kernel")
        for (form, call), (y, weight) in itertools.product(both_forms(prefix), samples):
            out = np.full(len(y), np.nan)
            call(y, weight, out)
            expected = [component.of_values(y[:n], weight[:n]) * weight[:n].sum() for n in range(1, len(y) + 1)]
            assert close(out, expected, scale=float(np.abs(y) @ weight)), f"the kernel {form}"


NEAR = 1e-9
"""Absolute; values lie between 0 and 1 and come from a few dozen additions and one division."""

N_TESTS = 5
"""Tests of the small tables whose subsets are all looked at."""

Family = dict[frozenset[int], np.ndarray]
"""Set of tests asked → float64[objects], f_i of each, NaN for one that is left out."""


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
