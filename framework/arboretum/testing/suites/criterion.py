"""Conformance of criteria: how good is this test here?"""

import itertools
from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pytest

from arboretum.api import (
    Capability,
    Column,
    ColumnKind,
    Context,
    Encoded,
    Limits,
    Node,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Tables,
    Target,
    Task,
    grow,
    sure,
)
from arboretum.engine.search.assemble import to_tree
from arboretum.engine.search.compiled_criterion import CompiledCriterion, call_columns, kernel_of
from arboretum.engine.search.growth import Growth
from arboretum.engine.search.statistics import Statistics
from arboretum.interfaces.coverage import Coverage
from arboretum.interfaces.criterion import Criterion
from arboretum.interfaces.impurity import Impurity
from arboretum.interfaces.stopping import Within
from arboretum.kernels import mark_of
from arboretum.kernels.impurity_sums import form_of
from arboretum.kernels.kernel_decorators import Kernel, scores_sums
from arboretum.kernels.scoring import score_tables
from arboretum.model.plain import Facts
from arboretum.testing.oracles import (
    contingency,
    is_kernel,
    node_of,
    own_columns,
    reference_of,
    scores,
)
from arboretum.testing.suites.base import (
    ComponentSuite,
    claims,
    grow_and_verify,
    kind_of_table,
    skip_if,
    tasks_of,
)
from arboretum.testing.tables import (
    SEEDS,
    bare_objects,
    prices_of,
    problem_of,
    toy_impurity,
    toy_objects,
    toy_table,
)

TOLERANCE = 1e-9
"""Relative.  A score adds and divides up to 24 weights and may subtract nearly equal impurities,
which loses up to seven of float64's sixteen digits on these tables; a wrong term changes it by far
more.
"""


def close(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal up to rounding; −inf equals −inf."""
    same = np.asarray(a) == np.asarray(b)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= TOLERANCE * np.maximum(1.0, np.abs(b))
    return bool((same | near).all())


class CriterionSuite(ComponentSuite):
    """Shape, no NaN, no side effect; symmetric, deterministic, independent of the batch; a
    kernel equals its twin.
    """

    kind = "criterion"
    class_symmetric = True
    """Set to False, with a comment that says why, for a criterion that treats classes
    differently by design.
    """
    outcome_symmetric = True
    """Set to False, with a comment that says why, for a criterion that treats outcomes
    differently by design.
    """
    scale_free = False
    """Set to True to claim that multiplying all weights by a constant does not change which test
    is best.
    """

    @pytest.fixture
    def impurity(self, component) -> Impurity:
        """The impurity that scores are tried with; override it for a criterion made for a
        certain one.
        """
        return toy_impurity(tasks_of(component)[0])

    @pytest.fixture
    def coverage(self) -> tuple[Coverage, ...]:
        """The run's coverages; override it for a criterion that reads them."""
        return ()

    @pytest.fixture
    def ready(self, component: Criterion) -> Criterion:
        """The component as a run uses it: with the run's seed."""
        seeded: Criterion = component.with_seed(1) if hasattr(component, "with_seed") else component
        return seeded

    @pytest.fixture
    def cases(self, ready, component, impurity, coverage) -> list[tuple[Tables, Node]]:
        """Tables of whole tables and of parts of them, counted object by object."""
        found = []
        for seed, objects, used in self.small_tables(component, impurity):
            given = {
                "criterion": ready,
                "impurity": used,
                "prices": prices_of(objects, seed),
                "coverage": coverage,
            }
            for step, depth in ((1, 0), ((2, 1), (5, 3))[seed % 2]):
                found.append(
                    contingency(
                        objects,
                        np.arange(seed % step, objects.n_objects, step),
                        **given,
                        depth=depth,
                    )
                )
        return [(tables, node) for tables, node in found if tables.n_tests]

    @staticmethod
    def small_tables(component, impurity, seeds=SEEDS) -> Iterator[tuple[int, Encoded, Impurity]]:
        """(seed, objects, impurity) of a small table per seed and kind of target."""
        for task, seed in itertools.product(tasks_of(component), seeds):
            kind = kind_of_table(component, task)
            objects = toy_objects(toy_table(seed, kind=kind), multiway=kind.multiway)
            yield seed, objects, impurity if task is tasks_of(component)[0] else toy_impurity(task)

    @pytest.fixture
    def reference(self, component) -> Kernel | None:
        """The slow twin of a kernel; by default the function of the same name in
        ``reference.py`` beside it.
        """
        return reference_of(component.score) if is_kernel(component) else None

    def test_it_gives_every_test_one_score_never_nan_and_admits_some_test_somewhere(
        self, ready, cases
    ):
        found = [scores(ready, tables, node) for tables, node in cases]
        for each, (tables, _) in zip(found, cases, strict=True):
            assert (
                isinstance(each, np.ndarray)
                and each.shape == (tables.n_tests,)
                and each.dtype == np.float64
            )
            assert not np.isnan(each).any(), (
                "NaN is an error; answer −inf for a test that is not admissible"
            )
            assert not np.isposinf(each).any(), (
                "a score is finite, or −inf for a test that is not admissible"
            )
        assert np.isfinite(np.concatenate(found)).any()

    def test_it_answers_the_same_twice_and_does_not_change_its_tables(self, ready, cases):
        for tables, node in cases:
            arrays = (
                tables.weights,
                tables.counts,
                tables.price,
                tables.extra,
                node.weights,
                node.counts,
            )
            before = [array.copy() for array in arrays]
            assert (scores(ready, tables, node) == scores(ready, tables, node)).all()
            assert all((array == kept).all() for array, kept in zip(arrays, before, strict=True))

    def test_a_test_scores_the_same_alone_and_in_a_batch_of_any_order(self, ready, cases):
        for tables, node in cases:
            found = scores(ready, tables, node)
            order = np.random.default_rng(0).permutation(tables.n_tests)
            alone = [
                scores(ready, take(tables, np.array([t])), node)[0] for t in range(tables.n_tests)
            ]
            assert close(np.array(alone), found)
            assert close(scores(ready, take(tables, order), node), found[order])

    def test_the_order_of_the_classes_does_not_matter(self, ready, cases):
        skip_if(
            not self.class_symmetric or claims(ready, Capability.randomised),
            "draws, or treats classes differently by design",
        )
        for tables, node in cases:
            if tables.counts.shape[-1] == 1:
                continue  # regression: the last axis holds moments
            order = np.roll(np.arange(tables.weights.shape[-1]), 1)
            turned = attrs.evolve(
                tables, weights=tables.weights[..., order], counts=tables.counts[..., order]
            )
            there = attrs.evolve(node, weights=node.weights[order], counts=node.counts[order])
            assert close(scores(ready, turned, there), scores(ready, tables, node))

    def test_neither_an_outcome_that_nobody_has_nor_the_order_of_outcomes_matters(
        self, ready, cases
    ):
        symmetric = self.outcome_symmetric and not claims(ready, Capability.randomised)
        for tables, node in cases:
            found = scores(ready, tables, node)
            wider = change_arrays(
                tables, lambda each: np.concatenate([each, np.zeros_like(each[:, :1])], axis=1)
            )
            assert close(scores(ready, wider, node), found)
            assert not symmetric or close(
                scores(ready, change_arrays(tables, lambda each: each[:, ::-1]), node), found
            )

    def test_multiplying_all_weights_does_not_change_the_best_test_where_it_claims_so(
        self, ready, cases
    ):
        skip_if(not self.scale_free, "does not claim to be scale free")
        for tables, node in cases:
            found = scores(ready, tables, node)
            gain = None if tables.gain is None else 4 * tables.gain
            larger = attrs.evolve(tables, weights=4 * tables.weights, gain=gain)
            there = attrs.evolve(
                node, weights=4 * node.weights, mass=4 * node.mass, total_mass=4 * node.total_mass
            )
            assert close(found[np.argmax(scores(ready, larger, there))], found.max())

    def test_its_terms_are_one_number_per_test_and_its_rule_keeps_the_shape(self, ready, cases):
        skip_if(
            not (hasattr(ready, "terms") or hasattr(ready, "finalise_scores")),
            "has no terms and finalises nothing",
        )
        for tables, node in cases:
            found = scores(ready, tables, node)
            terms = ready.terms(tables, node) if hasattr(ready, "terms") else {}
            assert terms or not hasattr(ready, "terms"), (
                "an empty mapping explains nothing; leave the method out"
            )
            for name, values in terms.items():
                assert isinstance(name, str) and np.shape(values) == (tables.n_tests,), name
                assert not np.isnan(np.asarray(values, float)).any(), name
            if hasattr(ready, "finalise_scores"):
                finalised = ready.finalise_scores(found.copy(), terms, node)
                assert finalised.shape == found.shape and not np.isnan(finalised).any()
                assert np.isfinite(finalised).any() or not np.isfinite(found).any(), (
                    "the rule refuses every candidate"
                )

    def test_its_extra_columns_are_finite_and_one_row_per_object(self, component):
        skip_if(not hasattr(component, "columns"), "declares no extra columns")
        for _, objects, used in self.small_tables(component, toy_impurity(tasks_of(component)[0])):
            for rows in (np.arange(objects.n_objects), np.array([3, 5, 8])):
                node = node_of(objects, rows, impurity=used)
                found = np.asarray(call_columns(component, node, objects, rows))
                assert found.ndim == 2 and len(found) == len(rows)
                assert np.isfinite(found).all()

    def test_its_kernel_equals_its_reference(self, ready, cases, reference):
        skip_if(reference is None, "has one form only")
        for tables, node in cases:
            assert close(scores(ready, tables, node), scores(ready, tables, node, kernel=reference))

    def test_its_compiled_kernel_answers_what_the_slow_form_answers(
        self, component, ready, impurity, coverage
    ):
        """The slow form is ``score`` in NumPy, where the criterion has it, and else the kernel
        as plain Python.
        """
        for seed, objects, used in self.small_tables(component, impurity, (0, 1)):
            scorer = CompiledCriterion.of(component, used, Statistics.of(objects), 1, coverage)
            skip_if(not scorer.batch, "is written in NumPy")
            given = {
                "criterion": ready,
                "impurity": used,
                "prices": prices_of(objects, seed),
                "coverage": coverage,
            }
            tables, node = contingency(objects, **given)
            arrays = (tables.weights, tables.counts, tables.price, tables.extra)
            found = np.full(tables.n_tests, np.nan)
            score_tables(
                *arrays,
                scorer.batch,
                scorer.scalars(node),
                scorer.params,
                scorer.impurity_at,
                found,
            )
            assert close(found, scores(ready, tables, node))

    def test_its_column_is_finite_and_answers_compiled_what_it_answers_as_python(
        self, component, ready, impurity, coverage
    ):
        """Where it has ``columns``, too, the two are one rule in two forms."""
        skip_if(
            mark_of(getattr(component, "column", None)) != "column",
            "has no column of its own in compiled form",
        )
        for _, objects, used in self.small_tables(component, impurity):
            scorer = CompiledCriterion.of(component, used, Statistics.of(objects), 1, coverage)
            for rows in (np.arange(objects.n_objects), np.array([0, 3, 5, 8]), np.array([2])):
                counts_objects = bool(getattr(component, "counts_objects", False))
                node = node_of(objects, rows, impurity=used, count_objects=counts_objects)
                plain = own_columns(ready, node, objects, rows, used, coverage)
                width = objects.n_classes if scorer.by_class else 1
                assert plain.shape == (len(rows), width) and np.isfinite(plain).all()
                if scorer.column_at:
                    assert close(scorer.columns(node, objects, rows), plain)
                if hasattr(component, "columns"):
                    assert close(np.asarray(call_columns(ready, node, objects, rows))[:, :1], plain)

    def test_rows_that_an_object_stands_for_do_not_matter_where_it_counts_objects(
        self, component, impurity, coverage
    ):
        counts = getattr(component, "counts_objects", False)
        assert isinstance(counts, bool), "counts_objects is True or False"
        skip_if(not counts, "counts rows")
        kind = kind_of_table(component)
        parts = Parts(method=None, criterion=component, impurity=impurity, coverage=coverage)
        for seed in (0, 1):
            problem = problem_of(
                toy_table(seed, n_rows=40, kind=kind), parts, multiway=kind.multiway
            )
            n = problem.objects.n_objects
            many = attrs.evolve(
                problem, objects=attrs.evolve(problem.objects, count=1 + np.arange(n) % 3)
            )
            one, other = (sure(grow(each, Context()).tree) for each in (problem, many))
            assert [one.rules[t] for t in one.test if t >= 0] == [
                other.rules[t] for t in other.test if t >= 0
            ]
            assert (one.counts[0], other.counts[0]) == (n, many.objects.count.sum()), (
                "a tree counts rows all the same"
            )

    def test_it_reads_what_tests_add_to_coverage_where_it_says_so(
        self, component, ready, cases, coverage
    ):
        needs = getattr(component, "needs_gain", False)
        assert isinstance(needs, bool), "needs_gain is True or False"
        skip_if(
            not needs or not coverage,
            "does not read coverage, or is tried without any (override the fixture 'coverage')",
        )
        seen = False
        for tables, node in cases:
            assert tables.gain is not None and not is_kernel(component)
            less = attrs.evolve(tables, gain=np.zeros_like(tables.gain))
            seen |= not close(scores(ready, less, node), scores(ready, tables, node))
        assert seen, "the score is the same whatever tests add to coverage"

    def test_weight_two_is_two_copies_and_a_part_of_a_weight_counts(
        self, component, ready, impurity, coverage
    ):
        known = (
            claims(component, Capability.weights)
            and not claims(component, Capability.randomised)
            and not getattr(component, "counts_objects", False)
        )
        skip_if(not known, "knows objects of weight 1 alone, counts objects, or draws")
        for seed, objects, used in self.small_tables(component, impurity):
            given = {
                "criterion": ready,
                "impurity": used,
                "prices": prices_of(objects, seed),
                "coverage": coverage,
            }
            tables, node = contingency(objects, **given)
            found = scores(ready, tables, node)
            twice = (
                attrs.evolve(tables, counts=2 * tables.counts),
                attrs.evolve(node, counts=2 * node.counts, n_rows=2 * node.count),
            )
            assert close(scores(ready, *twice), found), (
                "a row of weight 2 is not two rows of weight 1"
            )
            # no sum of halves is near a half now, where a little more would be rounded otherwise
            odd = objects.weight * 10 / 9
            tables, node = contingency(attrs.evolve(objects, weight=odd), **given)
            found = scores(ready, tables, node)
            one_heavier = (
                attrs.evolve(objects, weight=odd + one / 1024) for one in np.eye(objects.n_objects)
            )
            same = (
                close(scores(ready, contingency(heavier, **given)[0], node), found)
                for heavier in one_heavier
            )
            # one of the majority class may count for nothing
            assert not all(same), "weights are rounded, or not read"

    def test_it_reads_prices_where_it_says_so(self, ready, cases):
        skip_if(claims(ready, Capability.randomised), "draws")
        seen = False
        for tables, node in cases:
            dearer = attrs.evolve(tables, price=3.0 * tables.price + np.arange(tables.n_tests) % 2)
            seen |= not close(scores(ready, dearer, node), scores(ready, tables, node))
        assert seen <= claims(ready, Capability.prices), (
            "it reads prices; declare the capability 'prices'"
        )

    def test_bins_find_the_tests_that_sorted_columns_find_where_it_promises_bounded_by_vertices(
        self, component, impurity
    ):
        """The promise is tried on small bins; then a growth takes the way that it opens, and the
        other.
        """
        promised = hasattr(component, "bounded_by_vertices") and Task.classification in tasks_of(
            component
        )
        skip_if(not promised, "promises nothing of bins")
        for n_classes in (2, 3) if claims(component, Capability.multiclass) else (2,):
            generator = np.random.default_rng(n_classes)
            x, noise = generator.normal(size=(400, 2)), generator.integers(0, n_classes, 400)
            codes = np.where(
                generator.random(400) < 0.3,
                noise,
                np.minimum((x[:, 0] > 0.5) + (x[:, 1] > 0.0), n_classes - 1),
            ).astype(np.int32)
            objects = raw_objects(x, codes, ("red", "green", "blue")[:n_classes])
            parts = Parts(
                method=None,
                criterion=component,
                impurity=impurity,
                stopping=(Within(Limits(max_depth=3)),),
            )
            problem = Problem(objects, Prices(np.zeros(0), np.array([1.0, 2.0])), parts)
            skip_if(
                not CompiledCriterion.of(component, impurity, Statistics.of(objects), 1).concave,
                "promises nothing of bins for this impurity",
            )
            in_bins = Growth.of(problem, Context(), False)
            along = Growth.of(problem, Context(), False)
            along.plan = along.plan.without_bins
            trees = [to_tree(growth.run("depth"), objects) for growth in (in_bins, along)]
            assert in_bins.plan != along.plan and close(
                trees[0].score[trees[0].test >= 0], trees[1].score[trees[1].test >= 0]
            )

    def test_sums_find_the_tests_that_tables_find_where_its_kernel_promises_by_sums(
        self, component, impurity
    ):
        """A growth takes the way that it opens, and the other."""
        kernel = (
            kernel_of(component, impurity) if Task.classification in tasks_of(component) else None
        )
        skip_if(not scores_sums(kernel), "promises nothing of sums")
        assert form_of(kernel), (
            "its kernel says by_sums and calls neither gini_after nor entropy_after, or both"
        )
        generator = np.random.default_rng(0)
        x, noise = generator.normal(size=(400, 2)), generator.integers(0, 9, 400)
        codes = np.where(
            generator.random(400) < 0.3, noise, (x[:, 0] > 0.5) + 2 * (x[:, 1] > 0.0)
        ).astype(np.int32)
        objects = raw_objects(x, codes, tuple("abcdefghi"))
        parts = Parts(
            method=None,
            criterion=component,
            impurity=impurity,
            stopping=(Within(Limits(max_depth=4)),),
        )
        by_sums, by_tables = (
            Growth.of(
                Problem(objects, Prices(np.zeros(0), np.array([1.0, 2.0])), parts), Context(), False
            )
            for _ in range(2)
        )
        assert by_sums.scorer.sum_form
        by_tables.scorer = attrs.evolve(by_tables.scorer, sum_form=0, sum_at=0)
        trees = [to_tree(growth.run("depth"), objects) for growth in (by_sums, by_tables)]
        assert trees[0].to_json() == trees[1].to_json()

    def test_it_grows_a_tree_that_verification_accepts(self, component, impurity, coverage):
        for task, seed in itertools.product(tasks_of(component), (0, 1)):
            kind = kind_of_table(component, task)
            used = impurity if task is tasks_of(component)[0] else toy_impurity(task)
            parts = Parts(method=None, criterion=component, impurity=used, coverage=coverage)
            tree = grow_and_verify(
                toy_table(seed, n_rows=40, kind=kind), parts, multiway=kind.multiway
            )
            assert tree.n_leaves > 1, (
                "no test was good enough on a table that has something to learn"
            )


def raw_objects(x: np.ndarray, codes: np.ndarray, classes: tuple[str, ...]) -> Encoded:
    """Objects with two raw columns, a and b.

    x : float64[n, 2].   codes : int32[n], their classes.
    """
    columns = tuple(
        Column(name, ColumnKind.continuous, values) for name, values in zip("ab", x.T, strict=True)
    )
    table = Table("raw", columns, Target("y", Task.classification, codes, classes))
    return bare_objects(
        table, raw_features=tuple(RawFeature(name, i) for i, name in enumerate("ab")), raw=x
    )


def change_arrays(tables: Tables, change: Callable[[np.ndarray], np.ndarray], *more: str) -> Tables:
    """The same change made to what is added up, and to the arrays named in ``more``; in C order,
    as the engine hands tables over.
    """
    names = ("weights", "counts", "extra", *(() if tables.gain is None else ("gain",)), *more)
    changed: Facts = {name: np.ascontiguousarray(change(getattr(tables, name))) for name in names}
    return attrs.evolve(tables, **changed)


def take(tables: Tables, tests: np.ndarray) -> Tables:
    """A batch with some of the tests, in another order."""
    return change_arrays(tables, lambda each: each[tests], "price", "test")
