"""Pre-pruning by significance: a node is a leaf where no test is significantly associated with
the class.
"""

from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from arboretum.api import (
    Capability,
    Limits,
    Node,
    Problem,
    Tables,
    Tree,
    param,
)
from arboretum_classic.stopping.kernels import FEW, MOST, SIGNIFICANCE


@attrs.frozen
class ChiSquared:
    """A leaf where no test is significantly associated with the class: χ² of its table, (r −
    1)(c − 1) degrees of freedom.
    """

    kind = "stopping"
    name = "chi2"
    paper = "Quinlan 1986, section 4"
    capabilities = tuple(
        Capability(name)
        for name in (
            "classification",
            "multiclass",
            "weights",
            "missing",
            "prices",
            "multiway",
            "thresholds",
        )
    )

    alpha: float = param(0.05, "p-value up to which a test is significant", ge=0.0, le=1.0)
    small: str = param(
        "plain",
        "plain, yates (continuity correction of two by two tables), exact (Fisher's test "
        "where a cell expects fewer than 5 rows)",
        choices=("plain", "yates", "exact"),
    )
    bonferroni: bool = param(False, "whether p is multiplied by the number of tests that compete")

    def limits(self) -> Limits:
        """Return no limits: the rule looks at the significance of tests alone."""
        return Limits()

    def is_leaf(self, node: Node) -> bool:
        """Return False: only the tests tell, in :meth:`is_leaf_among`."""
        return False

    def significance(self) -> tuple[Callable[..., float], bool]:
        """Return the kernel that says how significant a test is: α/p."""
        return SIGNIFICANCE[self.small], self.bonferroni

    def is_leaf_among(self, tables: Iterator[Tables], node: Node) -> bool:
        """The weights are counted in rows: those of the node share its rows by weight."""
        from arboretum.kernels.function_pointers import address_of
        from arboretum.kernels.scoring import score_tables

        batch = address_of(SIGNIFICANCE[self.small], "criterion")
        own = np.array([self.alpha])
        n = 0
        best = 0.0
        for some in tables:
            weights, scores = some.weights * (node.count / node.mass), np.empty(some.n_tests)
            score_tables(
                weights,
                np.zeros(weights.shape, np.int64),
                np.zeros(len(scores)),
                some.extra,
                batch,
                np.zeros(5),
                own,
                0,
                scores,
            )
            n, best = n + len(scores), max(best, scores.max(initial=0.0))
            if best >= 1.0 and not self.bonferroni:  # the first significant test will do
                break
        return best < (n if self.bonferroni and n else 1.0)

    def notes(self, problem: Problem, tree: Tree) -> Sequence[str]:
        """Return where χ² is a poor approximation whatever is asked: the lesser outcome of a class
        of fewer than 10 rows expects fewer than 5.
        """
        rows = (
            tree.weights * (tree.counts / np.maximum(tree.mass, np.finfo(np.float64).tiny))[:, None]
        )
        mixed = (rows > 0).sum(axis=1) > 1
        poor = int((mixed & (np.where(rows > 0, rows, np.inf).min(axis=1) < 2 * FEW)).sum())
        if not poor:
            return ()
        if self.small == "exact":
            return (
                f"stopping chi2: at {poor} of {int(mixed.sum())} mixed nodes cells expect "
                f"fewer than {FEW:g} rows: exact up to {MOST} tables of the same margins, χ² "
                "above",
            )
        way = "stopping.chi2.small=exact asks Fisher's test"
        return (
            f"stopping chi2: at {poor} of {int(mixed.sum())} mixed nodes cells expect fewer "
            f"than {FEW:g} rows, so that p is approximate; {way}",
        )
