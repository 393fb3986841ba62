"""Capability checks: impossible combinations are refused by name before any work."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arboretum.errors import CapabilityError, ConfigError, ContractError
from arboretum.interfaces.capability import Capability, as_capabilities
from arboretum.interfaces.method import Parts
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.table import Table, Task


def capabilities_of(component: Any) -> frozenset[Capability]:
    """What a component declares; empty when it declares nothing."""
    return as_capabilities(getattr(component, "capabilities", ()))


def label(component: Any) -> str:
    """How errors name a component: "criterion gain_ratio"."""
    return f"{component.kind} {component.name}"


def returned(value: Any, wanted: type | tuple[type, ...], component: Any, method: str) -> Any:
    """What a method of a component returned; raises ContractError, naming both, when it is of another type."""
    if isinstance(value, wanted):
        return value
    names = " or ".join(each.__name__ for each in (wanted if isinstance(wanted, tuple) else (wanted,)))
    hint = " (is a 'return' missing?)" if value is None else ""
    msg = f"{component.kind} {component.name!r}: {method} must return a {names}; got {type(value).__name__}{hint}"
    raise ContractError(msg)


def check_prices(cost: Any, prices: Any, objects: Encoded) -> Prices:
    """The price list of a run; raises ContractError for none, another number of prices than tests, or one that is no price."""
    returned(prices, Prices, cost, "price_list")
    for name, found, n in (("tests", prices.tests, int(objects.test_offset[-1])), ("raw", prices.raw, len(objects.raw_features))):
        found = np.asarray(found)
        if found.shape != (n,) or not (np.isfinite(found) & (found >= 0)).all():
            got = f"{found.dtype}{list(found.shape)}" if found.shape != (n,) else f"{found[~(np.isfinite(found) & (found >= 0))][0]:g}"
            raise ContractError(f"{label(cost)}: Prices.{name} must hold {n} finite numbers ≥ 0; got {got}")
    if prices.outcomes is not None:
        most = np.concatenate([prices.tests, prices.raw])
        if len(prices.outcomes) != len(most) or (np.nanmin(prices.outcomes, initial=0.0) < 0) or (np.nanmax(prices.outcomes, axis=1) != most).any():
            raise ContractError(f"{label(cost)}: Prices.outcomes must have a row of numbers ≥ 0 per test, whose largest is its price; use Prices.by_outcome")
    return prices


def lacks(component: Any, capability: Capability) -> bool:
    """Whether a component that declares its capabilities leaves this one out."""
    declared = capabilities_of(component)
    return bool(declared) and capability not in declared


def check_goal(goal: str) -> None:
    """Refuse a goal that is no metric; raises ConfigError with the closest match."""
    from arboretum.measure import direction

    try:
        direction(goal)
    except ConfigError as error:
        raise ConfigError(f"goal: {error}") from None


ALWAYS = ("encoder", "cost")
"""Groups that no run can do without."""


def check_parts(parts: Parts) -> None:
    """Refuse a run, a method or a criterion without the parts it needs."""
    for part in (parts.method, parts.criterion):
        for group in getattr(part, "needs", ()):
            _demand(parts, group, label(part))
    for group in ALWAYS:
        _demand(parts, group, "a run")
    check_missing(parts)
    if parts.predicate is not None and "criterion" not in getattr(parts.method, "needs", ()):
        msg = f"{label(parts.method)} asks no predicate: it does not grow by a criterion; leave {label(parts.predicate)} out, or use method=greedy"
        raise CapabilityError(msg)
    known = [Shape(shape) for shape in getattr(parts.solver, "minimises", ())]
    if known and parts.objective is not None and (shape := shape_of(parts.objective)) not in known:
        names = " or ".join(each.value for each in known)
        msg = f"{label(parts.solver)} minimises objectives of the shape {names}, and {label(parts.objective)} is "
        raise CapabilityError(f"{msg}{'of none' if shape is None else shape.value}; choose another of the two")
    if getattr(parts.pruner, "reads_impurity", False):
        _demand(parts, "impurity", label(parts.pruner))
        if getattr(parts.impurity, "scale", "mean") == "total":
            msg = f"{label(parts.pruner)} weighs impurities by mass, but {label(parts.impurity)} grows with the mass already"
            raise CapabilityError(f"{msg}; choose an impurity per object (gini, entropy)")


def check_missing(parts: Parts) -> None:
    """Refuse a choice for missing values that the method does not ask, or that the encoder has made already."""
    if not parts.by_shares:
        return
    coded = next((field for field in attrs.fields(type(parts.encoder)) if field.name == "missing"), None)
    if coded is not None and (value := getattr(parts.encoder, "missing")) != coded.default:
        msg = f"missing={parts.missing.name} and encoder.missing={getattr(value, 'name', value)} both say what a missing value is; choose one of them"
        raise ConfigError(msg)
    if not getattr(parts.method, "asks_missing", False):
        msg = f"{label(parts.method)} does not ask missing={parts.missing.name}; use missing=better_side, or encoder.missing=category (or drop_rows)"
        raise CapabilityError(msg)


def _demand(parts: Parts, group: str, who: str) -> None:
    if getattr(parts, group) in (None, ()):
        article = "an" if group[0] in "aeiou" else "a"
        msg = f"{who} needs {article} {group}; add {group}=NAME (arboretum plugins lists them)"
        raise CapabilityError(msg)


def judges(parts: Parts) -> list[Any]:
    """The components that look at the target, hence must know its kind."""
    return [part for part in (parts.method, parts.criterion, parts.impurity, parts.solver, parts.objective) if part]


def check_table(parts: Parts, table: Table) -> None:
    """Refuse a component that does not do this kind of target, this many classes, or weights."""
    for part in judges(parts):
        declared = capabilities_of(part)
        tasks = {task for task in Task if Capability(task.value) in declared}
        # nothing said about the target: classification is meant
        if table.task not in (tasks or {Task.classification}):
            known = " and ".join(sorted(task.value for task in tasks)) or Task.classification.value
            msg = (
                f"{label(part)} does {known}, but the target {table.target.name!r} of {table.name} asks for "
                f"{table.task.value}; choose another {part.kind}{_example(part, table.task)}"
            )
            raise CapabilityError(msg)
        if table.n_classes > 2 and lacks(part, Capability.multiclass):
            msg = (
                f"{label(part)} handles two classes, but {table.name} has {table.n_classes}; "
                "choose another, or make two with dataset.positive=CLASS"
            )
            raise CapabilityError(msg)
        if table.weights is not None and lacks(part, Capability.weights):
            msg = f"{label(part)} does not handle object weights, but {table.name} has them; choose another {part.kind}"
            raise CapabilityError(msg)


def _example(part: Any, task: Task) -> str:
    if part.kind != "impurity":
        return ""
    return " (impurity=auto fits both)" if task is Task.classification else " (impurity=variance, or impurity=auto)"


def check_validation(parts: Parts, valid: Table | None) -> None:
    """Refuse a pruner or tuner that judges on validation rows when the split leaves none."""
    for part in (parts.pruner, parts.tuner):
        if part is not None and getattr(part, "needs_validation", part.kind == "tuner") and valid is None:
            unset = [f.alias for f in attrs.fields(type(part)) if getattr(part, f.name) is None] if hasattr(part, "choose") else []
            instead = f", or say pruner.{unset[0]}=VALUE" if unset else ""
            msg = f"{label(part)} needs validation rows, but the split leaves none; use split=holdout{instead}"
            raise CapabilityError(msg)


def check_objects(parts: Parts, objects: Encoded) -> None:
    """Refuse tests that the method cannot use: raw columns, several outcomes, missing values."""
    method = parts.method
    if objects.raw_features and lacks(method, Capability.thresholds):
        msg = f"{label(method)} needs fixed tests, but encoder {parts.encoder.name} leaves columns raw; use encoder=auto"
        raise CapabilityError(msg)
    for part in (method, parts.criterion):
        if part is None:
            continue
        if lacks(part, Capability.multiway) and any(feature.arity > 2 for feature in objects.features):
            msg = f"{label(part)} handles two-way tests, but the encoder makes multiway ones; use encoder=onehot"
            raise CapabilityError(msg)
    if lacks(method, Capability.missing) and any(feature.has_missing for feature in objects.features):
        msg = f"{label(method)} does not handle missing values; use encoder.missing=category (or drop_rows)"
        raise CapabilityError(msg)
