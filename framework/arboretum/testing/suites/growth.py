"""Conformance of what growth asks at a node: leaf rules, predicates, missing values; and of
price lists.
"""

import itertools
import pickle

import attrs
import numpy as np
import pytest

from arboretum.api import (
    MISSING_SPLITS,
    MISSING_STOPS,
    NO_OUTCOME,
    CodedTests,
    Context,
    Encoded,
    Limits,
    Parts,
    Problem,
    RawFeature,
    Task,
    TestRule,
    grow,
    sure,
)
from arboretum.engine.certificate import beyond
from arboretum.engine.check import check_prices
from arboretum.interfaces.missing import BETTER_SIDE, SHARED
from arboretum.testing.oracles import node_of
from arboretum.testing.suites.base import (
    ComponentSuite,
    SeededSuite,
    assert_promises_hold,
    fit_and_verify,
    grow_and_verify,
    kind_of_table,
    skip_if,
    tasks_of,
    verify_solution,
)
from arboretum.testing.tables import (
    SEEDS,
    KernelReduction,
    ToyGini,
    ToyReduction,
    TreeParts,
    bare_objects,
    problem_of,
    row_of,
    toy_impurity,
    toy_objects,
    toy_table,
)


class StoppingSuite(ComponentSuite):
    """Sane limits, a plain yes or no that depends on the node alone, and a tree that obeys."""

    kind = "stopping"

    @staticmethod
    def nodes():
        """Yield nodes of toy tables: all objects, every other one, every seventh."""
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed))
            for step in (1, 2, 7):
                yield node_of(
                    objects,
                    np.arange(0, objects.n_objects, step),
                    impurity=ToyGini(),
                    depth=step - 1,
                )

    def test_its_limits_are_bounds_that_a_tree_can_keep(self, component):
        limits = component.limits()
        assert isinstance(limits, Limits)
        assert limits == component.limits()
        assert limits.max_depth is None or limits.max_depth >= 0
        assert limits.max_leaves is None or limits.max_leaves >= 1
        assert limits.min_leaf >= 1
        assert limits.min_decrease is None or np.isfinite(limits.min_decrease)
        assert limits.max_cost is None or limits.max_cost >= 0.0
        assert 0.0 <= limits.min_mass <= 0.5, "two branches share the weight"

    def test_it_says_yes_or_no_by_the_node_alone_which_it_leaves_as_it_was(self, component):
        for node in self.nodes():
            before, answer = pickle.dumps(node), component.is_leaf(node)
            assert isinstance(answer, bool | np.bool_), "is_leaf answers with a bool"
            assert component.is_leaf(node) == answer and pickle.dumps(node) == before
            turned = attrs.evolve(
                node, weights=node.weights[::-1].copy(), counts=node.counts[::-1].copy()
            )
            assert component.is_leaf(turned) == answer, "the order of the classes matters"

    def test_it_looks_at_coverage_only_where_it_says_so(self, component):
        skip_if(getattr(component, "needs_coverage", False), "it says so")
        for node in self.nodes():
            assert component.is_leaf(attrs.evolve(node, coverage=1.0)) == component.is_leaf(node), (
                "state needs_coverage = True"
            )

    def test_its_leaf_rule_and_its_kernel_say_what_it_says(self, component):
        """Of nodes around their levels; and of the whole trees that a kernel grows by them."""
        skip_if(
            not (hasattr(component, "leaf_rule") or hasattr(component, "significance")),
            "promises neither",
        )
        task = tasks_of(component)[0]
        assert_promises_hold(component, toy_impurity(task))
        for seed in (0, 1):
            parts = Parts(
                method=None,
                criterion=KernelReduction(),
                impurity=toy_impurity(task),
                stopping=(component,),
            )
            problem = problem_of(toy_table(seed, n_rows=60, kind=kind_of_table(component)), parts)
            by_kernel, by_loop = (
                sure(grow(problem, Context(), compiled=way).tree) for way in (True, False)
            )
            assert (
                by_kernel.counts.tolist() == by_loop.counts.tolist()
                and by_kernel.test.tolist() == by_loop.test.tolist()
            )

    def test_a_tree_grown_under_it_obeys_it(self, component):
        limits = component.limits()
        for seed in (0, 1):
            parts = Parts(
                method=None, criterion=ToyReduction(), impurity=ToyGini(), stopping=(component,)
            )
            table = toy_table(seed, n_rows=40)
            tree = grow_and_verify(table, parts)
            assert not beyond(tree, limits)
            least = limits.min_weight(float(tree.mass[0]), int(tree.counts[0]))
            assert tree.n_nodes == 1 or tree.mass.min() >= least
            objects, at = toy_objects(table), tree.apply(table)
            for v in tree.inner:
                rows = np.flatnonzero((at >= v) & (at < tree.subtree_end[v]))
                node = node_of(objects, rows, impurity=ToyGini(), depth=int(tree.depth_of[v]))
                assert not component.is_leaf(node), (
                    f"node {v} was split although the rule makes it a leaf"
                )


class PredicateSuite(ComponentSuite):
    """Tests that apply to raw rows, read aloud, survive storage, and are the same for the same
    seed.
    """

    kind = "predicate"

    @pytest.fixture
    def cases(self, component) -> list[tuple[Encoded, np.ndarray]]:
        """(raw objects, rows of a node)."""
        found = []
        for seed in SEEDS:
            table = toy_table(seed, kind=kind_of_table(component))
            numeric = [(i, c) for i, c in enumerate(table.columns) if c.is_continuous]
            raw = np.stack([c.values for _, c in numeric], axis=1)
            objects = bare_objects(
                table, raw_features=tuple(RawFeature(c.name, i) for i, c in numeric), raw=raw
            )
            found += [(objects, np.arange(seed % step, table.n_rows, step)) for step in (1, 3)]
        return found

    def test_candidates_send_every_row_somewhere_and_are_proposed_again_for_the_seed(
        self, component, cases
    ):
        for objects, rows in cases:
            candidates = rules_of(component, objects, rows, 0)
            assert (candidates or getattr(component, "beside_raw", False)) and rules_of(
                component, objects, rows, 0
            ) == candidates
            for rule in candidates:
                assert isinstance(rule, TestRule)
                found = rule.outcomes(objects.table, rows)
                assert ((found >= -1) & (found < rule.arity)).all()
                assert [
                    rule.outcome_of(row_of(objects.table, int(row))) for row in rows
                ] == found.tolist()
                assert rule.describe() and all(rule.outcome_label(k) for k in range(rule.arity))
                assert TestRule.from_json(rule.to_json()) == rule

    def test_codes_say_the_outcomes_of_their_tests(self, component, cases):
        for objects, rows in cases:
            for tests in (
                one for one in component.candidates(objects, rows, 0) if isinstance(one, CodedTests)
            ):
                k = len(tests.n_bins)
                codes = tests.codes(0, k).astype(np.int64)
                assert np.array_equal(tests.codes(k // 2, k), codes[k // 2 :]), (
                    "a part of the codes is the same"
                )
                for code, index in places_of(tests):
                    said = np.where(
                        codes[code] == tests.n_bins[code],
                        NO_OUTCOME,
                        tests.family.outcome(index, codes[code]),
                    )
                    rule = tests.rule(code, index)
                    assert (
                        rule.outcomes(objects.table, objects.row_of_object[rows]).tolist()
                        == said.tolist()
                    )
                    assert set(rule.columns) == set(tests.columns)


def places_of(tests: CodedTests) -> list[tuple[int, int]]:
    """(code, index) of each test, in the order in which ties are broken."""
    return [(code, index) for code, n in enumerate(tests.n_tests.tolist()) for index in range(n)]


def rules_of(predicate, objects: Encoded, rows: np.ndarray, seed: int) -> list[TestRule]:
    """All tests that a predicate proposes."""
    found = predicate.candidates(objects, rows, seed)
    return [
        rule
        for one in found
        for rule in (
            [one.rule(*at) for at in places_of(one)] if isinstance(one, CodedTests) else [one]
        )
    ]


class MissingSuite(ComponentSuite):
    """Placements that a tree can hold, trees that verify and predict every row, and no say where
    no value is missing.
    """

    kind = "missing"

    @staticmethod
    def known():
        """Yield weights of the outcomes whose value is known, float64[outcomes], none of them 0."""
        for seed in SEEDS:
            for n in (2, 3, 5):
                yield (
                    np.random.default_rng([seed, n]).choice(
                        [0.0, 0.5, 1.0, 4.0], n, p=[0.1, 0.3, 0.3, 0.3]
                    )
                    + 0.5
                )

    def test_it_states_how_rows_are_counted_and_placements_are_outcomes_or_what_a_tree_can_hold(
        self, component
    ):
        assert isinstance(component.counted, bool) and isinstance(component.discounted, bool)
        assert component.kernel in ("", BETTER_SIDE, *SHARED)
        assert not (component.counted and component.discounted), (
            "a score is of the rows in its table"
        )
        for known in self.known():
            before = known.copy()
            found = list(component.placements(known))
            assert found and all(
                to in (*range(len(known) + 1), MISSING_STOPS, MISSING_SPLITS) for to in found
            )
            assert found == list(component.placements(known)) and (known == before).all()
            assert component.counted or len(found) == 1, (
                "rows that are in no table cannot tell two placements apart"
            )
            if component.kernel == BETTER_SIDE:
                assert component.counted and not hasattr(component, "surrogates")
                assert found == ([0, 1] if len(known) == 2 else [int(np.argmax(known))]), (
                    "it is not the rule of the kernels"
                )

    def test_it_is_the_rule_of_the_kernel_that_it_names(self, component):
        skip_if(not component.kernel, "names none")
        assert_promises_hold(component)
        for seed, multiway in itertools.product(SEEDS[:3], (True, False)):
            parts = Parts(
                method=None, criterion=KernelReduction(), impurity=ToyGini(), missing=component
            )
            problem = problem_of(
                toy_table(seed, n_rows=40, kind=TreeParts(missing=True)), parts, multiway=multiway
            )
            by_kernel, by_loop = (
                sure(grow(problem, Context(), compiled=way).tree) for way in (True, False)
            )
            assert (
                by_kernel.test.tolist() == by_loop.test.tolist()
                and by_kernel.counts == pytest.approx(by_loop.counts, rel=1e-12)
            )
            assert by_kernel.missing_child.tolist() == by_loop.missing_child.tolist()

    def test_trees_grown_by_it_verify_and_place_every_row(self, component):
        for seed, task, multiway in itertools.product(SEEDS[:3], Task, (True, False)):
            table = toy_table(seed, n_rows=40, kind=TreeParts(missing=True, task=task))
            tree = self.grown(component, table, multiway)
            assert tree.n_nodes > 1
            _node, row, share = tree.places(table).all()
            assert np.bincount(row, share, table.n_rows) == pytest.approx(
                np.ones(table.n_rows), rel=1e-12
            )

    def test_it_has_no_say_where_no_value_is_missing(self, component):
        for seed in SEEDS:
            table = toy_table(seed, n_rows=40)
            own, plain = self.grown(component, table), self.grown(None, table)
            assert own.is_leaf.tolist() == plain.is_leaf.tolist()
            assert [own.rule(v) for v in np.flatnonzero(~own.is_leaf)] == [
                plain.rule(v) for v in np.flatnonzero(~own.is_leaf)
            ]
            assert own.score == pytest.approx(plain.score, rel=1e-9, nan_ok=True)

    def test_surrogates_are_tests_that_stand_for_outcomes_of_the_chosen_one(self, component):
        skip_if(not hasattr(component, "surrogates"), "it has no surrogates")
        for seed in SEEDS:
            objects = problem_of(
                toy_table(seed, n_rows=40, kind=TreeParts(missing=True)), Parts(method=None)
            ).objects
            others = [objects.rule(k) for k in range(objects.n_fixed)]
            rule, rows = others[seed % len(others)], np.arange(objects.table.n_rows)
            for other, to in component.surrogates(rule, others, objects, rows, np.ones(len(rows))):
                assert (
                    isinstance(other, TestRule)
                    and not other.fuzzy
                    and set(other.columns) != set(rule.columns)
                )
                assert len(to) == other.arity and all(-1 <= k < rule.arity for k in to)

    @staticmethod
    def grown(component, table, multiway: bool = True):
        """Return the verified greedy tree of a table under this rule."""
        parts = Parts(
            method=None,
            criterion=ToyReduction(),
            impurity=toy_impurity(table.task),
            missing=component,
        )
        return fit_and_verify(grow, problem_of(table, parts, multiway=multiway), Context()).tree


class CostSuite(SeededSuite):
    """One finite price ≥ 0 per test; the same for the same seed."""

    kind = "cost"

    @staticmethod
    def tables() -> list[Encoded]:
        return [toy_objects(toy_table(3), multiway=multiway) for multiway in (True, False)]

    def test_every_test_has_one_finite_price_of_at_least_zero(self, component):
        for seed, objects in itertools.product(SEEDS, self.tables()):
            prices = check_prices(component, component.price_list(objects, seed), objects)
            assert (
                isinstance(prices.once_per_column, bool)
                and prices.tests.dtype == prices.raw.dtype == np.float64
            )
            arity = [f.arity for f in objects.features for _ in range(f.n_tests)] + [2] * len(
                objects.raw_features
            )
            for test, n in enumerate(arity):
                own, highest = prices.of(test), (*prices.tests, *prices.raw)[test]
                assert len(own) in (1, n) and min(own) >= 0 and max(own) == highest, (
                    "the list's price is that of the costliest outcome"
                )

    def test_no_price_rises_on_the_way_down_and_a_tree_pays_those_of_the_list(self, component):
        for objects in self.tables():
            prices, asked = component.price_list(objects, 1), frozenset[str]()
            assert prices.at(asked) is prices
            for feature in objects.all_features:
                above, asked = prices.at(asked), asked | {feature.column}
                below = prices.at(asked)
                for found, before in ((below.tests, above.tests), (below.raw, above.raw)):
                    assert (
                        found.shape == before.shape
                        and (found >= 0).all()
                        and (found <= before).all()
                    )
            problem = Problem(
                objects,
                prices,
                Parts(method=None, criterion=ToyReduction(), impurity=ToyGini(), cost=component),
            )
            # recomputes what every node asks for
            verify_solution(grow(problem, Context()), problem)

    def answers(self, component, seed):
        lists = [component.price_list(objects, seed) for objects in self.tables()]
        return [(prices.tests.tolist(), prices.raw.tolist()) for prices in lists]
