"""Hypothesis strategies: tables that are small and nasty: ties, one row, one class, missing
values, categories that no row shows.
"""

import numpy as np
from hypothesis import strategies as st

from arboretum.api import Column, ColumnKind, Table, Target, Task

NUMBERS = (-2.5, -1.0, 0.0, 0.1, 0.5, 1.0, 3.0, 1e6)
WEIGHTS = (0.25, 1.0, 1.0, 2.0, 3.5)


@st.composite
def columns(
    draw: st.DrawFn, name: str, n_rows: int, missing: bool = True, unseen: bool = False
) -> Column:
    """One column of any kind; without ``missing`` every row has a value, ``unseen`` also draws the
    code −2.
    """
    kind = draw(st.sampled_from(ColumnKind))
    categories = () if kind is ColumnKind.continuous else tuple("abcd"[: draw(st.integers(1, 4))])
    dtype = (
        draw(st.sampled_from([np.float32, np.float64]))
        if kind is ColumnKind.continuous
        else np.int32
    )
    lowest = -2 if unseen else -1 if missing else 0
    return Column(
        name, kind, draw(cells(kind, categories, n_rows, lowest)).astype(dtype), categories
    )


@st.composite
def cells(
    draw: st.DrawFn, kind: ColumnKind, categories: tuple[str, ...], n_rows: int, lowest: int
) -> np.ndarray:
    """Values of a column, or codes; NaN and −1 are missing, unless ``lowest`` is 0, and −2 is a
    category that is unknown.

    lowest : least code that is drawn: 0, −1 (missing too) or −2 (unknown too).
    """
    if kind is ColumnKind.continuous:
        value = st.sampled_from([*NUMBERS, float("nan")] if lowest < 0 else NUMBERS)
    else:
        value = st.integers(lowest, len(categories) - 1)
    return np.array(draw(st.lists(value, min_size=n_rows, max_size=n_rows)))


@st.composite
def tables(
    draw: st.DrawFn,
    task: Task | None = None,
    min_rows: int = 1,
    max_rows: int = 12,
    max_columns: int = 4,
) -> Table:
    """A table with 1…``max_columns`` columns of any kind, weighted or not.

    task : None: either.
    """
    task = draw(st.sampled_from(Task)) if task is None else task
    n_rows = draw(st.integers(min_rows, max_rows))
    names = [f"x{i}" for i in range(draw(st.integers(1, max_columns)))]
    found = tuple(draw(columns(name, n_rows)) for name in names)
    weights = (
        np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n_rows, max_size=n_rows)))
        if draw(st.booleans())
        else None
    )
    return Table("drawn", found, draw(targets(task, n_rows)), weights)


@st.composite
def targets(draw: st.DrawFn, task: Task, n_rows: int, n_classes: int | None = None) -> Target:
    """A target; some classes may be shown by no row.   n_classes : None: 2 to 4."""
    if task is Task.regression:
        values = draw(st.lists(st.sampled_from(NUMBERS[:-1]), min_size=n_rows, max_size=n_rows))
        return Target("y", task, values=np.array(values, np.float64))
    n_classes = draw(st.integers(2, 4)) if n_classes is None else n_classes
    codes = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    return Target(
        "y", task, np.array(codes, np.int32), tuple(f"class {k}" for k in range(n_classes))
    )
