"""A tree as one HTML page to walk in, offline: fold and unfold, look at nodes, follow a row, find
a column; the page itself is ``tree_page.html``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Facts,
    Plain,
    TestRule,
    Tree,
    palette,
    param,
    visible,
)
from arboretum_basics.pages import filled_page, node_arrays, short

UNSEEN = "\0 a value that no row had"
"""A category that no tree knows, by which a test is asked what it does with one."""


@attrs.frozen
class TreePage:
    """One HTML page on which a tree is folded and unfolded, its nodes are looked at, a typed-in row
    is followed and a column is found; needs no network.
    """

    kind = "export"
    name = "page"
    paper = ""
    capabilities = ("classification", "regression", "multiclass", "missing", "prices")
    suffix = ".html"

    title: str = param("Decision tree", "heading of the page")
    unit: str = param("", "of the prices, as in €; without one, prices of 1 are counted as tests")

    alternatives: int = param(
        0,
        "tests listed per node that competed with the one taken, the best first; the run is grown "
        "again for them",
        ge=0,
    )

    def write(self, tree: Tree) -> str:
        """Return the page; what a test of several columns says of a row is asked there."""
        return self.write_explained(tree, {})

    def write_explained(self, tree: Tree, alternatives: Mapping[int, Plain]) -> str:
        """Return the page with what else might have been asked.

        alternatives : node → "tests", a list of (words, score, taken) with the highest score first,
            and "of", the number of all.   Of nodes that are not there nothing is said.
        """
        fuzzy = next((rule.describe() for rule in tree.rules if rule.fuzzy), None)
        data = {
            "title": visible(self.title),
            "unit": visible(self.unit),
            "columns": [_column(tree, number) for number in range(len(tree.columns))],
            "rules": [_rule(tree, rule) for rule in tree.rules],
            "fuzzy": fuzzy and visible(fuzzy),
            "prior": tree.prior,
            "impurity": _known(tree.impurity),
            "score": _known(tree.score),
            "ends": np.flatnonzero(tree.is_end & ~tree.is_leaf).tolist(),
            "alternatives": {str(node): dict(found) for node, found in alternatives.items()},
            "colours": palette.class_colours(tree) if tree.classes else [],
            **node_arrays(tree),
        }
        return filled_page("tree_page.html", data)


def _known(values: np.ndarray) -> list[float | None]:
    """Return numbers for JSON, None for those that are not finite."""
    found: list[float | None] = [None] * len(values)
    finite = np.flatnonzero(np.isfinite(values))
    for at, value in zip(finite.tolist(), short(values[finite]), strict=True):
        found[at] = value
    return found


def _column(tree: Tree, number: int) -> Facts:
    """Return what the page must know of a column: how its values are written."""
    spec = tree.columns[number]
    column: Facts = {"name": visible(spec.name), "key": spec.name, "unit": spec.unit}
    if spec.question:
        column["words"] = visible(spec.question)
    if not spec.is_continuous:
        column["categories"] = [*map(visible, spec.categories)]
        column["keys"] = list(spec.categories)
    return column


def _rule(tree: Tree, rule: TestRule) -> Facts:
    """Return how a value decides a test.

    asks : numbers of its columns.   labels : of its outcomes.   lost : outcome of a missing value.
    edges, outcomes : of a number: outcomes of the cells between the edges.
    outcomes, unseen : of a category: outcomes by category, and of any other.
    A test without ``outcomes`` cannot be read off its columns: the page asks for its outcome.
    """
    places = {spec.name: number for number, spec in enumerate(tree.columns)}
    spec = tree.columns[places[rule.columns[0]]]
    about: Facts = {
        "asks": [places[name] for name in rule.columns],
        "subject": visible(rule.subject),
        "name": visible(rule.describe()),
        "labels": [visible(rule.outcome_label(k)) for k in range(rule.arity)],
    }
    if rule.fuzzy:
        return about
    about["lost"] = rule.outcome_of(dict.fromkeys(rule.columns))
    if len(rule.columns) > 1:
        return about

    def outcome(value: Any) -> int:
        return rule.outcome_of({spec.name: value})

    if not spec.is_continuous:
        about["outcomes"] = [*map(outcome, spec.categories)]
        about["unseen"] = outcome(UNSEEN)
    elif (edges := rule.cuts) is not None:
        inside = [*edges, math.nextafter(edges[-1], math.inf) if edges else 0.0]  # one of each cell
        about["edges"] = list(edges)
        about["outcomes"] = [outcome(float(value)) for value in inside]
    return about
