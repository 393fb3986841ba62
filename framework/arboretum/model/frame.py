"""Rows from outside, read as the tree's training table was: frames, arrays, mappings, other tables."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.errors import DataError, closest
from arboretum.model.dates import DAY_SECONDS, DAYS, SECONDS, date_number, read_dates
from arboretum.model.table import MISSING_CODE, Column, ColumnKind, Table, Target, Task, recoded
from arboretum.model.tree import ColumnSpec, Tree


def table_like(tree: Tree, X: Any, name: str = "rows") -> Table:
    """Read ``X`` as a table with the tree's columns, ready for ``tree.predict``.

    X : a pandas frame (columns matched by name), a 2-D array (by position; one column per column of the tree), a list
        of mappings from column name to value, a mapping from column name to values, or a Table.  None and NaN (and pandas' NA) are missing values.

    Categories are matched by spelling (``str``); a value that the tree has never seen gets the code −2.  A column that
    no test of the tree reads may be absent: its values are then missing.  The target is unknown (code −1, or NaN)
    unless X is a Table, whose target is kept, its classes put into the tree's order and unknown ones appended.

    Raises DataError: absent columns (all of them named), text where the tree compares numbers, infinite values, a wrong
    number of columns, no rows to speak of.
    """
    if isinstance(X, Table):
        return _from_table(tree, X)
    n_rows, values_of, names = _source(tree, X)
    _refuse_absent(tree, names)
    columns = []
    for spec in tree.columns:
        values = values_of(spec.name) if spec.name in names else None
        columns.append(read_column(spec, values) if values is not None else _all_missing(spec, n_rows))
    return Table(name, tuple(columns), _no_target(tree, n_rows))


def _source(tree: Tree, X: Any) -> tuple[int, Callable[[str], Any], Sequence[str]]:
    """Number of rows, a function from column name to its values, and the names at hand."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):  # a frame, without importing pandas
        names = [str(column) for column in X.columns]
        repeated = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
        if repeated:
            msg = f"the column {repeated[0]!r} occurs twice; give every column one name"
            raise DataError(msg)
        position = {n: i for i, n in enumerate(names)}
        return len(X), lambda n: X.iloc[:, position[n]], names
    if isinstance(X, Sequence) and (not X or isinstance(X[0], Mapping)):
        names = list(dict.fromkeys(str(key) for row in X for key in row)) if X else [c.name for c in tree.columns]
        return len(X), lambda n: [row.get(n) for row in X], names
    if isinstance(X, Mapping):
        lengths = {name: len(values) for name, values in X.items()}
        if len(set(lengths.values())) > 1:
            msg = f"the columns differ in length: {', '.join(f'{n} {k}' for n, k in list(lengths.items())[:5])}"
            raise DataError(msg)
        return next(iter(lengths.values()), 0), X.__getitem__, list(lengths)
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(tree.columns):
        msg = f"expected rows with {len(tree.columns)} columns as in training; got an array of the shape {array.shape}"
        raise DataError(msg)
    position = {column.name: i for i, column in enumerate(tree.columns)}
    return len(array), lambda n: array[:, position[n]], list(position)


def _refuse_absent(tree: Tree, names: Iterable[str]) -> None:
    known = set(names)
    read = {name for rule in tree.rules for name in rule.columns}
    absent = [column.name for column in tree.columns if column.name in read and column.name not in known]
    if absent:
        near = closest(absent[0], known)
        hint = f"; did you rename {near!r}?" if near else ""
        msg = f"the tree asks for columns that are absent: {', '.join(absent)}{hint}"
        raise DataError(msg)


def _no_target(tree: Tree, n_rows: int) -> Target:
    if tree.task is Task.regression:
        return Target("", tree.task, values=np.full(n_rows, np.nan))
    return Target("", tree.task, codes=np.full(n_rows, MISSING_CODE, np.int32), classes=tree.classes)


def _all_missing(spec: ColumnSpec, n_rows: int) -> Column:
    if spec.kind is ColumnKind.continuous:
        return Column(spec.name, spec.kind, np.full(n_rows, np.nan), unit=spec.unit)
    return Column(spec.name, spec.kind, np.full(n_rows, MISSING_CODE, np.int32), spec.categories)


def read_column(spec: ColumnSpec, values: Any) -> Column:
    """Read outside values (array, pandas series, list) as a column of the given kind; raises DataError.

    A column of dates takes ISO text, dates and times of Python, NumPy or pandas, or numbers in its unit.
    """
    if spec.unit:
        return Column(spec.name, spec.kind, read_date_numbers(spec, values), unit=spec.unit)
    refuse_dates(spec.name, values)
    if spec.kind is ColumnKind.continuous:
        return Column(spec.name, spec.kind, read_numbers(spec.name, values))
    return Column(spec.name, spec.kind, read_codes(values, spec.categories), spec.categories)


def read_numbers(name: str, values: Any) -> np.ndarray:
    """float64[n] (float32 stays float32), NaN = missing; raises DataError for text and for infinite values."""
    array = values if isinstance(values, np.ndarray) else _as_array(values)
    if array.dtype not in (np.float32, np.float64):
        try:
            array = np.where(_missing(array), np.nan, array).astype(np.float64)
        except (TypeError, ValueError) as error:
            msg = f"column {name!r} must hold numbers; {error}"
            raise DataError(msg) from None
    if np.isinf(array).any():
        msg = f"column {name!r} holds an infinite value; replace it by a number or leave it empty"
        raise DataError(msg)
    return array


def read_date_numbers(spec: ColumnSpec, values: Any) -> np.ndarray:
    """float64[n] in the unit of the column, NaN = missing; raises DataError for what is neither date nor number."""
    if getattr(getattr(values, "dtype", None), "kind", "O") == "M":
        seconds = _seconds(values)
        return np.floor(seconds / DAY_SECONDS) if spec.unit == DAYS else seconds
    array = _as_array(values)
    if array.dtype.kind in "biuf":
        return read_numbers(spec.name, array)
    numbers_ = np.full(len(array), np.nan)
    for row in np.flatnonzero(~_missing(array)):
        value = array[row]
        number = float(value) if isinstance(value, _NUMBERS) else date_number(value, spec.unit)
        if number is None:
            msg = f"column {spec.name!r} must hold dates such as 2020-03-01; got {value!r}"
            raise DataError(msg)
        numbers_[row] = number
    return numbers_


def holds_dates(series: Any) -> bool:
    """Whether a pandas series holds points in time: dates and times, with a zone or without, or objects that all are such."""
    if getattr(series.dtype, "kind", "O") == "M":
        return True
    if str(series.dtype) != "object":
        return False
    array = _as_array(series)
    known = array[~_missing(array)].tolist()
    return bool(known) and all(isinstance(value, _POINTS) for value in known)


_POINTS = (datetime.date, np.datetime64)


def _date_column(name: str, series: Any) -> Column:
    """Days where no value has a time of day, else whole seconds; zones are turned to UTC, as in files."""
    if series.dtype.kind == "M":
        seconds = _seconds(series)
        known = seconds[~np.isnan(seconds)]
        unit = SECONDS if (known % DAY_SECONDS).any() else DAYS
        return Column(name, ColumnKind.continuous, seconds if unit == SECONDS else seconds / DAY_SECONDS, unit=unit)
    array = _as_array(series)
    missing = _missing(array)
    numbers_ = np.full(len(array), np.nan)
    unit, numbers_[~missing] = read_dates(array[~missing])  # :func:`holds_dates` has looked: no value is anything else
    return Column(name, ColumnKind.continuous, numbers_, unit=unit)


def _seconds(values: Any) -> np.ndarray:
    """float64[n]: whole seconds since 1970-01-01 (UTC), rounded down, NaN = missing, of a datetime array or series."""
    array = values.to_numpy(dtype="datetime64[s]") if hasattr(values, "to_numpy") else values
    array = array.astype("datetime64[s]")  # rounds down, also before 1970
    return np.where(np.isnat(array), np.nan, array.astype(np.int64))


def refuse_dates(name: str, values: Any) -> None:
    """Raise DataError, with the way out, where a column holds points in time, periods or durations."""
    dtype = getattr(values, "dtype", np.dtype(object))
    kind, found = getattr(dtype, "kind", "O"), str(dtype)
    if found == "object":
        array = _as_array(values)
        value = next(iter(array[~_missing(array)]), None)
        found = type(value).__name__
        if not isinstance(value, _TIMES):
            return
    elif kind not in "mM" and not found.startswith("period["):
        return
    msg = (
        f"column {name!r} holds dates or times ({found}) where numbers or categories are asked for: give what may matter "
        f"of them as numbers, such as year, month, or days since a date"
    )
    raise DataError(msg)


_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def holds_numbers(values: Any) -> bool:
    """Whether a column of Python objects holds numbers only, and at least one (truth values and missing ones apart)."""
    if str(getattr(values, "dtype", "object")) != "object":
        return False
    array = _as_array(values)
    known = array[~_missing(array)].tolist()
    return bool(known) and all(isinstance(v, _NUMBERS) and not isinstance(v, bool) for v in known)


_NUMBERS = (numbers.Real, decimal.Decimal)


def read_codes(values: Any, categories: tuple[str, ...]) -> np.ndarray:
    """int32[n]: position of each value's spelling in ``categories``, −1 where missing, −2 where it is none of them."""
    found, codes = spelled(values)
    return recoded(codes, found, categories)


def spelled(values: Any) -> tuple[list[str], np.ndarray]:
    """The distinct spellings and, per value, which one it is (−1 = missing).

    Spellings come in the order of a pandas categorical, else numbers by size and text by alphabet.  Whole floats are
    spelled as integers, since a missing value turns a column of integers into floats.
    """
    if hasattr(values, "cat"):
        return [_spelling(v) for v in values.cat.categories], np.asarray(values.cat.codes, np.int64)
    array = _as_array(values)
    missing = _missing(array)
    known = array[~missing]
    codes = np.full(len(array), MISSING_CODE, np.int64)
    if known.dtype.kind == "O":
        try:
            distinct = sorted(set(known.tolist()))
        except TypeError:  # mixed types have no order of their own
            distinct = sorted(set(known.tolist()), key=str)
        position = {value: i for i, value in enumerate(distinct)}
        codes[~missing] = [position[value] for value in known.tolist()]
    else:
        distinct, codes[~missing] = np.unique(known, return_inverse=True)
        distinct = distinct.tolist()
    return [_spelling(value) for value in distinct], codes


def _spelling(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _as_array(values: Any) -> np.ndarray:
    """A NumPy array of a pandas series or a list, text and mixtures as objects."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        array = values.to_numpy()
        return array if array.dtype.kind in "biuf" else values.to_numpy(dtype=object)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _missing(array: np.ndarray) -> np.ndarray:
    """bool[n]: which values are None, NaN, NaT or pandas' NA."""
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind not in "MO":
        return np.zeros(len(array), bool)
    from pandas import isna

    return isna(array)


def _from_table(tree: Tree, table: Table) -> Table:
    """The tree's columns of another table, categories and classes in the tree's order."""
    _refuse_absent(tree, [column.name for column in table.columns])
    present = {column.name: column for column in table.columns}
    columns = [
        _recoded(spec, present[spec.name]) if spec.name in present else _all_missing(spec, table.n_rows)
        for spec in tree.columns
    ]
    if table.task is not tree.task:
        target = _no_target(tree, table.n_rows)
    elif tree.task is Task.regression or table.target.classes == tree.classes:
        target = table.target
    else:
        classes = (*tree.classes, *(c for c in table.target.classes if c not in tree.classes))
        target = attrs.evolve(table.target, codes=recoded(table.target.codes, table.target.classes, classes), classes=classes)
    return attrs.evolve(table, columns=tuple(columns), target=target)


def _recoded(spec: ColumnSpec, column: Column) -> Column:
    both = (spec.kind is ColumnKind.continuous, column.kind is ColumnKind.continuous)
    if both == (True, True) and spec.unit != column.unit:
        return _turned(spec, column)
    if both == (True, True) or (both == (False, False) and column.categories == spec.categories):
        return attrs.evolve(column, kind=spec.kind)
    if both[0] != both[1]:
        msg = f"column {spec.name!r} is {column.kind.value} here, but the tree was grown with it {spec.kind.value}"
        raise DataError(msg)
    return Column(spec.name, spec.kind, recoded(column.values, column.categories, spec.categories), spec.categories)


def _turned(spec: ColumnSpec, column: Column) -> Column:
    """Days as seconds, seconds as days; raises DataError where one side holds plain numbers."""
    if not (spec.unit and column.unit):
        held = "dates" if column.unit else "numbers"
        msg = f"column {spec.name!r} holds {held} here, but the tree was grown with {'dates' if spec.unit else 'numbers'}"
        raise DataError(msg)
    values = np.floor(column.values / DAY_SECONDS) if spec.unit == DAYS else column.values * DAY_SECONDS
    return attrs.evolve(column, values=values, unit=spec.unit)


def is_mixed(X: Any) -> bool:
    """Whether X is a frame with a column that does not hold numbers."""
    if not hasattr(X, "dtypes") or not hasattr(X, "iloc"):
        return False
    return any(getattr(dtype, "kind", "O") not in "biuf" or not hasattr(dtype, "kind") for dtype in X.dtypes)


def numeric_columns(X: np.ndarray, names: Sequence[str]) -> tuple[Column, ...]:
    """One transposition makes every column contiguous; none is copied again."""
    turned = np.ascontiguousarray(X.T)
    return tuple(Column(name, ColumnKind.continuous, turned[j]) for j, name in enumerate(names))


def frame_column(name: str, series: Any) -> Column:
    """A column of a mixed frame: ordered categories → ordinal, other text → categorical, points in time → days or seconds,
    else numbers.

    Objects that are all numbers are numbers: a frame that was filled row by row, or read with decimals, has those.
    Periods, durations and times of day are refused: they are no points in time.
    """
    if holds_dates(series):
        return _date_column(name, series)
    refuse_dates(name, series)
    if getattr(series.dtype, "kind", "O") in "biuf" or holds_numbers(series):
        return Column(name, ColumnKind.continuous, read_numbers(name, series))
    categories, codes = spelled(series)
    kind = ColumnKind.ordinal if getattr(series.dtype, "ordered", False) else ColumnKind.categorical
    return Column(name, kind, codes, tuple(categories))


def is_constant(column: Column) -> bool:
    """Whether no test on the column can tell two rows apart."""
    values = column.values
    if column.kind is ColumnKind.continuous:
        first = values[0]
        return bool(values[-1] == first and (values == first).all()) or bool(np.isnan(first) and np.isnan(values).all())
    return bool((values == values[0]).all())


def classes_and_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct labels in order, and the position of each row's label among them.

    Integers in a narrow range are counted instead of sorted: 0.3 ms instead of 6 ms for 100,000 rows.
    """
    if y.dtype.kind in "iu" and len(y) and int(y.max()) - int(y.min()) <= 4 * len(y):
        low = y.min()
        shifted = (y - low).astype(np.int64, copy=False)
        present = np.flatnonzero(np.bincount(shifted))
        position = np.zeros(int(present[-1]) + 1, np.int32)
        position[present] = np.arange(len(present))
        return (present + low).astype(y.dtype), position[shifted]
    return np.unique(y, return_inverse=True)
