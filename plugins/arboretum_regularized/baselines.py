"""The baselines that look at neither impurity nor coverage: the most even test (BAL), and unlike pairs told apart (IP)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.api import Capability, Node, Tables, param
from arboretum_regularized.criteria import CLASSES, PAPER, paid


class Weighting(enum.IntEnum):
    """Whether the pairs of a branch are weighted by its share of the weight; ``node.params[1]``."""

    paper = 0
    authors = 1


@attrs.frozen
class Balance:
    """The most even division: minus (max p(S_v) − min p(S_v)) over the outcomes that have objects (BAL).

    Looks at neither classes nor prices.
    """

    kind: ClassVar[str] = "criterion"
    name: ClassVar[str] = "balance"
    paper: ClassVar[str] = f"{PAPER}, section 6 (BAL)"
    capabilities: ClassVar[tuple] = (*CLASSES, Capability.additive)

    def kernel(self, impurity: Any) -> Callable:
        from arboretum_regularized.kernels import balance

        return balance

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """float64[tests], ≤ 0; see the class."""
        return self.terms(tables, node)["score"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Share of the heaviest and of the lightest outcome with objects; their difference, negative."""
        mass = tables.mass / node.total_mass
        most, least = mass.max(axis=-1), np.where(mass > 0, mass, np.inf).min(axis=-1)
        return {"most": most, "least": least, "score": least - most}


@attrs.frozen
class ImpurePairs:
    """Pairs of objects of different classes that a test tells apart: φ(S) − Σ φ(S_v) (IP); every object counts once.

    ``weighting=authors``: p(S) φ(S) − Σ p(S_v) φ(S_v), as the authors' program has it.
    """

    kind: ClassVar[str] = "criterion"
    name: ClassVar[str] = "impure_pairs"
    paper: ClassVar[str] = f"{PAPER}, section 6 (IP)"
    capabilities: ClassVar[tuple] = (*CLASSES, Capability.prices)
    counts_objects: ClassVar[bool] = True

    per_price: bool = param(True, "divide by the price of the test")
    weighting: Weighting = param(
        Weighting.paper, "pairs of an outcome as they are (paper), or times its share of the weight (authors)"
    )

    @property
    def divides_by_price(self) -> bool:
        return self.per_price

    def kernel(self, impurity: Any) -> Callable:
        from arboretum_regularized.kernels import impure_pairs

        return impure_pairs

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """float64[tests]; see the class."""
        return self.terms(tables, node)["score"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Pairs before and after, and the score."""
        before, after = _pairs(tables.counts.sum(axis=1)), _pairs(tables.counts)
        if self.weighting is Weighting.authors:
            before, after = before * (node.mass / node.total_mass), after * (tables.mass / node.total_mass)
        told_apart = before - after.sum(axis=-1)
        score = told_apart / paid(tables, self.name) if self.per_price else told_apart
        return {"before": before, "after": after.sum(axis=-1), "score": score}


def _pairs(counts: np.ndarray) -> np.ndarray:
    """φ over the last axis: int64[…, classes] → float64[…]."""
    n = counts.astype(np.float64)
    return (n.sum(axis=-1) ** 2 - (n * n).sum(axis=-1)) / 2


BASELINES = [Balance, ImpurePairs]
