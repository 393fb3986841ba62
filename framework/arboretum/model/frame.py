"""Rows from outside, read as the tree's training table was: frames, arrays, mappings, other
tables.
"""

import datetime
import decimal
import numbers
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.errors import DataError, closest
from arboretum.model.dates import (
    NANOSECONDS,
    NAT,
    date_number,
    fitting_unit,
    in_unit,
    moment,
    moments,
    refuse_close,
)
from arboretum.model.missing import MISSING, by_code, missing_among
from arboretum.model.plain import Plain
from arboretum.model.spelling import EXACT, TRUTH, canonical, refuse_merged, spelling
from arboretum.model.table import Column, ColumnKind, ColumnSpec, Table, Target, recode
from arboretum.model.tree import Tree


def table_like(tree: Tree, X: object) -> Table:
    """Read ``X`` as a table with the tree's columns, ready for ``tree.predict``.

    X : a pandas frame (columns matched by name), a 2-D array (by position; one column per column of
        the tree), a list of mappings from column name to value, a mapping from column name to
        values, or a Table.  None and NaN (and pandas' NA) are missing values, and so is an empty
        text, as in files, unless it is a category of the tree's.

    Categories are matched by spelling (``str``); a value that the tree has never seen gets the code
    −2.  A column that no test of the tree reads may be absent: its values are then missing.  The
    target is unknown (code −1, or NaN) unless X is a Table, whose target is kept, its classes put
    into the tree's order and unknown ones appended.

    Raises DataError: absent columns (all of them named), text where the tree compares numbers,
    infinite values, a wrong number of columns, no rows to speak of.
    """
    n_rows, given = _columns_of(tree, X)
    read = {column for rule in tree.rules for column in rule.columns}
    absent = [spec.name for spec in tree.columns if spec.name in read and spec.name not in given]
    if absent:
        near = closest(absent[0], given)
        hint = f"; did you rename {near!r}?" if near else ""
        raise DataError(f"the tree asks for columns that are absent: {', '.join(absent)}{hint}")
    columns = tuple(
        read_column(spec, given.get(spec.name, np.full(n_rows, np.nan))) for spec in tree.columns
    )
    if isinstance(X, Table):
        return attrs.evolve(X, columns=columns, target=_target_in_tree_order(tree, X))
    return Table("rows", columns, _no_target(tree, n_rows))


def _columns_of(tree: Tree, X: Any) -> tuple[int, Plain]:
    """Return the number of rows, and name → values of the columns at hand.

    Raises DataError for columns of different lengths or of one name, and for an array of another
    width than the tree.
    """
    if isinstance(X, Table):
        return X.n_rows, {column.name: column for column in X.columns}
    if hasattr(X, "columns") and hasattr(X, "dtypes"):  # a frame, without importing pandas
        found = {str(name): X.iloc[:, j] for j, name in enumerate(X.columns)}
        if len(found) < len(X.columns):
            repeated = min(name for name, n in Counter(map(str, X.columns)).items() if n > 1)
            raise DataError(f"the column {repeated!r} occurs twice; give every column one name")
        return len(X), found
    if isinstance(X, Sequence) and (not X or isinstance(X[0], Mapping)):
        names = (
            dict.fromkeys(str(key) for row in X for key in row)
            if X
            else [column.name for column in tree.columns]
        )
        return len(X), {name: [row.get(name) for row in X] for name in names}
    if isinstance(X, Mapping):
        for name, values in X.items():
            if isinstance(values, str) or not hasattr(values, "__len__"):
                raise DataError(
                    f"the mapping has one value of {name!r}, {values!r:.60}, and not a column of "
                    "them; of a single row, give a list of the mapping"
                )
        lengths = {name: len(values) for name, values in X.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(
                "the columns differ in length: "
                f"{', '.join(f'{n} {k}' for n, k in list(lengths.items())[:5])}"
            )
        return next(iter(lengths.values()), 0), X
    array = np.asarray(X)
    if array.ndim != 2 or array.shape[1] != len(tree.columns):
        raise DataError(
            f"expected rows with {len(tree.columns)} columns as in training; got an array of "
            f"the shape {array.shape}"
        )
    return len(array), {column.name: array[:, j] for j, column in enumerate(tree.columns)}


def _no_target(tree: Tree, n_rows: int) -> Target:
    """A target that no row has a value of."""
    if tree.is_regression:
        return Target("", tree.task, values=np.full(n_rows, np.nan))
    return Target("", tree.task, codes=np.full(n_rows, MISSING, np.int32), classes=tree.classes)


def _target_in_tree_order(tree: Tree, table: Table) -> Target:
    """Return the target of another table, its classes in the tree's order."""
    target = table.target
    if table.task is not tree.task:
        return _no_target(tree, table.n_rows)
    if tree.is_regression or target.classes == tree.classes:
        return target
    classes = (*tree.classes, *(c for c in target.classes if c not in tree.classes))
    return attrs.evolve(
        target, codes=recode(target.codes, target.classes, classes), classes=classes
    )


def read_column(spec: ColumnSpec, values: object) -> Column:
    """Read outside values (array, pandas series, list, Column) as a column of the given kind;
    raises DataError.

    A column of dates takes ISO text, dates and times of Python, NumPy or pandas, or numbers in its
    unit.
    """
    if isinstance(values, Column):
        return _recode_column(spec, values)
    values = _from_arrow(values)
    if spec.unit:
        return Column(
            spec.name, spec.kind, _date_numbers(spec.name, values, spec.unit), unit=spec.unit
        )
    refuse_dates(spec.name, values, _TIMES if spec.is_continuous else _SPANS)
    if spec.is_continuous:
        return Column(spec.name, spec.kind, read_numbers(spec.name, values))
    found, codes = spelled(values, spec.name)
    if "" in found and "" not in spec.categories:
        codes = np.where(codes == found.index(""), MISSING, codes)
    return Column(spec.name, spec.kind, recode(codes, found, spec.categories), spec.categories)


def read_numbers(name: str, values: object) -> np.ndarray:
    """Return float64[n] (float32 stays float32), NaN = missing; true is 1.  Raises DataError for
    text and for infinite values.
    """
    array = _as_array(values)
    if array.dtype not in (np.float32, np.float64):
        missing = missing_among(array)
        if array.dtype.kind in "OU":
            array = _as_array(
                [TRUTH.get(v.lower(), v) if isinstance(v, str) else v for v in array.tolist()]
            )
        try:
            array = np.where(missing, np.nan, array).astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(f"column {name!r} must hold numbers; {error}") from None
    if np.isinf(array).any():
        raise DataError(
            f"column {name!r} holds an infinite value; replace it by a number or leave it empty"
        )
    return array


def exact_numbers(name: str, values: object) -> np.ndarray:
    """As :func:`read_numbers`, to learn from; raises DataError, too, where two integers would
    become one number.
    """
    array, found = _as_array(values), read_numbers(name, values)
    if array.dtype.kind in "iuO":
        beyond = np.flatnonzero(np.abs(found) >= EXACT)
        refuse_merged(name, array[beyond].tolist(), found[beyond])
    return found


def _date_column(name: str, series: object) -> Column:
    """Points in time in the unit that fits them; raises DataError where two of them differ by
    less than it.
    """
    if _kind(series) == "M":
        ticks, step = moments(series)
        missing = ticks == NAT
    else:
        array = _as_array(series)
        missing, step = missing_among(array), 1
        ticks = np.array(
            [0 if gone else moment(value) for gone, value in zip(missing, array, strict=True)],
            object,
        )
    unit = fitting_unit(ticks[~missing], step)
    values = np.full(len(ticks), np.nan)
    values[~missing] = in_unit(ticks[~missing], step, unit)
    refuse_close(name, ticks[~missing], values[~missing])
    return Column(name, ColumnKind.continuous, values, unit=unit)


def _date_numbers(name: str, values: object, unit: str) -> np.ndarray:
    """Return float64[n] in the unit, rounded down, NaN = missing; numbers are in it.  Raises
    DataError for what is neither date nor number.
    """
    if _kind(values) == "M":
        ticks, step = moments(values)
        return np.where(ticks == NAT, np.nan, in_unit(ticks, step, unit))
    array = _as_array(values)
    if array.dtype.kind in "biuf":
        return read_numbers(name, array)
    found = np.full(len(array), np.nan)
    for row in np.flatnonzero(~missing_among(array)):
        value = array[row]
        number = float(value) if isinstance(value, _NUMBERS) else date_number(value, unit)
        if number is None:
            raise DataError(f"column {name!r} must hold dates such as 2020-03-01; got {value!r}")
        found[row] = number
    return found


_NUMBERS = (numbers.Real, decimal.Decimal)
_POINTS = (datetime.date, np.datetime64)
_SPANS = (datetime.time, datetime.timedelta, np.timedelta64)
_TIMES = (*_POINTS, *_SPANS)


def _kind(values: object) -> str:
    """NumPy's letter for the type of an array or a series; "O" for Python objects and for what
    only pandas knows.
    """
    return getattr(getattr(values, "dtype", None), "kind", "O")


def _all_are(types: tuple[type, ...], values: object) -> bool:
    """Return whether a column of Python objects holds values of these types only, and at least one
    (truth values and missing ones apart).
    """
    if str(getattr(values, "dtype", "object")) != "object":
        return False
    array = _as_array(values)
    known = array[~missing_among(array)].tolist()
    return bool(known) and all(
        isinstance(value, types) and not isinstance(value, bool) for value in known
    )


def refuse_dates(name: str, values: object, types: tuple[type, ...] = _TIMES) -> None:
    """Raise DataError, with the way out, where a column holds points in time, periods or
    durations.
    """
    found = str(getattr(values, "dtype", "object"))
    if found == "object":
        array = _as_array(values)
        value = next(iter(array[~missing_among(array)]), None)
        found = type(value).__name__
        if not isinstance(value, types):
            return
    elif _kind(values) not in ("mM" if types is _TIMES else "m") and not found.startswith(
        "period["
    ):
        return
    raise DataError(
        f"column {name!r} holds dates or times ({found}) where numbers or categories are asked "
        "for: give what may matter of them as numbers, such as year, month, or days since a date"
    )


def spelled(values: object, name: str = "") -> tuple[list[str], np.ndarray]:
    """Return the distinct spellings and, per value, which one it is (MISSING: none).

    Spellings (:mod:`arboretum.model.spelling`), without the blanks around text, come in the order
    of a pandas categorical, else numbers by size and text by alphabet.

    name : of the column.   Raises DataError for lists and what else has values of its own.
    """
    if hasattr(values, "cat"):
        given = [spelling(v).strip() for v in values.cat.categories]
        whole = list(dict.fromkeys(given))
        place = [whole.index(text) for text in given]
        return list(canonical(whole)), by_code(place, values.cat.codes, MISSING, dtype=np.int64)
    array = _as_array(values)
    missing = missing_among(array)
    known = array[~missing]
    # keeps float32, whose shortest spelling is its own
    listed = known.tolist() if known.dtype.kind in "OUS" else known
    if several := [value for value in listed if not isinstance(value, Hashable)]:
        raise DataError(
            f"column {name!r} holds a {type(several[0]).__name__} in a row, {several[0]!r:.60}, "
            "and a value is a number, a text or a date; make columns of what is in it, or leave "
            "it out"
        )
    kinds = {(type(value), value) for value in listed}  # 1, 1.0 and True are equal to Python
    try:
        distinct = sorted(kinds, key=lambda one: one[1])
    except TypeError:  # mixed types have no order of their own
        distinct = sorted(kinds, key=lambda one: str(one[1]))
    texts = [spelling(value).strip() for _, value in distinct]
    spelt = dict(zip(dict.fromkeys(texts), canonical(list(dict.fromkeys(texts))), strict=True))
    position = {text: i for i, text in enumerate(spelt)}
    of_value = {one: position[text] for one, text in zip(distinct, texts, strict=True)}
    codes = np.full(len(array), MISSING, np.int64)
    codes[~missing] = [of_value[type(value), value] for value in listed]
    return list(spelt.values()), codes


def _as_array(values: Any) -> np.ndarray:
    """Return a NumPy array of a pandas series or a list, text and mixtures as objects."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        array: np.ndarray = values.to_numpy()
        rounded = array.dtype.kind == "f" and _kind(values) in "iu"  # beside a missing one
        kept = array.dtype.kind in "biuf" and not rounded
        return array if kept else values.to_numpy(dtype=object)
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _from_arrow(values: Any) -> Any:
    """Return a column of Arrow's dates or decimals as the Python objects that they stand for; any
    other as it is.
    """
    dtype = getattr(values, "dtype", None)
    own = hasattr(dtype, "pyarrow_dtype") and str(dtype).startswith(("date", "decimal"))
    return values.astype(object) if own else values


def _recode_column(spec: ColumnSpec, column: Column) -> Column:
    """Return a column of another table with the categories, or the unit, of the tree's.

    Raises DataError where one holds numbers and the other categories, or one dates and the other
    plain numbers.
    """
    if spec.is_continuous != column.is_continuous:
        raise DataError(
            f"column {spec.name!r} is {column.kind.value} here, but the tree was grown with "
            f"it {spec.kind.value}"
        )
    if column.categories != spec.categories:
        return Column(
            spec.name,
            spec.kind,
            recode(column.values, column.categories, spec.categories),
            spec.categories,
        )
    if column.unit == spec.unit:
        return attrs.evolve(column, kind=spec.kind)
    if not (spec.unit and column.unit):
        held = "dates" if column.unit else "numbers"
        raise DataError(
            f"column {spec.name!r} holds {held} here, but the tree was grown with "
            f"{'dates' if spec.unit else 'numbers'}"
        )
    here, there = NANOSECONDS[column.unit], NANOSECONDS[spec.unit]
    values = (
        np.floor(column.values / (there // here))
        if there > here
        else column.values * (here // there)
    )
    return attrs.evolve(column, values=values, unit=spec.unit)


def is_mixed(X: object) -> bool:
    """Return whether X is a frame with a column that does not hold numbers."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):  # as a series has no columns
        return False
    return any(getattr(dtype, "kind", "O") not in "biuf" for dtype in X.dtypes)


def column_of_series(name: str, series: Any) -> Column:
    """Return a column of a mixed frame: ordered categories → ordinal, other text → categorical,
    points in time → days or seconds, else numbers.

    Objects that are all numbers are numbers: a frame that was filled row by row, or read with
    decimals, has those. Periods, durations and times of day are refused: they are no points in
    time.
    """
    series = _from_arrow(series)
    if _kind(series) == "M" or _all_are(_POINTS, series):
        return _date_column(name, series)
    refuse_dates(name, series)
    if _kind(series) in "biuf" or _all_are(_NUMBERS, series):
        return Column(name, ColumnKind.continuous, exact_numbers(name, series))
    categories, codes = spelled(series, name)
    kind = ColumnKind.ordinal if getattr(series.dtype, "ordered", False) else ColumnKind.categorical
    return Column(name, kind, codes, tuple(categories))


def is_constant(column: Column) -> bool:
    """Return whether no test on the column can tell two rows apart."""
    return bool((column.values == column.values[0]).all() or column.missing.all())
