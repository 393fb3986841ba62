"""Monotone and fair trees, against all trees with all answers of tiny tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from scipy.optimize import linprog
from test_proof import problem_from
from tiny_tables import Held, limited, tiny_problem

from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    ConfigError,
    Context,
    Limits,
    Parts,
    Status,
    sure,
)
from arboretum.testing import SolverSuite
from arboretum.testing.effort import tries
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, decimal
from arboretum_gosdt.problem.prepared import all_tests
from arboretum_gosdt.solvers import constrained
from arboretum_gosdt.solvers.constrained import Constrained, ConstrainedSearch


class TestConformance(SolverSuite):
    tables = 4

    @pytest.fixture
    def component(self):
        return Constrained()

    @pytest.fixture
    def parts(self, component):
        return Parts(method=None, solver=component, objective=Accuracy())


def all_labelled(problem, depth, least):
    """Every tree with every answer at its leaves: (leaves as (rows, tests asked on the way with
    outcomes, answer)).
    """
    tests, n = all_tests(problem), problem.objects.n_objects
    sides = [tests.outcome(test, np.arange(n)) for test in range(len(tests.column))]

    def trees(rows, path, depth):
        yield ((tuple(rows.tolist()), path),)
        for test, side in enumerate(sides if depth else ()):
            parts = rows[side[rows]], rows[~side[rows]]
            if all(len(part) and problem.objects.count[part].sum() >= least for part in parts):
                one = list(trees(parts[0], (*path, (test, True)), depth - 1))
                for a, b in itertools.product(
                    one, trees(parts[1], (*path, (test, False)), depth - 1)
                ):
                    yield a + b

    return trees(np.arange(n), (), depth)


def cells_of(problem):
    """All combinations of codes, and what each test says of them."""
    tests = all_tests(problem)
    features = problem.objects.features
    levels = [
        range(features[c].n_bins if c < len(features) else int(tests.codes[c].max()) + 1)
        for c in range(len(tests.codes))
    ]
    cells = np.array(list(itertools.product(*levels)))
    said = [
        cells[:, c] > k if tests.family[c] == 1 else cells[:, c] != k
        for c, k in zip(tests.column, tests.index, strict=True)
    ]
    return cells, said


def brute_force(problem, solver, limits):
    """The least value of a tree that keeps every constraint: predictions of all cells are compared,
    pair by pair.
    """
    objects, objective = problem.objects, problem.parts.objective
    weight = [decimal(one) for one in objects.weight.tolist()]
    total = [
        sum((w for w, y in zip(weight, objects.label, strict=True) if y == k), Fraction(0))
        for k in range(objects.n_classes)
    ]
    factor, errors = objective.factors(total), objective.errors(objects.n_classes)
    cost = [
        [w * factor[y] * one for one in errors[y]]
        for w, y in zip(weight, objects.label.tolist(), strict=True)
    ]
    price, paid = all_tests(problem).price, decimal(objective.mu) / sum(weight)
    cells, said = cells_of(problem)
    names = [column.name for column in objects.table.columns]
    ordered = [(names.index(name), True) for name in solver.increasing] + [
        (names.index(name), False) for name in solver.decreasing
    ]
    pairs = []
    for c, rising in ordered:
        for a, b in itertools.product(range(len(cells)), repeat=2):
            if (
                cells[a, c] < cells[b, c]
                and (np.delete(cells[a], c) == np.delete(cells[b], c)).all()
            ):
                pairs.append((a, b) if rising else (b, a))
    group = (
        objects.table.columns[names.index(solver.sensitive)].values[objects.row_of_object]
        if solver.sensitive
        else None
    )
    best = None
    for tree in all_labelled(problem, limits.max_depth or 9, limits.min_leaf):
        if limits.max_leaves and len(tree) > limits.max_leaves:
            continue
        if (
            solver.sensitive
            and not solver.ask_sensitive
            and any(asks(problem, test, solver.sensitive) for _, path in tree for test, _ in path)
        ):
            continue
        asked = sum(
            (
                weight[u] * sum(decimal(price[test]) for test, _ in path)
                for rows, path in tree
                for u in rows
            ),
            Fraction(0),
        )
        for answers in itertools.product(range(objects.n_classes), repeat=len(tree)):
            value = sum(
                cost[u][k] for (rows, _), k in zip(tree, answers, strict=True) for u in rows
            ) + decimal(objective.lam) * len(tree)
            value += paid * asked
            if best is not None and value >= best:
                continue
            predicted = np.zeros(len(cells), int)
            for (_, path), answer in zip(tree, answers, strict=True):
                predicted[
                    np.all([said[test] == side for test, side in path], axis=0)
                    if path
                    else slice(None)
                ] = answer
            if any(predicted[a] > predicted[b] for a, b in pairs):
                continue
            yes = {u for (rows, _), k in zip(tree, answers, strict=True) if k == 1 for u in rows}
            if group is not None and not all(
                close(group, weight, yes, who, most) for who, most in limits_of(objects, solver)
            ):
                continue
            best = value
    return float(best)


def asks(problem, test, name):
    return all_tests(problem).rule(test).columns[0] == name


def limits_of(objects, solver):
    everybody = range(objects.n_objects)
    return [
        (everybody, solver.parity),
        ([u for u in everybody if objects.label[u] == 1], solver.opportunity),
    ]


def close(group, weight, yes, who, most):
    rates = []
    for one in np.unique(group):
        mine = [u for u in who if group[u] == one]
        if most < 1:
            rates.append(sum(weight[u] for u in mine if u in yes) / sum(weight[u] for u in mine))
    return not rates or max(rates) - min(rates) <= decimal(most)


def with_groups(problem, groups):
    """The problem with a column of groups that no test asks."""
    rng = np.random.default_rng(problem.objects.n_objects + groups)
    codes = np.concatenate([np.arange(groups), rng.integers(0, groups, problem.objects.n_objects)])[
        : problem.objects.n_objects
    ].astype(np.int32)
    column = Column("group", ColumnKind.categorical, rng.permutation(codes), tuple("abc"[:groups]))
    table = attrs.evolve(problem.objects.table, columns=(*problem.objects.table.columns, column))
    return attrs.evolve(problem, objects=attrs.evolve(problem.objects, table=table))


@pytest.mark.parametrize(
    "seeds",
    [range(40), pytest.param(range(40, 40 + max(40, tries(120))), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("kind", ["monotone", "fair", "both"])
def test_the_optimum_is_that_of_all_trees_and_all_answers(kind, seeds):
    tried = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 77])
        lam = float(rng.choice([0.01, 0.04, 0.1]))
        objective = [
            Accuracy(lam=lam),
            Balanced(lam=lam),
            CostMatrix(lam=lam, costs=[[0, 1], [2, 0]]),
        ][seed % 3 if kind != "monotone" else seed % 2]
        problem = limited(
            tiny_problem(seed, raw=seed % 4 < 3, n_rows=int(rng.integers(3, 7)), n_columns=2),
            objective=objective,
        )
        limits = Limits(
            max_depth=2 if seed % 2 else 3,
            max_leaves=3 if seed % 5 == 0 else None,
            min_leaf=2 if seed % 7 == 0 else 1,
        )
        problem, fields = limited(problem, stopping=(Held(limits),)), {}
        if kind != "fair":
            fields = {"increasing": ("x0",), "decreasing": ("x1",) if seed % 3 else ()}
        if kind != "monotone":
            if problem.objects.n_classes != 2:
                continue
            problem = with_groups(problem, 2 + seed % 2)
            fields |= {
                "sensitive": "x1" if seed % 6 == 5 else "group",
                "parity": float(rng.choice([0.0, 0.2, 0.5])),
                "ask_sensitive": bool(seed % 4 == 1),
            }
            fields["opportunity"] = float(rng.choice([0.1, 0.34, 1.0]))
        solver = Constrained(**fields)
        try:
            found = solver.solve(problem, Context())
        except CapabilityError as error:
            assert (
                "categories" in str(error)
                or "second class" in str(error)
                or "one value" in str(error)
            )
            continue
        assert found.status is Status.optimal
        assert found.value == pytest.approx(brute_force(problem, solver, limits), abs=1e-9), (
            seed,
            fields,
            limits,
        )
        tried += 1
    assert tried > len(seeds) / 6


def test_columns_that_are_not_there_are_refused_with_the_closest_name():
    problem = with_groups(tiny_problem(3, Accuracy()), 2)
    for fields, said in (
        ({"sensitive": "grup", "parity": 0.1}, "did you mean 'group'"),
        ({"increasing": ("x9",)}, "unknown column 'x9'"),
        ({"parity": 0.1}, "go together"),
        ({"increasing": ("x0",), "decreasing": ("x0",)}, "leave it out of one"),
    ):
        with pytest.raises(ConfigError, match=said):
            Constrained(**fields).solve(problem, Context())


def test_rates_of_three_classes_are_not_compared():
    three = next(
        problem
        for seed in range(50)
        if (problem := with_groups(tiny_problem(seed, Accuracy()), 2)).objects.n_classes == 3
    )
    with pytest.raises(CapabilityError, match="but there are 3; make two"):
        Constrained(sensitive="group", parity=0.1).solve(three, Context())


def test_an_interrupt_leaves_a_tree_that_keeps_its_promise_and_a_bound():
    problem = with_groups(
        limited(tiny_problem(12, n_rows=8, n_columns=3), objective=Accuracy(lam=0.01)), 2
    )
    codes = np.array([0, 1] * 4, np.int32)
    problem = attrs.evolve(
        problem,
        objects=attrs.evolve(
            problem.objects,
            table=attrs.evolve(
                problem.objects.table,
                target=attrs.evolve(problem.objects.table.target, codes=codes, classes=("u", "v")),
            ),
            label=codes,
        ),
    )
    solver = Constrained(sensitive="group", parity=0.0)
    whole = solver.solve(problem, Context())

    def stop(*_):
        raise KeyboardInterrupt

    stopped = solver.solve(problem, Context(progress=stop))
    assert whole.status is Status.optimal and stopped.lower_bound <= whole.value <= stopped.value


def drawn_rates(seed):
    """Few columns, of which all trees can be gone through, with two or three groups."""
    rng = np.random.default_rng([seed, 79])
    x = rng.integers(0, 2, (40, 3))
    y = np.where(rng.random(40) < 0.15, rng.integers(0, 2, 40), x[:, 0] | (x[:, 1] & x[:, 2]))
    problem = problem_from(x, y, Accuracy(lam=0.01))
    codes = np.where(rng.random(40) < 0.4, rng.integers(0, 2, 40), x[:, 0]) + x[:, 1] * (seed % 2)
    column = Column("group", ColumnKind.categorical, codes.astype(np.int32), tuple("abc"))
    table = problem.objects.table
    table = attrs.evolve(table, columns=(*table.columns, column))
    problem = attrs.evolve(problem, objects=attrs.evolve(problem.objects, table=table))
    fields = {
        "sensitive": "group",
        "parity": float(rng.choice([0.0, 0.1, 0.3])),
        "opportunity": float(rng.choice([0.1, 0.3, 1.0])),
    }
    return limited(problem, stopping=(Held(Limits(max_depth=2)),)), fields


def best_of_duals(problem, search):
    """The maximum of the least Lagrangian cost over all multipliers, in losses: a linear program
    with a plane for every tree with every answer.
    """
    units, costs, over = search.found.units, {}, []
    pairs = [
        (one, g, h)
        for one in search.rates
        for g, h in itertools.permutations(range(len(one.sizes)), 2)
    ]
    for tree in all_labelled(problem, 2, 1):
        for answers in itertools.product(range(2), repeat=len(tree)):
            cost = units.p * len(tree)
            says = np.zeros(problem.objects.n_objects, int)
            for (rows, _), answer in zip(tree, answers, strict=True):
                says[list(rows)] = answer
            merged = says[search.first]
            cost += int(search.cost[np.arange(len(merged)), merged].sum())
            sums = tuple(int(one.apart(g, h)[merged == 1].sum()) for one, g, h in pairs)
            costs[sums] = min(cost, costs.get(sums, cost))
    over = [
        [
            (total - one.room(g, h)) / one.sizes[g] / one.sizes[h]
            for total, (one, g, h) in zip(sums, pairs, strict=True)
        ]
        for sums in costs
    ]
    found = linprog(
        [0.0] * len(pairs) + [-1.0],
        A_ub=np.column_stack([-np.array(over), np.ones(len(over))]),
        b_ub=np.array(list(costs.values()), float) / units.q,
        bounds=[(0, 1e6)] * len(pairs) + [(None, None)],
    )
    return -float(found.fun)


def test_multipliers_bound_as_well_as_a_program_of_all_trees(monkeypatch):
    """The best of all bounds that multipliers give, but for what is rounded; never more."""
    monkeypatch.setattr(constrained, "NEAR", 0.0)
    tried = several = 0
    for seed in range(tries(120)):
        problem, fields = drawn_rates(seed)
        try:
            search = ConstrainedSearch(Constrained(**fields), problem, Context())
        except CapabilityError:
            continue
        search.report = lambda: None
        plain = sure(search.found.chosen).search
        plain.run(None, None, lambda *_: None)
        search.least = search.plain = plain.upper - search.found.equivalent_cost
        best = search._best_lagrangian()
        if best is None:
            continue
        truth = best_of_duals(problem, search)
        q, room = search.found.units.q, len(search.cost) / best.scale
        # the least costs are rounded up to a whole one
        assert search.least <= math.ceil(q * truth - 1e-6), seed
        assert search.least >= min(q * (truth - room - 1e-6), search.cost_of_best), seed
        tried, several = tried + 1, several + (len(best.name[2]) > 1)
    assert tried > tries(120) / 2 and several > tries(120) / 5
