"""A budget per path, in runs: every engine keeps it, and says why a node had to be a leaf."""

from __future__ import annotations

import pytest

import arboretum
from arboretum.api import ConfigError, Parts
from arboretum.cli.show import explain
from arboretum.plugin.discovery import load_registry
from arboretum_maxcost.stopping import Budget

DFEP = [
    "dataset=dfep-synthetic",
    "encoder=multiway",
    "criterion=reduction",
    "impurity=rt",
    "method=greedy",
    "tracker=none",
    "split=none",
]


def within(limit):
    return ["stopping=[max_cost]", f"stopping.max_cost.limit={limit}"]


@pytest.mark.parametrize(
    ("limit", "wrong"), [(0, 768), (1, 512), (2, 4), (9.5, 4), (10, 0), ("null", 0)]
)
def test_the_1024_objects_err_as_the_paper_says_at_every_budget(limit, wrong):
    record = arboretum.run([*DFEP, *within(limit)])
    assert record.verified and round(1024 * record.metrics["train_error"]) == wrong
    assert record.metrics["max_cost"] <= (10 if limit == "null" else limit)


def test_why_says_what_is_left():
    record = arboretum.run(
        ["dataset=monk2-full", *DFEP[1:], "cost=table", "cost.default=2", *within(5)]
    )
    deep = int((record.tree.price_to == 4.0).argmax())
    assert record.tree.is_leaf[deep] and (record.tree.weights[deep] > 0).sum() > 1
    text = explain(record, deep, 3, load_registry())
    assert "a leaf: max_cost 5 leaves 1, and no test costs that little" in text
    assert (
        "no test that may be asked divides its rows" in text
        and "kernels grow subtrees of small nodes" in text
    )


@pytest.mark.parametrize(
    "more",
    [
        ["encoder=auto"],
        ["encoder=raw"],
        ["encoder=auto", "criterion=gain_ratio", "impurity=entropy"],
        [
            "encoder=auto",
            "cost=set_up",
            "cost.groups={petal_length: a, petal_width: a}",
            "cost.set_up={a: 3}",
        ],
        ["encoder=auto", "cost=per_column", "cost.default=3"],
    ],
    ids=" ".join,
)
def test_every_engine_keeps_the_budget(more):
    chosen = [
        "dataset=iris",
        "criterion=reduction",
        "impurity=gini",
        "method=greedy",
        "cost=random",
        "cost.high=4",
        "tracker=none",
    ]
    if any(word.startswith("cost=") for word in more):
        chosen = [word for word in chosen if not word.startswith("cost")]
    free, held = (arboretum.run([*chosen, *more, *stop]) for stop in ([], within(6)))
    assert held.verified and 0 < held.metrics["max_cost"] <= 6 < free.metrics["max_cost"]


def test_the_tightest_budget_counts():
    assert (
        Parts(None, stopping=tuple(Budget(limit=value) for value in (None, 3.0, 2.5)))
        .limits()
        .max_cost
        == 2.5
    )


@pytest.mark.parametrize(
    ("limit", "said"), [("-1", "must be ≥ 0"), (".nan", "must be a number"), ("nan", "")]
)
def test_a_budget_is_a_number_and_no_less_than_nothing(limit, said):
    with pytest.raises(ConfigError, match=f"stopping.max_cost.limit {said}"):
        arboretum.run([*DFEP, *within(limit)])


def test_exact_minima_refuse_a_budget_that_they_do_not_know():
    record = arboretum.run([*DFEP, *within(2), "certify=true", "certifier=subtable_dp"])
    assert any("know no limit max_cost (it is 2)" in note for note in record.notes), record.notes
