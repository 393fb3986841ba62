"""What ``fit`` is told of rows besides X, y and weights: roles, as arrays, mappings or frames."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arboretum.engine import check
from arboretum.errors import ConfigError, DataError
from arboretum.interfaces.method import Parts
from arboretum.model.roles import COSTS, check_role, cost_role, field_of_role, is_cost
from arboretum.model.spelling import positions, spelling
from arboretum.model.table import Table


def read_roles(
    said: Mapping[str, Any], costs: Any, roles: Any, classes: Sequence[str], n_rows: int
) -> dict[str, np.ndarray]:
    """Return role → float64[n_rows], of all that is told of the rows.

    said : role → values, of the roles that are parameters; None: not said.
    costs, roles : as of ``fit``.   classes : as they are spelled in the table.

    Raises DataError for another number of rows, and, naming the row (from 1), where a role cannot
    have a number; ConfigError for what says no role.
    """
    given = {role: (role, values) for role, values in said.items() if values is not None}
    given |= {} if costs is None else _of_labels(costs, classes)
    given |= {} if roles is None else _of_names(roles)
    return {role: _numbers(role, *named, n_rows) for role, named in given.items()}


def read_followed(y: Any, event: Any) -> tuple[Any, Any]:
    """Return times and events, of a structured array of one truth value and one number, as
    scikit-survival's ``Surv`` makes it; else both as they are.

    Raises ConfigError for a structured array of something else, or beside an event.
    """
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None:
        return y, event
    flags = [name for name in names if y[name].dtype.kind == "b"]
    times = [name for name in names if y[name].dtype.kind in "iuf"]
    if event is not None or (len(flags), len(times), len(names)) != (1, 1, 2):
        beside = " beside event=" if event is not None else ""
        raise ConfigError(
            f"y is a structured array of {', '.join(names)}{beside}; give one truth value, whether "
            "the event was seen, and one time, or y=TIMES and event=VALUES"
        )
    return y[times[0]].astype(np.float64), y[flags[0]]


def refuse_lacking(parts: Parts, table: Table, method: str) -> None:
    """Raise DataError, with the argument that says it, where the table lacks a role that a
    component reads.

    method : of the estimator, that takes the arguments.
    """
    for part, role in check.roles_read(parts):
        for lacking in table.lacking(role):
            field, _, name = field_of_role(lacking).partition(".")
            says = f"{field}={{{name!r}: VALUES}}" if name else f"{field}=VALUES"
            says = "costs=FRAME, a column for each class" if role == COSTS else says
            raise DataError(
                f"{check.label(part)} reads the {role} of each row, and {method} is not told the "
                f"{lacking}; say {method}(X, y, {says})"
            )


def _by_name(values: Any) -> dict[Any, Any] | None:
    """Name → values, of a mapping or a frame; None of an array.  Raises DataError for a name that
    occurs twice.
    """
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        names = list(values.columns)
        if twice := [name for name in names if names.count(name) > 1]:
            raise DataError(f"the column {twice[0]!r} occurs twice; give every column one name")
        return {name: values.iloc[:, j] for j, name in enumerate(names)}
    return dict(values) if isinstance(values, Mapping) else None


def _of_labels(costs: Any, classes: Sequence[str]) -> dict[str, tuple[str, Any]]:
    """Role → how it is called, and values, of the costs of labels; a label that y does not show is
    left out.  Raises ConfigError where numbers are predicted, DataError for other columns than
    one for each class.
    """
    if not classes:
        raise ConfigError("costs are of labels, and TreeRegressor has none; use TreeClassifier")
    by_label = _by_name(costs)
    if by_label is None:
        array = np.asarray(costs)
        if array.ndim != 2 or array.shape[1] != len(classes):
            raise DataError(
                f"costs is an array of the shape {array.shape}, and y has the classes "
                f"{', '.join(classes)}; give [n_rows, {len(classes)}], or a frame with a column "
                "for each class"
            )
        by_label = dict(zip(classes, array.T, strict=True))
    where = positions([spelling(label) for label in by_label], classes, -1)
    known = [k for k in where if k >= 0]
    if twice := [classes[k] for k in known if known.count(k) > 1]:
        raise DataError(f"costs names the class {twice[0]!r} twice; give every class one column")
    return {
        cost_role(classes[k]): (f"costs[{label!r}]", values)
        for k, (label, values) in zip(where, by_label.items(), strict=True)
        if k >= 0
    }


def _of_names(roles: Any) -> dict[str, tuple[str, Any]]:
    """Role → how it is called, and values, of the roles that components name themselves."""
    by_name = _by_name(roles)
    if by_name is None:
        raise ConfigError(
            f"roles is a mapping from names to values, or a frame; got {type(roles).__name__}"
        )
    for name in by_name:
        if is_cost(str(name)) or "." not in field_of_role(str(name)):
            raise ConfigError(
                f"roles: {name!r} has a parameter of its own; say fit(X, y, "
                f"{field_of_role(str(name))}=VALUES)"
            )
    return {str(name): (f"roles[{name!r}]", values) for name, values in by_name.items()}


def _numbers(role: str, what: str, values: Any, n_rows: int) -> np.ndarray:
    """float64[n_rows] of a role; raises DataError for another shape, and as ``check_role``."""
    array = np.asarray(values)
    if array.shape not in ((n_rows,), (n_rows, 1)):
        divided = " (cross-validation divides arrays and frames, but no mapping of them)"
        raise DataError(
            f"{what} is of the shape {array.shape}, and X has {n_rows} rows; give one number for "
            f"each{divided if '[' in what else ''}"
        )
    return check_role(role, array.ravel(), what)
