"""Pre-pruning by significance: a node is a leaf where no test is significantly associated with the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arboretum.api import Capability, Limits, Node, Tables, Tree, param

CLOSE = 1e-7  # relative: tables whose probabilities differ by less are equally probable, as in R's fisher.test
MOST = 1 << 16  # tables with the same margins up to which the exact test lists them
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
        "plain", "plain, yates (continuity correction of two by two tables), exact (Fisher's test where a cell expects fewer than 5 rows)",
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
        if not poor:
            return ()
        if self.small == "exact":
            return (f"stopping chi2: at {poor} of {int(mixed.sum())} mixed nodes cells expect fewer than {FEW:g} rows: exact up to {MOST} tables of the same margins, χ² above",)
        way = "stopping.chi2.small=exact asks Fisher's test"
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
    exact = (free > 0) & (small == "exact") & (np.where(there, expected, np.inf).min(axis=(1, 2), initial=np.inf) < FEW)
    least = 1.0
    for k in np.flatnonzero(exact):
        p = fisher(tables[k])
        least, exact[k] = (min(least, p), True) if p == p else (least, False)  # NaN differs from itself
    for degrees in np.unique(free[(free > 0) & ~exact]):
        least = min(least, float(chdtrc(degrees, statistic[(free == degrees) & ~exact].max())))
    return least


def fisher(table: np.ndarray) -> float:
    """Fisher's exact test of a table, as of Freeman and Halton for more than two by two: how probable are those of its margins that are
    no more probable than it; NaN where they are more than ``MOST``.  They are listed cell by cell, the last column and row having the rest."""
    from scipy.special import gammaln

    cells = np.rint(table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]).astype(np.int64)
    cells = cells[:, np.argsort(cells.sum(axis=0), kind="stable")]
    left, weight = cells.sum(axis=1)[None], np.zeros(1)  # of each: int64[n, outcomes], rows that columns to come may have; −Σ log cell!
    for column in cells.T[:-1]:
        rest = np.full(len(left), column.sum())
        for outcome in range(len(cells)):
            least = np.maximum(rest - left[:, outcome + 1 :].sum(axis=1), 0)
            ways = np.minimum(left[:, outcome], rest) - least + 1
            if ways.sum() > MOST:
                return np.nan
            who = np.repeat(np.arange(len(left)), ways)
            cell = np.arange(len(who)) - np.repeat(np.cumsum(ways) - ways, ways) + least[who]
            left, rest, weight = left[who], rest[who] - cell, weight[who] - gammaln(cell + 1.0)
            left[:, outcome] -= cell
    weight = weight - gammaln(left + 1.0).sum(axis=1)
    probability = np.exp(weight - weight.max())
    own = np.exp(-gammaln(cells + 1.0).sum() - weight.max())
    return float(probability[probability <= own * (1.0 + CLOSE)].sum() / probability.sum())
