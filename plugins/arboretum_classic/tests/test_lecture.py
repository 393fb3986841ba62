"""The reproduction of the lecture: a small form of it, and that a wrong number fails."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from arboretum.api import Table, Verdict
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry
from arboretum.testing import ReproductionSuite
from arboretum_classic.paper import choices as lecture_choices, figures as lecture_figures
from arboretum_classic.paper.reproduction import CHAPTERS, Lecture
from arboretum_classic.paper.study import run, with_noise

SMALL = Lecture(datasets=("iris",), seeds=2, draws=2, times=False)


class TestContract(ReproductionSuite):
    component = Lecture(
        chapters=("impurity", "depth", "noise"), datasets=("iris",), seeds=2, times=False
    )
    fraction = 1.0


@pytest.fixture(scope="module")
def services():
    return RegistryFactory(load_registry())


@pytest.fixture(scope="module")
def results(services) -> list[tuple[dict, dict]]:
    return [
        (piece.key, json.loads(json.dumps(SMALL.work(piece.key, 0, services), allow_nan=False)))
        for piece in SMALL.pieces(1.0)
    ]


def of(results, **key) -> dict:
    return next(result for own, result in results if own.items() >= key.items())


def verdicts(results) -> dict[str, Verdict]:
    return {claim.sentence: claim.verdict for claim in SMALL.judge(results).claims}


def failing(results) -> set[tuple[str, str, str]]:
    return {
        (cell.table, cell.row, cell.column)
        for cell in SMALL.judge(results).cells
        if cell.verdict is Verdict.FAIL
    }


def test_every_number_comes_out_but_for_two_misprints(results):
    found = SMALL.judge(results)
    assert not failing(results) and len(found.cells) == 41
    printed = [cell for cell in found.cells if not cell.recomputed]
    assert {cell.table for cell in printed} == {"worked example, as the slide prints it"} and len(
        printed
    ) == 12
    assert {(c.row, c.column) for c in found.cells if c.verdict is Verdict.KNOWN} == {
        ("gini", "Im of B's larger part"),
        ("gini", "I(B)"),
    }


@pytest.mark.parametrize(
    ("key", "path", "value", "where"),
    [
        ({"chapter": "impurity"}, ("splits", "entropy", "B", "gain"), 0.316, ("entropy", "I(B)")),
        ({"chapter": "impurity"}, ("splits", "gini", "B", "gain"), 0.172, ("gini", "I(B)")),
        (
            {"chapter": "play_tennis"},
            ("scores", "gain ratio", "outlook"),
            0.15643,
            ("outlook", "gain ratio"),
        ),
        ({"chapter": "play_tennis"}, ("trees", "ID3", "leaves"), 6, ("the tree of ID3", "leaves")),
        ({"chapter": "pruning"}, ("p", "humidity"), 0.0944, ("humidity", "p")),
    ],
)
def test_a_wrong_number_fails(results, key, path, value, where):
    changed = copy.deepcopy(results)
    at = next(result for own, result in changed if own == key)
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    assert where in {(row, column) for _, row, column in failing(changed)}


def test_sentences_are_judged_and_can_fail(results):
    found = verdicts(results)
    early = [
        sentence for sentence in found if sentence.startswith("pre-pruning can stop too early")
    ]
    assert len(early) == 2 and all(found[one] is Verdict.PASS for one in early)
    assert Verdict.OPEN in found.values()  # one data set is no study
    changed = copy.deepcopy(results)
    of(changed, chapter="pruning")["trees"]["play-tennis"]["before: chi-square"][0] = 5
    of(changed, chapter="depth", dataset="iris")["errors"]["0"]["train"][0][5] += 0.5
    assert (
        sum(verdict is Verdict.FAIL for verdict in verdicts(changed).values())
        == sum(v is Verdict.FAIL for v in found.values()) + 2
    )


def test_choices_are_judged_by_hand():
    """Three data sets, two divisions each: what decides each sentence, and its contrary."""
    names, key = ("iris", "wine", "wdbc"), {"chapter": "choices", "seeds": 2}
    gaps = dict.fromkeys(lecture_choices.STRATEGIES, 0.2) | {"complete": 0.1, "guess": 0.5}
    tree = {"whole": [20, 0.2], "chosen": [5, 0.1], "readings": [[[5, 0.1], [5, 0.1]]]}
    level = {
        "attributes": [1, 1],
        "by_level": {"a": 0.75, "b": 0.25},
        "told": {"a": 0.75, "b": 0.25},
    }

    def judged(predicate: list, **found: dict) -> dict[str, Verdict]:
        own = [
            ({**key, "about": about, "dataset": name}, [one, one])
            for about, one in found.items()
            for name in names
        ]
        return verdicts([({**key, "predicate": "ball"}, [predicate] * 2), *own])

    right = judged([0.0, 0.1, 9], gaps=gaps, complexity=tree, levels=level)
    assert len(right) == 9 and set(right.values()) == {Verdict.PASS}
    tree = {**tree, "chosen": [5, 0.3], "readings": [[[5, 0.1], [7, 0.1]]]}
    level = {**level, "attributes": [1, 2], "told": {"a": 0.7, "b": 0.3}}
    assert set(
        judged([0.2, 0.1, 9], gaps={**gaps, "guess": 0.1}, complexity=tree, levels=level).values()
    ) == {Verdict.FAIL}


def test_every_figure_of_the_slides_is_drawn(results):
    drawn = SMALL.judge(results).pictures
    trees = {
        "play_tennis_tree",
        "cart_classification_tree",
        "cart_regression_tree",
        "oblivious_tree",
        "fuzzy_tree",
    }
    assert {
        f"figure_{name}"
        for name in trees
        | {"impurities", "cart", "roc", "precision_recall", "pareto", "fuzzy_shares"}
    } <= set(drawn)
    assert all(drawn[f"figure_{name}"].startswith("<svg") for name in trees)
    assert "oblivious_tree.txt" in SMALL.judge(results).tables
    assert {key["chapter"] for key, _ in results} == set(CHAPTERS) and len(
        lecture_figures.FIGURES
    ) == 6


def test_every_border_in_the_plane_is_a_test(services):
    iris = services.component("dataset", "iris").load(0)
    petals = Table(
        "petals", tuple(iris.column(name) for name in lecture_figures.PETALS), iris.target
    )
    tree = run(services, petals, "cart").tree
    ends = list(lecture_figures.borders(tree, 0, [(0.0, 9.0), (0.0, 9.0)]))
    cuts = [
        (lecture_figures.PETALS.index(rule.columns[0]), rule.threshold)
        for rule in map(tree.rule, np.flatnonzero(~tree.is_leaf))
    ]
    assert sorted((int(y[0] == y[1]), x[0] if x[0] == x[1] else y[0]) for x, y in ends) == sorted(
        cuts
    )


@pytest.mark.parametrize("dataset", ["iris", "diabetes"])
def test_noise_changes_about_its_share_and_no_more(services, dataset):
    table = services.component("dataset", dataset).load(0)
    label = "codes" if dataset == "iris" else "values"
    noisy = [with_noise(table, "label", 0.3, np.random.default_rng(s)) for s in range(20)]
    apart = np.mean([getattr(one.target, label) != getattr(table.target, label) for one in noisy])
    counts = np.unique(getattr(table.target, label), return_counts=True)[1]
    # another row may have the same number
    false = 0.3 * (1.0 if dataset == "iris" else 1.0 - ((counts / table.n_rows) ** 2).sum())
    assert abs(apart - false) < 4 * (false * (1 - false) / (20 * table.n_rows)) ** 0.5
    assert all(
        np.array_equal(a.values, b.values)
        for a, b in zip(noisy[0].columns, table.columns, strict=True)
    )
    noisy = with_noise(table, "attribute", 0.3, np.random.default_rng(1))
    assert np.array_equal(getattr(noisy.target, label), getattr(table.target, label))
    assert all(
        set(a.values.tolist()) <= set(b.values.tolist())
        for a, b in zip(noisy.columns, table.columns, strict=True)
    )
