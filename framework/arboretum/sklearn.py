"""The scikit-learn face: any greedy or exact method as an estimator, resolved through the registry,
without Hydra.

>>> from arboretum import TreeClassifier
>>> TreeClassifier(method="cart", max_depth=3).fit(X, y).predict(X)      # doctest: +SKIP

Numeric arrays stay what they are (float32 is not widened); a frame's text and category columns
become categorical columns, ordered categories ordinal ones, dates and times days or seconds since
1970-01-01.  Everything the laboratory knows of the tree is in ``tree_``.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from numbers import Integral, Real
from typing import Any, Self

import attrs
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from arboretum.engine import check
from arboretum.engine.class_weights import weigh_classes, weights_of_classes, with_weight
from arboretum.engine.row_costs import measure
from arboretum.engine.run import fit as grow_tree
from arboretum.engine.scale import Scale, check_range
from arboretum.engine.select import fields_in
from arboretum.errors import ArboretumError, BudgetError, ConfigError, sure, unknown
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.component import KINDS, Capability
from arboretum.interfaces.method import Parts
from arboretum.model.frame import column_of_series, exact_numbers, is_constant, is_mixed, table_like
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import Solution
from arboretum.model.spelling import EXACT, canonical, spelling
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import Tree, single_leaf
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


def _show_kinds(init: Callable[..., None]) -> Callable[..., None]:
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


class _View(Column):
    """A column of rows to predict on, where it lies in their array: most values are read once,
    so it is not copied.
    """

    def __attrs_post_init__(self) -> None:
        pass


class _BaseTree(BaseEstimator):
    """What both estimators share."""

    _task: Task
    tree_: Tree
    solution_: Solution | None
    _fields: Mapping[str, Any] = {}

    # -- parts -------------------------------------------------------------------------------------

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
            raise ConfigError(f"{error}{_spell_limits(limits, str(error))}") from error

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
                    f"out{_spell_limits(limits, key)}"
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

    # -- fit ---------------------------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: Any = None) -> Self:
        """Grow the tree.

        X : [n_rows, n_features] array or frame.
        y : classes, or numbers.
        sample_weight : float[n_rows] ≥ 0.

        Raises ValueError (also a DataError, ConfigError or CapabilityError) naming what does not
        fit.
        """
        parts = self._parts()
        columns, y, n_rows = self._read_training(X, y)
        target = self._target(y)
        if sample_weight is not None:
            rows = np.empty((n_rows, 0))  # scikit-learn looks at the shape only
            sample_weight = _check_sample_weight(
                sample_weight, rows, dtype=np.float64, ensure_non_negative=True
            )
        table = Table("X", columns, target, sample_weight)
        if (by_class := self._class_weights(target)) is not None:
            table = weigh_classes(table, by_class)
        table = with_weight(table)
        parts = self._with_max_features(parts, len(columns))
        check.check_parts(parts)
        check.check_table(parts, table)
        scale = Scale.of(table, parts)
        table = check_range(table, scale)
        if all(is_constant(column) for column in table.columns):
            self.tree_, self.solution_ = scale.tree(single_leaf(table)), None
            return self
        reported = {"budget": self._budget(), "sealed": self.verify, "scale": scale}
        parts = attrs.evolve(parts, split=None, honest=self._honest_share())
        fitted = grow_tree(parts, table, self._seed(), **reported)
        if fitted.solution.tree is None:
            raise BudgetError(
                next(
                    iter(fitted.solution.notes),
                    "the budget ran out before there was any tree; raise it",
                )
            )
        if self.verify:  # replayed over its training objects by the slow reference
            from arboretum.engine.verify import verify

            metrics = measure(fitted.solution.tree, fitted, fitted.train)
            verify(
                fitted.solution.tree,
                fitted.problem,
                fitted.train,
                metrics,
                fitted.solution,
                fitted.seal,
            )
            if (filled := fitted.filled) is not None:
                from arboretum.engine.honest import verify_filled

                numbers = measure(filled.tree, fitted, fitted.train, filled.problem)
                verify_filled(filled, fitted.train, numbers)
        self.solution_ = solution = fitted.scale.solution(fitted.reported)
        self.tree_ = sure(solution.tree)
        return self

    def _honest_share(self) -> float:
        """``honest`` as a share; raises ConfigError for what is none."""
        share: Any = self.honest
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= float(share) < 1:
            raise ConfigError(
                "honest must be a share of the rows that only fill leaves, at least 0 and below 1; "
                f"got {share!r}"
            )
        return float(share)

    def _with_max_features(self, parts: Parts, n_columns: int) -> Parts:
        """The same parts; the method's ``max_features`` as scikit-learn's parameter has it, for
        so many columns.

        Raises ConfigError for what is no number or share, and for a method that looks at all
        columns.
        """
        asked, shares = self.max_features, {"sqrt": n_columns**0.5, "log2": math.log2(n_columns)}
        if asked is None:
            return parts
        if not hasattr(parts.method, "max_features"):
            raise ConfigError(
                f"max_features: method {sure(parts.method).name} looks at all columns; leave it "
                "out, or choose a greedy method"
            )
        known = (
            asked in shares
            if isinstance(asked, str)
            else int(asked) >= 1
            if isinstance(asked, Integral)
            else 0.0 < asked <= 1.0
        )
        if not known:
            raise ConfigError(
                "max_features must be a number of columns ≥ 1, a share of them in (0, 1], "
                f"'sqrt' or 'log2'; got {asked!r}"
            )
        number = (
            shares[asked]
            if isinstance(asked, str)
            else asked
            if isinstance(asked, Integral)
            else asked * n_columns
        )
        method: Any = parts.method
        return attrs.evolve(parts, method=attrs.evolve(method, max_features=max(1, int(number))))

    def _seed(self) -> int:
        """The seed of ``random_state``; drawn, where that is a generator or None."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _read_training(self, X: Any, y: Any) -> tuple[tuple[Column, ...], np.ndarray, int]:
        """Columns and target of the training rows, as scikit-learn checks them.

        Raises ValueError where y is absent or of another length.  Keeps whether X was a mixed
        frame.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        self._mixed = is_mixed(X)
        if not self._mixed:
            given = X
            X, y = self._numbers(X, y, y_numeric=self._task is Task.regression)
            self._refuse_merged(given, X)
            by_column = np.ascontiguousarray(X.T)  # one transposition; no column is copied again
            return (
                tuple(
                    Column(name, ColumnKind.continuous, by_column[j])
                    for j, name in enumerate(self._names())
                ),
                y,
                len(X),
            )
        validate_data(self, X, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows, but y has {len(y)}")
        return (
            tuple(column_of_series(str(name), X.iloc[:, j]) for j, name in enumerate(X.columns)),
            y,
            len(X),
        )

    def _refuse_merged(self, given: object, numbers: np.ndarray) -> None:
        """Raise DataError where two integers of a column have become one number.

        given : rows as they came.   numbers : float[n_rows, n_columns], what they became.
        """
        if getattr(getattr(given, "dtype", None), "kind", "O") == "f":
            return
        for j in np.flatnonzero((np.abs(numbers) >= EXACT).any(axis=0)):
            exact_numbers(
                self._names()[j],
                given.iloc[:, j] if hasattr(given, "iloc") else np.asarray(given, object)[:, j],
            )

    def _numbers(self, X: object, *y: object, **checks: object) -> Any:
        """Rows as numbers, as scikit-learn checks them."""
        finite = "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True
        return validate_data(
            self, X, *y, dtype=[np.float64, np.float32], ensure_all_finite=finite, **checks
        )

    def _names(self) -> list[str]:
        """Names of the columns seen by fit: the frame's, else x0, x1, …"""
        names = getattr(self, "feature_names_in_", None)
        return (
            [f"x{j}" for j in range(self.n_features_in_)]
            if names is None
            else [str(name) for name in names]
        )

    def _class_weights(self, target: Target) -> np.ndarray | None:
        """float64[classes], or None where every row counts as it weighs."""
        given = getattr(self, "class_weight", None)
        if isinstance(given, Mapping):
            given = {spelling(name): weight for name, weight in given.items()}
            # rows of a fold need not show all classes that have a weight
            if set(target.classes) <= given.keys():
                given = {name: given[name] for name in target.classes}
        return None if given is None else weights_of_classes(given, target)

    # -- predict -----------------------------------------------------------------------------------

    @property
    def _grown(self) -> Tree:
        check_is_fitted(self, "tree_")
        return self.tree_

    def _answer(self, ask: Callable[[Tree, Table], np.ndarray], X: Any) -> np.ndarray:
        """What the tree says of rows to predict on, read with the columns that it asks for.

        ask : a method of the tree that takes a table.
        """
        tree = self._grown
        if self._mixed:
            validate_data(self, X, reset=False, skip_check_array=True)
            return ask(tree, table_like(tree, X))
        X = self._numbers(X, reset=False)
        asked = {name for rule in tree.rules for name in rule.columns}
        named = [(name, X[:, j]) for j, name in enumerate(self._names()) if name in asked]
        columns = tuple(_View(name, ColumnKind.continuous, values) for name, values in named)
        return ask(tree, Table("X", columns, Target("", Task.regression, values=np.zeros(len(X)))))

    def apply(self, X: object) -> np.ndarray:
        """int64[n_rows]: number of the node where each row comes to rest; a leaf, or where a
        missing value stops it.
        """
        return np.asarray(self._answer(Tree.apply, X))

    def decision_path(self, X: object) -> Any:
        """Sparse (CSR) indicator of the nodes that each row visits: int64[n_rows, n_nodes]."""
        from scipy.sparse import csr_matrix

        ends, which = np.unique(self.apply(X), return_inverse=True)
        paths = [[*(above for above, _ in self.tree_.path(node)), node] for node in ends.tolist()]
        indptr = np.cumsum([0, *map(len, paths)])
        visited = csr_matrix(
            (np.ones(indptr[-1], np.int64), np.concatenate(paths), indptr),
            shape=(len(paths), self.tree_.n_nodes),
        )
        return visited[which]

    def prices_paid(self, X: object) -> np.ndarray:
        """float64[n_rows]: what each row pays for the tests on its path (1 each, unless ``cost``
        is overridden).
        """
        return np.asarray(self._answer(Tree.prices_paid, X))

    # -- the tree ----------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> np.ndarray:
        """float64[n_features_in_]: impurity decrease by the tests on each column, as shares (0
        without tests).
        """
        gain = self._grown.impurity_decrease()
        found = np.array([gain.get(name, 0.0) for name in self._names()])
        return found / found.sum() if found.sum() > 0 else found

    def get_depth(self) -> int:
        """Most tests on a path."""
        return int(self._grown.depth_of.max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        return self._grown.n_leaves

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn tree that answers with this estimator's own ``classes_``.

        A tree of numbers reads the same columns as this estimator; for a frame with categories, and
        for doubles that float32 would round across a threshold, give it
        ``arboretum_basics.to_sklearn.sklearn_matrix(tree_, X)``.
        Raises CapabilityError on tests with more than two outcomes.
        """
        found = self._grown.to_sklearn()
        if self._task is Task.classification:
            found.classes_, found.n_classes_ = self.classes_, self.n_classes_
        return found


class TreeClassifier(ClassifierMixin, _BaseTree):
    """A classification tree, grown by any method of the laboratory that handles classes.

    method : a preset or recipe (``arboretum plugins`` lists them).
    max_depth : tests on a path, at most.
    max_leaf_nodes : leaves, at most, spent best-first, or a limit of the solver; methods that know
        neither refuse it.
    min_samples_split : rows that a node needs to be divided.
    ccp_alpha : prune by cost complexity, as scikit-learn does (the impurity's weakest links up to
        it); another ``pruner`` says so itself.
    max_features : columns that compete at a node, drawn anew at each: a number, a share of all,
        "sqrt" or "log2"; None: all.
    min_samples_leaf : rows per branch, at least.
    min_weight_fraction_leaf : share of the total weight per branch, at least (0 … 0.5; up to the
        rounding of sums of weights).
    class_weight : None, "balanced", or {class: weight}.
    honest : share of the rows that choose no test but say what leaves predict
        (``random_state`` draws them, by class); 0: all rows do both.
    random_state : seed of methods that draw.
    verify : replay the tree by the slow reference after growing (VerificationError on a mismatch).
        encoder, …, tuner : the option of that kind, by name or as a component
        (``Regularized(lam=10)``); a list for ``stopping``, ``coverage``, ``predicate``; None: the
        method's choice; "none": none.
    kind__field : a component's field, as in ``criterion__lam=10`` or
        ``stopping__standard__min_split=5``; ``get_params()`` lists them.
    overrides : the same as on the command line, a mapping such as ``{"cost": "table",
        "cost.prices": {"x0": 3}}`` or a list of "key=value"; ``plugins`` lists one-file plugins;
        keys that belong to a run (dataset, split, tracker, seed) are refused.
    budget__seconds, budget__memory_mb : what growing or solving may spend; ``solution_`` then says
        what is proven, and whether it finished.

    Fitted: ``tree_`` (:class:`arboretum.Tree`), ``solution_`` (:class:`arboretum.api.Solution`:
    value, proven bound, and the other trees or the front of a solver that gives them; None where
    all columns are constant), ``classes_``, ``n_classes_``, ``n_features_in_``,
    ``feature_names_in_``.

    Weights count as they are given; only a row of weight 0 is left out.  A fully grown tree
    therefore gives the lightest row a leaf of its own; ``min_weight_fraction_leaf`` keeps leaves
    from being light.
    """

    _task = Task.classification

    @_show_kinds
    def __init__(
        self,
        method: object = "cart",
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
        class_weight: object = None,
        random_state: object = None,
        overrides: Plain | Sequence[str] | None = None,
        verify: bool = False,
        min_weight_fraction_leaf: float | None = None,
        *,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | None = None,
        ccp_alpha: float | None = None,
        max_features: object = None,
        honest: float = 0.0,
        **parts: object,
    ) -> None:
        self._keep(locals())

    def _target(self, y: np.ndarray) -> Target:
        """The target of the training rows, whose classes are kept.   y : [n_rows]."""
        if np.asarray(y).dtype.kind not in "biu":
            check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        tags = self.__sklearn_tags__()
        if self.n_classes_ > 2 and not tags.classifier_tags.multi_class:
            raise ValueError(
                f"Only binary classification is supported by method {self.method!r}; y has "
                f"{self.n_classes_} classes"
            )
        return Target(
            "y",
            Task.classification,
            codes.astype(np.int32),
            canonical([spelling(c) for c in self.classes_]),
        )

    def predict(self, X: object) -> np.ndarray:
        """[n_rows]: the class of each row, as given to ``fit``."""
        codes = self._answer(Tree.predict, X)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: object) -> np.ndarray:
        """float64[n_rows, n_classes]: weight share of each class at the node where the row comes
        to rest.
        """
        return np.asarray(self._answer(Tree.predict_proba, X))

    def predict_log_proba(self, X: object) -> np.ndarray:
        """float64[n_rows, n_classes]: natural logarithm of :meth:`predict_proba`; −inf for a
        share of 0.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def __sklearn_tags__(self) -> Tags:
        """The same, and whether all parts handle more than two classes."""
        tags = super().__sklearn_tags__()
        with suppress(ArboretumError):  # a wrong parameter is reported by fit
            parts = self._parts()
            judges = (parts.method, parts.criterion, parts.impurity, parts.solver, parts.objective)
            tags.classifier_tags.multi_class = not any(
                check.lacks(part, Capability.multiclass)
                for part in judges
                if not check.lacks(part, Capability.classification)  # which fit reports
            )
        return tags


class TreeRegressor(RegressorMixin, _BaseTree):
    """A regression tree, grown by any method of the laboratory that handles numbers.

    Parameters and attributes as of :class:`TreeClassifier`, without those that concern classes.
    """

    _task = Task.regression

    @_show_kinds
    def __init__(
        self,
        method: object = "cart",
        max_depth: int | None = None,
        min_samples_leaf: int | None = None,
        random_state: object = None,
        overrides: Plain | Sequence[str] | None = None,
        verify: bool = False,
        min_weight_fraction_leaf: float | None = None,
        *,
        max_leaf_nodes: int | None = None,
        min_samples_split: int | None = None,
        ccp_alpha: float | None = None,
        max_features: object = None,
        honest: float = 0.0,
        **parts: object,
    ) -> None:
        self._keep(locals())

    def _target(self, y: np.ndarray) -> Target:
        """The target of the training rows.   y : [n_rows], numbers."""
        return Target(
            "y",
            Task.regression,
            values=exact_numbers("y", np.asarray(y)).astype(np.float64, copy=False),
        )

    def predict(self, X: object) -> np.ndarray:
        """float64[n_rows]: the number predicted for each row."""
        return np.asarray(self._answer(Tree.predict, X))


def _spell_limits(limits: Plain, message: str) -> str:
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
