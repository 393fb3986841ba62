"""Building one component from plain values: types coerced, unknown fields refused, validators run, once and here."""

from __future__ import annotations

import enum
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from arboretum.blame import blaming
from arboretum.errors import ConfigError, PluginError, unknown
from arboretum.interfaces.component import MANY
from arboretum.plugin.registry import Entry


def build(entry: Entry, values: Mapping[str, Any], shared: Mapping[str, Any] | None = None) -> Any:
    """Build one component from plain values; raises ConfigError naming field, rule and value.

    values : field → value; a field that is absent keeps its default, or follows the ``shared`` value it declares.
    """
    types_of = field_types(entry.cls)
    where = f"{entry.kind}.{entry.name}" if entry.kind in MANY else entry.kind
    known = {f.alias: f for f in attrs.fields(entry.cls) if f.init}
    arguments: dict[str, Any] = {}
    for name, field in known.items():
        follows = field.metadata.get("shared")
        if follows and shared and follows in shared:
            arguments[name] = coerce(shared[follows], types_of[name], f"{where}.{name}")
    for name, value in values.items():
        if name not in known:
            raise ConfigError(f"{entry.kind} {entry.name!r}: " + unknown("parameter", name, known))
        arguments[name] = coerce(value, types_of[name], f"{where}.{name}")
    try:
        with blaming(f"{entry.kind} {entry.name!r}: __init__", but=(ValueError, TypeError)):
            return entry.cls(**arguments)
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        if text.startswith(f"{entry.kind}."):  # the class knows its kind; where several live together, say which one
            text = where + text.removeprefix(entry.kind)
        raise ConfigError(text if entry.kind in text else f"{entry.kind} {entry.name!r}: {text}") from error


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Parameter (the field's alias) → type, with postponed annotations resolved; raises PluginError when one cannot be."""
    try:
        hints = typing.get_type_hints(cls)
    except Exception as error:
        raise PluginError(f"component {cls.__qualname__}: a field's type cannot be resolved: {error}") from error
    return {f.alias: hints.get(f.name, Any) for f in attrs.fields(cls)}


def coerce(value: Any, wanted: Any, where: str) -> Any:
    """Turn a plain (YAML, JSON, command-line) value into the field's type; raises ConfigError naming field and value."""
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is object:
        return value
    if origin in (typing.Union, types.UnionType):
        return _coerce_union(value, arguments, where)
    if origin in (list, tuple, Sequence):
        return _coerce_sequence(value, origin, arguments, where)
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _mismatch(where, "a mapping {name: value}", value)
        inner = arguments[1] if len(arguments) == 2 else Any
        return {str(k): coerce(v, inner, f"{where}[{k}]") for k, v in value.items()}
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return _coerce_enum(value, wanted, where)
    return _coerce_scalar(value, wanted, where)


def _coerce_union(value: Any, options: Sequence[Any], where: str) -> Any:
    if value is None and type(None) in options:
        return None
    failure: ConfigError | None = None
    for option in options:
        if option is type(None):
            continue
        try:
            return coerce(value, option, where)
        except ConfigError as error:
            failure = error
    raise failure or _mismatch(where, "None", value)


def _coerce_sequence(value: Any, origin: Any, arguments: Sequence[Any], where: str) -> Any:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise _mismatch(where, "a list [a, b]", value)
    inner = arguments[0] if arguments else Any
    items = [coerce(item, inner, where) for item in value]
    return tuple(items) if origin is tuple else items


def _coerce_enum(value: Any, wanted: type[enum.Enum], where: str) -> Any:
    if isinstance(value, wanted):
        return value
    for member in wanted:
        if value in (member.name, member.value):
            return member
    raise ConfigError(f"{where}: " + unknown("value", str(value), [member.name for member in wanted]))


def _coerce_scalar(value: Any, wanted: Any, where: str) -> Any:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    if wanted not in names:
        return value
    if wanted is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if wanted is str and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, bool) is not (wanted is bool) or not isinstance(value, str | int | float):
        raise _mismatch(where, names[wanted], value)
    try:
        number = wanted(value)
    except (TypeError, ValueError, OverflowError):
        raise _mismatch(where, names[wanted], value) from None
    if wanted is int and number != (float(value) if isinstance(value, str) else value) or number != number:
        raise _mismatch(where, names[wanted], value)
    if wanted is int and not -(2**63) <= number < 2**63:
        raise _mismatch(where, "a whole number of at most 64 bits", value)
    return number


def _mismatch(where: str, expected: str, value: Any) -> ConfigError:
    return ConfigError(f"{where} must be {expected}; got {value!r}")
