"""The problems of the race: tables, encodings, prices of a leaf, depths.

A table is written NAME@ENCODING and lies in ARBORETUM_DATA or ARBORETUM_BENCH:

    onehot   a column per value, one for a column of two values
    binary   columns of 0 and 1 as they are, of others all midpoints
    numbers  the numbers themselves (all thresholds)
    upto20   all midpoints, or 20 quantiles where there are more
    cut7     7 quantiles, whatever there is
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from arboretum.api import Parts, Problem, Target

LAMS = ("0.1", "0.05", "0.02", "0.01", "0.005")
SPARSE = (
    "monk1@onehot",
    "monk2@onehot",
    "monk3@onehot",
    "tic-tac-toe@onehot",
    "car-gosdt@binary",
    "balance-scale@onehot",
    "compas-binary@binary",
    "fico-binary@binary",
    "bar-7@binary",
    "house-votes@onehot",
    "iris@binary",
    "fourclass@upto20",
    "anneal@binary",
    "german-credit@binary",
    "coupon_carryout@binary",
    "broward@upto10",
    "hypothyroid@binary",
    "heart-cleveland@binary",
    "compas_cont@upto20",
)
LIMITED = {
    "anneal@binary": (2, 3, 4, 5),
    "german-credit@binary": (2, 3, 4, 5),
    "hypothyroid@binary": (2, 3, 4, 5),
    "splice-1@binary": (2, 3, 4),
    "tic-tac-toe@onehot": (2, 3, 4, 5),
    "heart-cleveland@binary": (2, 3, 4, 5),
    "coupon_carryout@binary": (2, 3, 4),
    "fico-binary@binary": (2, 3, 4, 5),
    "compas-binary@binary": (2, 3, 4, 5),
    "bar-7@binary": (2, 3, 4, 5),
    "car-gosdt@binary": (2, 3, 4, 5),
    "dna@binary": (2, 3, 4),
    "car@onehot": (2, 3, 4, 5),
    "boston-quartile@cut7": (2, 3, 4, 5),
    "soybean@onehot": (2, 3, 4),
    "wdbc@cut4": (2, 3, 4, 5),
    "letter@cut3": (2, 3),
}
CONTINUOUS = {
    "ct_bank": (2, 3, 4),
    "ct_raisin": (2, 3, 4),
    "compas_cont": (2, 3),
    "pima": (2, 3, 4),
    "mammography": (2, 3),
    "fourclass": (2, 3),
    "iris": (2, 3),
    "balance-scale": (2, 3),
    "wdbc": (2, 3),
    "ionosphere": (2, 3),
    "sonar": (2, 3),
    "phoneme": (2, 3),
    "boston-quartile": (2, 3),
    "fico-1000": (2, 3),
    "electricity": (2, 3),
    "spambase": (2, 3),
    "letter": (2, 3),
}


@attrs.frozen
class Question:
    """Least errors / n + λ · leaves within a depth.

    table : NAME@ENCODING.
    lam : as written.
    depth : None: any.
    """

    table: str
    lam: str = "0"
    depth: int | None = None

    @property
    def name(self) -> str:
        words = [self.table.removesuffix("@numbers")]
        words += [f"λ={self.lam}"] if self.lam != "0" else []
        return " ".join([*words, *([] if self.depth is None else [f"depth {self.depth}"])])

    def value(self, errors: int, leaves: int, rows: int) -> Fraction:
        """The objective, exactly."""
        return Fraction(errors, rows) + Fraction(self.lam) * leaves


def questions(
    suite: str, only: list[str], lams: list[str], depths: list[int], tables: Sequence[str] = ()
) -> Iterator[Question]:
    """The problems of a suite.

    only : parts of table names.
    lams, depths : instead of, or (sparse) besides, the suite's own.
    tables : NAME@ENCODING, instead of the suite's own (sparse).
    """
    if suite == "sparse":
        found = [
            Question(table, lam, depth)
            for table in tables or SPARSE
            for lam in lams or LAMS
            for depth in depths or [None]
        ]
    else:
        named = (
            LIMITED
            if suite == "limited"
            else {f"{name}@numbers": depths for name, depths in CONTINUOUS.items()}
        )
        found = [
            Question(table, "0", d)
            for table, own in named.items()
            for d in own
            if not depths or d in depths
        ]
        found = [attrs.evolve(one, lam=lam) for one in found for lam in lams or ["0"]]
    return (one for one in found if not only or any(word in one.name for word in only))


def rows_of(name: str) -> list[list[str]]:
    """The table's lines, the heading first; raises FileNotFoundError, saying where it was looked
    for.
    """
    homes = [os.environ.get(variable, "") for variable in ("ARBORETUM_BENCH", "ARBORETUM_DATA")]
    for path in (Path(home, f"{name}.csv.gz") for home in homes if home):
        if path.exists():
            with gzip.open(path, "rt") as file:
                return list(csv.reader(file))
    raise FileNotFoundError(
        f"{name}.csv.gz lies neither in ARBORETUM_BENCH nor in ARBORETUM_DATA; set them"
    )


def load(table: str) -> tuple[np.ndarray, np.ndarray]:
    """x, y: uint8[rows, columns] of 0 and 1, or float64 for ``numbers``; int64[rows], 0 … k − 1."""
    name, _, encoding = table.partition("@")
    lines = np.array(rows_of(name)[1:], dtype=str)
    y = np.unique(lines[:, -1], return_inverse=True)[1].astype(np.int64)
    if encoding == "numbers":
        return lines[:, :-1].astype(np.float64), y
    columns = [column for each in lines[:, :-1].T for column in _encoded(each, encoding)]
    return np.array(columns, np.uint8).T.copy(), y


def problem_of_bits(
    x: np.ndarray, target: Target, parts: Parts, roles: Mapping[str, np.ndarray] | None = None
) -> Problem:
    """The problem whose tests are these columns.

    x : [rows, columns] of 0 and 1.   roles : of the rows, as in Table.
    """
    from arboretum.api import Column, ColumnKind, Family, Prices, Problem, Table
    from arboretum.testing.tables import ToyFeature, bare_objects

    names = [f"x{f}" for f in range(x.shape[1])]
    features = tuple(
        ToyFeature(name, f, Family.thresholds, 2, edges=(0.5,)) for f, name in enumerate(names)
    )
    columns = tuple(
        Column(name, ColumnKind.continuous, x[:, f].astype(float)) for f, name in enumerate(names)
    )
    table = Table("bits", columns, target, roles=roles or {})
    codes = np.asfortranarray((x > 0.5).astype(np.uint8))
    objects = bare_objects(table, features=features, codes=codes)
    return Problem(objects, Prices(np.ones(len(names)), np.ones(0)), parts)


def _encoded(column: np.ndarray, encoding: str) -> list[np.ndarray]:
    """bool[rows], none of them constant."""
    if encoding == "onehot":
        values = np.unique(column)
        return [
            column == value
            for value in (values[1:] if len(values) == 2 else values if len(values) > 2 else [])
        ]
    numbers = column.astype(np.float64)
    values = np.unique(numbers)
    if encoding == "binary" and set(values) == {0.0, 1.0}:
        return [numbers == 1]
    cuts = (values[1:] + values[:-1]) / 2
    most = (
        int(encoding[-2:].lstrip("ot"))
        if encoding.startswith("upto")
        else int(encoding[3:])
        if encoding.startswith("cut")
        else None
    )
    if most is not None and (encoding.startswith("cut") or len(cuts) > most):
        cuts = np.unique(np.quantile(numbers, np.arange(1, most + 1) / (most + 1)))
        cuts = cuts[cuts < values[-1]]
    return [numbers <= cut for cut in cuts]
