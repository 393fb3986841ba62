"""Roles: what is known of each row besides its attributes and its target, as what a label costs it.

A table holds them by name (:attr:`arboretum.model.table.Table.roles`); no test asks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from arboretum.errors import DataError
from arboretum.model.spelling import TRUTH

EVENT, OUTCOME, PROPENSITY, COSTS = "event", "outcome", "propensity", "costs"
"""Roles: whether a time is that of the event (1) or of the last look (0); what came of the action
that the target names, and how likely that action was; all columns of costs together.
"""

Allowed = Callable[[np.ndarray], np.ndarray]
_NUMBERS: Mapping[str, tuple[Allowed, str]] = {
    EVENT: (lambda values: (values == 0) | (values == 1), "0 (censored) or 1 (the event)"),
    PROPENSITY: (lambda values: (values > 0) & (values <= 1), "a probability above 0, up to 1,"),
}
"""Role → which numbers it may have, and what they are called; of others any finite one."""


def cost_role(label: str) -> str:
    """Return the role of the column that holds what each row costs where it is given a label."""
    return f"cost of {label}"


def is_cost(role: str) -> bool:
    """Return whether a role holds costs."""
    return role == COSTS or role.startswith(cost_role(""))


def field_of_role(role: str) -> str:
    """Return the field of a data set that names the column of a role."""
    if is_cost(role):
        return COSTS
    return role if role in (EVENT, OUTCOME, PROPENSITY) else f"roles.{role}"


def spell_field(role: str) -> str:
    """Return how a role is said to a data set, as in ``event=COLUMN``."""
    if is_cost(role):
        return f"{COSTS}={{LABEL: COLUMN, …}}"
    field, _, name = field_of_role(role).partition(".")
    return f"{field}={{{name}: COLUMN}}" if name else f"{field}=COLUMN"


def check_role(role: str, values: ArrayLike, what: str) -> np.ndarray:
    """Return float64[n_rows], the numbers of a role.

    values : [n_rows], numbers or truth values; of objects text that is neither, and None, count as
        missing.
    what : says the role, in the message.

    Raises DataError, naming the row (from 1) and its value, where one is missing or is no number
    that the role may have.
    """
    return _checked(values, what, *_NUMBERS.get(role, (np.isfinite, "a finite number")))


def check_row_weights(values: ArrayLike, what: str) -> np.ndarray:
    """Return float64[n_rows], the weights of rows; as :func:`check_role`."""
    return _checked(
        values, what, lambda found: np.isfinite(found) & (found > 0), "a positive number"
    )


def _checked(values: ArrayLike, what: str, allowed: Allowed, words: str) -> np.ndarray:
    """Return float64[n_rows], numbers that are allowed, which ``words`` name."""
    given = np.asarray(values)
    plain = given.dtype.kind in "biuf"
    numbers = given.astype(np.float64) if plain else np.array([_number(one) for one in given])
    wrong = np.flatnonzero(~allowed(numbers))
    if len(wrong):
        row = int(wrong[0])
        found = f"{numbers[row]:g}" if plain else repr(given[row : row + 1].tolist()[0])
        raise DataError(f"{what} must hold {words} in every row; row {row + 1} has {found}")
    return numbers


def _number(value: object) -> float:
    """A number, of anything; NaN of what is none, 1 of true."""
    if isinstance(value, str):
        value = TRUTH.get(value.lower(), value)
    try:
        return float(value)  # type: ignore[arg-type]  # whatever a frame holds
    except (TypeError, ValueError, OverflowError):
        return float("nan")
