"""Dates as numbers: columns hold days or seconds since 1970-01-01, tests read aloud as dates again.

A column's ``unit`` says which: "" (plain numbers), ``DAYS`` or ``SECONDS``.  Whole days (and whole seconds) let a
threshold between two of them be spelled as the lower one: "sold ≤ 2020-03-01" says exactly what the test does.
"""

import datetime
import math
import re
from typing import Any

import numpy as np

DAYS = "days"
SECONDS = "seconds"
UNITS = ("", DAYS, SECONDS)

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.0+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - columns of dates carry no zone; zoned ones are turned to UTC
DAY_SECONDS = 86_400


def date_number(value: Any, unit: str) -> float | None:
    """Days or whole seconds since 1970-01-01 (UTC), rounded down, of ISO text (2020-03-01, 2020-03-01T12:30:00Z), a date or a
    NumPy datetime; None if it is none.  Fractions of a second are not read.
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value) if _ISO.fullmatch(value) else None
        except ValueError:  # 2020-02-30
            return None
    if not isinstance(value, datetime.date):
        return None
    if not isinstance(value, datetime.datetime):  # pandas' Timestamp is one
        value = datetime.datetime.combine(value, datetime.time())
    moment = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
    seconds = math.floor((moment - _EPOCH).total_seconds())
    return float(seconds // DAY_SECONDS if unit == DAYS else seconds)


def in_fitting_unit(seconds: np.ndarray) -> tuple[str, np.ndarray]:
    """Days where no value has a time of day other than midnight, else seconds.   seconds : float64[n], NaN = missing."""
    return (SECONDS, seconds) if (seconds[~np.isnan(seconds)] % DAY_SECONDS).any() else (DAYS, seconds / DAY_SECONDS)


def spell_date(value: float, unit: str) -> str:
    """The day, or the second, that a number lies in: ISO, a blank before the time; the bare number beyond year 9999."""
    seconds = math.floor(value) * (DAY_SECONDS if unit == DAYS else 1)
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return f"{value:g} {unit}"
    return moment.date().isoformat() if unit == DAYS else moment.isoformat(" ")
