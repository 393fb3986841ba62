"""The proof log: bounds of subproblems in the order in which each follows from those before it.

The form, byte by byte, and what its numbers mean: docs/reference/proof-log.md.  A record is int32
words as kernels fill them in: number of literals on the path from the root; tests that may still
follow; leaves that the subtree may have (−1: no limit); two words of the bound, ``words[3] =
np.int32(bound)`` and ``words[4] = np.int32(bound >> 32)``, or the bits of a float64 in the log of a
complexity; then (test, outcome) for each literal.  It says: no tree on the training objects that
reach this set, within the limits, costs less.  The set, not the path, is what counts: two paths to
one set are the same subproblem.

``header["tests"]`` names the problem's test for each number that records use (those of the encoder,
raw columns count on after them, as in :meth:`arboretum.api.Prices.of`), or [raw column, cut] for a
single threshold.
"""

import hashlib
import io
import os
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, TypedDict

import attrs
import numpy as np

from arboretum.errors import StoreError
from arboretum.interfaces.method import Problem
from arboretum.model.plain import Facts
from arboretum.model.reading import brief, parse, refuse_misfits
from arboretum.proof.records import HEAD

MAGIC = b"arboretum.proof/1\n"
DIGEST = 32
BY_LINES = "confusion", "ranking", "constrained"
WHOLE = "additive", *BY_LINES
FLOATS = "complexity", "deviation", "sums"
"""Shapes that lines bound (:mod:`arboretum.proof.lines`), and shapes whose records have bounds in
whole numbers, and in floating point.
"""
NO_PATH, NO_LIMITS = "its path names a test that the log does not list", "its limits are none"
"""Why a record is refused, whatever it says."""
UNIT = re.compile(r"-?[0-9]{1,2000}(/0*[1-9][0-9]{0,1999})?", re.ASCII)
"""A fraction as it is written: no exponent, whose power of ten may be as long as memory."""
_HEADER = {
    "version": str,
    "solver": str,
    "shape": str,
    "seed": int,
    "data": dict,
    "config": dict,
    "unit": str,
    "tests": list[int | list[int]],
}
_END = {"bound": int | float, "value": int | float | None, "records": int, "tree": dict | None}


class Record(NamedTuple):
    """One closed set.

    path : int32[n, 2], literals (test of the log, outcome).
    depth, leaves : limits of the trees; −1: any.
    bound : an integer; a float in the log of a complexity.
    """

    path: np.ndarray
    depth: int
    leaves: int
    bound: float


class Header(TypedDict):
    """What a log begins with.   tests : see the module."""

    version: str
    solver: str
    shape: str
    seed: int
    data: Facts
    config: Facts
    unit: str
    tests: list[int | list[int]]


class End(TypedDict):
    """What a log ends with.

    bound, value : shown of all objects, and that of the tree, in units of the log; ``value`` and
        ``tree`` None where it holds none.
    records : how many it holds.
    lines, fronts : of shapes that lines bound alone, see :mod:`arboretum.proof.lines`.
    """

    bound: float
    value: float | None
    records: int
    tree: Facts | None


def data_of(problem: Problem) -> dict[str, object]:
    """Name, checksum and sizes of the training objects."""
    objects = problem.objects
    sizes = {
        "n_objects": objects.n_objects,
        "n_tests": objects.n_tests,
        "n_classes": objects.n_classes,
    }
    return {"name": objects.table.name, "sha256": objects.table.sha256(), **sizes}


@attrs.frozen(eq=False)
class Proof:
    """A log as read.

    words : int32, its records.
    start : int64[records + 1], where each begins.
    """

    header: Header
    end: End
    words: np.ndarray
    start: np.ndarray

    @property
    def config(self) -> Facts:
        """The run's configuration, as in a record."""
        return self.header["config"]

    @property
    def unit(self) -> Fraction:
        """Value of 1 in the bounds of the records, exactly."""
        return Fraction(self.header["unit"])

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.start) - 1

    def record(self, number: int) -> Record:
        """The record with that number, the first being 0; its path is a view of ``words``."""
        words = self.words[self.start[number] : self.start[number + 1]]
        kind = "<f8" if self.header["shape"] in FLOATS else "<i8"
        bound = words[3:5].copy().view(kind)[0].item()
        depth, leaves = words[1:3].tolist()
        return Record(words[HEAD:].reshape(-1, 2), depth, leaves, bound)

    def records(self) -> Iterator[Record]:
        """All, in order: a solver takes them for its first memo."""
        return map(self.record, range(self.n_records))


def is_proof(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as a proof, of any version; a pipe, which would be waited for, does
    not.
    """
    try:
        path = Path(path).expanduser()
        with path.open("rb") if path.is_file() else io.BytesIO() as file:
            return file.read(len(MAGIC)).startswith(MAGIC.partition(b"/")[0])
    except (OSError, ValueError, RuntimeError):
        return False


def read(path: str | os.PathLike[str]) -> Proof:
    """Read a log and check its form and its checksum, not what it claims.  Raises StoreError,
    saying what is wrong with it; a pipe is no file.
    """
    try:
        path = Path(path).expanduser()
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "no regular file"
            way_out = "name the file that solver.proof=FILE wrote"
            raise StoreError(f"{str(path)!r} is no proof: it is {kind}; {way_out}")
        data = path.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"the proof {str(path)!r} cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from error
    try:
        return _parse_proof(data)
    except (ValueError, KeyError, TypeError, IndexError, ZeroDivisionError, struct.error) as error:
        raise StoreError(f"{str(path)!r} is no proof: {error}") from None


def _parse_proof(data: bytes) -> Proof:
    """Return the proof that a file's bytes hold; raises ValueError naming what does not fit."""
    if not data.startswith(MAGIC):
        other = data[:40].split(b"\n")[0]
        known = other.startswith(MAGIC.partition(b"/")[0])
        raise ValueError(
            f"it is of version {other.decode()!r}, this reads {MAGIC.decode().strip()!r}"
            if known
            else "it does not begin as one"
        )
    if data[-DIGEST:] != hashlib.sha256(data[:-DIGEST]).digest():
        raise ValueError("its checksum does not fit; it was cut short or changed")
    line = data.index(b"\n", len(MAGIC))
    header: Header = parse(data[len(MAGIC) : line].decode())
    _refuse(header, _HEADER)
    _refuse_header(header)
    first = line + 1
    words = np.frombuffer(data, "<i4", (len(data) - DIGEST - first) // 4, first)
    at, starts = 0, [0]
    while (n := int(words[at])) >= 0:
        at += HEAD + 2 * n
        starts.append(at)
    after = first + 4 * (at + 2)
    end: End = parse(data[after : after + int(words[at + 1])].decode())
    _refuse(end, _END)
    _refuse_numbers(end, header["shape"])
    if (
        n != -1
        or after + int(words[at + 1]) + DIGEST != len(data)
        or end["records"] != len(starts) - 1
    ):
        raise ValueError(
            f"it says to hold {end['records']} records and holds {len(starts) - 1}, or other "
            "things besides"
        )
    return Proof(header, end, words[:at], np.array(starts, np.int64))


def _refuse(values: object, wanted: Mapping[str, object]) -> None:
    if not isinstance(values, dict) or not wanted.keys() <= values.keys():
        raise ValueError(f"header and end need the keys {', '.join(wanted)}")
    refuse_misfits(values, wanted)


def _refuse_header(header: Header) -> None:
    """Raise ValueError where a field of the header has a value that no writer writes."""
    if header["shape"] not in (*WHOLE, *FLOATS):
        raise ValueError(
            f"its shape is {', '.join((*WHOLE, *FLOATS[:-1]))} or {FLOATS[-1]}; "
            f"got {brief(header['shape'])}"
        )
    if not UNIT.fullmatch(header["unit"]):
        raise ValueError(
            f"its unit is a fraction in digits, as 1/432 is; got {brief(header['unit'])}"
        )
    if not 0 <= header["seed"] < 1 << 63:
        raise ValueError(f"its seed lies from 0 on below 2^63; got {brief(header['seed'])}")
    listed = [tuple(test) if isinstance(test, list) else test for test in header["tests"]]
    if odd := [test for test in listed if isinstance(test, tuple) and len(test) != 2]:
        raise ValueError(f"tests are numbers, or a raw column and a cut; got {brief(list(odd[0]))}")
    if len(set(listed)) < len(listed):
        raise ValueError(
            "its header names a test twice: "
            f"{next(brief(test) for test, n in Counter(listed).items() if n > 1)}"
        )


def _refuse_numbers(end: End, shape: str) -> None:
    """Raise ValueError unless bound and value are finite, those of an additive objective as small
    as a record's.
    """
    most = sys.float_info.max if shape in FLOATS else (1 << 63) - 1
    for name, number in (("bound", end["bound"]), ("value", end["value"])):
        # whatever is no number fails, too
        if number is not None and not abs(number) <= most:
            raise ValueError(
                f"the end's {name} must be a number that a record can hold; got {brief(number)}"
            )
