"""Conformance of comparisons: which of several methods differ?"""

import math
import pickle
import re

import numpy as np
import pytest

from arboretum.api import Capability, DataError, Estimate, Repeats, Section, Terms, charts
from arboretum.interfaces.comparison import ASKS, Comparison
from arboretum.testing.suites.base import ComponentSuite, claims

METHODS = ("one", "another", "a third, with <signs> & more", "fourth")


def sample_repeats(
    n_datasets: int = 8, n_blocks: int = 5, *, gaps: bool = False, ties: bool = False
) -> Repeats:
    """Values of four methods, drawn; the later ones are worse.

    gaps : a method without any result on a data set, others with some missing blocks.
    ties : all values are equal.
    """
    draw = np.random.default_rng(n_datasets)
    values = []
    for d in range(n_datasets):
        found = draw.uniform(0.1, 0.3, (n_blocks, len(METHODS))) + 0.05 * np.arange(len(METHODS))
        found = np.full_like(found, 0.25) if ties else found
        if gaps and d == 1:
            found[:, 3] = math.nan
        if gaps and d == 2:
            found[0, 1] = found[1, 2] = math.nan
        values.append(found)
    return Repeats(
        "test error",
        METHODS,
        [f"set {d}" for d in range(n_datasets)],
        [[f"seed {b}" for b in range(n_blocks)]] * n_datasets,
        values,
        higher_is_better=False,
        test_shares=[0.2] * n_datasets,
    )


class ComparisonSuite(ComponentSuite):
    """Says the same twice, in words, tables and pictures that can be shown, whatever is missing;
    what it cannot judge it refuses in one line.
    """

    kind = "comparison"

    terms = Terms(0.05, 0.01, METHODS[0])

    @staticmethod
    def said(section: Section) -> str:
        """All that a section says, as text that ``==`` compares."""
        tables = [(one.name, one.caption, list(map(dict, one.rows))) for one in section.tables]
        return repr((section.title, section.sentences, tables, section.notes))

    def asked(self, component: Comparison, repeats: Repeats) -> Section | None:
        """What it says; None where it refuses, which is to be in one line."""
        try:
            return component.judge(repeats, self.terms)
        except DataError as error:
            assert str(error).strip() and "\n" not in str(error), "one line that names the rule"
            return None

    def test_it_asks_one_of_the_known_questions(self, component):
        assert component.asks in ASKS, f"asks is one of {', '.join(ASKS)}"

    def test_it_says_the_same_twice_and_changes_nothing(self, component):
        repeats = sample_repeats(12)
        before = [values.copy() for values in repeats.values]
        state = pickle.dumps(np.random.get_state())
        first = component.judge(repeats, self.terms)
        assert pickle.dumps(np.random.get_state()) == state, "NumPy's own state is not to move"
        np.random.seed(1)
        assert self.said(component.judge(repeats, self.terms)) == self.said(first)
        assert all(map(np.array_equal, before, repeats.values))
        seeds = [f.name for f in type(component).__attrs_attrs__ if f.name == "seed"]
        assert bool(seeds) == claims(component, Capability.randomised), (
            "what draws has a field seed and the capability 'randomised'"
        )

    def test_what_it_says_can_be_shown(self, component):
        section = component.judge(sample_repeats(12), self.terms)
        assert section.title and section.sentences
        for listing in section.tables:
            assert re.fullmatch(r"\w+", listing.name) and listing.caption and listing.rows
            for row in listing.rows:
                assert all(
                    cell is None or isinstance(cell, str | float | int | bool | Estimate)
                    for cell in row.values()
                ), "cells are texts, plain numbers, yes or no, estimates, or None"
        for name, chart in section.pictures.items():
            assert re.fullmatch(r"\w+", name) and charts.chart_svg(chart).startswith("<svg")

    @pytest.mark.parametrize("case", ["gaps", "ties", "one set", "one block", "one method"])
    def test_what_is_missing_or_too_little_is_judged_or_refused(self, component, case):
        repeats = {
            "gaps": sample_repeats(12, gaps=True),
            "ties": sample_repeats(12, ties=True),
            "one set": sample_repeats(1),
            "one block": sample_repeats(12, 1),
            "one method": Repeats(
                "test error", METHODS[:1], ["set"], [["seed 1"]], [np.array([[0.1]])]
            ),
        }[case]
        found = self.asked(component, repeats)
        assert found is None or self.said(found) == self.said(component.judge(repeats, self.terms))

    def test_which_way_is_better_turns_what_it_says_around(self, component):
        """Errors and what is right of them, 1 − error, are the same results."""
        errors = sample_repeats(12)
        right = Repeats(
            "test error",
            errors.methods,
            errors.datasets,
            errors.blocks,
            [1.0 - values for values in errors.values],
            higher_is_better=True,
            test_shares=errors.test_shares,
        )
        named = [
            [
                {key: cell for key, cell in row.items() if isinstance(cell, str | bool | None)}
                for listing in component.judge(repeats, self.terms).tables
                for row in listing.rows
            ]
            for repeats in (errors, right)
        ]
        assert named[0] == named[1]
