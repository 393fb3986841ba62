"""One value, one spelling: how truth values, numbers and moments are written as categories and
classes, wherever they come from.

Truth values are "true" and "false".  Numbers are written in full where they are whole (1, not 1.0;
integers of any size), else in the shortest form that reads back.  Moments are ISO, "2020-03-01
12:30:00.5", a day alone at midnight; times of day have no zeros after their last digit, "12:30:00".
Other text is itself. Text is taken for one of the four where all values of its column are: "007"
keeps a column of codes text.
"""

import datetime
import decimal
import functools
import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from arboretum.errors import DataError
from arboretum.model.dates import moment, spell_moment

EXACT = 2**53
"""Below it every integer is a double; beyond it two may be one."""
TRUTH = {"false": 0.0, "true": 1.0}

# exponents as programs write them
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]\d{2,3})?")
_INTEGER = re.compile(r"-?\d+(?:\.0*)?")
_TIME = re.compile(r"\d\d:\d\d:\d\d(?:\.\d+)?")


def spelling(value: object) -> str:
    """Return the canonical spelling of one typed value; text is itself."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating | decimal.Decimal):
        return spell_number(str(value))
    if isinstance(value, datetime.date | np.datetime64) and (found := moment(value)) is not None:
        return spell_moment(found)
    return str(value)


def speller(texts: Iterable[str]) -> Callable[[str], str]:
    """Return how the values of a column are spelled that holds these texts."""
    listed = list(texts)
    if not listed:
        return str
    if all(text.lower() in TRUTH for text in listed):
        return _spell_truth
    if all(map(_NUMBER.fullmatch, listed)):
        return spell_number
    if all(map(_TIME.fullmatch, listed)):
        return _spell_time
    return _spell_date if all(moment(text) is not None for text in listed) else str


def _spell_truth(text: str) -> str:
    return text.lower() if text.lower() in TRUTH else text


def _spell_time(text: str) -> str:
    fraction = "." in text and _TIME.fullmatch(text)
    return text.rstrip("0").removesuffix(".") if fraction else text


def _spell_date(text: str) -> str:
    return text if (found := moment(text)) is None else spell_moment(found)


def spell_number(text: str) -> str:
    """Return a number in full where it is whole, else the shortest that reads back; digits that no
    double holds, and what is no number, stay.
    """
    if not _NUMBER.fullmatch(text):
        return text
    exact = decimal.Decimal(text)
    if exact == exact.to_integral_value():
        return str(int(exact))
    short = repr(float(text))
    return short if decimal.Decimal(short) == exact else text


def canonical(texts: Sequence[str]) -> tuple[str, ...]:
    """Canonical spellings of distinct values that stay distinct: as they are where two would
    become one.
    """
    spelt = tuple(map(speller(texts), texts))
    return spelt if len(set(spelt)) == len(texts) else tuple(texts)


def positions(found: Sequence[str], known: Sequence[str], unseen: int) -> list[int]:
    """Return where each value found is among the known ones: by its spelling, else by its canonical
    one; 1 and 0 are true and false.
    """
    place = {text: i for i, text in enumerate(known)}
    if all(text in place for text in found):
        return [place[text] for text in found]
    spell, spelt = speller(known), canonical(known)
    by_spelling = {text: i for i, text in enumerate(spelt)}
    if spell is _spell_truth:
        by_spelling |= {
            digit: by_spelling[word]
            for digit, word in (("0", "false"), ("1", "true"))
            if word in by_spelling
        }
    where = [unseen] * len(found)
    for named, spelt_found in (
        (by_spelling, _places_of_spellings(tuple(found), spell)),
        (place, _places_of_spellings(tuple(found), str)),
    ):
        for text, i in named.items():
            for at in spelt_found.get(text, ()):
                where[at] = i
    return where


@functools.lru_cache(maxsize=64)  # thousands of tests of one column ask for few categories each
def _places_of_spellings(
    found: tuple[str, ...], spell: Callable[[str], str]
) -> dict[str, list[int]]:
    """Return where each canonical spelling comes."""
    places: dict[str, list[int]] = {}
    for at, text in enumerate(found):
        places.setdefault(spell(text), []).append(at)
    return places


def refuse_merged(name: str, whole: Sequence[object] | np.ndarray, numbers: np.ndarray) -> None:
    """Raise DataError where two integers (or texts of integers) of a column become one number.

    whole, numbers : [n], the values and the doubles they become.
    """
    beyond = np.flatnonzero(np.abs(numbers) >= EXACT)
    if not len(beyond):
        return
    known: dict[float, object] = {}
    for i in beyond.tolist():
        value = whole[i]
        if isinstance(value, str):
            if not _INTEGER.fullmatch(value):
                continue
            value = int(value.partition(".")[0])
        if (other := known.setdefault(float(numbers[i]), value)) != value:
            raise DataError(
                f"column {name!r}: {other} and {value} are one number in float64, exact up to "
                "2^53; keep them as categories (dataset.kinds), leave the column out, or subtract "
                "what they have in common"
            )
