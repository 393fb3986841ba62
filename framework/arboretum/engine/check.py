"""What is refused before any work: impossible combinations, by name; and, when it is registered, a
class without the methods its kind asks for, in the form the framework calls them.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import TypeVar, cast

import attrs
import numpy as np

from arboretum.engine.class_weights import weights_of_classes
from arboretum.errors import CapabilityError, ConfigError, ContractError, DataError, closest, sure
from arboretum.interfaces.component import Capability, Component, as_capabilities
from arboretum.interfaces.contracts import INSTEAD, KERNELS, OPTIONAL, REQUIRED
from arboretum.interfaces.cost import Cost
from arboretum.interfaces.encoder import Encoder
from arboretum.interfaces.method import Parts
from arboretum.interfaces.objective import (
    Objective,
    ObjectiveOptional,
    Shape,
    minimised,
    shape_of,
)
from arboretum.kernels.kernel_decorators import MARK, mark_of
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.real_numbers import real_numbers
from arboretum.model.table import Table, Task

T = TypeVar("T")


def capabilities_of(component: object) -> frozenset[Capability]:
    """What a component declares; empty when it declares nothing."""
    return as_capabilities(getattr(component, "capabilities", ()))


def tasks_of(component: object) -> list[Task]:
    """The kinds of target that a component handles; classification where it says nothing of
    them.
    """
    return [task for task in Task if Capability(task.value) in capabilities_of(component)] or [
        Task.classification
    ]


def label(component: Component | None) -> str:
    """How errors name a component: "criterion gain_ratio"."""
    return f"{sure(component).kind} {sure(component).name}"


def returned(value: object, wanted: type[T], component: Component, method: str) -> T:
    """What a method of a component returned; raises ContractError, naming both, when it is of
    another type.
    """
    if isinstance(value, wanted):
        return value
    hint = " (is a 'return' missing?)" if value is None else ""
    raise ContractError(
        f"{component.kind} {component.name!r}: {method} must return a {wanted.__name__}; got "
        f"{type(value).__name__}{hint}"
    )


def check_prices(cost: Cost, prices: Prices, objects: Encoded) -> Prices:
    """The price list of a run; raises ContractError for none, another number of prices than
    tests, or one that is no price.
    """
    returned(prices, Prices, cost, "price_list")
    for name, found, n in (
        ("tests", prices.tests, objects.n_fixed),
        ("raw", prices.raw, len(objects.raw_features)),
    ):
        found = real_numbers(found, f"{label(cost)}: Prices.{name}")
        wrong = found[~(np.isfinite(found) & (found >= 0))]
        if found.shape != (n,) or len(wrong):
            got = f"{found.dtype}{list(found.shape)}" if found.shape != (n,) else f"{wrong[0]:g}"
            raise ContractError(
                f"{label(cost)}: Prices.{name} must hold {n} finite numbers ≥ 0; got {got}"
            )
    if prices.outcomes is not None:
        found = real_numbers(prices.outcomes, f"{label(cost)}: Prices.outcomes")
        most = np.concatenate([prices.tests, prices.raw])
        if (
            found.ndim != 2
            or len(found) != len(most)
            or np.nanmin(found, initial=0.0) < 0
            or (np.nanmax(found, axis=1) != most).any()
        ):
            raise ContractError(
                f"{label(cost)}: Prices.outcomes must have a row of numbers ≥ 0 per test, whose "
                "largest is its price; use Prices.by_outcome"
            )
    for asked, below in _lists_below(prices, objects):
        for before, found in (
            (prices.tests, np.asarray(below.tests)),
            (prices.raw, np.asarray(below.raw)),
        ):
            if found.shape != before.shape or not (found <= before).all():
                raise ContractError(
                    f"{label(cost)}: a test costs {found.max(initial=0.0):g} after "
                    f"{', '.join(sorted(asked)[:3])} was asked, and {before.max(initial=0.0):g} "
                    "before; no price may rise on the way down: let Prices.after answer the list "
                    "it began with, or less"
                )
    return prices


def _lists_below(prices: Prices, objects: Encoded) -> Iterator[tuple[frozenset[str], Prices]]:
    """Where prices depend on the path: the lists below some columns alone, and below all of
    them.
    """
    columns = (
        [*dict.fromkeys(feature.column for feature in objects.all_features)]
        if prices.after is not None
        else []
    )
    for asked in (
        *map(frozenset, zip(columns[:: max(1, len(columns) // 4)])),
        *[frozenset(columns)] * bool(columns),
    ):
        yield asked, prices.at(asked)


def check_weights(part: Component, objects: Encoded) -> Encoded:
    """The objects of an encoder, or as an objective weighs them; raises ContractError for
    weights that are none, or not those of the rows.
    """
    weight = objects.weight
    if weight.shape != (len(objects.count),) or not (np.isfinite(weight) & (weight > 0)).all():
        raise ContractError(
            f"{label(part)}: objects must have a finite weight above 0 each, "
            f"float64[{len(objects.count)}]; got {weight[:3]}"
        )
    rows = objects.table.row_weights()
    # equal rows become one of weight 1
    as_one = hasattr(part, "coalesce") and bool((weight == 1.0).all())
    if (
        getattr(part, "kind", "") == "encoder"
        and not as_one
        and abs(weight.sum() - rows.sum()) > 4 * len(rows) * np.finfo(float).eps * rows.sum()
    ):
        raise ContractError(
            f"{label(part)}: its objects weigh {weight.sum():g} and their rows "
            f"{rows.sum():g}; let an object weigh what its rows weigh"
        )
    return objects


def weigh(objective: Objective, objects: Encoded) -> Encoded:
    """The objects, as an objective weighs them; raises ContractError for weights that are none."""
    found = cast(ObjectiveOptional, objective).weigh(objects)
    weight = real_numbers(found, f"{label(objective)}: weigh")
    return check_weights(objective, attrs.evolve(objects, weight=weight))


def lacks(component: Component | None, capability: Capability) -> bool:
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


def check_parts(parts: Parts) -> None:
    """Refuse a run, or a part of it, without the parts it needs."""
    for part in filter(None, (parts.method, parts.criterion, parts.solver)):
        for group in getattr(part, "needs", ()):
            _require_group(parts, group, label(part))
    for group in ("encoder", "cost"):
        _require_group(parts, group, "a run")
    for one in (parts.criterion, parts.impurity, parts.complexity):
        check_kernels(one)
    check_missing(parts)
    if parts.predicate and "criterion" not in getattr(parts.method, "needs", ()):
        raise CapabilityError(
            f"{label(parts.method)} asks no predicate: it does not grow by a criterion; "
            f"leave {label(parts.predicate[0])} out, or use method=greedy"
        )
    if parts.solver and "solver" not in getattr(parts.method, "needs", ()):
        raise CapabilityError(
            f"{label(parts.method)} asks no solver; leave {label(parts.solver)} out, or use "
            "method=exact"
        )
    solver = parts.solver
    if parts.objective is not None and solver is not None and hasattr(solver, "minimises"):
        known, shape = [Shape(shape) for shape in solver.minimises], shape_of(parts.objective)
        if not known:
            raise CapabilityError(
                f"{label(solver)} minimises no objective but what it is made for; "
                f"leave {label(parts.objective)} out"
            )
        if shape is None or minimised(shape, solver) is None:
            raise CapabilityError(
                f"{label(solver)} minimises objectives of the shape "
                f"{' or '.join(each.value for each in known)}, and {label(parts.objective)} is "
                f"{shape.value if shape else 'of none'}; choose another of the two "
                f"(arboretum explain objective.{parts.objective.name} lists solvers)"
            )
    if (pruner := parts.pruner) is not None and getattr(pruner, "reads_impurity", False):
        _require_group(parts, "impurity", label(pruner))
        if parts.impurity is not None and getattr(parts.impurity, "scale", "mean") == "total":
            raise CapabilityError(
                f"{label(pruner)} weighs impurities by mass, but {label(parts.impurity)} grows "
                "with the mass already; choose an impurity per object (gini, entropy)"
            )


def check_kernels(component: Component | None) -> None:
    """Refuse a kernel that a component makes from its fields and that carries no mark; those of
    its class are looked at when it is registered.
    """
    for name, (mark, _) in KERNELS.get(getattr(component, "kind", ""), {}).items():
        if isinstance(inspect.getattr_static(type(component), name, None), property):
            made = getattr(component, name)
            if callable(made) and mark_of(made) != mark:
                called = getattr(made, "__name__", repr(made))
                raise ContractError(
                    f"{label(sure(component))}: its {name}, {called!r}, carries no mark of a "
                    f"kernel; write @{mark}_kernel above it"
                )


def coded_missing(encoder: Encoder | None) -> object:
    """What an encoder makes of a missing value, where that is not left to the method; else None."""
    if encoder is None or not hasattr(encoder, "missing"):
        return None
    field = attrs.fields_dict(type(encoder)).get("missing")
    if field is None:
        return None
    return None if encoder.missing == field.default else encoder.missing


def check_missing(parts: Parts) -> None:
    """Refuse a choice for missing values that the method does not ask, or that the encoder has
    made already.
    """
    if not parts.fractional_rows:
        return
    asked = f"missing={sure(parts.missing).name}"
    if (value := coded_missing(parts.encoder)) is not None:
        raise ConfigError(
            f"{asked} and encoder.missing={getattr(value, 'name', value)} both say what a missing "
            "value is; choose one of them"
        )
    if not getattr(parts.method, "asks_missing", False):
        raise CapabilityError(
            f"{label(parts.method)} does not ask {asked}; "
            "use missing=better_side, or encoder.missing=category (or drop_rows)"
        )


def _require_group(parts: Parts, group: str, who: str) -> None:
    """Raise CapabilityError where the choices leave a group empty that ``who`` needs."""
    if getattr(parts, group) in (None, ()):
        article = "an" if group[0] in "aeiou" else "a"
        raise CapabilityError(
            f"{who} needs {article} {group}; add {group}=NAME (arboretum plugins lists them)"
        )


def _that_read_rows(parts: Parts) -> Iterator[Component]:
    """The components that what a table holds may not suit."""
    asked = (parts.method, parts.criterion, parts.impurity, parts.solver, parts.objective)
    stated = filter(capabilities_of, (*parts.coverage, parts.pruner, *parts.stopping))
    yield from (part for part in (*asked, *stated) if part is not None)


def roles_read(parts: Parts) -> Iterator[tuple[Component, str]]:
    """The components that state what they read of each row, with the role."""
    for part in _that_read_rows(parts):
        for role in getattr(part, "reads", ()):
            yield part, role


def check_table(parts: Parts, table: Table) -> None:
    """Refuse a component that reads what the table does not say of its rows, or does not do this
    kind of target, this many classes, or weights, and class weights that are not for these classes.
    """
    if parts.class_weight is not None:
        weights_of_classes(parts.class_weight, table.target)
    for part, role in roles_read(parts):
        if table.lacking(role):
            try:
                table.role(role)
            except DataError as error:
                raise DataError(f"{label(part)} reads the {role} of each row: {error}") from None
    for part in _that_read_rows(parts):
        if table.task not in (tasks := tasks_of(part)):
            asks = f"the target {table.target.name!r} of {table.name} asks for {table.task.value}"
            example = (
                ""
                if part.kind != "impurity"
                else f" (impurity={'variance' if table.is_regression else 'gini'}, or "
                "impurity=auto)"
            )
            raise CapabilityError(
                f"{label(part)} does {' and '.join(task.value for task in tasks)}, but {asks}; "
                f"choose another {part.kind}{example}"
            )
        if table.n_classes > 2 and lacks(part, Capability.multiclass):
            has = f"{label(part)} handles two classes, but {table.name} has {table.n_classes}"
            raise CapabilityError(f"{has}; choose another, or make two with dataset.positive=CLASS")
        whose = parts.class_weight is not None and "class_weight gives"
        if (whose or table.weights is not None) and lacks(part, Capability.weights):
            has = f"{label(part)} does not handle object weights, but "
            has += f"{whose or f'{table.name} has'} them"
            raise CapabilityError(f"{has}; choose another {part.kind}")


def check_validation(parts: Parts, valid: Table | None, n_left: int = 0) -> None:
    """Refuse a pruner or tuner that judges on validation rows when there are none.

    valid : None where no validation row weighs anything.   n_left : those that the split leaves.
    """
    for part in (parts.pruner, parts.tuner):
        if (
            part is not None
            and getattr(part, "needs_validation", part.kind == "tuner")
            and valid is None
        ):
            unset = (
                [f.alias for f in attrs.fields(type(part)) if getattr(part, f.name) is None]
                if hasattr(part, "choose")
                else []
            )
            instead = f", or say pruner.{unset[0]}=VALUE" if unset else ""
            if n_left:
                raise CapabilityError(
                    f"{label(part)} needs validation rows, but all that the split leaves "
                    f"({n_left}) weigh 0 by class_weight; give one of their classes a weight above "
                    f"0, or take another seed{instead}"
                )
            raise CapabilityError(
                f"{label(part)} needs validation rows, but the split leaves none; use "
                f"split=holdout{instead}"
            )


def check_objects(parts: Parts, objects: Encoded) -> None:
    """Refuse tests that the method cannot use: raw columns, several outcomes, missing values."""
    method = parts.method
    raw_too = Capability.thresholds in capabilities_of(parts.solver)
    if objects.raw_features and lacks(method, Capability.thresholds) and not raw_too:
        raise CapabilityError(
            f"{label(method)} needs fixed tests, but encoder {sure(parts.encoder).name} leaves "
            "columns raw; use encoder=auto"
        )
    if objects.gap and parts.solver is not None:
        raise CapabilityError(
            f"{label(parts.solver)} tells all values of raw columns apart, and encoder.gap "
            "leaves close ones together; leave it out"
        )
    for part in (method, parts.criterion):
        if (
            part is not None
            and lacks(part, Capability.multiway)
            and any(feature.arity > 2 for feature in objects.features)
        ):
            raise CapabilityError(
                f"{label(part)} handles two-way tests, but the encoder makes multiway ones; "
                "use encoder=onehot"
            )
    if lacks(method, Capability.missing) and any(
        feature.has_missing for feature in objects.features
    ):
        raise CapabilityError(
            f"{label(method)} does not handle missing values; use encoder.missing=category "
            "(or drop_rows)"
        )


@cache
def broken_contract(kind: str, cls: type) -> str | None:
    """What is wrong with the methods of a class, as the end of a sentence that names it; None if
    nothing is.

    Looks at names, forms (method, static method, kernel) and numbers of arguments; what they return
    is seen when they run.
    """
    return next(_list_faults(kind, cls), None)


def _list_faults(kind: str, cls: type) -> Iterator[str]:
    """Yield what a class lacks of the contract of its kind, each as the end of a sentence that
    names it: kernels, methods and their arguments, and what it states of itself.
    """
    kernels = KERNELS.get(kind, {})
    for name, (mark, signature) in kernels.items():
        if fault := _kernel_fault(cls, name, mark, signature):
            yield fault
    instead = any(
        all(_has(cls, name) for name in _methods(other)) for other in INSTEAD.get(kind, ())
    )
    for contract, required in (
        (REQUIRED[kind], not instead),
        *((p, False) for p in OPTIONAL.get(kind, ())),
    ):
        for name, wanted in _methods(contract).items():
            if not _has(cls, name):
                if required:
                    yield _describe_missing_method(kind, cls, name, wanted)
            elif name not in kernels or mark_of(getattr(cls, name)) is None:
                if fault := _describe_method_fault(kind, cls, name, wanted):
                    yield fault
    for name, said in () if instead else _stated_by(REQUIRED[kind]).items():
        if not _has(cls, name):
            yield f" states no {name!r}: {(inspect.getdoc(said) or '').partition(chr(10))[0]}"
    for name in dir(cls):  # what a base class leaves to be written
        if getattr(found := getattr(cls, name), "__isabstractmethod__", False):
            yield _describe_missing_method(kind, cls, name, found)
    if kind == "objective" and (fault := _describe_missing_costs(cls)):
        yield fault
    stated = getattr(cls, {"objective": "shape", "solver": "minimises"}.get(kind, ""), ())
    shapes = [shape.value for shape in Shape]
    for one in stated if isinstance(stated, tuple) else (stated,):
        if one not in (*Shape, *shapes):
            yield (
                f".{'shape' if kind == 'objective' else 'minimises'} holds {one!r}; it must be "
                f"{' or '.join(map(repr, shapes))}"
            )
    if kind == "impurity" and (scale := getattr(cls, "scale", "mean")) not in ("mean", "total"):
        yield f".scale is {scale!r}; it must be 'mean' or 'total'"


def _describe_missing_costs(cls: type) -> str | None:
    """Return the fault of an additive objective that writes no method by which it would say its
    costs, but one that is meant for it: every error would cost 1, and nobody would know.
    """
    asked = ("costs", "factors", "errors")
    written = [
        name
        for base in cls.__mro__
        if not base.__module__.startswith(("arboretum.", "builtins"))
        for name, found in vars(base).items()
        if inspect.isfunction(found) and not name.startswith("_")
    ]
    if not all(hasattr(cls, name) for name in asked[1:]) or {*asked, "value"} & set(written):
        return None
    for name in asked:
        if near := closest(name, written):
            return (
                f" has no method {name!r} (is {near!r} meant for it?), and every error costs 1; "
                f"rename it, or begin its name with _ where it is none"
            )
    return None


def guess_kind(cls: type) -> str | None:
    """The one kind whose required methods a class has; None where it is none, or several."""
    found = [
        kind
        for kind, contract in REQUIRED.items()
        if all(_has(cls, name) for name in _methods(contract))
    ]
    return found[0] if len(found) == 1 else None


@cache
def _methods(contract: type) -> dict[str, FunctionType]:
    """Name → the public methods that a protocol states itself."""
    return {
        n: f for n, f in vars(contract).items() if inspect.isfunction(f) and not n.startswith("_")
    }


@cache
def _stated_by(contract: type) -> dict[str, property]:
    """Name → what a protocol has its classes state of themselves: a class attribute, a field, or a
    property.
    """
    return {name: found for name, found in vars(contract).items() if isinstance(found, property)}


def _has(cls: type, name: str) -> bool:
    """Whether a class has a method, or a statement, of its own, not the empty one of a protocol it
    inherits from.
    """
    found = getattr(cls, name, None)
    written = found.fget if isinstance(found, property) else found
    return found is not None and not getattr(written, "__module__", "").startswith(
        "arboretum.interfaces."
    )


def _describe_missing_method(kind: str, cls: type, name: str, wanted: Callable[..., object]) -> str:
    """Return the fault of a method that is not there, with the method that may be meant for it."""
    near = closest(
        name, [n for n in vars(cls) if inspect.isfunction(vars(cls)[n]) and not n.startswith("__")]
    )
    hint = f" (is {near!r} meant for it?)" if near else ""
    return f" has no method {name!r}{hint}; {_wants(kind, name, wanted)}"


def _describe_method_fault(
    kind: str, cls: type, name: str, wanted: Callable[..., object]
) -> str | None:
    """Return what is wrong with a method that is there: it is none, or takes other arguments than
    its contract hands it; None where nothing is.

    wanted : as of :func:`_wants`.
    """
    stated = inspect.getattr_static(cls, name)
    if isinstance(stated, property) or not callable(getattr(cls, name)):
        return f".{name} is no method; {_wants(kind, name, wanted)}"
    try:
        signature = inspect.signature(getattr(cls, name))
    except (TypeError, ValueError):  # compiled, or wrapped beyond recognition
        return None
    positional, keywords = _arguments(wanted)
    first = () if isinstance(stated, staticmethod | classmethod) else (None,)
    shorter = kind == "criterion" and name in ("columns", "kernel")
    if any(
        _takes_call(signature, (*first, *form), keywords)
        for form in ([positional, positional[:-1]] if shorter else [positional])
    ):
        return None
    shown = "(" + ", ".join(str(p).split(":")[0] for p in signature.parameters.values()) + ")"
    return f".{name} takes {shown}; {_wants(kind, name, wanted)}"


@cache
def _arguments(wanted: Callable[..., object]) -> tuple[list[None], dict[str, None]]:
    """A None for each positional argument, ``self`` apart, and for each keyword: a call to bind."""
    asked = list(inspect.signature(wanted).parameters.values())[1:]
    positional = [None] * sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in asked)
    return positional, {p.name: None for p in asked if p.kind is p.KEYWORD_ONLY}


def _takes_call(
    signature: inspect.Signature, positional: Sequence[None], keywords: Mapping[str, None]
) -> bool:
    """Return whether a call with so many positional and these named arguments binds."""
    try:
        signature.bind(*positional, **keywords)
    except TypeError:
        return False
    return True


def _kernel_fault(cls: type, name: str, mark: str, signature: str) -> str | None:
    """What is wrong with a kernel among the methods of a class; None where nothing is, or there is
    no kernel.

    mark : the kind of kernel that it must be marked as.
    signature : what its contract states, as "kernel(a, b)"; its commas are counted.
    """
    if not _has(cls, name):
        return None
    stated = inspect.getattr_static(cls, name)
    function = getattr(stated, "__func__", stated)
    # made from the fields of each instance; a field
    if isinstance(stated, property) or (name == "column" and not callable(function)):
        return None
    carried = mark_of(function)
    if (
        carried is None
        and mark in ("criterion", "complexity")
        and MARK not in getattr(stated, "__dict__", {})
    ):
        return None  # a NumPy form, an ordinary method
    taken = inspect.signature(getattr(function, "py_func", function))
    if (
        isinstance(stated, staticmethod)
        and carried == mark
        and _takes_call(taken, (None,) * (signature.count(",") + 1), {})
    ):
        return None
    return (
        f".{name}{taken} is no kernel as it is called; write @staticmethod, below it "
        f"@{mark}_kernel, and then {signature}"
    )


def _wants(kind: str, name: str, wanted: Callable[..., object]) -> str:
    """Return what a contract states of a method, as an author writes it: types without modules.

    wanted : the method as the protocol of the kind states it.
    """
    article = "an" if kind[0] in "aeiou" else "a"
    stated = str(inspect.signature(wanted)).replace("'", "").replace("numpy.", "np.")
    stated = re.sub(r"\b(?:arboretum|collections|fractions|typing)(?:\.[a-z_]+)*\.", "", stated)
    return f"{article} {kind} needs {name}{stated}"
