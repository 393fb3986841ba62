"""What cannot be served is refused before anything grows, with the way out; what only a grown
tree shows is kept, with a note.
"""

from __future__ import annotations

import re

import attrs
import pytest

import arboretum
from arboretum.api import CapabilityError, ConfigError
from arboretum.testing.oracles import slow_tree
from arboretum.testing.tables import TreeParts, toy_objects, toy_table
from arboretum_classic.pruning.optimal import OptimalSubtree

GAPS = "x,y\na,p\nb,q\n,p\na,p\nb,p\n,q\n"
NUMBERS = "x,y\n1,1.5\n2,2.5\n3,1\n4,7\n"
FUZZY = ["method=fuzzy", "pruner=error_based"]
FOLDS = ["method=cart", "pruner=cost_complexity", "pruner.folds=7"]
OWN = [
    "method=greedy",
    "criterion=reduction",
    "impurity=gini",
    "encoder=multiway",
    "missing=own_category",
]
REGRESSION = ["method=cart_regression", "dataset.task=regression"]


@pytest.mark.parametrize(
    ("rows", "ways", "said"),
    [
        (
            GAPS,
            FUZZY,
            "pruner error_based .* tests of method soft_splits .* in shares; say "
            "pruner.raising=false",
        ),
        (GAPS, FOLDS, "pruner.folds=7 are more than the 6 training objects; choose fewer"),
        (
            GAPS,
            [*OWN, "cost=by_outcome", "cost.prices={x: {a: 3}}"],
            "own_category .* prices by outcome do not know; choose cost=table",
        ),
        (
            GAPS,
            ["method=cart", "pruner=cost_complexity", "pruner.alpha=1", "pruner.risk=variance"],
            "pruner.risk=variance does not fit .* use pruner.risk=error, gini",
        ),
        (
            NUMBERS,
            [*REGRESSION, "pruner=cost_complexity", "pruner.alpha=1", "pruner.risk=gini"],
            "pruner.risk=gini does not fit .* use pruner.risk=error, variance",
        ),
        (
            NUMBERS,
            [*REGRESSION, "pruner=optimal_subtree", "pruner.price=mdl"],
            "pruner.price=mdl .* use price=leaves",
        ),
        (
            NUMBERS,
            [*REGRESSION, "pruner=optimal_subtree", "pruner.max_price=0.5"],
            "pruner.max_price=0.5 allows no tree: .* give 1 or more",
        ),
        (
            GAPS,
            ["method=cart", "pruner=reduced_error"],
            "reduced_error needs validation rows.* use split=holdout",
        ),
    ],
    ids=[
        "fuzzy",
        "folds",
        "own outcome",
        "risk of classes",
        "risk of numbers",
        "bits of numbers",
        "less than a leaf",
        "no validation rows",
    ],
)
def test_before_anything_grows(rows, ways, said, tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text(rows)
    monkeypatch.setattr(
        "arboretum.engine.search.growth.Growth.run", lambda self, order: pytest.fail("it has grown")
    )
    data = [
        "dataset=file",
        f"dataset.path={tmp_path / 'rows.csv'}",
        "dataset.target=y",
        "split=none",
        "tracker=none",
    ]
    with pytest.raises((CapabilityError, ConfigError), match=said):
        arboretum.run([*data, *ways])


def test_crisp_thresholds_of_a_fuzzy_method_are_raised():
    record = arboretum.run(["dataset=iris", *FUZZY, "method.width=0", "split=none", "tracker=none"])
    assert record.verified and any("error_based leaves" in note for note in record.notes)


@pytest.mark.parametrize(
    ("pruner", "said"),
    [
        (
            OptimalSubtree(max_error=0.0),
            "no pruned subtree errs as little as pruner.max_error=0: this one errs least, 0.4",
        ),
        (
            OptimalSubtree(max_price=2.0, max_error=0.0),
            "no pruned subtree within pruner.max_price=2 errs as little .* errs least",
        ),
        (
            OptimalSubtree(price="mdl", max_price=0.5),
            "no pruned subtree is as cheap as pruner.max_price=0.5: this one is the cheapest",
        ),
    ],
    ids=["error", "both", "price"],
)
def test_a_limit_that_no_pruned_subtree_keeps_is_told_and_the_nearest_is_kept(pruner, said):
    table = toy_table(1, kind=TreeParts(weighted=False))
    tree = slow_tree(toy_objects(table), max_depth=2)
    pruned = pruner.prune(tree, table, None)
    (note,) = pruner.notes(pruned, table, None)
    best = attrs.evolve(
        pruner, max_error=None, max_price=None if pruner.price == "mdl" else pruner.max_price
    )
    assert pruned == best.prune(tree, table, None) and re.search(said, note)
    assert best.notes(pruned, table, None) == [], "nothing is told where the limits are kept"
