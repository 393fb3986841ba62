"""Rows in parts as few objects: what verification and measures ask of rows adds up.

Each part walks down the tree, row by row by its raw values.  The rows of a class that rest at a
node are then one object of their summed weight and count (of numbers: two, with the same moments),
or, for what looks at targets and roles themselves, those that agree in them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.engine.distinct_rows import merge_at_nodes
from arboretum.engine.mismatch import at_every_node, fail
from arboretum.engine.progress import Progress
from arboretum.errors import DataError
from arboretum.interfaces.dataset import InParts, Part
from arboretum.interfaces.method import Context
from arboretum.model import walk
from arboretum.model.encoded import Encoded
from arboretum.model.plain import Facts
from arboretum.model.steps import LARGE
from arboretum.model.table import Table, Target
from arboretum.model.tree import Tree
from arboretum.rows.parts import table_in_parts

NO_ROWS = np.zeros(0, np.int64)
Visit = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Roles = Callable[[Table], Mapping[str, np.ndarray]]
NO_SUMS = np.zeros((0, 0))
TRAIN = 0
"""Number of the subset that trains; 1 is that of ``valid``, 2 that of ``test``."""


def _own_roles(table: Table) -> Mapping[str, np.ndarray]:
    return table.roles


@attrs.frozen(eq=False)
class MergeRule:
    """How rows that rest at a node become few objects.

    roles : of a table, what is added up of the roles of its rows.
    by_value : the roles of which, with the target, rows of one object agree; None: rows of a class
        are one object.
    sums : of a table, float64[n, k], what its rows add to the sums of a leaf; None: nothing.
    """

    roles: Roles = _own_roles
    by_value: tuple[str, ...] | None = None
    sums: Callable[[Table], np.ndarray] | None = None


ADDED_UP = MergeRule()


@attrs.frozen(eq=False)
class SplitPart:
    """A part, and which of its rows train and which judge.

    subsets : uint8[rows]; None: all train.
    """

    part: Part
    subsets: np.ndarray | None

    @staticmethod
    def all_of(data: InParts, subsets: np.ndarray | None) -> list[SplitPart]:
        """Those of a data set."""
        return [
            SplitPart(part, None if subsets is None else subsets[start : start + part.n_rows])
            for start, part in data.starts()
        ]


@attrs.frozen(eq=False)
class RestingRows:
    """What rows add up to where they rest, by class; a key is a node and a class.  Where rows are
    merged by value, a key is a row of ``rows``, and ``shown`` are the nodes.

    count : int64[keys], rows.
    moments : float64[keys, 1 or 3], Σ of weights (of weights times target, and its square).
    roles : float64[keys] of each role, Σ of weights times it.
    shown : int64[·], the keys that have a row.   rows : a row of each.
    deviation : Σ of weight times |target − predicted|; NaN for classes, and by value.
    """

    count: np.ndarray
    moments: np.ndarray
    roles: dict[str, np.ndarray]
    shown: np.ndarray
    rows: Table
    deviation: float

    @staticmethod
    def of(tree: Tree, shift: float, table: Table, node: np.ndarray) -> RestingRows:
        """Add them up.

        shift : what numbers are taken less of.   node : int64[n], where each rests.
        """
        weight, width = table.row_weights(), len(tree.classes) or 1
        n, deviation = tree.n_nodes * width, np.nan
        if tree.is_classification:
            key = node * width + table.target.codes
            moments = np.bincount(key, weight, n)[:, None]
        else:
            key, y = node, table.target.values
            deviation = float((weight * np.abs(y - tree.value[node])).sum())
            sums = [np.bincount(key, weight * (y - shift) ** k, n) for k in range(3)]
            moments = np.stack(sums, axis=1)
        first = np.zeros(n, np.int64)
        first[key[::-1]] = np.arange(table.n_rows)[::-1]  # of several rows the last one written
        count = np.bincount(key, minlength=n)
        shown = np.flatnonzero(count)
        roles = {role: np.bincount(key, weight * own, n) for role, own in table.roles.items()}
        return RestingRows(count, moments, roles, shown, table.take(first[shown]), deviation)

    @staticmethod
    def by_value(table: Table, node: np.ndarray, roles: Sequence[str]) -> RestingRows:
        """Merge those that agree in target and roles, too.   node : as of :meth:`of`."""
        rows, shown, count = merge_at_nodes(table, node, np.ones(len(node), np.int64), roles)
        return RestingRows(count, rows.row_weights()[:, None], {}, shown, rows, np.nan)


@attrs.frozen(eq=False)
class VerifiedPart:
    """What a part adds up to, of each subset that has rows in it; and the rows of it that were
    walked in plain Python.

    node, sums : int64[n] and float64[n, k], where each row that trains rests, and what it adds to
        the sums there; of no row where nothing is added.
    """

    subsets: dict[int, RestingRows]
    walked: int
    node: np.ndarray = NO_ROWS
    sums: np.ndarray = NO_SUMS

    @staticmethod
    def of(
        split_part: SplitPart, tree: Tree, shift: float, sample: int, merge_rule: MergeRule
    ) -> VerifiedPart:
        """Let a part walk down the tree.  Raises VerificationError where walks disagree.

        shift : what numbers are taken less of.   sample : rows to walk in plain Python.
        """
        from arboretum.engine.verify import check_sample

        part, table = split_part.part, split_part.part.load()
        places = walk.places(tree, table)
        if len(places.row):
            fail(f"{part.name}: every row rests at one node", int(places.row[0]))
        walked = check_sample(tree, table, places, sample)
        if table.n_rows >= LARGE and not (same := tree.rest(table) == places.whole).all():
            where = f"row {int(same.argmin())} of {part.name}"
            fail(f"{where} comes to rest where the kernel that predicts puts it")
        subsets, found = split_part.subsets, {}
        sums: tuple[np.ndarray, ...] = ()
        for number in [TRAIN] if subsets is None else np.unique(subsets).tolist():
            own, node = table, places.whole
            if subsets is not None:
                rows = np.flatnonzero(subsets == number)
                own, node = table.take(rows), node[rows]
            if number == TRAIN and merge_rule.sums is not None:
                try:
                    sums = node, merge_rule.sums(own)
                except DataError as error:
                    raise DataError(f"{part.name}, of its training rows: {error}") from error
            if merge_rule.by_value is not None:
                found[number] = RestingRows.by_value(own, node, merge_rule.by_value)
            else:
                own = attrs.evolve(own, roles=merge_rule.roles(own))
                found[number] = RestingRows.of(tree, shift, own, node)
        return VerifiedPart(found, walked, *sums)


@attrs.frozen(eq=False)
class MergedRows:
    """All rows as few objects: those of a class that rest at a node are one.

    objects : those that train, with a table of their own, whose rows are rows of the data set, one
        for each.
    tables : of the rows that train, of ``valid``, of ``test``; of none where there are none.
    sizes : rows of the data set in each.
    walked : rows that were walked in plain Python.
    deviations : of each, Σ of weight times |target − predicted|; NaN for classes, and by value.
    leaf_sums : float64[nodes, k], what the rows that train add up to where they rest, in the order
        of rows; None where nothing is added up.
    """

    objects: Encoded
    tables: list[Table]
    sizes: list[int]
    walked: int
    deviations: list[float]
    leaf_sums: np.ndarray | None = None

    @staticmethod
    def of(
        tree: Tree,
        data: InParts,
        few: Encoded,
        shift: float,
        report: Progress = Context().progress,
        subsets: np.ndarray | None = None,
        visit: Visit = map,
        merge_rule: MergeRule = ADDED_UP,
    ) -> MergedRows:
        """Let all parts walk down the tree.  Raises VerificationError where walks disagree.

        few : of the features of all.   shift : what numbers are taken less of.
        visit : as of ``Opened``.
        subsets : uint8[rows], which train and which judge; None: all train.
        """
        from arboretum.engine.verify import ROWS_IN_PYTHON, check_structure

        tree, n = check_structure(tree), len(data.parts)
        sums: list[_Sums] = [
            _Sums(tree, shift)
            if merge_rule.by_value is None
            else _SumsByValue(tree, shift, merge_rule.by_value)
            for _ in range(3)
        ]
        at_nodes: np.ndarray | None = None
        sample = max(1, ROWS_IN_PYTHON // n)
        verified = functools.partial(
            VerifiedPart.of, tree=tree, shift=shift, sample=sample, merge_rule=merge_rule
        )
        found = visit(verified, SplitPart.all_of(data, subsets))
        walked = 0
        report(0, n, "verifying")
        for k, (part, own) in enumerate(zip(data.parts, found, strict=True)):
            report(k + 1, n, f"verifying; {part.name} is done")
            if (rows := sum(int(one.count.sum()) for one in own.subsets.values())) != part.n_rows:
                fail(f"{part.name}: all of its {part.n_rows} rows come to rest", rows)
            for number, resting in own.subsets.items():
                sums[number].take_in(resting)
            walked += own.walked
            if len(own.node):
                if at_nodes is None:
                    at_nodes = np.zeros((tree.n_nodes, own.sums.shape[1]))
                for k in range(own.sums.shape[1]):  # row by row, as sums of all at once are
                    np.add.at(at_nodes[:, k], own.node, own.sums[:, k])
        trained, *judged = sums
        objects = trained.objects(few)
        none = attrs.evolve(objects.table.take(NO_ROWS), notes=data.schema.notes)
        judging = [one.rows(data.schema.notes)[0] if one.n else none for one in judged]
        return MergedRows(
            objects,
            [objects.table, *judging],
            [one.n for one in sums],
            walked,
            [one.deviation for one in sums],
            at_nodes,
        )

    def further(self) -> dict[str, float]:
        """Metrics that are no matter of these objects: the mean absolute error of numbers, unless
        objects have the targets of their rows.
        """
        named = zip(("train", "valid", "test"), self.tables, self.deviations, strict=True)
        return {
            f"{name}_mae": deviation / float(table.row_weights().sum())
            for name, table, deviation in named
            if not np.isnan(deviation) and table.n_rows
        }


def verify_tree(tree: Tree, data: InParts | Table) -> int:
    """Check a tree that was made elsewhere against the rows that it says it was grown from: all
    walk down by their raw values, some once more in plain Python, and weights, counts, labels and
    means of every node are computed again.  Returns how many rows they are.

    Scores and impurities are not looked at.  Raises VerificationError, naming what disagrees.
    """
    from arboretum.engine.verify import CLOSE, check_tree

    if isinstance(data, Table):
        data = table_in_parts(data, [LARGE] * (data.n_rows // LARGE))
    schema = data.schema
    if not data.n_rows:
        raise DataError(f"{schema.name} has no rows")
    if schema.target.classes != tree.classes:
        fail(f"classes of the data are those of the tree: {tree.classes}", schema.target.classes)
    none = Encoded(
        table=schema,
        features=(),
        codes=np.zeros((0, 0), np.uint8),
        raw_features=(),
        raw=np.zeros((0, 0)),
        label=schema.target.codes,
        y=schema.target.values,
        weight=schema.row_weights(),
        count=NO_ROWS,
        object_of_row=NO_ROWS,
    )
    shift = float(tree.value[0]) if tree.is_regression else 0.0
    found = MergedRows.of(tree, data, none, shift)
    check_tree(tree, found.objects, found.objects.table)
    if tree.is_regression:
        mean = tree.weights[:, 1] / tree.weights[:, 0]
        near = np.abs(tree.value - mean) <= CLOSE * np.maximum(np.abs(mean), 1.0)
        at_every_node("a node predicts the mean of its rows", near, tree.value, mean)
    return data.n_rows


class _Sums:
    """What rows add up to where they rest, by class; and a row of each."""

    def __init__(self, tree: Tree, shift: float) -> None:
        """shift : what numbers are taken less of."""
        self.tree, self.shift = tree, shift
        self.width = len(tree.classes) or 1
        n = tree.n_nodes * self.width
        self.count = np.zeros(n, np.int64)
        self.moments = np.zeros((n, 1 if tree.is_classification else 3))
        self.deviation = np.nan if tree.is_classification else 0.0
        self.roles = dict[str, np.ndarray]()
        self.n = 0
        self.keys: list[np.ndarray] = []
        self.shown: list[Table] = []

    def take_in(self, found: RestingRows) -> None:
        """Add the rows of a part."""
        fresh = np.flatnonzero(self.count[found.shown] == 0)
        if len(fresh):
            self.keys.append(found.shown[fresh])
            self.shown.append(found.rows.take(fresh))
        self.n += int(found.count.sum())
        self.count += found.count
        self.moments += found.moments
        for role, own in found.roles.items():
            self.roles[role] = self.roles.get(role, 0.0) + own
        self.deviation += found.deviation

    def rows(self, notes: Mapping[str, str]) -> tuple[Table, np.ndarray]:
        """A table of few rows that all rows have become, with their weights, and int64[·], how many
        each of them stands for.

        notes : the table's.
        """
        keys = np.concatenate(self.keys)
        order = np.argsort(keys, kind="stable")
        keys, table = keys[order], joined(self.shown).take(order)
        weight, count = self.moments[keys, 0], self.count[keys]
        target: Target = table.target
        roles = {role: own[keys] / weight for role, own in self.roles.items()}
        table = attrs.evolve(table, roles=roles)
        if self.tree.is_regression:
            # two targets, as far below the mean as above it, have the same moments
            mean = self.moments[keys, 1] / weight
            spread = np.sqrt(np.maximum(self.moments[keys, 2] / weight - mean * mean, 0.0))
            pairs = np.flatnonzero(count > 1)
            twice = np.concatenate([np.arange(len(keys)), pairs])
            sign = np.ones(len(twice))
            sign[: len(keys)][count > 1] = -1.0
            halved = np.where(count > 1, 0.5, 1.0)
            counts = np.concatenate([count - count // 2, count[pairs] // 2])
            single = np.concatenate([count == 1, np.zeros(len(pairs), np.bool_)])
            table, weight, count = table.take(twice), (weight * halved)[twice], counts
            moved = np.where(single, 0.0, sign * spread[twice])
            target = attrs.evolve(target, values=self.shift + mean[twice] + moved)
        return attrs.evolve(table, target=target, weights=weight, notes=notes), count

    def objects(self, few: Encoded) -> Encoded:
        """The objects that all rows have become.   few : of the features of all."""
        table, count = self.rows(few.table.notes)
        target, classes = table.target, self.tree.is_classification
        labels: Facts = {
            "label": target.codes if classes else None,
            "y": None if classes else target.values,
        }
        codes = [feature.codes(table.column(feature.column)) for feature in few.features]
        return attrs.evolve(
            few,
            table=table,
            codes=np.stack(codes, axis=1).astype(few.codes.dtype)
            if codes
            else np.zeros((table.n_rows, 0), np.uint8),
            raw=np.zeros((table.n_rows, 0)),
            **labels,
            weight=table.row_weights(),
            count=count,
            object_of_row=np.arange(table.n_rows),
        )


class _SumsByValue(_Sums):
    """Rows by node, target and roles."""

    def __init__(self, tree: Tree, shift: float, by_value: tuple[str, ...]) -> None:
        """by_value : the roles that rows of one object agree in."""
        super().__init__(tree, shift)
        self.by_value, self.deviation = by_value, np.nan
        self.counts: list[np.ndarray] = []
        self.merged = 0

    def take_in(self, found: RestingRows) -> None:
        """Add the rows of a part."""
        self.n += int(found.count.sum())
        self.keys.append(found.shown)
        self.shown.append(found.rows)
        self.counts.append(found.count)
        if sum(map(len, self.keys)) > 2 * self.merged + LARGE:
            self._merge()

    def _merge(self) -> None:
        """Merge what the parts so far have in common."""
        keys, count = np.concatenate(self.keys), np.concatenate(self.counts)
        table, node, count = merge_at_nodes(joined(self.shown), keys, count, self.by_value)
        self.keys, self.shown, self.counts = [node], [table], [count]
        self.merged = len(node)

    def rows(self, notes: Mapping[str, str]) -> tuple[Table, np.ndarray]:
        """The rows that differ, with their weights, and how many each of them stands for."""
        self._merge()
        return attrs.evolve(self.shown[0], notes=notes), self.counts[0]


def joined(tables: list[Table]) -> Table:
    """Return the rows of several tables of the same columns, one after the other, with their
    weights.
    """
    first = tables[0]
    join = functools.partial(np.concatenate, axis=0)
    columns = tuple(
        attrs.evolve(column, values=join([table.columns[k].values for table in tables]))
        for k, column in enumerate(first.columns)
    )
    target = first.target
    if target.is_classification:
        target = attrs.evolve(target, codes=join([table.target.codes for table in tables]))
    else:
        target = attrs.evolve(target, values=join([table.target.values for table in tables]))
    weights = join([table.row_weights() for table in tables])
    roles = {role: join([table.roles[role] for table in tables]) for role in first.roles}
    return attrs.evolve(
        first, columns=columns, target=target, weights=weights, groups=None, roles=roles
    )
