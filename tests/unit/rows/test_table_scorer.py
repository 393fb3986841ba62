"""Tables scored, trees made and verified by somebody who counts rows on his own."""

import attrs
import numpy as np
import pytest

from arboretum.api import (
    CapabilityError,
    Choice,
    Column,
    ColumnKind,
    Context,
    ContractError,
    DataError,
    Parts,
    Problem,
    Table,
    TableScorer,
    Target,
    Task,
    VerificationError,
    assemble,
    grow,
    verify_tree,
)
from arboretum.plugin.discovery import load_registry
from arboretum.rows.parts import table_in_parts

REGISTRY = load_registry()
N = 400


def part(kind, name, **fields):
    return REGISTRY.get(kind, name).cls(**fields)


def draw_table(seed, regression=False):
    draw = np.random.default_rng(seed)
    columns = [
        Column(f"x{k}", ColumnKind.continuous, draw.integers(0, 6, N) / 2.0) for k in range(3)
    ]
    signal = columns[0].values + columns[1].values
    if regression:
        target = Target("y", Task.regression, values=signal + draw.integers(0, 8, N) / 8.0)
    else:
        codes = (signal + draw.random(N)).astype(np.int32) % 3
        target = Target("y", Task.classification, codes, ("a", "b", "c"))
    return Table("drawn", tuple(columns), target)


def grown_elsewhere(table, criterion, impurity, depth=3):
    """Count in plain NumPy, choose by the scorer, assemble."""
    schema, numbers = table.take(np.arange(0)), table.is_regression
    objects = part("encoder", "midpoints").encode(table, table, raw_thresholds=False, seed=0)
    scorer = TableScorer.of(criterion, impurity, table.task, table.n_classes)

    def sums(rows):
        if numbers:
            y = table.target.values[rows]
            return np.array([len(y), y.sum(), (y * y).sum()]), np.array([len(y)])
        counts = np.bincount(table.target.codes[rows], minlength=3)
        return counts.astype(float), counts

    def choose(place):
        rows, above = place
        whole = sums(rows)
        leaf = Choice(whole[0], len(rows))
        rules = [objects.rule(k) for k in range(objects.n_fixed)]
        sides = [[rows[rule.outcomes(table, rows) == k] for k in (0, 1)] for rule in rules]
        here = [k for k, both in enumerate(sides) if len(both[0]) and len(both[1])]
        # what a node says of the columns is that of the test before it
        distinct = {tuple(sides[k][0].tolist()): k for k in reversed(here)}
        here = sorted(distinct.values())
        y = table.target.values if numbers else table.target.codes
        if above == depth or not here or len(np.unique(y[rows])) == 1:
            return leaf
        weights, counts = (
            np.array([[sums(side)[i] for side in sides[k]] for k in here]) for i in (0, 1)
        )
        node = scorer.node(*whole, total_mass=float(N), depth=above)
        column = np.array([objects.place(k)[0] for k in here])
        scores = scorer.score(node, weights, counts, column=column, levels=objects.levels)
        best = scorer.best(node, scores)
        if best is None:
            return leaf
        chosen = sides[here[best]]
        return attrs.evolve(
            leaf,
            rule=rules[here[best]],
            price=1.0,
            below=[(k, (chosen[k], above + 1)) for k in (0, 1)],
            missing=int(len(chosen[1]) > len(chosen[0])),
            score=float(scores[best]),
        )

    return assemble(schema, impurity, (np.arange(N), 0), choose)


def grown_here(table, criterion, impurity, depth=3):
    encoder = part("encoder", "midpoints")
    objects = encoder.encode(table, table, raw_thresholds=False, seed=0)
    stopping = (part("stopping", "standard", max_depth=depth),)
    parts = Parts(None, criterion=criterion, impurity=impurity, stopping=stopping)
    prices = part("cost", "unit").price_list(objects, 0)
    return grow(Problem(objects, prices, parts), Context()).tree


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "criterion, impurity",
    [("reduction", "gini"), ("gain_ratio", "entropy"), ("c45", "entropy")],
)
def test_the_tree_is_that_of_growth(seed, criterion, impurity):
    table = draw_table(seed)
    chosen = part("criterion", criterion), part("impurity", impurity)
    found = grown_elsewhere(table, *chosen)
    known = grown_here(table, *chosen)
    # a tree that is assembled has the impurities of NumPy, not of a kernel
    assert np.allclose(found.impurity, known.impurity, rtol=0, atol=1e-14)
    assert attrs.evolve(found, impurity=known.impurity) == known and found.n_leaves > 4
    assert verify_tree(found, table) == N
    assert verify_tree(found, table_in_parts(table, [7, 100, 1])) == N


def test_a_tree_of_numbers_is_that_of_growth_but_for_rounding():
    table = draw_table(0, regression=True)
    chosen = part("criterion", "reduction"), part("impurity", "variance")
    found, known = grown_elsewhere(table, *chosen), grown_here(table, *chosen)
    assert found.to_text() == known.to_text() and found.n_leaves > 4
    for name in ("weights", "value", "impurity", "score"):
        ours, theirs = getattr(found, name), getattr(known, name)
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9, equal_nan=True), name
    assert verify_tree(found, table_in_parts(table, [150])) == N


@pytest.mark.parametrize("field", ["weights", "counts", "label", "value"])
def test_a_tree_that_is_not_true_of_the_data_is_found_out(field):
    table = draw_table(1, regression=field == "value")
    impurity = part("impurity", "variance" if field == "value" else "gini")
    tree = grown_elsewhere(table, part("criterion", "reduction"), impurity)
    wrong = getattr(tree, field).copy()
    wrong[-1] = (wrong[-1] + 1) % 3 if field == "label" else wrong[-1] + 1
    with pytest.raises(VerificationError, match="verification failed"):
        verify_tree(attrs.evolve(tree, **{field: wrong}), table)


def test_data_of_other_classes_or_without_rows_are_refused():
    table = draw_table(1)
    tree = grown_elsewhere(table, part("criterion", "reduction"), part("impurity", "gini"))
    other = attrs.evolve(table, target=attrs.evolve(table.target, classes=("a", "b", "z")))
    with pytest.raises(VerificationError, match="classes"):
        verify_tree(tree, other)
    with pytest.raises(DataError, match="no rows"):
        verify_tree(tree, table.take(np.arange(0)))


def test_what_needs_more_than_tables_is_refused_by_name():
    reduction = part("criterion", "reduction")
    with pytest.raises(CapabilityError, match="'absolute_error' looks at the values"):
        TableScorer.of(reduction, part("impurity", "absolute_error"), Task.regression)
    scorer = TableScorer.of(reduction, part("impurity", "gini"), Task.classification, 3)
    node = scorer.node([2, 2, 0], [2, 2, 0], total_mass=4.0)
    with pytest.raises(ContractError, match=r"weights\[tests, outcomes, 3\]"):
        scorer.score(node, np.ones((1, 2, 2)), np.ones((1, 2, 2)))
    assert scorer.best(node, np.full(2, -np.inf)) is None
    assert scorer.best(node, np.array([0.25, 0.5, 0.5 + 1e-14])) == 1
