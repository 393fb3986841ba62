"""Growth by levels over a row store: the loop of :mod:`arboretum.engine.search.growth`, whose sums
are asked of the store, for many nodes of a level at once::

    level ← the root
    until it is empty, for some nodes of the level at a time (their tables fit in memory together):
        tables of the smaller children, from the store; those of the largest are what is left
        choose each node's test, as ever
    send the rows of all divided nodes on; level ← their children, by their totals

Nothing else is different: tests, ties, missing values, leaf rules, limits, prices and the tree are
those of the other loop, breadth first.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from arboretum.engine.search.assemble import Grown
from arboretum.engine.search.coded import WIDE, CodedEngine, View, features_without_codes
from arboretum.engine.search.compiled_criterion import CompiledCriterion, component_name
from arboretum.engine.search.contract import Candidate, Cell
from arboretum.engine.search.fit_check import check_parts
from arboretum.engine.search.growth import Growth, Open
from arboretum.engine.search.histograms import Histograms, Where
from arboretum.engine.search.plan import CODED, Plan
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.workspace import Draw, Workspace
from arboretum.errors import CapabilityError, ContractError, sure
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.rows import NodeSplit, NodeTotals, RowStore
from arboretum.kernels import coded as kernels
from arboretum.kernels.block import STATE, BlockMemory
from arboretum.kernels.coded import Allowed
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS

TABLE_BYTES = 1 << 26
"""Tables of open nodes that are fetched, and kept, at a time: 64 MB each."""

TOGETHER = 64
"""Nodes whose tests are scored in one call: their tables are a megabyte or so."""

NO_ROWS = np.zeros(0, np.int32)
Siblings = tuple[Cell | None, list[Open]]
"""The children of a node, and its cell; None above the root."""


class StoredHistograms(Histograms):
    """Counted bins of open nodes, fetched from a row store, many nodes at a time."""

    keep_bytes = TABLE_BYTES

    def __init__(self, workspace: Workspace, where: Where, store: RowStore) -> None:
        super().__init__(workspace, where)
        self._store = store
        features, chosen = workspace.objects.features, where[3]
        offset = np.cumsum([0, *(f.n_bins + f.has_missing for f in features)])
        self._order = np.concatenate([np.arange(offset[f], offset[f + 1]) for f in chosen])
        self._in_order = bool((np.diff(self._order) == 1).all())
        self._fetched: dict[int, tuple[np.ndarray, ...]] = {}
        self._columns: dict[int, np.ndarray] = {}
        self._n_columns = columns_in(store)

    def bytes_per_node(self) -> int:
        """Return how many bytes the tables of a node take."""
        stats = self._space.statistics
        wide = 4 * stats.n_classes if self._integers else 8 * (stats.width + stats.count_width)
        wide += 8 * self._n_columns
        return int(self.where[-1][-1]) * wide

    def fetch(self, siblings: Sequence[Siblings]) -> None:
        """Count some nodes of a level, so that :meth:`tables` knows them; of a family whose
        parent's tables are kept the largest child is not counted.
        """
        self._fetched.clear()
        self._columns.clear()
        wanted = list[int]()
        for parent, items in siblings:
            cells = [item.cell for item in items]
            largest = max(cells, key=lambda cell: cell.size)
            if parent is not None and self.may_subtract(parent, largest):
                wanted += [cell.node for cell in cells if cell is not largest]
            else:
                wanted += [cell.node for cell in cells if cell.wanted]
        if wanted:
            self._take_in(wanted)
        for parent, items in siblings:
            if parent is not None:
                self.split_node(parent, [item.cell for item in items])

    def _take_in(self, nodes: list[int]) -> None:
        """Ask the store for the tables of nodes, and check their form.   nodes : ascending."""
        found, stats = self._store.tables(nodes), self._space.statistics
        bins, units = len(self._order), self._integers
        counts, weights = found.counts, found.weights
        shape = (len(nodes), bins, stats.count_width)
        if counts.shape != shape or (weights is None) != units:
            raise ContractError(
                f"a row store's tables must be counts[{', '.join(map(str, shape))}] and "
                f"{'no weights' if units else 'weights'}; got counts{list(counts.shape)} and "
                f"{'no weights' if weights is None else 'weights'}"
            )
        if self._n_columns:
            columns = sure(found.columns)[:, self._order]
            self._columns.update(zip(nodes, columns, strict=True))
        for k, node in enumerate(nodes):
            own = [counts[k]] if weights is None else [weights[k], counts[k]]
            # copies, so that what is kept does not keep the tables of all others
            self._fetched[node] = tuple(
                part.copy() if self._in_order else part[self._order] for part in own
            )

    def may_subtract(self, cell: Cell, largest: Cell) -> bool:
        """Return whether the largest child of a node will be what its siblings leave; never where a
        criterion has columns of its own, whose sums round.
        """
        return not self._n_columns and super().may_subtract(cell, largest)

    def columns_of(self, cell: Cell) -> np.ndarray:
        """Return float64[bins, k], the criterion's own columns of a node that was fetched."""
        return self._columns[cell.node]

    def tables_of(self, cells: Sequence[Cell]) -> tuple[np.ndarray, np.ndarray]:
        """Return the tables of nodes: float64[nodes, bins, width] weights, of no node where they
        are counts, and integers[nodes, bins, count width] counts.
        """
        kept = []
        for cell in cells:
            if self not in cell.memo:
                self._keep_tables(cell, self._count_node(cell))
            kept.append(cell.memo.get(self) or self._fetched[cell.node])
        counts = np.stack([own[-1] for own in kept])
        weights = np.stack([own[0] for own in kept[: 0 if self._integers else None] or kept[:1]])
        return (weights[:0].astype(np.float64) if self._integers else weights), counts

    def _count_node(self, cell: Cell) -> tuple[np.ndarray, ...]:
        return self._fetched[cell.node]

    def _counts_of(self, kept: np.ndarray) -> np.ndarray:
        return kept.astype(np.int64)

    def _keep_tables(self, cell: Cell, tables: tuple[np.ndarray, ...]) -> None:
        self._fetched[cell.node] = tables  # at hand while its level is scored
        super()._keep_tables(cell, tables)


class StoredEngine(CodedEngine):
    """Coded features whose bins a row store counts."""

    def __init__(self, workspace: Workspace, store: RowStore) -> None:
        super().__init__(workspace)
        self.histograms = StoredHistograms(workspace, sure(self._histograms).where, store)
        self._histograms = self.histograms

    def best_of(
        self, items: Sequence[Open], scorer: CompiledCriterion
    ) -> list[Candidate | None] | None:
        """Return the best test of each of some nodes, in one call of the kernel; None where each
        has a list of its own (prices of its path, columns drawn), or a score is no number, so that
        they are asked one by one.
        """
        space, cells = self._space, [item.cell for item in items]
        same = space.prices.after is None and not space.prices.once_per_column
        same = same and space.limits.max_cost is None and space.draw is None
        if scorer.listing or scorer.has_columns or space.allow_constant or not same:
            return None
        view, block = self._view_of_all, self._block_of_all
        found = np.zeros(len(items), STATE)
        allowed = Allowed(space.least, False, np.zeros(0, np.bool_), view.free)
        nodes = [scorer.at(item.node) for item in items]
        kernels.scan_nodes(
            view.features,
            np.arange(len(self._narrow)),
            self.histograms.tables_of(cells),
            allowed,
            nodes[0],
            (np.stack([one.scalars for one in nodes]), np.array([one.ties.floor for one in nodes])),
            view.bins,
            block,
            found,
        )
        if found["broken"].any() or (found["best"] == np.inf).any():
            return None
        feature, index, side = (found[name].tolist() for name in ("feature", "index", "side"))
        features = self._narrow.tolist()
        return [
            None if f < 0 else self._candidate(features[f], test, to, score)
            for f, test, to, score in zip(feature, index, side, found["best"].tolist(), strict=True)
        ]

    def _candidate(self, feature: int, index: int, side: int, score: float) -> Candidate:
        """Return a test that has won at a node."""
        return Candidate(
            engine=self,
            feature=feature,
            index=index,
            side=side,
            price=float(self._prices[self.test_number(feature, index)]),
            score=score,
            place=(self.position(feature), self.rank, feature, index),
        )

    @cached_property
    def _view_of_all(self) -> View:
        """All features, with memory for the bins of a node."""
        stats, n_bins = self._space.statistics, int(self._offset[-1])
        features = features_without_codes(
            self._family, self._offset, self._missing, self._price_offset, self._prices
        )
        units = stats.unit and not stats.moments
        bins = kernels.bins_for(
            np.zeros((0 if units else n_bins, stats.width)),
            np.zeros((n_bins, stats.count_width), np.int64),
            np.zeros((n_bins, 0)),
        )
        free = np.zeros(len(self._narrow), np.bool_)
        return View(features, bins, free, (), self._narrow)

    @cached_property
    def _block_of_all(self) -> BlockMemory:
        return self._view_of_all.allocate_block(int(self._view_of_all.arity().max()))

    @property
    def in_order(self) -> list[int]:
        """Numbers of the features, in the order of the raw table."""
        found: list[int] = self._narrow.tolist()
        return found

    def prices_and_free(self, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[tests], what each costs at a node, ∞ where its path cannot pay it; and
        bool[features], whose column is paid for.
        """
        return self._prices_at(cell), self._free_features(cell)

    def bins_of(self, cell: Cell, feature: int) -> list[np.ndarray]:
        """Return float64[bins, width] weights and int64[bins, count width] counts of a feature at a
        node, those of missing values last, if it has such.
        """
        at = int(np.flatnonzero(self._narrow == feature)[0])
        own = slice(self._offset[at], self._offset[at + 1])
        return [each[own] for each in self.histograms.tables(cell)]

    def _sum_own_columns(self, cell: Cell) -> np.ndarray:
        if self._space.columns_of_rows:
            return super()._sum_own_columns(cell)
        return self.histograms.columns_of(cell)

    def count_outcomes(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """Return int64[arity]: rows by outcome of the candidate's test."""
        feature = self._features[candidate.feature]
        rows = self.bins_of(cell, candidate.feature)[1].sum(axis=1)
        outcome = feature.family.outcome(candidate.index, np.arange(feature.n_bins))
        found = np.bincount(outcome, rows[: feature.n_bins], feature.arity).astype(np.int64)
        if feature.has_missing:
            found[max(candidate.side, 0)] += rows[feature.n_bins]
        return found

    def split_node(self, cell: Cell, children: list[Cell], start: np.ndarray) -> None:
        """Nothing yet: bins are handed on when the children's level is counted."""


class LevelGrowth(Growth):
    """A growth whose rows lie in a row store.

    store : its root is node 0.
    engine : the only one.
    below : node → numbers of its children.
    """

    store: RowStore
    engine: StoredEngine
    below: dict[int, tuple[int, ...]]
    _known: NodeTotals
    _rows: list[int]
    _place: dict[int, int]
    _ahead: dict[int, Candidate | None]
    _last = 0
    _depth = 0
    together = True
    """Whether tests of many nodes are scored at once."""

    @classmethod
    def over(
        cls,
        problem: Problem,
        context: Context,
        store: RowStore,
        order: str,
        allow_constant: bool = False,
        max_features: int | None = None,
    ) -> LevelGrowth:
        """Prepare a growth over a store: its components are checked and compiled.

        problem : its objects are some of the store's kind; their features are those of all.
        order, allow_constant, max_features : as of :func:`~arboretum.engine.search.grow.grow`.

        Raises CapabilityError, naming the part, for what does not add up over rows.
        """
        objects, parts, limits = problem.objects, problem.parts, problem.parts.limits()
        some = Statistics.of(objects, parts.criterion, parts.impurity)
        scorer = CompiledCriterion.of(
            parts.criterion, parts.impurity, some, context.seed, (), problem.prices.fixed
        )
        stated = ("columns_are_costs", "by_value")
        known = columns_in(store) and any(getattr(scorer.criterion, one, False) for one in stated)
        if scorer.has_columns and not known:
            raise CapabilityError(
                f"criterion {component_name(scorer.criterion)!r} adds up columns of its own, node "
                "by node, which no row store knows; use rows=memory"
            )
        check_parts(problem, scorer, some, allow_constant, max_features is not None)
        space = Workspace.of(objects, problem.prices, some, limits, allow_constant, False)
        space.statistics = Statistics.of_store(store, objects)
        space.columns_of_rows = not scorer.has_columns
        space.min_weight = limits.min_weight(store.total_weight, store.n_rows)
        if max_features is not None:
            columns = sorted({feature.position for feature in objects.all_features})
            space.draw = Draw(max_features, np.array(columns, np.int64), context.seed)
        plan = Plan((CODED,), False, ("rows lie in a store",), ())
        growth = cls(problem, context, space, scorer, plan, limits, total_mass=store.total_weight)
        growth.store, growth.engine, growth.below = store, StoredEngine(space, store), {}
        growth.engines = (growth.engine,)
        growth._take_in([0])
        if (rows := growth._rows[0]) != store.n_rows:
            raise ContractError(
                f"a row store serves one growth, which all rows begin in node 0: {rows} of "
                f"{store.n_rows} are there"
            )
        return growth

    @property
    def n_objects(self) -> int:
        """Rows of the store."""
        return self.store.n_rows

    def run(self, order: str) -> Grown:
        """Grow from the root, level by level; return it with its descendants.

        order : none but breadth is different, where leaves are not counted.
        """
        first = self.evaluate(self.root())
        level: list[Siblings] = [(None, [first])]
        while level:
            divided = list[Open]()
            for some in self._in_batches(level):
                self.engine.histograms.fetch(some)
                for item in self._scored_ahead([item for _, items in some for item in items]):
                    self.report()
                    self.score(item)
                    if item.candidate is None or not self.may_split(item):
                        self.close(item)
                        continue
                    self.leaves += self.n_present(item) - 1
                    divided.append(item)
            level = self._split_level(divided)
            self._depth += 1
        return first.grown

    def _scored_ahead(self, items: list[Open]) -> Iterator[Open]:
        """Yield nodes whose tables are here; the tests of TOGETHER of them are scored at once."""
        for start in range(0, len(items), TOGETHER):
            some = items[start : start + TOGETHER]
            wanted = [item for item in some if item.cell.wanted]
            ask = self.together and wanted and not self.late()
            found = self.engine.best_of(wanted, self.scorer) if ask else None
            self._ahead = {
                item.cell.node: one for item, one in zip(wanted, found or (), strict=False)
            }
            yield from some

    def best_test(self, item: Open) -> Any:
        """Return the test with the highest score; None where no test is admissible."""
        if item.cell.node in self._ahead:
            return self._ahead[item.cell.node]
        return super().best_test(item)

    def _in_batches(self, level: list[Siblings]) -> Iterator[list[Siblings]]:
        """Yield the families of a level, as many together as tables fit in memory."""
        most = max(1, TABLE_BYTES // self.engine.histograms.bytes_per_node())
        batch, n = list[Siblings](), 0
        for family in level:
            if batch and n + len(family[1]) > most:
                yield batch
                batch, n = [], 0
            batch.append(family)
            n += len(family[1])
        yield batch

    def _split_level(self, divided: list[Open]) -> list[Siblings]:
        """Send the rows of all divided nodes on; return the nodes below, family by family."""
        splits = []
        for item in divided:
            feature, index, side, arity = self.chosen_test(item)
            numbers = range(self._last + 1, self._last + 1 + arity)
            self._last = numbers[-1]
            self.below[item.cell.node] = tuple(numbers)
            splits.append(NodeSplit(item.cell.node, feature, index, side, tuple(numbers)))
        if splits:
            self.report(at_once=True)
            self.store.split(splits)
            self._take_in([child for one in splits for child in one.children])
        return [(item.cell, self.split_node(item)) for item in divided]

    def _take_in(self, nodes: list[int]) -> None:
        """Ask the store for the totals of the nodes of a level.   nodes : ascending."""
        self._known = self.store.totals(nodes)
        self._rows = self._known.counts.sum(axis=1).tolist()
        self._place = {node: k for k, node in enumerate(nodes)}

    def split_node(self, item: Open) -> list[Open]:
        """Return the children that have rows; leaves are counted when the test is chosen."""
        leaves = self.leaves
        present = super().split_node(item)
        self.leaves = leaves
        return present

    # -- one node ----------------------------------------------------------------------------------

    def rows_of(self, cell: Cell) -> np.ndarray:
        """No row is here."""
        return NO_ROWS

    def totals(self, cell: Cell) -> tuple[np.ndarray, np.ndarray, float]:
        """Weights and counts of a node as a whole, and its rows, as the store has them."""
        k = self._place[cell.node]
        return self._known.weights[k], self._known.counts[k], self._rows[k]

    def count_objects(self, cell: Cell) -> int:
        """Every row is an object."""
        return cell.size

    def is_pure(self, item: Open) -> bool:
        """Whether one class, or one value, is left."""
        if self.space.statistics.moments:
            k = self._place[item.cell.node]
            return bool(self._known.low[k] == self._known.high[k])
        return bool(np.count_nonzero(item.node.weights) <= 1)

    def n_present(self, item: Open) -> int:
        """How many outcomes of the chosen test some row has."""
        if self.engine.arity(item.cell, item.candidate) == 2 and not self.space.allow_constant:
            return 2  # a test that has rows on one side alone did not compete
        return int(np.count_nonzero(self.engine.count_outcomes(item.cell, item.candidate)))

    def chosen_test(self, item: Open) -> tuple[int, int, int, int]:
        """Return a node's test as a :class:`NodeSplit` has it: feature, index, side; and how many
        nodes are below.
        """
        found = item.candidate
        return found.feature, found.index, found.side, self.engine.arity(item.cell, found)

    def divide(self, cell: Cell, candidate: Candidate) -> np.ndarray:
        """Where the children of a node would begin, were its rows next to each other."""
        return self.starts_below(cell, 0)

    def starts_below(self, cell: Cell, stopped: int) -> np.ndarray:
        """Return int64[outcomes + 1], where the children of a node would begin.

        stopped : rows that are to stay at the node.  Raises ContractError where others did.
        """
        ends = [0, *itertools.accumulate(self._rows[self._place[v]] for v in self.below[cell.node])]
        if ends[-1] != cell.size - stopped:
            stays = f", {stopped} of which stay there" if stopped else ""
            raise ContractError(
                f"a row store sends all rows of a node on: node {cell.node} has {cell.size}{stays}"
                f", and its children {ends[-1]}"
            )
        return np.array(ends, np.int64)

    def _child_cells(
        self, cell: Cell, candidate: Candidate, start: np.ndarray, price: list[float]
    ) -> list[Cell | None]:
        below = super()._child_cells(cell, candidate, start, price)
        for child, number in zip(below, self.below[cell.node], strict=True):
            if child is not None:
                child.node = number
        return below

    def report(self, at_once: bool = False) -> None:
        """Tell progress by level, at most twice a second.   at_once : before a long pass."""
        now = time.monotonic()
        if at_once or now - self.last_report > 0.5:
            self.last_report = now
            self.context.progress(
                self.finished, self.n_objects, f"level {self._depth}: {self.expanded} nodes divided"
            )


def columns_in(store: RowStore) -> int:
    """Return how many columns of the criterion's own a store's tables have."""
    found: int = getattr(store, "n_columns", 0)
    return found


def check_adds_up(problem: Problem, order: str) -> None:
    """Raise CapabilityError, naming the part and the way out, for what does not add up over
    rows.

    order : depth, breadth or best.
    """
    for fault in _find_unfit(problem, order):
        raise CapabilityError(f"{fault}; use rows=memory")
    for feature in problem.objects.features:
        if feature.n_bins > WIDE:
            raise CapabilityError(
                f"column {feature.column!r} has {feature.n_bins} bins, and a row store counts "
                f"{WIDE} at most; ask for fewer"
            )


def find_what_needs_rows(parts: Parts) -> Iterator[str]:
    """Yield which parts of a run look at rows, not at what they add up to."""
    for predicate in parts.predicate:
        yield f"predicate {component_name(predicate)!r} makes its tests at the node, from rows"
    for coverage in parts.coverage:
        yield f"coverage {component_name(coverage)!r} looks at objects"
    if parts.fractional_rows:
        missing = sure(parts.missing)
        name, sent = component_name(missing), {*missing.placements(np.ones(2))}
        if hasattr(missing, "surrogates"):
            yield f"missing {name!r} asks other columns in a test's place, row by row"
        elif MISSING_SPLITS in sent:
            yield f"missing {name!r} sends rows on in shares, which no row store keeps"
        elif not missing.counted and sent != {MISSING_STOPS}:
            yield f"missing {name!r} sends rows on that are in no table"
    impurity = f"impurity {component_name(parts.impurity)!r}"
    if hasattr(parts.impurity, "of_values") or hasattr(parts.impurity, "prefix"):
        yield f"{impurity} looks at the values of a node, not at their sums"
    if hasattr(parts.impurity, "leaf_value"):
        yield f"{impurity} makes a leaf's number of its values, not of their sums"


def _find_unfit(problem: Problem, order: str) -> Iterator[str]:
    """Yield a sentence for each part that looks at rows, or at their order."""
    yield from find_what_needs_rows(problem.parts)
    for raw in problem.objects.raw_features:
        yield (
            f"column {raw.column!r} is raw, and its thresholds are found among rows "
            "(encoder=midpoints codes it)"
        )
    if order != "breadth" and problem.parts.limits().max_leaves is not None:
        yield (
            f"max_leaves is spent {order}-first, and a row store is asked level by level "
            "(method.order=breadth)"
        )
