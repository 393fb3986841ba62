"""Conformance of methods and solvers, and of what they minimise: objectives and complexities."""

import itertools
import math
from collections.abc import Callable

import attrs
import numpy as np
import pytest

from arboretum.api import (
    COSTS,
    MISSING_STOPS,
    BudgetError,
    Capability,
    Column,
    ColumnKind,
    ConfusionObjective,
    Context,
    Form,
    LeafRule,
    Limits,
    Parts,
    Problem,
    Status,
    Table,
    Target,
    Task,
    Tree,
    costs_of_groups,
    form_of,
    is_additive,
    monotone_losses,
    value_of,
    whole_costs,
)
from arboretum.engine.certificate import beyond, breaks_rule
from arboretum.engine.label_costs import has_own_labels, labelled
from arboretum.engine.objective_check import Few, broken_objective
from arboretum.errors import sure
from arboretum.interfaces.monotony import counterexample_to_monotony
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.stopping import Within
from arboretum.kernels import mark_of
from arboretum.testing.oracles import all_sketches, best_tree, build_tree, slow_tree
from arboretum.testing.suites.base import (
    ComponentSuite,
    assert_promises_hold,
    claims,
    copies_of,
    fit_and_verify,
    kind_of_table,
    late,
    skip_if,
    tasks_of,
    verify_solution,
)
from arboretum.testing.tables import (
    SEEDS,
    ToyReduction,
    TreeParts,
    prices_of,
    problem_of,
    toy_impurity,
    toy_objects,
    toy_table,
)


@attrs.frozen
class StopHere:
    """Rows without a value rest where they are asked."""

    kind, name, paper, capabilities = "missing", "stop_here", "", ()
    counted, discounted, kernel = False, True, ""

    def placements(self, known: np.ndarray) -> tuple[int, ...]:
        return (MISSING_STOPS,)


class MethodSuite(ComponentSuite):
    """A verified tree for every kind of target it claims, the same for the same seed, in time."""

    kind = "method"

    @pytest.fixture
    def parts(self, component) -> Parts:
        """What the method is tried with.  Override it for a method that needs a solver."""
        needed = set(getattr(component, "needs", ())) - {"criterion", "impurity"}
        skip_if(
            needed,
            f"needs {', '.join(sorted(needed))}; override the fixture 'parts' to choose them",
        )
        return Parts(method=component, criterion=ToyReduction())

    def problems(self, component, parts, only: list[int] | slice = slice(None)):
        """Small problems of every kind of target.   only : rows of their tables."""
        for task in tasks_of(component):
            chosen = parts if parts.impurity else attrs.evolve(parts, impurity=toy_impurity(task))
            kind = kind_of_table(component, task)
            for seed in (0, 1, 2):
                table = toy_table(seed, n_rows=40, kind=kind).take(np.arange(40)[only])
                yield problem_of(table, chosen, multiway=kind.multiway)

    def test_it_returns_a_tree_that_verification_accepts_and_for_the_same_seed_the_same(
        self, component, parts
    ):
        for problem in self.problems(component, parts):
            once = fit_and_verify(component.fit, problem, Context(seed=4))
            twice = component.fit(problem, Context(seed=4))
            assert sure(once.tree).to_json() == twice.tree.to_json()
            assert (once.value, once.lower_bound, once.status) == (
                twice.value,
                twice.lower_bound,
                twice.status,
            )
            claims_nothing = math.isnan(once.value) and once.status is Status.feasible
            assert claims_nothing or once.lower_bound <= once.value, "a bound above the value"
            if claims(component, Capability.exact):
                assert once.status is Status.optimal and abs(once.gap) <= 1e-9 * max(
                    1.0, abs(once.value)
                )

    def test_it_learns_something_and_makes_a_leaf_of_a_single_object(self, component, parts):
        assert any(
            component.fit(problem, Context()).tree.n_leaves > 1
            for problem in self.problems(component, parts)
        )
        for problem in self.problems(component, parts, only=[0]):
            assert component.fit(problem, Context()).tree.n_nodes == 1

    def test_it_asks_the_rule_for_missing_values_where_it_says_so(self, component, parts):
        skip_if(not getattr(component, "asks_missing", False), "does not say so")
        kind = TreeParts(
            missing=True,
            multiclass=claims(component, Capability.multiclass),
            task=tasks_of(component)[0],
        )
        for seed in (0, 1, 2):
            impurity = parts.impurity or toy_impurity(kind.task)
            problem = problem_of(
                toy_table(seed, n_rows=40, kind=kind),
                attrs.evolve(parts, impurity=impurity, missing=StopHere()),
                multiway=False,
            )
            tree = sure(fit_and_verify(component.fit, problem, Context()).tree)
            assert (tree.missing_child[~tree.is_leaf] == MISSING_STOPS).all(), (
                "rows without a value go on, though the rule says they stay"
            )

    def test_it_stops_when_its_time_is_over(self, component, parts):
        """It returns the tree it has, or says that there is none; it does not go on."""
        for problem in self.problems(component, parts):
            try:
                with late() as context:
                    solution = component.fit(problem, context)
            except BudgetError:
                assert not claims(component, Capability.anytime), (
                    "claims anytime, but returns no tree when time is over"
                )
            else:
                verify_solution(solution, problem)


SLACK = 1e-9  # relative; a solver and the oracle add the same few weights in another order


def tiny_table(seed: int, weighted: bool = False) -> Table:
    """Three binary columns, eight rows, contradictions allowed: every tree over it can be
    listed.
    """
    generator = np.random.default_rng([seed, 8, 3])
    columns = tuple(
        Column(f"x{i}", ColumnKind.categorical, generator.integers(0, 2, 8), ("no", "yes"))
        for i in range(3)
    )
    codes = generator.integers(0, 2, 8).astype(np.int32)
    codes[:2] = 0, 1
    weights = generator.choice([0.25, 0.5, 1.0, 3.0], 8) if weighted else None
    return Table(
        f"tiny{seed}", columns, Target("y", Task.classification, codes, ("a", "b")), weights
    )


@attrs.frozen
class Paid:
    """What tests cost: in all, by the weight that is asked, or on the costliest path."""

    combine: str
    kind, name, paper, capabilities, per_object = "complexity", "paid", "", (), True

    def leaf(self) -> float:
        return 0.0

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        return self.form().node(mass, price, children)

    def form(self) -> Form:
        return Form(self.combine, per_mass=1.0, priced=True)


class SolverSuite(ComponentSuite):
    """Equal to brute force on tiny tables, never a bound above the value, never a silent wrong
    answer.
    """

    kind = "solver"
    tables = 30
    """Number of tiny tables that are solved by brute force."""

    @pytest.fixture
    def parts(self, component) -> Parts:
        """The objective (and complexity) that the solver minimises.  Override:
        ``Parts(method=None, solver=component, …)``.
        """
        pytest.fail(
            f"{type(self).__name__} must override the fixture 'parts': which objective is "
            "minimised?"
        )

    @pytest.fixture
    def value(self, parts: Parts) -> Callable[[Tree, Problem], float]:
        """The objective's value of a tree."""
        return sure(parts.objective).value

    def problems(self, parts):
        """Every third table has weights, where the solver knows any."""
        for seed in range(self.tables):
            objects = toy_objects(
                tiny_table(seed, seed % 3 == 2 and claims(parts.solver, Capability.weights))
            )
            yield Problem(objects, prices_of(objects, seed), parts)

    @staticmethod
    def brute_force(problem, value) -> tuple[float, Tree]:
        """Over all trees within the limits, each leaf with the label that the objective likes
        best.
        """

        def least(tree: Tree) -> float:
            if has_own_labels(problem.parts):
                tree = labelled(tree, problem)
            return math.inf if beyond(tree, problem.parts.limits()) else value(tree, problem)

        return best_tree(problem.objects, least, problem.prices)

    def test_it_finds_what_brute_force_finds_and_again_for_the_same_seed(
        self, component, parts, value
    ):
        for problem in self.problems(parts):
            best, tree = self.brute_force(problem, value)
            solution = fit_and_verify(component.solve, problem, Context(seed=3))
            again = component.solve(problem, Context(seed=3))
            assert (solution.value, solution.lower_bound, solution.status) == (
                again.value,
                again.lower_bound,
                again.status,
            )
            if math.isinf(best):
                assert solution.status is Status.infeasible
                continue
            slack = SLACK * max(1.0, abs(best))
            assert solution.status is Status.optimal
            assert abs(solution.value - best) <= slack, f"brute force: {tree.n_leaves} leaves"
            assert (
                abs(value(solution.tree, problem) - best) <= slack
                and solution.lower_bound <= best + slack
            )

    @pytest.mark.parametrize(
        "limits",
        [Limits(max_depth=1), Limits(max_leaves=2), Limits(min_leaf=2)],
        ids=["depth", "leaves", "rows"],
    )
    def test_within_the_limits_that_it_says_it_knows_it_finds_what_brute_force_finds(
        self, component, parts, value, limits
    ):
        """By ``solve`` and by ``least``, where it has that: a certificate believes it."""
        known = [
            field.name
            for field in attrs.fields(Limits)
            if getattr(limits, field.name) != field.default
        ]
        skip_if(not set(known) <= set(getattr(component, "limits", ())), "states no such limit")
        skip_if(
            parts.objective is None or shape_of(parts.objective) is Shape.complexity,
            "such trees obey the leaf rule besides",
        )
        for given in itertools.islice(self.problems(parts), 12):
            problem = attrs.evolve(
                given, parts=attrs.evolve(given.parts, solver=component, stopping=(Within(limits),))
            )
            best, _ = self.brute_force(problem, value)
            slack = SLACK * max(1.0, abs(best))
            found = [fit_and_verify(component.solve, problem, Context())]
            found += [component.least(problem, Context())[1]] if hasattr(component, "least") else []
            for solution in found:
                assert solution.status is Status.optimal and abs(solution.value - best) <= slack
                assert solution.tree is None or not beyond(solution.tree, limits)

    def test_its_minima_are_the_least_of_all_trees_that_obey_the_leaf_rule(self, component, parts):
        skip_if(not hasattr(component, "minima"), "certifies no complexities")
        skip_if(
            hasattr(component, "certifies"),
            "knows complexities of other plugins alone, by their names",
        )
        both = Paid("sum"), Paid("max")
        for problem in itertools.islice(self.problems(parts), 3):
            trees = [
                build_tree(problem.objects, sketch, problem.prices)
                for sketch in all_sketches(problem.objects)
            ]
            trees = [tree for tree in trees if not breaks_rule(tree, problem, LeafRule())]
            for complexity, found in zip(
                both, component.minima(problem, both, Context()), strict=True
            ):
                least = min(value_of(complexity, tree) for tree in trees)
                assert (
                    found.status is Status.optimal
                    and math.isclose(found.value, least, rel_tol=SLACK)
                    and found.lower_bound <= least * (1 + SLACK)
                )

    def test_when_time_is_over_it_says_what_it_has_proven(self, component, parts, value):
        for problem in itertools.islice(self.problems(parts), 10):
            best, _ = self.brute_force(problem, value)
            if hasattr(component, "warm_up"):
                component.warm_up(problem, Context(deadline=math.inf))
            try:
                with late() as context:
                    solution = component.solve(problem, context)
            except BudgetError:  # honest: there was no time for any tree
                continue
            slack = SLACK * max(1.0, abs(best))
            assert -math.inf < solution.lower_bound <= best + slack, (
                "a bound above the optimum is no bound; 0 is one where nothing can cost less"
            )
            assert solution.value >= best - slack

    def test_a_table_of_one_class_is_solved_by_a_leaf(self, component, parts, value):
        table = tiny_table(0)
        same = attrs.evolve(
            table, target=attrs.evolve(table.target, codes=np.zeros(table.n_rows, np.int32))
        )
        objects = toy_objects(same)
        problem = Problem(objects, prices_of(objects), parts)
        solution = component.solve(problem, Context())
        leaf = value(build_tree(objects, None), problem)
        assert (
            solution.status is Status.optimal
            and abs(solution.gap) <= SLACK
            and solution.value <= leaf + SLACK
        )


class ObjectiveSuite(ComponentSuite):
    """A number, never NaN, that depends on the tree and the objects alone; it tells some trees
    apart.
    """

    kind = "objective"

    @staticmethod
    def parts(component) -> Parts:
        """What the objective is combined with.  Override where it needs more (a complexity)."""
        return Parts(method=None, objective=component)

    @staticmethod
    def table(component, seed: int) -> Table:
        """A small table, another for each seed, that has every role that the objective reads: of
        one that :func:`toy_table` does not have, numbers from 0 to 1.  Override where it asks for
        columns, classes or numbers of its own.
        """
        toy = toy_table(seed, kind=kind_of_table(component))
        own = [role for role in getattr(component, "reads", ()) if role not in (COSTS, *toy.roles)]
        drawn = np.random.default_rng([seed, 2]).random((len(own), toy.n_rows)).round(2)
        return attrs.evolve(toy, roles={**toy.roles, **dict(zip(own, drawn, strict=True))})

    def test_it_is_a_number_the_same_for_a_stored_tree_and_tells_some_trees_apart(self, component):
        """Of a leaf, a stump and a grown tree of each small table."""
        found = set()
        for seed, depth in itertools.product(SEEDS, (0, 1, 6)):
            objects = toy_objects(self.table(component, seed))
            problem = Problem(objects, prices_of(objects, seed), self.parts(component))
            tree = slow_tree(objects, max_depth=depth)
            value = component.value(tree, problem)
            assert isinstance(value, float | int) and not math.isnan(value) and value > -math.inf
            assert (
                component.value(tree, problem)
                == component.value(Tree.from_json(tree.to_json()), problem)
                == value
            )
            found.add(value)
        assert len(found) > 1

    def test_weight_two_is_two_copies(self, component):
        skip_if(not claims(component, Capability.weights), "knows objects of weight 1 alone")
        for seed in SEEDS:
            both = []
            for table in copies_of(self.table(component, seed)):
                objects = toy_objects(table)
                both.append(
                    component.value(
                        slow_tree(objects, max_depth=2),
                        Problem(objects, prices_of(objects), self.parts(component)),
                    )
                )
            assert math.isclose(*both, rel_tol=SLACK), (
                "a row of weight 2 is not two rows of weight 1"
            )

    def test_it_is_of_the_shape_that_it_states(self, component):
        """A sum over leaves and nodes, and of what ``label_costs`` says, where it says so; costs of
        sums as they are promised.
        """
        sums = {Shape.additive, Shape.deviation, Shape.sums}
        shape = shape_of(component)
        skip_if(shape is None or not sums & set(shape.cases), "states no shape of sums")
        for seed in SEEDS:
            objects = toy_objects(self.table(component, seed), multiway=False)
            assert (
                broken_objective(
                    Few.of(Problem(objects, prices_of(objects), self.parts(component)))
                )
                == ""
            )

    def test_its_loss_falls_with_neither_kind_of_error(self, component):
        """And its value is that loss of the tree's errors, + λ · leaves."""
        skip_if(not isinstance(component, ConfusionObjective), "is no loss of (FP, FN)")
        share = np.linspace(0.0, 1.0, 17)
        for seed in SEEDS:
            objects = toy_objects(self.table(component, seed))
            problem = Problem(objects, prices_of(objects), self.parts(component))
            positives, negatives = component.classes_of(problem)
            monotone_losses(component, share * negatives, share * positives, positives, negatives)
            tree = slow_tree(objects, max_depth=2)
            said = tree.predict(objects.table)[objects.row_of_object]
            fp, fn = (objects.weight[(said == k) & (objects.label != k)].sum() for k in (1, 0))
            loss = float(component.loss(fp, fn, positives, negatives))
            leaves = int(tree.is_end.sum())
            assert math.isclose(
                component.value(tree, problem), loss + component.lam * leaves, rel_tol=SLACK
            )

    def test_its_whole_numbers_are_its_costs_rounded_down_by_no_more_than_they_say(self, component):
        skip_if(not is_additive(component), "states no costs of labels")
        for seed in SEEDS:
            objects = toy_objects(self.table(component, seed))
            problem = Problem(objects, prices_of(objects), self.parts(component))
            found, n, k = whole_costs(problem), objects.n_objects, objects.n_classes
            own = costs_of_groups(problem, np.arange(n), n)
            off = own - found.costs * float(found.unit)
            most = float(found.slack + found.more) + ROUNDING * np.abs(own).max()
            assert found.costs.shape == (n, k) and np.abs(off).max() <= most

    def test_what_it_weighs_objects_by_is_a_weight_for_each_and_the_same_twice(self, component):
        skip_if(not hasattr(component, "weigh"), "weighs as the table does")
        objects = toy_objects(self.table(component, 0))
        weight = component.weigh(objects)
        assert weight.shape == (objects.n_objects,) and weight.dtype == np.float64
        assert (np.isfinite(weight) & (weight > 0)).all() and (
            component.weigh(objects) == weight
        ).all()


ROUNDING = 1e-12  # relative; a value is a sum of some dozens of products


class ComplexitySuite(ComponentSuite):
    """A finite number that no cut can raise: cutting a subtree back to a leaf never makes a tree
    dearer.
    """

    kind = "complexity"

    def test_it_is_a_finite_number_above_that_of_a_leaf_and_no_cut_makes_a_tree_dearer(
        self, component
    ):
        for seed in SEEDS:
            objects = toy_objects(toy_table(seed))
            tree = slow_tree(objects, prices_of(objects, seed))
            value = value_of(component, tree)
            assert (
                isinstance(value, float | int)
                and math.isfinite(value)
                and value_of(component, tree) == value
            )
            assert value > value_of(component, tree.cut([0])) >= 0
            for node in tree.inner.tolist():
                assert value_of(component, tree.cut([node])) <= value + ROUNDING * max(
                    1.0, abs(value)
                ), f"cut at node {node}"

    def test_no_dearer_branch_makes_a_node_cheaper(self, component):
        found = counterexample_to_monotony(component)
        assert found is None, str(found)

    def test_its_closed_form_says_the_same(self, component):
        skip_if(form_of(component) is None, f"complexity {component.name!r} has no closed form")
        form = sure(form_of(component))
        assert_promises_hold(component)
        assert form.leaf == component.leaf()
        generator = np.random.default_rng(0)
        for _ in range(100):
            mass, price = float(generator.integers(1, 100)), float(generator.integers(0, 11))
            children = generator.integers(0, 50, generator.integers(1, 6)).astype(np.float64)
            assert math.isclose(
                form.node(mass, price, children),
                component.node(mass, price, children),
                rel_tol=ROUNDING,
            )

    def test_its_kernel_answers_compiled_what_it_answers_as_python(self, component):
        skip_if(mark_of(component.node) != "complexity", "has no kernel")
        import numba

        generator = np.random.default_rng(0)
        compiled = numba.njit(error_model="numpy")(component.node)
        for _ in range(100):
            mass = float(generator.integers(1, 1000))
            price = float(generator.integers(0, 11))
            t = generator.integers(1, 6)
            children = generator.integers(0, 10 ** generator.integers(1, 7), t).astype(np.float64)
            assert math.isclose(
                compiled(mass, price, children),
                component.node(mass, price, children),
                rel_tol=ROUNDING,
            )
