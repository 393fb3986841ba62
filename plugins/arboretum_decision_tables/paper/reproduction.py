"""``arboretum reproduce decision_tables``: four groups of random tables, sixteen greedy
algorithms, five exact minima.
"""

from collections.abc import Sequence

import attrs

from arboretum.api import Facts, Judgement, Key, Keyed, Piece, Services
from arboretum_decision_tables.paper.published import GROUPS, TABLES_PER_GROUP

CHUNK = 250
"""Tables of one piece: about a second."""
SEEDS = 1_000_000
"""Table seeds that belong to one seed of the command."""
SHAPE = {"n_rows": 50, "n_columns": 10, "n_values": 3, "n_classes": 3}


def table_seed(seed: int, group: int, index: int) -> int:
    """Return the seed of table ``index`` (from 0) of group 1 to 4: ``dataset=random_table seed=…``
    is that very table.
    """
    return seed * SEEDS + (group - 1) * TABLES_PER_GROUP + index


@attrs.frozen
class DecisionTables:
    """Relative differences of sixteen greedy algorithms from the exact minimum, on four groups of
    10,000 random tables.

    A table has 50 rows and 10 attributes; values and decisions are uniform on {0, 1, 2}; equal rows
    become one with their most common decision.  Per table, algorithm and cost: (greedy − minimum) /
    minimum; the mean over a group is a cell of Tables 1 to 4.  Tables with a single decision have
    depth 0, are left out, and counted.

    Every greedy tree is replayed over the rows of its table and measured anew, and so is one
    optimal tree per cost, read off the solved table: it shows that the minimum is reached.  (That
    nothing is lower is what the solver's own tests show, against every tree of thousands of tiny
    tables.)  No greedy tree may cost less than the minimum.
    """

    kind = "reproduction"
    name = "decision_tables"
    paper = (
        "Alkhalid, Chikalov & Moshkov 2011: Decision tree construction using greedy "
        "algorithms and dynamic programming"
    )
    capabilities = ()

    def pieces(self, fraction: float) -> Sequence[Piece]:
        """Chunks of tables, the groups side by side; ``fraction`` of 10,000 tables per group, at
        least one.
        """
        count = max(1, round(fraction * TABLES_PER_GROUP))
        chunks = [(min(CHUNK, count - first), first) for first in range(0, count, CHUNK)]
        return [
            Piece({"group": group, "first": first, "tables": size}, cost=float(size))
            for size, first in sorted(chunks)
            for group in range(1, GROUPS + 1)
        ]

    def warm_up(self, services: Services) -> None:
        """Compile, on one table."""
        self._study(services, range(1))

    def work(self, key: Key, seed: int, services: Services) -> Facts:
        """Study one chunk.

        Returns sums as :func:`~arboretum_decision_tables.paper.study.study_chunk` does.
        """
        first = table_seed(seed, key["group"], key["first"])
        return self._study(services, range(first, first + key["tables"]))

    def _study(self, services: Services, seeds: range) -> Facts:
        from arboretum_decision_tables.paper.study import study_chunk

        return study_chunk(services, services.component("dataset", "random_table", SHAPE), seeds)

    def judge(self, results: Keyed) -> Judgement:
        """Return the tables 1 to 4, their means, Table 5, heat maps; one chapter per group."""
        from arboretum_decision_tables.paper.verdicts import judge

        return judge(results)
