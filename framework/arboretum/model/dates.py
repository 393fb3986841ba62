"""Dates as numbers: columns hold days, or seconds or fractions of them, since 1970-01-01; tests
read aloud as dates again.

A column's ``unit`` says which: "" (plain numbers) or one of ``UNITS``, the coarsest in which all
its moments are whole. Whole numbers let a threshold between two of them be spelled as the lower
one: "sold ≤ 2020-03-01" says exactly what the test does.
"""

import datetime
import math
import re
from typing import Any

import numpy as np

from arboretum.errors import DataError

DAYS = "days"
NANOSECONDS = {DAYS: 86_400 * 10**9, "seconds": 10**9, "milliseconds": 10**6, "microseconds": 10**3}
"""Unit → nanoseconds in it, coarsest first.  Finer ones would not be exact: a double tells
moments of today 2⁻²² s apart.
"""
UNITS = ("", *NANOSECONDS)
DIGITS = {"milliseconds": 3, "microseconds": 6}

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T "
    r"](\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?)?"
)
NAT = np.iinfo(np.int64).min
"""What NumPy's "not a time" is as an integer."""
# columns of dates carry no zone; zoned ones are turned to UTC
_EPOCH = datetime.datetime(1970, 1, 1)
_NUMPY = {
    "D": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
"""NumPy's units → nanoseconds."""


def moment(value: object) -> int | None:
    """Nanoseconds since 1970-01-01 (UTC) of ISO text (2020-03-01, 2020-03-01T12:30:00.5Z), a
    date or a NumPy datetime; None if it is none.
    """
    if isinstance(value, np.datetime64):
        ticks, step = moments(np.array([value]))
        return None if np.isnat(value) else int(ticks[0]) * step
    fraction = 0
    if isinstance(value, str):
        found = _ISO.fullmatch(value)
        try:
            value = (
                datetime.datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}{found[4] or ''}")
                if found
                else None
            )
        except ValueError:  # 2020-02-30
            return None
        fraction = int(found[3].ljust(9, "0")) if found and found[3] else 0
    if not isinstance(value, datetime.date):
        return None
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    utc = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
    fraction += getattr(value, "nanosecond", 0)  # of pandas' Timestamp, which is a datetime
    passed: int = (utc - _EPOCH) // datetime.timedelta(microseconds=1) * 1_000 + fraction
    return passed


def moments(values: Any) -> tuple[np.ndarray, int]:
    """Return int64[n] and how many nanoseconds one is, of an array or pandas series of NumPy's
    datetimes (:data:`NAT` where there is none).
    """
    if hasattr(values, "to_numpy"):
        # turned to UTC
        values = values.to_numpy(
            dtype=f"datetime64[{getattr(getattr(values, 'dt', values), 'unit', 'ns')}]"
        )
    unit = np.datetime_data(values.dtype)[0]
    unit = unit if unit in _NUMPY else "D" if unit in ("Y", "M", "W", "generic") else "ns"
    return values.astype(f"datetime64[{unit}]").astype(np.int64), _NUMPY[unit]


def date_number(value: object, unit: str) -> float | None:
    """Return the number of a point in time (as of :func:`moment`) in the unit, rounded down; None
    if it is none.
    """
    nanoseconds = moment(value)
    return None if nanoseconds is None else float(nanoseconds // NANOSECONDS[unit])


def in_unit(ticks: np.ndarray, step: int, unit: str) -> np.ndarray:
    """Return int[n]: whole numbers of the unit, rounded down.

    ticks : int[n] of ``step`` nanoseconds each.
    """
    size = NANOSECONDS[unit]
    return ticks // (size // step) if step < size else ticks * (step // size)


def fitting_unit(ticks: np.ndarray, step: int) -> str:
    """Return the coarsest unit in which all moments are whole, at most microseconds.

    ticks : int[n] of ``step`` nanoseconds each.
    """
    return next(
        (
            unit
            for unit, size in NANOSECONDS.items()
            if step >= size or not (ticks % (size // step)).any()
        ),
        UNITS[-1],
    )


def refuse_close(name: str, ticks: np.ndarray, numbers: np.ndarray) -> None:
    """Raise DataError where two moments of a column have become one number.

    ticks : int[n], the moments.   numbers : float64[n], what they became.
    """
    if len(set(ticks.tolist())) > len(np.unique(numbers)):
        raise DataError(
            f"column {name!r} holds moments less than a microsecond apart; give nanoseconds "
            "since one of them as numbers"
        )


def spell_date(value: float, unit: str, digits: int = 6) -> str:
    """Return the day, the second or the fraction that a number lies in: ISO, a blank before the
    time; the bare number beyond year 9999, in so many digits.

    value : in the unit since 1970-01-01.
    """
    size = NANOSECONDS[unit]
    try:
        found = _EPOCH + datetime.timedelta(microseconds=math.floor(value) * size // 1_000)
    except OverflowError:
        return f"{value:.{digits}g} {unit}"
    if unit == DAYS:
        return found.date().isoformat()
    more = f".{found.microsecond:06}"[: 1 + DIGITS[unit]] if unit in DIGITS else ""
    return found.replace(microsecond=0).isoformat(" ") + more


def spell_moment(nanoseconds: int) -> str:
    """Return the canonical spelling: a day where it is midnight, else the second, with as many
    decimals as it takes.
    """
    seconds, fraction = divmod(nanoseconds, 10**9)
    found = _EPOCH + datetime.timedelta(seconds=seconds)
    if not fraction:
        return found.date().isoformat() if not seconds % 86_400 else found.isoformat(" ")
    return found.isoformat(" ") + f".{fraction:09}".rstrip("0")
