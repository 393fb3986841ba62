"""The criterion of C4.5 (Quinlan 1993, chapter 2; Quinlan 1996 for the correction of cuts), in
NumPy: the slow truth of ``c45/kernels.py``.

At a node of weight W (rows without a value included), for a test whose outcomes weigh W_v and hold
the known weight K = Σ W_v:

    gain = (K/W) · [H(known) − Σ_v W_v/K · H(v)],    split info = H(W_1/W, …, (W − K)/W),    ratio =
    gain / split info    (bits).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import attrs
import numpy as np

from arboretum.api import (
    Node,
    Tables,
    param,
    sure,
)
from arboretum_classic.criteria.impurities import Entropy

TOLERANCE = 1e-6  # weights, gains and ratios that differ by less are equal (Weka's Utils)
SLACK = 1e-3  # a gain may lie so much below the average; release 8's Epsilon
MOST_OBJECTS = 25.0  # what a cut asks for on either side, however many rows there are


class Rule(NamedTuple):
    """The fields of :class:`C45`, as kernels read them."""

    min_objects: float
    scaled: bool
    mdl: bool
    average_gain: bool
    zero_gain: bool


def first_best(values: np.ndarray, floor: float) -> int:
    """Return the position of the best of ``values``, float64[k], above ``floor``, −1 without any;
    one that is better by less than TOLERANCE is not better.
    """
    best = -1
    for i, value in enumerate(values.tolist()):
        if value - floor > TOLERANCE:
            best, floor = i, value
    return best


@attrs.frozen
class C45:
    """Gain ratio among the tests whose gain is at least the average, cuts of a number charged for
    their choice.

    Of each column the best test competes: the cut with the most gain, in which log2(cuts)/W is then
    deducted (``mdl``).  Columns without gain are out; so are those whose gain is below the mean of
    all (less 0.001), a mean that leaves out nominal columns of many values. The best ratio wins;
    ties go to the first column and the first cut, and numbers that differ by less than 1e-6 are
    ties, as in J48.
    """

    kind = "criterion"
    name = "c45"
    paper = "Quinlan 1993, section 2.2; Quinlan 1996: Improved use of continuous attributes in C4.5"
    capabilities = (
        "classification",
        "multiclass",
        "weights",
        "missing",
        "multiway",
        "thresholds",
    )
    own_unit = True
    weighs_branches = True

    min_objects: float = param(2.0, "least weight of two of a test's branches (J48's -M)", gt=0.0)
    scaled: bool = param(
        True,
        "cuts of numbers ask for a tenth of the known weight per class on either side "
        "instead, 25 at most",
    )
    mdl: bool = param(
        True, "deduct log2(cuts)/weight from the gain of a cut (release 8; J48's -J leaves it out)"
    )
    average_gain: bool = param(True, "tests below the average gain do not compete")
    many_values: float = param(
        0.3,
        "nominal columns with so many values, as share of the training weight, are left out "
        "of the average; inf: none",
        gt=0.0,
    )
    zero_gain: bool = param(
        False, "a nominal test without gain may still divide a node (C4.5); J48 makes it a leaf"
    )

    @property
    def rule(self) -> Rule:
        """The fields as kernels read them."""
        return Rule(self.min_objects, self.scaled, self.mdl, self.average_gain, self.zero_gain)

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: the ratio of each test by itself, before cuts are charged; −inf
        without gain or with too light branches.
        """
        terms = self.terms(tables, node)
        split, gain = terms["split_info"], terms["gain"]
        competes = (
            (terms["enough"] > 0)
            & (split * node.mass >= TOLERANCE)
            & (gain >= (0.0 if self.zero_gain else TOLERANCE))
        )
        return np.asarray(np.divide(gain, split, out=np.full(len(split), -np.inf), where=competes))

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the gain and split information in bits, and what :meth:`finalise_scores` asks of
        each test: its column, whether that is a number and whether it counts in the average gain (1
        or 0), and whether two branches are heavy enough.
        """
        branches, n = tables.mass, tables.n_tests
        known = branches.sum(axis=1)
        lost = np.where(node.mass - known < TOLERANCE, 0.0, node.mass - known)
        bits = Entropy().value
        within = (branches * bits(tables.weights)).sum(axis=1)
        gain = (known * bits(tables.weights.sum(axis=1)) - within) / node.mass
        gain = np.where(np.abs(gain * known) < TOLERANCE, 0.0, gain)
        # tests that a predicate made stand for themselves
        column = -1 - tables.test if tables.column is None else tables.column
        levels = (
            np.zeros(n, np.int64) if tables.column is None else sure(tables.levels)[tables.column]
        )
        counts = (
            self.in_average(sure(tables.levels), node.total_mass)[tables.column]
            if tables.column is not None
            else np.ones(n, np.bool_)
        )
        share = known / (10.0 * tables.weights.shape[-1])
        scaled = (levels == 0) & self.scaled & (share - self.min_objects >= TOLERANCE)
        least = np.where(scaled, np.minimum(share, MOST_OBJECTS), self.min_objects)
        return {
            "gain": gain,
            "split_info": bits(np.column_stack([branches, lost])),
            "column": column.astype(float),
            "number": (levels == 0).astype(float),
            "in_average": counts.astype(float),
            "enough": (np.partition(branches, -2, axis=1)[:, -2] > least - TOLERANCE).astype(
                np.float64
            ),
        }

    def in_average(self, levels: np.ndarray, total_mass: float) -> np.ndarray:
        """Return bool[columns]: whether the gain of each counts in the average: not that of many
        values, unless all have so many, constant ones included.

        levels : of ``Tables``.
        total_mass : weight of the training rows.
        """
        few = levels < self.many_values * total_mass - TOLERANCE
        return few | (not few.any())

    def finalise_scores(
        self, scores: np.ndarray, terms: Mapping[str, np.ndarray], node: Node
    ) -> np.ndarray:
        """Return float64[tests]: the ratio of the tests that compete, −inf for the others; none
        above the first of the best.

        terms : of all tests of the node, as :meth:`terms` names them; ``scores`` are not read.
        """
        gain, split = terms["gain"], terms["split_info"]
        ratio = np.divide(
            gain, split, out=np.zeros(len(gain)), where=split * node.mass >= TOLERANCE
        )
        found: list[tuple[int, float]] = []  # (test, its gain less the charge), of each column
        for column in np.unique(np.abs(terms["column"])) * (
            -1.0 if (terms["column"] < 0).any() else 1.0
        ):
            tests = np.flatnonzero((terms["column"] == column) & (terms["enough"] > 0))
            number = len(tests) > 0 and terms["number"][tests[0]] > 0
            best = (
                first_best(gain[tests] if number else ratio[tests], 0.0)
                if len(tests) > 1 or number
                else len(tests) - 1
            )
            if best >= 0 and number:
                found += self._charged(
                    int(tests[best]), float(gain[tests[best]]), len(tests), node.mass
                )
            elif len(tests) and not number:
                found.append((int(tests[max(best, 0)]), float(gain[tests[max(best, 0)]])))
        return self._filter_by_average_gain(found, split, terms["in_average"], node.mass)

    def _charged(self, test: int, gain: float, cuts: int, mass: float) -> list[tuple[int, float]]:
        """Return the best cut of a number with what is left of its gain, if anything is."""
        left = gain - (math.log2(cuts) / mass if self.mdl else 0.0)
        return [(test, left)] if left >= TOLERANCE else []

    def _filter_by_average_gain(
        self, found: list[tuple[int, float]], split: np.ndarray, in_average: np.ndarray, mass: float
    ) -> np.ndarray:
        """Return float64[tests]: the ratio of those that pass the average-gain filter, at most that
        of the first of the best, −inf for all others.

        found : (test, its gain less the charge), of each column.
        split : float64[tests], split information in bits.
        in_average : float64[tests], 1 where the gain counts in the average.
        mass : weight of the node.
        """
        result = np.full(len(split), -np.inf)
        averaged = [gain for test, gain in found if in_average[test]]
        if not averaged:
            return result
        least = sum(averaged) / len(averaged) - SLACK if self.average_gain else -np.inf
        floor, trivial = (-SLACK, SLACK) if self.zero_gain else (0.0, TOLERANCE / mass)
        passing = [
            (test, gain / split[test])
            for test, gain in found
            if gain >= least and split[test] >= trivial
        ]
        best = first_best(np.array([ratio for _, ratio in passing]), floor)
        for test, ratio in passing if best >= 0 else ():
            result[test] = min(ratio, passing[best][1])
        return result


@attrs.frozen
class C45Release8(C45):
    """``c45`` as Quinlan's program has it: a nominal test without gain may still divide a node,
    so that exclusive-or is learnt.
    """

    name = "c45_release8"
    zero_gain: bool = param(
        True, "a nominal test without gain may still divide a node (C4.5); J48 makes it a leaf"
    )


@attrs.frozen
class C45Textbook(C45):
    """``c45`` without the charge for cuts, the tenth of the weight that a cut asks for, and the
    exception for columns of many values.
    """

    name = "c45_textbook"
    paper = "Quinlan 1993, section 2.2"
    scaled: bool = param(
        False,
        "cuts of numbers ask for a tenth of the known weight per class on either side "
        "instead, 25 at most",
    )
    mdl: bool = param(
        False, "deduct log2(cuts)/weight from the gain of a cut (release 8; J48's -J leaves it out)"
    )
    many_values: float = param(
        math.inf,
        "nominal columns with so many values, as share of the training weight, are left out "
        "of the average; inf: none",
        gt=0.0,
    )
