"""Random tiny problems: ties, weights, duplicates with several labels, all families of tests,
raw columns, odd prices.
"""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np

from arboretum.api import (
    AdditiveObjective,
    Column,
    ColumnKind,
    Family,
    LeafRule,
    Limits,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Target,
    Task,
    rational,
)
from arboretum.testing.oracles import outcomes
from arboretum.testing.tables import ToyFeature, bare_objects
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, Weighted, decimal
from arboretum_gosdt.reference import TreeProblem, minimum
from arboretum_gosdt.regression.solver import Regression


def tiny_problem(
    seed: int,
    objective=None,
    *,
    raw: bool = False,
    n_rows: int | None = None,
    n_columns: int | None = None,
    most_values: int = 3,
) -> Problem:
    """2 to 8 rows, 1 to 3 columns of 2 or 3 values, 1 to 3 classes; rows repeat, with the same
    labels and with others.

    most_values : of a column, up to 8.
    """
    generator = np.random.default_rng([seed, 15])
    n = n_rows or int(generator.integers(2, 9))
    width = n_columns or int(generator.integers(1, 4))
    two = isinstance(objective, Weighted) or (
        isinstance(objective, CostMatrix) and len(objective.table) == 2
    )
    classes = (
        2
        if two
        else int(generator.integers(1, 4))
        if not isinstance(objective, CostMatrix) or not objective.table
        else 3
    )
    features, columns, codes = [], [], []
    for f in range(width):
        bins = int(generator.integers(2, most_values + 1))
        code = generator.integers(0, bins, n)
        family = (
            Family.thresholds
            if raw or generator.random() < 0.5
            else Family.equals
            if bins == 3
            else Family.multiway
        )
        names = tuple("abcdefgh"[:bins])
        numbers = family is Family.thresholds
        own = (
            {"edges": tuple(k + 0.5 for k in range(bins - 1))} if numbers else {"categories": names}
        )
        features.append(ToyFeature(f"x{f}", f, family, bins, **own))
        columns.append(
            Column(
                f"x{f}",
                *(
                    (ColumnKind.continuous, code.astype(float))
                    if numbers
                    else (ColumnKind.categorical, code, names)
                ),
            )
        )
        codes.append(code)
    kind = generator.integers(0, 3)
    weights = (
        None
        if kind == 0
        else generator.choice([1.0, 2.0, 3.0] if kind == 1 else [0.5, 0.1, 1.25], n)
    )
    label = generator.integers(0, classes, n).astype(np.int32)
    if isinstance(objective, CostMatrix) and objective.table:
        classes = len(objective.table)
    table = Table(
        f"tiny{seed}",
        tuple(columns),
        Target("y", Task.classification, label, tuple("uvw"[: max(2, classes)])),
        weights,
    )
    objects = bare_objects(
        table, features=tuple(features), codes=np.asfortranarray(np.array(codes, np.uint8).T)
    )
    if raw:
        values = np.array([column.values for column in columns]).T
        objects = bare_objects(
            table, raw_features=tuple(RawFeature(f"x{f}", f) for f in range(width)), raw=values
        )
    n_tests = int(objects.test_offset[-1])
    prices = Prices(generator.integers(0, 4, n_tests) / 2, np.ones(len(objects.raw_features)))
    return Problem(objects, prices, Parts(method=None, objective=objective or Accuracy()))


def least(problem: Problem, **limits) -> Fraction:
    """The least value of the problem's objective over all trees, by brute force in fractions."""
    objects, objective = problem.objects, problem.parts.objective
    rows = np.arange(objects.n_objects)
    if objects.raw_features:
        cuts = [(column, cut) for column in objects.raw.T for cut in np.unique(column)[:-1]]
        answers = [(column > cut).astype(int) for column, cut in cuts]
        price = [Fraction(1)] * len(cuts)
    else:
        answers = [outcomes(objects, test, rows) for test in range(int(objects.test_offset[-1]))]
        price = [decimal(one) for one in problem.prices.tests.tolist()]
    weight, cost = exact_costs(problem)
    task = TreeProblem(
        rational(objective.lam),
        rational(objective.mu),
        worst=objective.price.name == "max",
        **limits,
    )
    return minimum(
        np.array(answers).T.tolist() if answers else [[]] * len(rows),
        cost,
        task,
        price=price,
        mass=weight,
    )


def exact_costs(problem: Problem) -> tuple[list[Fraction], list[list[Fraction]]]:
    """What the objects weigh, and what each costs by the label of its leaf, in fractions."""
    objects, objective = problem.objects, problem.parts.objective
    weight = [decimal(one) for one in objects.weight.tolist()]
    if isinstance(objective, OwnCosts):
        number = Fraction if objective.digits == ALL else decimal
        return weight, [
            [w * number(one) / sum(weight) for one in row]
            for w, row in zip(weight, objective.costs(problem).tolist(), strict=True)
        ]
    total = [
        sum((w for w, y in zip(weight, objects.label, strict=True) if y == k), Fraction(0))
        for k in range(objects.n_classes)
    ]
    factor, errors = objective.factors(total), objective.errors(objects.n_classes)
    return weight, [
        [w * factor[y] * one for one in errors[y]]
        for w, y in zip(weight, objects.label.tolist(), strict=True)
    ]


ALL = 17


@attrs.frozen
class OwnCosts(AdditiveObjective):
    """Costs drawn for each row and label, gains among them.

    seed : of the draw.   digits : behind the point, ALL: as they were drawn.
    """

    name = "own_costs"

    seed: int = 0
    digits: int = 2

    def costs(self, problem: Problem) -> np.ndarray:
        """Return float64[objects, labels]."""
        objects = problem.objects
        drawn = np.random.default_rng([self.seed, 18]).normal(0.5, 2, (objects.n_objects, 9))
        found = drawn[:, : objects.n_classes]
        return found if self.digits == ALL else found.round(self.digits)


def objectives(seed: int) -> list:
    """One of each kind, with λ, μ and costs of every sort, zero among them."""
    generator = np.random.default_rng([seed, 16])
    lam = float(generator.choice([0.0, 0.01, 0.03, 0.125, 0.3]))
    more = {
        "lam": lam,
        "mu": float(generator.choice([0.0, 0.0, 0.02, 0.1])),
        "price": str(generator.choice(["expected", "max"])),
    }
    more["price"] = {one.name: one for one in type(Accuracy().price)}[more["price"]]
    table = generator.integers(0, 5, (3, 3)) / 2
    np.fill_diagonal(table, 0.0 if seed % 2 else 0.5)
    return [
        Accuracy(**more),
        Balanced(**more),
        Weighted(omega=0.7, **more),
        CostMatrix(costs=table.tolist(), **more),
    ]


def limited(problem: Problem, **parts) -> Problem:
    """The problem with other parts."""
    return attrs.evolve(problem, parts=attrs.evolve(problem.parts, **parts))


@attrs.frozen
class Held:
    """A stopping rule: limits alone."""

    kind, name = "stopping", "held"
    limited: Limits = Limits()

    def limits(self):
        return self.limited

    def leaf_rule(self):
        return LeafRule()


def numbers(
    seed: int,
    objective: object,
    limits: Limits = Limits(),
    *,
    rows: int | None = None,
    columns: int | None = None,
    raw: bool = False,
) -> Problem:
    """A tiny problem whose target is a number: whole ones with ties, decimals, or of 17 digits."""
    rng = np.random.default_rng([seed, 31])
    problem = tiny_problem(seed, raw=raw, n_rows=rows, n_columns=columns)
    n, kind = problem.objects.n_objects, seed % 4
    y = (
        rng.integers(-3, 4, n) * 1.0
        if kind < 2
        else (rng.normal(size=n) * 10 + 100).round(1)
        if kind == 2
        else rng.normal(size=n)
    )
    table = attrs.evolve(problem.objects.table, target=Target("y", Task.regression, values=y))
    objects = attrs.evolve(problem.objects, table=table, label=None, y=y)
    return Problem(
        objects,
        problem.prices,
        Parts(method=None, objective=objective, solver=Regression(), stopping=(Held(limits),)),
    )
