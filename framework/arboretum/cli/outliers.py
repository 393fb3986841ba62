"""``arboretum show RUN --outliers``: the rows that a tree gives up at its budget, and what
classifying each would cost.

The rows are those of the training data that the run's tree classifies wrongly.  What one would cost
is the price of its path in the tree that the same method makes of the same data without any
stopping rule, limit or pruning; there is none where that tree errs on it, too.
"""

import math

import attrs
import numpy as np

from arboretum.engine import run as engine
from arboretum.errors import CapabilityError, sure
from arboretum.interfaces.method import Parts
from arboretum.model.charts import DARK, Axis, Line, LineChart
from arboretum.model.plain import Facts
from arboretum.model.record import Record
from arboretum.model.table import Column, Table
from arboretum.model.tree import Tree
from arboretum.report.charts import chart_svg
from arboretum.report.palette import ranked_classes
from arboretum.report.table import csv_table, text_table

LISTED = 40  # rows that are printed
COUNTED = "rows are counted from 0, as in the data set"
DRAWN = 4000  # other rows that are drawn, evenly chosen
NAMED = 20  # categories up to which an axis spells them
REACH = 0.36  # of rows of a category about its place


@attrs.frozen(eq=False)
class Outliers:
    """The training rows that a run's tree gives up, beside all others.

    rows : int64[n_train], numbers of the training rows in the data set.

    wrong : positions of those given up, among them.

    paid, full : float64[n_train], price of a row's path in the tree, and in the one without limits,
        NaN where the method makes none.
    missed : bool[n_train], the latter errs.
    unknown : why there is none, "" where there is one.
    """

    tree: Tree
    train: Table
    rows: np.ndarray
    wrong: np.ndarray
    paid: np.ndarray
    full: np.ndarray
    missed: np.ndarray
    unknown: str = ""

    @staticmethod
    def of(record: Record, parts: Parts, table: Table) -> "Outliers":
        """Grow the tree without limits.   parts : of the run, built again.   table : its data.

        Raises CapabilityError for a tree of numbers.
        """
        tree = sure(record.tree)
        if tree.is_regression:
            raise CapabilityError(
                "outliers are rows of another class than the tree's; this tree predicts numbers"
            )
        free = attrs.evolve(parts, stopping=(), pruner=None, tuner=None)
        rows = engine.pose(parts, table, record.seed).division.train
        train = table.take(rows)
        label, full = train.target.codes, np.full(len(rows), np.nan)
        missed, unknown = np.isfinite(full), ""
        try:
            other = sure(engine.fit(free, table, record.seed).solution.tree)
        except CapabilityError as error:  # an exact solver may need the limit
            unknown = f"what it would cost is not known: {error}"
        else:
            full, missed = other.prices_paid(train), other.predict(train) != label
        return Outliers(
            tree=tree,
            train=train,
            rows=rows,
            wrong=np.flatnonzero(tree.predict(train) != label),
            paid=tree.prices_paid(train),
            full=full,
            missed=missed,
            unknown=unknown,
        )

    def cells(self) -> list[Facts]:
        """A row of cells per row given up."""
        classes = self.tree.classes
        label = self.train.target.codes
        answer = self.tree.predict(self.train)
        return [
            {
                "row": int(self.rows[i]),
                "class": classes[label[i]],
                "predicted": classes[answer[i]],
                "paid": float(self.paid[i]),
                "price to classify it": "no tests do"
                if self.missed[i]
                else None
                if self.unknown
                else float(self.full[i]),
            }
            for i in self.wrong.tolist()
        ]

    def text(self, width: int) -> str:
        """What is printed."""
        n = len(self.rows)
        most = (self.tree.price_to + self.tree.price)[self.tree.is_end].max()
        unlimited = self.full.max()
        share = f"{len(self.wrong)} of {n} rows ({100 * len(self.wrong) / n:.3g} %) are given up"
        head = f"{share}: no path pays more than {most:g}; " + (
            self.unknown or f"without limits the costliest pays {unlimited:g}"
        )
        cells = self.cells()
        more = (
            [f"… and {len(cells) - LISTED} more (--out FILE.csv lists all)"]
            if len(cells) > LISTED
            else []
        )
        lines = (
            [head, "", text_table(cells[:LISTED], width=width).rstrip(), *more, COUNTED]
            if cells
            else [head]
        )
        return "\n".join(lines)

    def chart(self) -> LineChart:
        """All rows over the columns of the first two tests, those given up marked (Nan, Wang &
        Saligrama, Figure 2).

        Raises CapabilityError for a tree that asks nothing.
        """
        first = [
            self.tree.rule(node).columns
            for node in np.argsort(self.tree.depth_of, kind="stable")
            if not self.tree.is_leaf[node]
        ]
        names = list(dict.fromkeys(name for names in first for name in names))[:2]
        if not names:
            raise CapabilityError(
                "the tree asks nothing, so there are no tests to draw its rows by"
            )
        (x, across), (y, up) = [
            *(_place_on_axis(self.train.column(name)) for name in names),
            (self.rows, Axis("row")),
        ][:2]
        label, given = self.train.target.codes, np.isin(np.arange(len(x)), self.wrong)
        shown = np.flatnonzero(~given)[:: max(1, math.ceil((~given).sum() / DRAWN))]
        own = ranked_classes(self.tree)
        clouds = [
            (name, shown[label[shown] == k], own.index(k) if k in own else len(own))
            for k, name in enumerate(self.tree.classes)
        ]
        clouds.append(("given up", self.wrong, DARK))
        lines = [
            Line(name, x[who].tolist(), y[who].tolist(), colour=colour, joined=False)
            for name, who, colour in clouds
            if len(who)
        ]
        numbers = ", ".join(str(row) for row in self.rows[self.wrong[:12]].tolist()) + (
            ", …" if len(self.wrong) > 12 else ""
        )
        title = f"{len(self.wrong)} of {len(x)} rows are given up"
        notes = [f"Rows given up: {numbers}"] if len(self.wrong) else []
        return LineChart(
            title,
            lines,
            across,
            up,
            f"{self.train.name}, over the columns of the first tests",
            notes,
        )


def _place_on_axis(column: Column) -> tuple[np.ndarray, Axis]:
    """Where rows lie on an axis: a number as it is, a category about its place, wherever chance
    puts it.
    """
    if column.is_continuous:
        return column.values.astype(np.float64), Axis(column.name)
    absent = int(column.has_missing)  # a place of its own before the first category
    names = ("missing",) * absent + tuple(column.categories)
    about = np.random.default_rng([*column.name.encode()]).uniform(
        -REACH, REACH, len(column.values)
    )
    return column.values + absent + about, Axis(
        column.name, names=names if len(names) <= NAMED else ()
    )


WRITTEN = {
    ".svg": lambda found: chart_svg(found.chart()),
    ".csv": lambda found: csv_table(found.cells()),
}
"""Ending of a file → what it holds, of :class:`Outliers`."""
