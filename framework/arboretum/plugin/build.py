"""Building one component from plain values: types coerced, unknown fields refused, validators
run, once and here.
"""

import enum
import functools
import math
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs

from arboretum.errors import ConfigError, PluginError, blaming, unknown
from arboretum.interfaces.component import KINDS, MANY
from arboretum.interfaces.method import Parts
from arboretum.model.plain import Facts, Plain
from arboretum.model.reading import types_of_fields
from arboretum.model.shown import masked_values
from arboretum.plugin.registry import NONE, Entry


def build(entry: Entry, values: Plain, shared: Plain | None = None) -> Any:
    """Build one component from plain values; raises ConfigError naming field, rule and value.

    values : field → value; a field that is absent keeps its default, or follows the ``shared``
        value it declares.
    """
    where = f"{entry.kind}.{entry.name}" if entry.kind in MANY else entry.kind
    known, types_of = fields_of(entry.cls), field_types(entry.cls)
    given = {
        name: shared[follows]
        for name, follows in followers(entry.cls).items()
        if shared and follows in shared
    }
    arguments: Facts = {}
    for name, value in {**given, **values}.items():
        if name not in known:
            raise ConfigError(f"{entry.kind} {entry.name!r}: " + unknown("parameter", name, known))
        arguments[name] = coerce(value, types_of[name], f"{where}.{name}")
    try:
        with blaming(f"{entry.kind} {entry.name!r}: __init__", but=(ValueError, TypeError)):
            return entry.cls(**arguments)
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        # the class knows its kind; where several live together, say which one
        if text.startswith(f"{entry.kind}."):
            text = where + text.removeprefix(entry.kind)
        raise ConfigError(
            text if entry.kind in text else f"{entry.kind} {entry.name!r}: {text}"
        ) from error


@functools.cache
def fields_of(cls: type) -> "dict[str, attrs.Attribute[Any]]":
    """Parameter (the field's alias) → attrs field, of those that can be set."""
    return {field.alias: field for field in attrs.fields(cls) if field.init}


@functools.cache
def followers(cls: type) -> dict[str, str]:
    """Parameter → the top-level value that it follows unless it is set itself."""
    return {
        name: field.metadata["shared"]
        for name, field in fields_of(cls).items()
        if field.metadata.get("shared")
    }


def default_of(field: "attrs.Attribute[Any]") -> object:
    """An attrs field's default, made anew where it has a factory; ``attrs.NOTHING`` without one."""
    given: Any = field.default
    made = isinstance(given, attrs.Factory)  # type: ignore[arg-type]  # stubs: a function
    return given.factory() if made else given


@functools.cache
def field_types(cls: type) -> Facts:
    """Parameter (the field's alias) → type, with postponed annotations resolved; raises
    PluginError when one cannot be.
    """
    try:
        hints = types_of_fields(cls)
    except Exception as error:
        raise PluginError(
            f"component {cls.__qualname__}: a field's type cannot be resolved: {error}"
        ) from error
    return {f.alias: hints.get(f.name, Any) for f in attrs.fields(cls)}


def config_value(value: object) -> Any:
    """A field's value in words that JSON, YAML and the command line share.

    Unlike :func:`arboretum.model.reading.plain` it keeps NaN and ∞, and an enum becomes its name.
    """
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): config_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [config_value(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def component_values(component: object) -> Facts:
    """Field → plain value of a built component, for records and others to read: without
    passwords.
    """
    cls: type = type(component)
    return {
        name: masked_values(config_value(getattr(component, field.name)))
        for name, field in fields_of(cls).items()
    }


def configuration(parts: Parts, chosen: Plain | None = None) -> Facts:
    """A run's components and the choice of each, plain as in a record: they can be built again.

    chosen : options, as they were named.
    """
    config, choices = {}, dict(chosen or {})
    for kind in KINDS:
        part = getattr(parts, kind)
        if kind in MANY:
            choices[kind] = [component.name for component in part]
            config[kind] = {component.name: component_values(component) for component in part}
        elif part is None:
            choices[kind] = NONE
        else:
            choices.setdefault(kind, part.name)
            config[kind] = {"name": part.name, **component_values(part)}
    for key, unset in (("class_weight", None), ("train_fraction", 1.0), ("honest", 0.0)):
        if (value := getattr(parts, key)) != unset:
            config[key] = config_value(value)
    return {**config, "choices": choices}


def coerce(value: object, wanted: object, where: str) -> Any:
    """Turn a plain (YAML, JSON, command-line) value into the field's type; raises ConfigError
    naming field and value.

    wanted : a type as annotations write it.   where : the field's key.
    """
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is object:
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        failure = _mismatch(where, "None", value)
        for option in (option for option in arguments if option is not type(None)):
            try:
                return coerce(value, option, where)
            except ConfigError as error:
                failure = error
        raise failure
    if origin in (list, tuple, Sequence):
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise _mismatch(where, "a list [a, b]", value)
        items = [coerce(item, arguments[0] if arguments else Any, where) for item in value]
        return tuple(items) if origin is tuple else items
    if origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _mismatch(where, "a mapping {name: value}", value)
        inner = arguments[1] if len(arguments) == 2 else Any
        named = {_as_typed(k): item for k, item in value.items()}
        return {key: coerce(item, inner, f"{where}[{key}]") for key, item in named.items()}
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        found = next(
            (member for member in wanted if value in (member, member.name, member.value)), None
        )
        if found is None:
            raise ConfigError(
                f"{where}: " + unknown("value", str(value), [member.name for member in wanted])
            )
        return found
    return _coerce_scalar(value, wanted, where)


def _coerce_scalar(value: object, wanted: object, where: str) -> object:
    """Return a value as bool, int, float or str, as ``wanted`` says; raises ConfigError where it is
    none.
    """
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    if wanted not in names:
        return value
    if wanted is bool and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if wanted is str and isinstance(value, int | float):
        return _as_typed(value)
    if wanted is str and value is None:
        raise ConfigError(
            f"{where} must be text; got None; the word null is text in two pairs of quotes, "
            "'\"null\"'"
        )
    number = math.nan
    if isinstance(value, bool) is (wanted is bool) and isinstance(value, str | int | float):
        with suppress(TypeError, ValueError, OverflowError, ZeroDivisionError):
            # a price of 138 rows of 6,907 is 138/6907
            divided = wanted is float and isinstance(value, str) and "/" in value
            number = wanted(Fraction(value) if divided else value)
    if number != number or (
        wanted is int and number != (float(value) if isinstance(value, str) else value)
    ):
        raise _mismatch(where, names[wanted], value)
    if wanted is int and not -(2**63) <= number < 2**63:
        raise _mismatch(where, "a whole number of at most 64 bits", value)
    return number


def _as_typed(value: object) -> str:
    """Return a value as the text that YAML read it from: true and null, not True and None."""
    return (
        "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


def _mismatch(where: str, expected: str, value: object) -> ConfigError:
    """The error for a value of another type.   where : the field's key."""
    return ConfigError(f"{where} must be {expected}; got {value!r}")
