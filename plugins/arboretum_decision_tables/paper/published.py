"""What the paper reports: Tables 1 to 4 and Table 5, as data."""

import json
from functools import lru_cache
from pathlib import Path

import attrs
import numpy as np

TYPES, MEASURES = ("max", "sum", "w_max", "w_sum"), ("ent", "gini", "me", "rt")
ALGORITHMS = tuple(f"{kind}/{measure}" for kind in TYPES for measure in MEASURES)
"""Type of impurity function and measure, in the order of the paper's tables."""

COSTS = {
    "h_av": "total_path_length",
    "h": "depth",
    "L": "n_nodes",
    "L_n": "n_internal",
    "L_t": "n_leaves",
}
"""The paper's cost → complexity.  Average depth is the path length divided by the number of rows,
the same on both sides of a relative difference, so that path lengths will do.
"""

COST_NAMES = ("average depth", "depth", "nodes", "nonterminal nodes", "terminal nodes")
GROUPS = 4
TABLES_PER_GROUP = 10_000


@attrs.frozen(eq=False)
class Published:
    """tables : float64[4, 16, 5], group by :data:`ALGORITHMS` by :data:`COSTS`.

    best : cost → its best two, a set.
    """

    tables: np.ndarray
    best: dict[str, frozenset[str]]


@lru_cache(maxsize=1)
def published() -> Published:
    """Return the numbers as printed."""
    data = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
    order = [data["costs"].index(cost) for cost in COSTS]
    tables = [
        [[data["tables"][str(g + 1)][name][j] for j in order] for name in ALGORITHMS]
        for g in range(GROUPS)
    ]
    return Published(np.array(tables), {cost: frozenset(data["table_5"][cost]) for cost in COSTS})
