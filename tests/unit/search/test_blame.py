"""A criterion that misbehaves is named, and a tree cut short says so."""

from __future__ import annotations

import time

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.engine.run import Budget, Request, fingerprint, run
from arboretum.errors import ContractError
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry


@attrs.frozen
class Misbehaves:
    """What it does is the test's choice."""

    kind = "criterion"
    name = "misbehaves"
    paper = ""
    capabilities = ()
    how: str = ""

    def score(self, tables, node):
        if self.how == "raises":
            return 1 / 0
        if self.how == "writes":
            tables.weights[:] = 0
        if self.how == "infinite":
            return np.full(tables.n_tests, np.inf)
        if self.how == "forgets":
            return None
        if self.how == "counts":
            return tables.counts.max(axis=(1, 2))
        if self.how == "halves":
            return tables.mass.max(axis=1).astype(np.float32)
        if self.how == "words":
            return np.array(["a"] * tables.n_tests)
        if self.how == "one":
            return 1.0
        if self.how == "wide":
            return tables.mass
        if self.how == "slow":
            time.sleep(0.2)
        return -tables.mass.max(axis=1)


def request(how: str, **choices) -> Request:
    chosen = {"dataset": "iris", "method": "greedy", "tracker": "none", **choices}
    return Request(attrs.evolve(assemble(load_registry(), chosen), criterion=Misbehaves(how)))


@pytest.mark.parametrize("encoder", ["auto", "multiway"])
@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ("raises", "criterion 'misbehaves': score raised ZeroDivisionError: division by zero"),
        ("writes", "criterion 'misbehaves': score raised ValueError: .*read-only"),
        (
            "forgets",
            r"criterion 'misbehaves': score returned nothing; return float64\[\d+\].*is a "
            r"'return' missing",
        ),
        (
            "counts",
            "criterion 'misbehaves': score must be of dtype float64; got int64: add .astype",
        ),
        (
            "halves",
            "criterion 'misbehaves': score must be of dtype float64; got float32: add .astype",
        ),
        (
            "words",
            "criterion 'misbehaves': score must be of dtype float64; got <U1: return numbers",
        ),
        (
            "one",
            r"criterion 'misbehaves': score must have the shape \[\d+\], one number per "
            r"test; got one float$",
        ),
        (
            "wide",
            r"criterion 'misbehaves': score must have the shape \[\d+\].* got float64\[\d+, "
            r"\d\]: sum over outcomes",
        ),
        ("infinite", "criterion 'misbehaves' scored .* with .inf; return a finite score"),
    ],
)
def test_the_criterion_is_named(encoder, how, complaint):
    with pytest.raises(ContractError, match=complaint):
        run(request(how, encoder=encoder))


@attrs.frozen
class ByColumns(Misbehaves):
    """Scores by its own column, in one of the two forms."""

    rows: bool = True

    def score(self, tables, node):
        return -np.abs(tables.extra[:, 0, 0] - tables.extra[:, 1, 0])


class ThreeArguments(ByColumns):
    def columns(self, node, objects, rows):
        return objects.weight[rows, None] * (1.0 + objects.label[rows, None])


class TwoArguments(ByColumns):
    def columns(self, node, objects):
        assert objects.n_objects == node.count
        return objects.weight[:, None] * (1.0 + objects.label[:, None])


def test_a_criterion_may_ask_for_its_columns_with_the_nodes_objects_or_with_all_of_them():
    given = request("", encoder="onehot")
    trees = [
        run(attrs.evolve(given, parts=attrs.evolve(given.parts, criterion=form()))).tree
        for form in (ThreeArguments, TwoArguments)
    ]
    assert trees[0].to_json() == trees[1].to_json()
    assert trees[0].n_leaves > 3


def test_a_tree_that_the_budget_cut_short_says_so_and_is_what_was_asked_for():
    asked = attrs.evolve(request("slow"), budget=Budget(seconds=0.3))
    whole, cut = run(request("")), run(asked)
    assert not any(
        "cut short" in note for note in whole.notes
    ) and not whole.fingerprint.startswith("unfinished")
    assert cut.tree.n_nodes < whole.tree.n_nodes
    assert any("budget.seconds ran out: the tree is cut short" in note for note in cut.notes)
    assert not cut.solution and cut.fingerprint == fingerprint(asked, cut.data["sha256"])
    assert cut.fingerprint != fingerprint(request("slow"), cut.data["sha256"])


def test_a_deadline_that_has_passed_leaves_one_leaf():
    record = arboretum.run(["dataset=iris", "budget.seconds=1e-9"])
    assert record.tree.n_nodes == 1 and "cut short" in record.notes[0]
