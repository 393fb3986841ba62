"""Solvers whose seconds end before their search begins: the best leaf, with a bound, where a
leaf is allowed.
"""

import math
import time

import pytest

import arboretum
from arboretum.errors import BudgetError, OutOfTime
from arboretum.interfaces.method import FEW_BYTES, GRACE, STEPS_PER_SECOND, Context

DEEP = ["stopping=[standard]", "stopping.standard.max_depth=3", "objective.lam=0"]
ASKED = {
    "gosdt": ["method=gosdt", "objective.lam=0.01"],
    "gosdt, limited": ["method=gosdt", *DEEP],
    "gosdt, intervals": ["method=gosdt", "encoder=raw", "solver.search=intervals", *DEEP],
    "gosdt, general": [
        "method=gosdt",
        "objective.lam=0.01",
        "stopping=[standard]",
        "stopping.standard.max_leaves=5",
    ],
    "gosdt, costs": ["method=gosdt", "objective=balanced", "objective.lam=0.03"],
    "path": ["method=path"],
    "rashomon": ["method=rashomon"],
    "constrained": ["method=constrained", "solver.sensitive=a1", "solver.parity=0.1"],
    "fronts, F": ["method=fronts"],
    "fronts, AUC": ["method=fronts", "objective=auc"],
    "oblivious": ["method=exact", "solver=oblivious", "objective=accuracy", *DEEP],
    "dl85": ["method=dl85", *DEEP],
    "dl8": ["method=dl8", *DEEP],
    "osdt": ["method=osdt"],
    "rank": ["method=rank"],
    "rank, a heavier second class": ["dataset=tic-tac-toe", "method=rank"],
    "gosdt_reference": ["method=gosdt_reference"],
    "binoct": ["method=exact", "solver=binoct", "objective=accuracy", *DEEP],
    "regression": ["dataset=diabetes", "method=regression", "encoder=bins"],
    "regression, absolute": [
        "dataset=diabetes",
        "method=regression",
        "encoder=bins",
        "objective=absolute_error",
    ],
}


@pytest.fixture
def slow(monkeypatch):
    """A processor on which every preparation takes for ever; no kernel is needed, so that none
    is compiled.
    """
    monkeypatch.setattr("arboretum.interfaces.method.STEPS_PER_SECOND", 1e-9)


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_a_table_that_cannot_be_prepared_in_time_gives_the_best_leaf_and_a_bound(words, slow):
    words = words if words[0].startswith("dataset=") else ["dataset=monk1-full", *words]
    record = arboretum.run([*words, "split=none", "budget.seconds=1"])
    found = record.solution
    assert record.verified and record.tree.n_leaves == 1 and not found.finished
    lam = record.config["objective"]["lam"]
    assert found.status.value == "feasible" and found.lower_bound == pytest.approx(
        min(lam, found.value)
    )
    assert any("budget of seconds" in note and "best leaf" in note for note in record.notes)


def test_a_front_that_cannot_be_prepared_in_time_is_the_best_leaf(slow):
    record = arboretum.run(["dataset=monk1-full", "method=front", "split=none", "budget.seconds=1"])
    assert (
        record.verified
        and record.tree.n_leaves == len(record.solution.front.points) == 1
        and not record.solution.finished
    )
    assert any("budget of seconds" in note and "best leaf" in note for note in record.notes)


@pytest.mark.parametrize("asked", ["gosdt", "constrained", "fronts, F", "dl85", "binoct"])
def test_interrupted_while_it_is_prepared_a_search_keeps_the_best_leaf(asked, monkeypatch):
    def interrupt(context, steps):
        raise KeyboardInterrupt(15)

    # which prepares a few rows
    monkeypatch.setattr("arboretum_basics.methods.Exact.warm_up", lambda *_: None)
    monkeypatch.setattr(Context, "check_time", interrupt)
    record = arboretum.run(["dataset=monk1-full", *ASKED[asked], "split=none"])
    found = record.solution
    assert (
        record.verified
        and record.tree.n_leaves == 1
        and found.interrupted.args == (15,)
        and not found.finished
    )
    assert found.lower_bound <= found.value and any(
        "interrupted before the search began" in note for note in record.notes
    )


@pytest.mark.parametrize("method", ["subtable_dp", "max_cost"])
def test_where_no_leaf_is_allowed_the_budget_is_named(method, slow):
    with pytest.raises(BudgetError, match=r"raise budget\.seconds"):
        arboretum.run(["dataset=monk1-full", f"method={method}", "split=none", "budget.seconds=1"])


def test_what_takes_a_tenth_of_a_second_is_always_done():
    late = Context(deadline=time.monotonic() - 10)
    late.check_time(GRACE * STEPS_PER_SECOND)
    with pytest.raises(OutOfTime, match="takes some 2 seconds"):
        late.check_time(2 * STEPS_PER_SECOND)
    Context().check_time(math.inf)
    assert Context().latest is None and late.latest > late.deadline


def test_arrays_beyond_the_budget_are_refused_before_they_are_made():
    tight = Context(memory_bytes=2_000_000)
    tight.room(2e6, "the bits")
    with pytest.raises(
        BudgetError,
        match=r"the bits take about 3 MB, and the budget is 2 MB; raise budget\.memory_mb",
    ):
        tight.room(3e6, "the bits")
    Context(memory_bytes=1).room(FEW_BYTES, "a small table")
    Context().room(math.inf, "whatever")
