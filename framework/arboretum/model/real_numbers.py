"""What an author's function returns, as float64; what NumPy would make such numbers of in silence,
or with a warning, is refused.
"""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np

from arboretum.errors import ContractError

WAYS = {
    "c": "return their real part (.real), or their size (abs)",
    "U": "convert them (.astype(float))",
    "S": "convert them (.astype(float))",
    "M": "return a span in a unit of your own",
    "m": "divide by a unit, as np.timedelta64(1, 'D')",
}
"""Out of arrays of such kinds."""


def real_numbers(found: object, said: str) -> np.ndarray:
    """Return float64[…] of numbers: truth values are 0 and 1, fractions, decimals and longer floats
    are rounded.

    said : who returned them, as "objective own: costs".
    Raises ContractError for complex numbers, whose imaginary part would be lost, for text, which
    would be read, for masked entries, whose mask would be lost, and for what is no number.
    """
    if type(found) is np.ndarray and found.dtype == np.float64:
        return found
    if isinstance(found, np.ma.MaskedArray) and (n := int(np.sum(found.mask))):
        raise ContractError(f"{said} must return numbers, and {n} are masked; use .filled(value)")
    try:
        array = np.asarray(found)
    except ValueError:
        raise ContractError(
            f"{said} must return an array of numbers; got a list whose parts differ in length"
        ) from None
    kind = array.dtype.kind
    if kind == "O":
        for one in array.flat:
            if not isinstance(one, Real | Decimal):
                raise ContractError(
                    f"{said} must return numbers; got an object of {type(one).__name__}: return "
                    "float64"
                )
    elif kind not in "biuf":
        way = WAYS.get(kind, "return float64")
        raise ContractError(f"{said} must return real numbers; got {array.dtype}: {way}")
    try:
        with np.errstate(over="ignore"):  # ∞ is the caller's to refuse
            return np.asarray(array, np.float64)
    except OverflowError:
        raise ContractError(f"{said} must return numbers that float64 holds") from None
