"""Contract: what becomes of a row without a value?"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.rules import TestRule

BETTER_SIDE = "better_side"
"""The rule of the growth kernels: a two-way test tries such rows in either outcome, a multiway
test has them in its heaviest.
"""

SHARED = ("splits", "heaviest", "own_outcome", "left_out", "stops")
"""The rules of the kernel that grows by shares, in its order: MISSING_SPLITS; the heaviest outcome;
an outcome of their own; no test with such rows; MISSING_STOPS.
"""


class Missing(Component, Protocol):
    """What becomes of rows without the value that a test asks for, while tests compete at a node
    and below the one chosen.

    counted : such rows are in the tables that compete, in the outcome where they are placed; else
        in none, and a criterion sees the rows with a value as the node, at the same share of the
        root.
    discounted : a score is multiplied by the share of the node's weight whose value is known (C4.5,
        rpart).
    left_out (optional) : a test does not compete at a node where a row lacks its value.
    kernel : the rule of a kernel that it is: BETTER_SIDE, or by shares one of SHARED; "" where
        growth has to ask it node by node.

    ``encoder.missing`` is for columns that are coded before growth; asking for both is refused.
    """

    @property
    def counted(self) -> bool:
        """Whether such rows are in the tables that compete."""

    @property
    def discounted(self) -> bool:
        """Whether scores are multiplied by the share that is known."""

    @property
    def kernel(self) -> str:
        """The rule of a kernel that it is; "" for none."""

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Return where such rows may go, of a test with the weights ``known`` (float64[n outcomes])
        of the rows with a value (not ``counted``: their own, whatever an objective makes of it).

        An outcome; n: one of their own (``TestRule.with_missing``; a test without that form does
        not compete); MISSING_STOPS; MISSING_SPLITS.  Each is scored, the best is kept, the first of
        equals; where ``counted`` is False there is one. Where no row of a node lacks a value, later
        ones follow the heaviest of these outcomes, else the first placement.
        """


class MissingSurrogates(Protocol):
    """Optional: tests that stand in for the chosen one, asked of rows without a value before
    ``placements`` holds.
    """

    def surrogates(
        self,
        rule: TestRule,
        others: Sequence[TestRule],
        objects: Encoded,
        rows: np.ndarray,
        weight: np.ndarray,
    ) -> Sequence[tuple[TestRule, tuple[int, ...]]]:
        """Return (test, the outcome of ``rule`` that each of its outcomes stands for, or −1), in
        the order in which they are asked.

        rows : int64[k], rows of ``objects.table`` at the node, with their weight there
            (float64[k]).
        others : the fixed tests.
        """
