"""Conformance of impurities: how mixed is a class-weight vector?"""

import itertools

import numpy as np
import pytest

from arboretum.api import Capability, Target, Task, lint
from arboretum.engine.axioms import SYMMETRIC, TOLERANCE, vectors
from arboretum.errors import sure
from arboretum.kernels.kernel_decorators import Kernel
from arboretum.testing.suites.base import (
    ComponentSuite,
    assert_promises_hold,
    claims,
    skip_if,
    tasks_of,
)


def close(a, b, scale: float = 1.0) -> bool:
    """Whether all values agree within TOLERANCE of the larger of ``scale`` and the second one."""
    return bool(
        np.all(np.abs(np.asarray(a) - np.asarray(b)) <= TOLERANCE * np.maximum(scale, np.abs(b)))
    )


def both_forms(kernel: Kernel | None) -> list[tuple[str, Kernel]]:
    """A kernel as plain Python, and compiled."""
    import numba

    plain = sure(kernel)
    return [("as plain Python", plain), ("compiled", numba.njit(error_model="numpy")(plain))]


class ImpuritySuite(ComponentSuite):
    """It satisfies the axioms of its contract and those that it declares (``arboretum lint``);
    its kernel equals its value.
    """

    kind = "impurity"
    symmetric = True
    """Claim: the order of the classes does not matter."""

    @pytest.fixture
    def vectors(self, component) -> np.ndarray:
        """float64[n, classes] (or moments [n, 3]) of small sets, empty and pure ones included."""
        skip_if(hasattr(component, "of_values"), "no function of additive moments")
        generator = np.random.default_rng(0)
        n_classes = 3 if claims(component, Capability.multiclass) else 2
        if tasks_of(component)[0] is Task.regression:
            y = generator.integers(-3, 4, (6, 5)) * 0.5
            w = generator.choice([0.5, 1.0, 2.0], (6, 5))
            return np.stack([w.sum(axis=1), (w * y).sum(axis=1), (w * y * y).sum(axis=1)], axis=1)
        return np.concatenate([vectors(n_classes, 6), generator.gamma(1.0, 3.0, (6, n_classes))])

    def test_its_value_is_that_of_each_vector_in_the_shape_of_the_batch_which_it_leaves_alone(
        self, component, vectors
    ):
        before = vectors.copy()
        value = component.value(vectors)
        stacked = np.asarray(component.value(np.stack([vectors, vectors[::-1]])))
        assert (vectors == before).all()
        assert (
            value.shape == vectors.shape[:-1]
            and value.dtype == np.float64
            and np.isfinite(value).all()
        )
        assert (stacked[0] == value).all() and (stacked[1] == value[::-1]).all()
        assert close([float(component.value(vector)) for vector in vectors], value)

    def test_it_is_zero_on_an_empty_set_and_positive_on_some_mixed_one(self, component, vectors):
        assert float(component.value(np.zeros(vectors.shape[-1]))) == 0.0
        assert (component.value(1e4 * vectors) > 0).any()

    def test_what_it_declares_is_true_of_all_small_sets(self, component):
        for task in tasks_of(component):
            found = lint(component, task)
            assert found.false == []
            symmetric = found.found[SYMMETRIC]
            assert symmetric.holds is not False or not self.symmetric, symmetric.note

    def test_what_a_run_tries_of_it_is_true_of_two_three_and_five_classes(self, component):
        for task in tasks_of(component):
            one = (
                component.for_objects(Target("", task))
                if len(tasks_of(component)) > 1 and hasattr(component, "for_objects")
                else component
            )
            assert_promises_hold(one, task=task)

    def test_a_part_of_a_weight_counts(self, component, vectors):
        skip_if(not claims(component, Capability.weights), "knows objects of weight 1 alone")
        mixed = vectors[component.value(vectors) > 0]
        more = [
            component.value(mixed + np.eye(mixed.shape[1])[k] / 1024) for k in range(mixed.shape[1])
        ]
        # of a mass less its largest part not where two are largest
        changed = (np.abs(np.array(more) - component.value(mixed)) > 1e-9).any(axis=0)
        assert changed.mean() > 0.5, "weights are rounded, or not read"

    def test_a_class_without_objects_changes_nothing(self, component, vectors):
        skip_if(
            tasks_of(component)[0] is Task.regression
            or not claims(component, Capability.multiclass),
            "needs one class more",
        )
        wider = np.concatenate([vectors, np.zeros((len(vectors), 1))], axis=1)
        assert close(component.value(wider), component.value(vectors))

    def test_its_kernel_equals_its_value(self, component, vectors):
        kernel = getattr(component, "kernel", None)
        skip_if(kernel is None, "has no kernel form")
        for form, call in both_forms(kernel):
            assert close([call(vector) for vector in vectors], component.value(vectors)), (
                f"the kernel {form}"
            )

    @pytest.fixture
    def samples(self, component) -> list[tuple[np.ndarray, np.ndarray]]:
        """(y, weight) of small sets, for impurities of the values themselves."""
        skip_if(not hasattr(component, "of_values"), "is a function of additive tables")
        generator = np.random.default_rng(0)
        sizes = [1, 1, 2, 2, 3, 5, 8, 13]
        return [
            (generator.integers(-4, 5, n) * 0.5, generator.choice([0.5, 1.0, 2.5], n))
            for n in sizes
        ]

    def test_of_values_is_positive_where_they_differ_and_a_leafs_lies_among_them(
        self, component, samples
    ):
        for y, weight in samples:
            found = component.of_values(y, weight)
            assert isinstance(found, float) and (found > 0 or len(set(y)) == 1)
            assert close(component.of_values(y[::-1], weight[::-1]), found)
            assert y.min() <= component.leaf_value(y, weight) <= y.max()

    def test_its_prefix_kernel_gives_mass_times_impurity_of_every_prefix(self, component, samples):
        prefix = getattr(component, "prefix", None)
        skip_if(prefix is None, "has no prefix kernel")
        for (form, call), (y, weight) in itertools.product(both_forms(prefix), samples):
            out = np.full(len(y), np.nan)
            call(y, weight, out)
            expected = [
                component.of_values(y[:n], weight[:n]) * weight[:n].sum()
                for n in range(1, len(y) + 1)
            ]
            assert close(out, expected, scale=float(np.abs(y) @ weight)), f"the kernel {form}"
