"""How a missing value is written: one form in numbers, one in codes, one in bins; and what makes
one of another.

========  =====================================================  ================================
form      where                                                  a missing value
========  =====================================================  ================================
numbers   continuous columns, raw features                       NaN
codes     categories of a column, spellings of a file, outcomes  :data:`MISSING`
bins      coded features and tests while trees grow              their number, behind the last one
========  =====================================================  ================================

Bins are unsigned and narrow, and counts are read by them, so that the missing ones are counted
where no known one is.  What comes from outside has more forms: a word of a file, "?" in ARFF, None,
NaT and pandas' NA.  Readers turn them into these at once.

Kernels that sort give a missing value the last rank there may be (:mod:`arboretum.kernels.runs`):
it comes last without being asked for.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

MISSING = -1
UNSEEN = -2  # the code of a value that is not among the categories; only in tables to predict on


def is_missing(value: object) -> bool:
    """Return whether one value of a row from outside is missing: None or NaN."""
    return value is None or bool(value != value)  # NaN is the one value that differs from itself


def missing_among(values: np.ndarray) -> np.ndarray:
    """Return bool[n]: which values from outside are None, NaN, NaT or pandas' NA."""
    if values.dtype.kind in "biu":
        return np.zeros(len(values), bool)
    from pandas import isna

    gone: np.ndarray = isna(values)
    return gone


def by_code(
    entries: Sequence[object] | np.ndarray,
    codes: np.ndarray,
    missing: object,
    unseen: object = None,
    dtype: DTypeLike | None = None,
) -> np.ndarray:
    """Return the entry of each code, ``missing`` for MISSING, ``unseen`` for UNSEEN.

    entries : by code.   codes : int[n].
    unseen : None: as ``missing``.   dtype : of what is returned; None: that of the entries.
    """
    ends = [missing if unseen is None else unseen, missing]
    listed = np.concatenate([np.asarray(entries, dtype), np.asarray(ends, dtype)])
    return np.asarray(listed[codes])  # negative codes count from the end


def to_bins(codes: np.ndarray, n_bins: int) -> np.ndarray:
    """Codes as bins, of which there are so many."""
    return np.where(codes == MISSING, n_bins, codes)


def from_bins(bins: np.ndarray, n_bins: int) -> np.ndarray:
    """Return int64[n]: bins, of which there are so many, as codes."""
    return np.where(bins == n_bins, MISSING, bins.astype(np.int64))
