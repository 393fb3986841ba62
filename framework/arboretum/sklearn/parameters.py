"""Parameters of the estimators: scikit-learn's names for limits, each kind of component as a
keyword, fields of components as kind__field.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Self

import attrs
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from arboretum.engine import check
from arboretum.engine.select import fields_in
from arboretum.errors import ArboretumError, ConfigError, unknown
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.component import KINDS, Capability
from arboretum.interfaces.method import Parts
from arboretum.model.plain import Facts, Plain
from arboretum.plugin.assemble import UNUSED, as_mapping, assembled

_LIMITS = {
    "max_depth": "max_depth",
    "max_leaf_nodes": "max_leaves",
    "min_samples_leaf": "min_leaf",
    "min_samples_split": "min_split",
    "min_weight_fraction_leaf": "min_mass",
}
"""Parameters by scikit-learn's names → fields of ``stopping.standard``."""

_ABSENT = {
    "splitter": (
        "every node takes its best test; predicate='random' draws thresholds, "
        "criterion='random' tests"
    ),
    "monotonic_cst": "name columns: method__increasing=['age'], method__decreasing=['price']",
}
"""Parameters of scikit-learn's trees that there are none of here, and what comes near."""

_KINDS = tuple(kind for kind in KINDS if kind not in (*UNUSED, "method"))
"""Kinds that are parameters of their own, beside the method."""


def show_kinds(init: Callable[..., None]) -> Callable[..., None]:
    """Show each kind as a keyword of ``__init__``, to scikit-learn, which reads parameters
    there, and to ``help``.
    """
    signature = inspect.signature(init)
    *own, parts = signature.parameters.values()
    kinds = (
        inspect.Parameter(kind, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        for kind in _KINDS
    )
    shown = signature.replace(parameters=[*own, *kinds, parts.replace(name="fields")])
    vars(init)["__signature__"] = shown
    return init


class Parameters(BaseEstimator):
    """What an estimator is asked for: scikit-learn's parameters, kinds and their fields."""

    _fields: Mapping[str, Any] = {}

    def _keep(self, given: Facts) -> None:
        """Keep the constructor's arguments as they are, scikit-learn's rule; those written
        kind__field are ``_fields``.
        """
        fields = given.pop("parts")
        given |= {kind: fields.pop(kind, None) for kind in _KINDS}
        self.__dict__.update(
            {name: value for name, value in given.items() if name not in ("self", "__class__")}
        )
        self._refuse_unknown(fields, TypeError)
        self._fields = fields

    def _refuse_unknown(self, names: Iterable[str], error: type[Exception]) -> None:
        """Raise ``error`` for a name that no parameter has; whether a component has the field,
        fit knows.
        """
        # scikit-learn's checks hand in the name of **fields: fit refuses it
        known = [*self._get_param_names(), "fields"]
        for name in names:
            kind, nested, _ = name.partition("__")
            if name in _ABSENT:
                raise error(f"{type(self).__name__} has no {name!r}: {_ABSENT[name]}")
            if (kind not in known or (nested and kind not in KINDS)) and not name.startswith(
                "budget__"
            ):
                raise error(
                    f"{type(self).__name__}: " + unknown("parameter", name, self.get_params())
                )

    def get_params(self, deep: bool = True) -> Facts:
        """Parameters and their values; the fields that were given, or with ``deep`` those of all
        components, as kind__field.
        """
        found = super().get_params(deep=False)
        if deep:
            try:
                for name, _, part, field in fields_in(self._parts(), KINDS):
                    value = getattr(part, field.name)
                    found[name.replace(".", "__")] = (
                        value.name if isinstance(value, Enum) else value
                    )
            except ArboretumError:
                # a wrong parameter is reported by fit, not by looking at the estimator
                pass
        return {**found, **self._fields}

    def set_params(self, **params: object) -> Self:
        """Set parameters, and fields of components as kind__field; raises ValueError (a
        ConfigError) for an unknown name.
        """
        self._refuse_unknown(params, ConfigError)
        own = self._get_param_names()
        self.__dict__.update({name: value for name, value in params.items() if name in own})
        self._fields = {
            **self._fields,
            **{name: value for name, value in params.items() if name not in own},
        }
        return self

    def _parts(self) -> Parts:
        """The components of the method, with the estimator's own parameters put in.

        Raises ConfigError, which says what scikit-learn's names stand for here.
        """
        limits, ordered = (
            self._limits(),
            {"method.order": "best"} if self.max_leaf_nodes is not None else {},
        )
        values = {
            key: value
            for key, value in self._asked_values(ordered).items()
            if not key.startswith("budget.")
        }
        try:
            parts = assembled({key: value for key, value in values.items() if key not in ordered})
            # a solver spends leaves in no order
            if ordered and (parts.solver is None or hasattr(parts.method, "order")):
                parts = assembled(values)
            return parts
        except ConfigError as error:
            raise ConfigError(f"{error}{spell_limits(limits, str(error))}") from error

    def _budget(self) -> Budget:
        """What growing may spend.

        Raises ConfigError for an unknown field or a value that it cannot have.
        """
        asked = {
            key.removeprefix("budget."): value
            for key, value in self._asked_values({}).items()
            if key.startswith("budget.")
        }
        for name in asked:
            if name not in attrs.fields_dict(Budget):
                raise ConfigError("budget: " + unknown("field", name, attrs.fields_dict(Budget)))
        try:
            return Budget(**asked)
        except (TypeError, ValueError) as error:
            raise ConfigError(str(error)) from None

    def _limits(self) -> Facts:
        """Parameter → value, of scikit-learn's limits that are given."""
        return {name: getattr(self, name) for name in _LIMITS if getattr(self, name) is not None}

    def _asked_values(self, ordered: Plain) -> Facts:
        """Everything that is asked for, by its key on the command line.

        ordered : what ``max_leaf_nodes`` asks for besides.

        Raises ConfigError for a key that is asked for twice, as two values.
        """
        limits = self._limits()
        asked = [(f"stopping.standard.{_LIMITS[name]}", value) for name, value in limits.items()]
        asked += ordered.items()
        if self.ccp_alpha:  # of 0 scikit-learn prunes nothing
            asked += [("pruner", "cost_complexity"), ("pruner.alpha", self.ccp_alpha)]
        asked += [
            (kind, getattr(self, kind)) for kind in KINDS if getattr(self, kind, None) is not None
        ]
        asked += [(name.replace("__", "."), value) for name, value in self._fields.items()]
        values: Facts = {}
        for key, value in [*asked, *as_mapping(self.overrides).items()]:
            value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
            if key in values and values[key] != value:
                raise ConfigError(
                    f"{key} is asked for twice, as {values[key]!r} and as {value!r}; leave one "
                    f"out{spell_limits(limits, key)}"
                )
            values[key] = value
        return values

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn asks of an estimator: NaN is allowed where method or encoder take
        it.
        """
        tags = super().__sklearn_tags__()
        try:
            parts = self._parts()
        except ArboretumError:
            # a wrong parameter is reported by fit, not by looking at the estimator
            return tags
        tags.input_tags.allow_nan = (
            not check.lacks(parts.method, Capability.missing)
            or check.coded_missing(parts.encoder) is not None
        )
        return tags


def spell_limits(limits: Plain, message: str) -> str:
    """Return what scikit-learn's names for limits stand for, where a message speaks of them by the
    names of the laboratory; "" where it does not.

    limits : scikit-learn's names of the limits given → values.
    """
    words = set(re.findall(r"\w+", message))
    said = [
        f"{name} is stopping.standard.{_LIMITS[name]}" for name in limits if "standard" in words
    ]
    if "max_leaf_nodes" in limits and "order" in words:
        said.append("max_leaf_nodes grows best-first: method.order=best")
    return f" ({', '.join(said)})" if said else ""
