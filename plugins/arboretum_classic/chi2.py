"""Pre-pruning by significance: a node is a leaf where no test is significantly associated with the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.api import Capability, Limits, Node, Tables, Tree, param

CLOSE = 1e-7  # relative: tables whose probabilities differ by less are equally probable, as in R's fisher.test
FEW = 5.0  # expected rows of a cell below which χ² is a poor approximation (Cochran 1954)


@attrs.frozen
class ChiSquared:
    """A leaf where no test is significantly associated with the class: χ² of its table, (r − 1)(c − 1) degrees of freedom."""

    kind: ClassVar[str] = "stopping"
    name: ClassVar[str] = "chi2"
    paper: ClassVar[str] = "Quinlan 1986, section 4"
    capabilities: ClassVar[tuple] = tuple(Capability(name) for name in ("classification", "multiclass", "weights", "missing", "prices", "multiway", "thresholds"))

    alpha: float = param(0.05, "p-value up to which a test is significant", ge=0.0, le=1.0)
    small: str = param(
        "plain", "two by two tables: plain, yates (continuity correction), exact (Fisher's test where a cell expects fewer than 5 rows)",
        choices=("plain", "yates", "exact"),
    )  # fmt: skip
    bonferroni: bool = param(False, "whether p is multiplied by the number of tests that compete")

    def limits(self) -> Limits:
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        return False

    def is_leaf_among(self, tables: Iterator[Tables], node: Node) -> bool:
        """Weights are counted in rows: those of the node share its rows by weight."""
        rows = node.count / node.mass
        if not self.bonferroni:  # the first significant test will do
            return all(least_p(some.weights * rows, self.small) > self.alpha for some in tables)
        found = [(some.n_tests, least_p(some.weights * rows, self.small)) for some in tables]
        return min((p for _, p in found), default=1.0) * sum(n for n, _ in found) > self.alpha

    def notes(self, problem: Any, tree: Tree) -> Sequence[str]:
        """Where χ² is a poor approximation whatever is asked: the lesser outcome of a class of fewer than 10 rows expects fewer than 5."""
        rows = tree.weights * (tree.counts / np.maximum(tree.mass, np.finfo(np.float64).tiny))[:, None]
        mixed = (rows > 0).sum(axis=1) > 1
        poor = int((mixed & (np.where(rows > 0, rows, np.inf).min(axis=1) < 2 * FEW)).sum())
        if self.small == "exact" or not poor:
            return ()
        way = "stopping.chi2.small=exact asks Fisher's test of two by two tables"
        return (f"stopping chi2: at {poor} of {int(mixed.sum())} mixed nodes cells expect fewer than {FEW:g} rows, so that p is approximate; {way}",)


def least_p(tables: np.ndarray, small: str) -> float:
    """The least p-value of some tables (float64[tests, outcomes, classes], in rows); 1 without any."""
    from scipy.special import chdtrc

    by_outcome, by_class = tables.sum(axis=2), tables.sum(axis=1)
    total = by_class.sum(axis=1)
    expected = by_outcome[:, :, None] * by_class[:, None, :] / np.maximum(total, 1e-300)[:, None, None]
    there = expected > 0
    free = ((by_outcome > 0).sum(axis=1) - 1) * ((by_class > 0).sum(axis=1) - 1)
    apart = np.abs(tables - expected)
    if small == "yates":
        apart = np.where((free == 1)[:, None, None], np.maximum(apart - 0.5, 0.0), apart)
    statistic = np.where(there, apart**2 / np.where(there, expected, 1.0), 0.0).sum(axis=(1, 2))
    exact = (free == 1) & (small == "exact") & (np.where(there, expected, np.inf).min(axis=(1, 2), initial=np.inf) < FEW)
    least = min((fisher(tables[k]) for k in np.flatnonzero(exact)), default=1.0)
    for degrees in np.unique(free[(free > 0) & ~exact]):
        least = min(least, float(chdtrc(degrees, statistic[(free == degrees) & ~exact].max())))
    return least


def fisher(table: np.ndarray) -> float:
    """Fisher's exact test, two-sided, of a table in which two outcomes have rows, of two classes: what is no more probable than it."""
    from scipy.special import gammaln

    cells = np.rint(table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0])
    (first, second), column, n = cells.sum(axis=1), cells[:, 0].sum(), cells.sum()
    k = np.arange(max(0.0, column - second), min(first, column) + 1.0)

    def ways(of: float, some: np.ndarray | float) -> np.ndarray:
        """The logarithm of the binomial coefficient."""
        return gammaln(of + 1.0) - gammaln(some + 1.0) - gammaln(of - some + 1.0)

    probability = np.exp(ways(first, k) + ways(second, column - k) - ways(n, column))
    return float(min(1.0, probability[probability <= probability[k == cells[0, 0]] * (1.0 + CLOSE)].sum()))
