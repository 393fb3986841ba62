"""Random tables: the five minima of each, sixteen greedy trees, and a check of all of them."""

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    DataError,
    Facts,
    Services,
    VerificationError,
    bulk,
    sure,
)
from arboretum_decision_tables.paper.published import ALGORITHMS, COSTS

MINIMA = ("depth", "total_path_length", "n_nodes", "n_internal", "n_leaves")
"""What :meth:`Minima.of` returns, in this order; average depth is total path length divided by
the number of rows.
"""


class Minima:
    """The five minima of very many small tables: no objects, no graph, a few microseconds of Python
    per table.

    Tables are solved one after the other in the same memory; use one per thread or process.

    small, large : that memory; after a table it holds every subtable with its values, so that trees
        can be read off.
    """

    def __init__(self, nodes: int = 4096) -> None:
        """Allocate memory for tables of so many different subtables; it grows where that is too
        few.
        """
        from arboretum_decision_tables.paper import bulk_kernels

        self._kernels = bulk_kernels
        self.small = bulk_kernels.Rows(
            *(np.zeros(shape, np.uint64) for shape in (64, (64, 64), 64, 64))
        )
        self._allocate(nodes, 1 << 16)

    def _allocate(self, nodes: int, stream: int) -> None:
        """Allocate memory for so many nodes, and so many entries of the stream; what was there is
        lost.
        """
        self._room = nodes, stream
        self.large = self._kernels.Subtables(
            np.zeros(2 * nodes, np.int32),
            np.zeros(nodes, np.uint64),
            np.zeros(nodes, np.int64),
            np.zeros(nodes, np.uint64),
            np.zeros(nodes, np.int64),
            np.zeros(nodes + 1, np.int64),
            stream=np.zeros(stream, np.int64),
            order=np.zeros(nodes, np.int64),
        )

    def of(self, codes: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Return float64[5]: the minima of :data:`MINIMA` over the trees that tell all decisions
        apart; ∞-free and exact.

        codes : uint8[n, m], C order, distinct rows, n ≤ 64.
        label : int64[n].   Every object weighs 1, every test costs 1.
        Raises DataError for a table that is none for this way; solver subtable_dp does those.
        """
        kernels, out = self._kernels, np.empty(5)
        while True:
            found = kernels.five_minima(codes, label, self.small, self.large, out)
            if found == kernels.SOLVED:
                return out
            if found != kernels.NEED_ROOM:
                break
            self._allocate(*(2 * room for room in self._room))
        reason = {
            kernels.NOT_DISTINCT: "two rows have the same values; merge them first",
            kernels.TOO_WIDE: "a row needs more than 64 bits; use solver subtable_dp",
            kernels.TOO_MANY_ROWS: f"{len(codes)} rows are more than 64; use solver subtable_dp",
        }[found]
        raise DataError(f"table of {codes.shape[0]} rows and {codes.shape[1]} attributes: {reason}")


@attrs.frozen(eq=False)
class Studied:
    """What is known of one table: float64[5] minima and float64[16, 5] costs of the greedy
    trees; columns :data:`COSTS`.
    """

    minima: np.ndarray
    greedy: np.ndarray

    @property
    def relative(self) -> np.ndarray:
        """float64[16, 5]: (greedy − minimum) / minimum."""
        return np.asarray((self.greedy - self.minima) / self.minima)


class Study:
    """Studies tables one after the other in the same memory; one per process.

    The greedy algorithms are those of the presets ``max_ent`` … ``w_sum_rt``: their criteria,
    impurities and leaf rules.
    """

    def __init__(self, services: Services, n_values: int, n_columns: int, n_classes: int) -> None:
        """Prepare the greedy algorithms and the solver for tables of so many values, columns and
        classes.
        """
        parts = [services.parts({"method": name.replace("/", "_")}) for name in ALGORITHMS]
        self.judges = bulk.Judges.of(
            [(sure(part.criterion), part.impurity) for part in parts], n_classes
        )
        self.stopping = parts[0].stopping
        self.layout = bulk.multiway_layout([n_values] * n_columns)
        self.n_classes = n_classes
        self.minima = Minima()
        self._start = np.zeros(len(MINIMA) + 1, np.int64)
        self._nodes = np.zeros((5, 5 * 128), np.int32)

    def of(self, codes: np.ndarray, label: np.ndarray) -> Studied:
        """Study a table of several decisions.

        codes : uint8[n, m], distinct rows, n ≤ 64.
        label : uint8[n].
        Raises VerificationError when a tree does not do what was reported of it, or beats a
        minimum.
        """
        objects = bulk.Objects(self.layout, codes, label, self.n_classes)
        forest = bulk.grow_many(objects, self.judges, self.stopping)
        impure = bulk.check(forest, objects)
        minima = self.minima.of(codes, label)
        self.witness(codes, label, minima)
        greedy = forest.measures[:, [bulk.MEASURES.index(name) for name in COSTS.values()]]
        least = minima[[MINIMA.index(name) for name in COSTS.values()]]
        if impure.any():
            name = ALGORITHMS[int(impure.argmax())]
            raise VerificationError(
                f"verification failed: greedy tree {name} has a leaf of two decisions"
            )
        if (greedy < least).any():
            tree, cost = np.argwhere(greedy < least)[0]
            raise VerificationError(
                f"verification failed: greedy tree {ALGORITHMS[tree]} has "
                f"{list(COSTS)[cost]} = {greedy[tree, cost]:g}, "
                f"less than the minimum {least[cost]:g}"
            )
        return Studied(least, greedy)

    def witness(self, codes: np.ndarray, label: np.ndarray, minima: np.ndarray) -> None:
        """Read one optimal tree per cost off the solved table, walk all rows through it, and
        measure it anew.

        codes : uint8[rows, columns]; label : int[rows], of the table that was solved last.
        minima : float64[5], in the order of the bulk solver.
        Raises VerificationError.
        """
        from arboretum.kernels.forest import MEASURES, SOUND, check_forest
        from arboretum_decision_tables.paper.bulk_kernels import optimal_trees

        start, nodes = self._start, self._nodes
        used = optimal_trees(codes, minima, self.minima.small, self.minima.large, start, nodes)
        if used < 0:
            raise VerificationError(
                f"verification failed: the minima {minima.tolist()} are not those of the "
                f"solved table ({used})"
            )
        measures = np.zeros(5, MEASURES)
        wrong = np.empty(5)
        verdict = np.empty(5, np.int64)
        features = bulk.with_values(self.layout, codes)
        check_forest(
            features,
            label,
            np.ones(len(label)),
            False,
            start,
            nodes[:, :used],
            self.n_classes,
            measures,
            wrong,
            verdict,
        )
        reached = np.array([measures[name][k] for k, name in enumerate(MINIMA)])
        if (verdict != SOUND).any() or wrong.any() or (reached != minima).any():
            raise VerificationError(
                f"verification failed: trees that should cost {minima.tolist()} cost "
                f"{reached.tolist()}"
            )


@lru_cache(maxsize=2)
def study_of(services: Services, n_values: int, n_columns: int, n_classes: int) -> Study:
    """Return the study of this process."""
    return Study(services, n_values, n_columns, n_classes)


def study_chunk(services: Services, dataset: Any, seeds: range) -> Facts:
    """Study the tables of these seeds; plain sums.

    dataset : the component ``random_table``.

    Of the facts are

    tables, single, merged : those studied, those of one decision (left out: their depth is 0), and
        those with equal rows.
    sums : float[5][16], Σ of relative differences.
    products : float[5][136], Σ of their products, lower triangle row by row.
    optimal : int[5][16], how often greedy was optimal.
    minima : float[5], Σ.
    """
    study = study_of(services, dataset.n_values, dataset.n_columns, dataset.n_classes)
    relative, minima, single, merged = [], [], 0, 0
    for seed in seeds:
        codes, decisions = dataset.cells(seed)
        merged += len(codes) < dataset.n_rows
        if (decisions == decisions[0]).all():
            single += 1
            continue
        found = study.of(np.ascontiguousarray(codes, np.uint8), decisions.astype(np.uint8))
        relative.append(found.relative)
        minima.append(found.minima)
    # cost, algorithm, table
    values = np.array(relative).reshape(-1, len(ALGORITHMS), len(COSTS)).transpose(2, 1, 0)
    lower = np.tril_indices(len(ALGORITHMS))
    return {
        "tables": len(relative),
        "single": single,
        "merged": int(merged),
        "sums": values.sum(axis=2).tolist(),
        "products": [np.einsum("ik,jk->ij", x, x)[lower].tolist() for x in values],
        "optimal": (values == 0.0).sum(axis=2).tolist(),
        "minima": np.array(minima).reshape(-1, len(COSTS)).sum(axis=0).tolist(),
    }
