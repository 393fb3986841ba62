"""What the chapters of the lecture share: its numbers, rows made or changed for it, and verified
runs on them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Cell,
    Claim,
    Column,
    ColumnKind,
    Key,
    Known,
    Plain,
    Record,
    Services,
    Table,
    Target,
    Task,
    Tree,
    sure,
)

TAUGHT = 0.7
"""Share of the training rows; the others test."""
SMALL = ("iris", "wine", "wdbc", "tic-tac-toe", "balance-scale")
"""Data sets of classes on which hundreds of trees grow in seconds."""


@lru_cache(maxsize=1)
def published() -> Plain:
    """``slide``: as printed; ``computed`` and all of play-tennis: what follows from the text and
    the data.
    """
    found: Plain = json.loads(
        Path(__file__).with_name("published.json").read_text(encoding="utf-8")
    )
    return found


@attrs.frozen(eq=False)
class Rows:
    """Rows at hand, as a data set of a run."""

    kind = "dataset"
    name = "rows"
    paper = ""
    capabilities = ()

    table: Any = None

    def load(self, seed: int) -> Table:
        """Return the table itself, whatever the seed."""
        found: Table = self.table
        return found


def run(
    services: Services, table: Table, method: str, values: Plain | None = None, **choices: Any
) -> Record:
    """Return a verified run on all rows of a table.

    method : its name, of which ``choices`` are the other components: group → name.
    values : option → value, "stopping.standard.max_depth" → 1.
    """
    return services.run(
        {"split": "none", **choices, "dataset": Rows(table), "method": method}, values or {}
    )


def grow(
    services: Services, table: Table, method: str, values: Plain | None = None, **choices: Any
) -> Tree:
    """Return the tree of :func:`run`, which takes the same."""
    return sure(run(services, table, method, values, **choices).tree)


def nominal_column(name: str, codes: np.ndarray) -> Column:
    """Return a column of the categories "1", "2", ….

    codes : int[rows], 0 for "1".
    """
    return Column(
        name,
        ColumnKind.categorical,
        codes.astype(np.int32),
        tuple(str(k + 1) for k in range(int(codes.max()) + 1)),
    )


def table_of(name: str, columns: Sequence[Column], codes: np.ndarray) -> Table:
    """Return a table of two classes, "no" (code 0) and "yes" (1).

    codes : int[rows], the classes.
    """
    return Table(
        name,
        tuple(columns),
        Target("class", Task.classification, codes.astype(np.int32), ("no", "yes")),
    )


def split_rows(services: Services, dataset: str, seed: int) -> tuple[Table, Table]:
    """Return the rows of a data set that train, a share TAUGHT, and those that test, stratified.

    seed : of the data set, where it is drawn, and of the division.
    """
    table = services.component("dataset", dataset).load(seed)
    split = services.component(
        "split", "holdout", {"train": TAUGHT, "valid": 0.0, "test": round(1 - TAUGHT, 9)}
    )
    division = split.divide(table, seed)
    return table.take(division.train), table.take(division.test)


def divisions(services: Services, key: Key, seed: int) -> Iterator[tuple[int, Table, Table]]:
    """Yield a seed, rows that train and rows that test, for each of the divisions of ``key``.

    seed : of the first one.
    """
    for own in range(seed, seed + key["seeds"]):
        yield own, *split_rows(services, key["dataset"], own)


def share_of_errors(tree: Tree, table: Table) -> float:
    """Return the share of rows in error; of numbers the squared error as a share of their
    variance.
    """
    found = tree.predict(table)
    if table.is_classification:
        return float(np.mean(found != table.target.codes))
    return float(np.mean((found - table.target.values) ** 2) / np.var(table.target.values))


def with_noise(table: Table, kind: str, share: float, draw: np.random.Generator) -> Table:
    """Return the table with a share of its labels, or of the values of every attribute, false.

    kind : "label": another class, each as likely, or the number of some row; "attribute": the
        value of some row, its own not excluded.
    share : probability of each to be false, 0 … 1.
    """
    n, target = table.n_rows, table.target

    def mixed(values: np.ndarray) -> np.ndarray:
        return np.where(draw.random(n) < share, values[draw.integers(n, size=n)], values)

    if kind == "attribute":
        return attrs.evolve(
            table, columns=tuple(attrs.evolve(c, values=mixed(c.values)) for c in table.columns)
        )
    if target.is_regression:
        return attrs.evolve(table, target=attrs.evolve(target, values=mixed(target.values)))
    k = len(target.classes)
    false = (target.codes + draw.integers(1, k, size=n)) % k
    return attrs.evolve(
        table,
        target=attrs.evolve(target, codes=np.where(draw.random(n) < share, false, target.codes)),
    )


def rounded_cell(
    table: str,
    row: str,
    column: str,
    published: float,
    ours: float,
    unit: float,
    known: Known | None = None,
    **more: Any,
) -> Cell:
    """Return a number that is written to a last digit: it passes where ours rounds to it.

    published, ours : the number as printed, and as computed.
    unit : of the last digit, 0.01 for two places.
    known : why it is known to differ, if it is.
    more : ``recomputed``, where no slide prints it.
    """
    return Cell.judged(
        table, row, column, published, ours, unit / 2 / Cell.LIMIT, known=known, **more
    )


def mean_and_error(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Return the mean, and its standard error (0 of a single value)."""
    n = len(values)
    return float(np.mean(values)), float(np.std(values, ddof=1) / n**0.5) if n > 1 else 0.0


def claim_on_most(sentence: str, holds: Mapping[str, bool], reported: str) -> Claim:
    """Return the claim that a sentence holds on most data sets; undecided by fewer than three.

    holds : data set → whether it does there.
    reported : the numbers behind it, for the reader.
    """
    where = [name for name, one in holds.items() if one]
    verdict = 2 * len(where) > len(holds) if len(holds) > 2 else None
    named = f" ({', '.join(where)})" if 0 < len(where) < len(holds) else ""
    return Claim.judged(
        f"{sentence} (on most data sets)",
        verdict,
        f"on {len(where)} of {len(holds)}{named}; {reported}",
    )
