"""The budget of memory: refused before any work where growing would need more."""

from __future__ import annotations

import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from arboretum.api import Context, Family, grow
from arboretum.engine.search import bounded
from arboretum.engine.search.growth import Growth
from arboretum.engine.search.memory import estimate_growth_bytes
from arboretum.errors import BudgetError
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Gini

sys.path.insert(0, str(Path(__file__).parents[2] / "property" / "search"))
from problems import encode, problem_of

pytestmark = pytest.mark.compiled  # large tables

ROWS, COLUMNS = 60_000, 10


def tables():
    generator = np.random.default_rng(0)
    label = generator.integers(0, 2, ROWS)
    none = np.zeros((ROWS, 0))
    raw = encode(none.astype(np.uint8), [], [], generator.random((ROWS, COLUMNS)), label)
    many = encode(
        none.astype(np.uint8),
        [],
        [],
        generator.random((ROWS, COLUMNS)),
        label * 4 + generator.integers(0, 4, ROWS),
    )
    codes = generator.integers(0, 200, (ROWS, COLUMNS), dtype=np.uint8)
    coded = encode(codes, [200] * COLUMNS, [Family.thresholds] * COLUMNS, none, label)
    return {"bounded": raw, "presorted": many, "coded": coded}


@pytest.mark.parametrize("engine", ["bounded", "presorted", "coded"])
def test_the_estimate_covers_what_is_allocated_and_is_not_far_above(engine, monkeypatch):
    # the most that may come: the columns are sorted beside their bins
    monkeypatch.setattr(bounded, "CROWD", 0.0)
    problem = problem_of(tables()[engine], Reduction(), Gini(), max_depth=4)
    grow(problem, Context(), compiled=False)
    tracemalloc.start()
    growth = Growth.of(problem, Context(), allow_constant=False)
    growth.run("depth")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    estimate = estimate_growth_bytes(growth.space, growth.scorer, growth.plan, compiled=False)
    # the scratch of kernels is not traced; the tree and Python's objects are: some kB per node
    assert estimate / 4 < peak < 1.1 * estimate + 20_000 * 31


def test_a_budget_that_is_too_small_is_refused_with_need_budget_and_way_out():
    problem = problem_of(tables()["bounded"], Reduction(), Gini(), max_depth=4)
    with pytest.raises(
        BudgetError, match=r"growing needs some [\d.]+ MB .* more than budget.memory_mb=1; raise it"
    ) as error:
        grow(problem, Context(memory_bytes=1_000_000))
    need = float(str(error.value).split("some ")[1].split(" MB")[0].replace(",", ""))
    assert grow(problem, Context(memory_bytes=int((need + 0.1) * 1e6))).tree.n_nodes > 1


def test_a_small_table_fits_every_budget():
    few = encode(
        np.zeros((150, 0), np.uint8),
        [],
        [],
        np.random.default_rng(0).random((150, 4)),
        np.arange(150) % 3,
    )
    assert (
        grow(problem_of(few, Reduction(), Gini()), Context(memory_bytes=1_000_000)).tree.n_nodes > 1
    )


def test_many_columns_of_few_rows_are_sorted_which_takes_less_memory_and_gives_the_same_tree(
    monkeypatch,
):
    generator = np.random.default_rng(1)
    wide = encode(
        np.zeros((30, 0), np.uint8),
        [],
        [],
        generator.random((30, bounded.MANY_COLUMNS)),
        generator.integers(0, 2, 30),
    )
    problem = problem_of(wide, Reduction(), Gini(), max_depth=3)
    growth = Growth.of(problem, Context(), allow_constant=False)
    assert (
        estimate_growth_bytes(growth.space, growth.scorer, growth.plan, compiled=False)
        < 100 * wide.raw.size + 1_000_000
    )
    tree = grow(problem, Context(), compiled=False).tree
    monkeypatch.setattr(bounded, "MANY_COLUMNS", 1 << 40)
    assert grow(problem, Context(), compiled=False).tree == tree
