"""Conformance of impurities: how mixed is a class-weight vector?"""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from arboretum.api import Capability, Task
from arboretum.testing.suites.base import ComponentSuite, claims, skip_if, tasks_of
from arboretum.testing.tables import small_vectors

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
