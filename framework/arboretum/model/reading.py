"""JSON from elsewhere: read without trust in its depth or its types."""

import enum
import functools
import inspect
import itertools
import json
import math
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from arboretum.model.plain import Facts, Plain


def plain(value: object) -> Any:
    """Return a value in words of JSON, which knows neither NaN nor ∞: a number that is not finite
    is None.
    """
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return (
        [plain(item) for item in value]
        if isinstance(value, list | tuple)
        else getattr(value, "value", value)
    )


def parse(text: str) -> Any:
    """``json.loads``; raises ValueError also for what is nested so deeply that Python cannot
    follow.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def document(text: str | Facts, *schemas: str) -> Facts:
    """Return a JSON object, or one that was read, that says to be of one of these schemas; raises
    ValueError for anything else.
    """
    data = text if isinstance(text, dict) else parse(text)
    found = data.get("schema") if isinstance(data, dict) else type(data).__name__
    if found not in schemas or not isinstance(data, dict):
        raise ValueError(f"schema {found!r}, expected {' or '.join(schemas)}")
    return data


def fits(value: object, wanted: object) -> bool:
    """Return whether a JSON value is of a type as annotations write it: ``int`` is no bool and no
    1.5, a list serves as a tuple.
    """
    if type(value) is wanted:  # most of what is long
        return True
    origin, inner = _parts(wanted)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is list or (origin is tuple and inner[1:] == (...,)):
        return isinstance(value, list | tuple) and all(fits(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, Mapping) and all(fits(item, inner[1]) for item in value.values())
    if wanted in (int, float):
        return isinstance(value, int if wanted is int else int | float) and not isinstance(
            value, bool
        )
    # the class itself reads its words
    if not isinstance(wanted, type) or issubclass(wanted, enum.Enum):
        return True
    return isinstance(value, wanted)


@functools.cache
def _parts(wanted: object) -> tuple[object, tuple[object, ...]]:
    """(origin, arguments) of a type as annotations write it."""
    return typing.get_origin(wanted), typing.get_args(wanted)


def refuse_misfits(values: Plain, wanted: Plain) -> None:
    """Raise ValueError naming key, type and value where a value is of another type than wanted;
    absent keys are not missed.
    """
    for name, kind in wanted.items():
        if name in values and not fits(values[name], kind):
            spelled = (
                kind.__name__
                if isinstance(kind, type) and typing.get_origin(kind) is None
                else kind
            )
            raise ValueError(f"{name} must be {spelled}; got {brief(values[name])}")


OBJECTS = list[dict]  # type: ignore[type-arg]  # as messages show it
SHOWN = 80  # characters of a wrong value that a message shows


def brief(value: object) -> str:
    """Return a wrong value as a message shows it."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def built(cls: type, fields: Plain) -> Any:
    """Return an object of an attrs class from JSON values of its fields; raises TypeError or
    ValueError where they do not fit.
    """
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    refuse_misfits(values, _field_types(cls))
    return cls(**values)


@functools.cache
def _field_types(cls: type) -> Plain:
    """Field → annotated type of a class; {} where annotations cannot be resolved."""
    try:
        return types_of_fields(cls)
    except (NameError, TypeError):
        return {}


def types_of_fields(cls: type) -> dict[str, object]:
    """Field → annotated type of an attrs class; raises what an annotation raises.

    What else is annotated is left alone: attrs enters what a cached property returns, which type
    checkers alone may know by name.
    """
    fields, found = {field.name for field in attrs.fields(cls)}, dict[str, object]()
    for base in reversed(cls.__mro__):
        said = {n: kind for n, kind in inspect.get_annotations(base).items() if n in fields}
        known = getattr(sys.modules.get(base.__module__), "__dict__", {})
        found |= typing.get_type_hints(
            types.SimpleNamespace(__annotations__=said), known, dict(vars(base))
        )
    return found


# arrays in which null stands for NaN, and "inf", "-inf" for an infinity
_OPEN = ("value", "impurity", "score")


def read_array(name: str, values: object, dtype: type) -> np.ndarray:
    """Return one array from its JSON values; raises ValueError where one is no number, or no whole
    one where it has to be.
    """
    nested = name == "weights"
    if not isinstance(values, list) or (
        nested and not all(isinstance(row, list) for row in values)
    ):
        raise ValueError(
            f"{name} must be a list{' of lists' * nested}; got {type(values).__name__}"
        )
    kinds = (int,) if dtype in (np.int32, np.int64) else (int, float)
    for value in itertools.chain.from_iterable(values) if nested else values:
        if type(value) not in kinds and not (name in _OPEN and value in (None, "inf", "-inf")):
            raise ValueError(
                f"{name} must hold {'whole ' * (len(kinds) == 1)}numbers; got {brief(value)}"
            )
    return (
        np.array(values, dtype=dtype).reshape(len(values), -1)
        if nested
        else np.array(values, dtype=dtype)
    )


def plain_array(array: np.ndarray) -> object:
    """Return the array as JSON values: NaN is written as null, an infinity as "inf" or "-inf" (JSON
    knows neither).
    """
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return array.tolist()
    values = array.astype(object)
    values[np.isnan(array)] = None
    values[np.isinf(array)] = np.where(array[np.isinf(array)] > 0, "inf", "-inf").tolist()
    return values.tolist()
