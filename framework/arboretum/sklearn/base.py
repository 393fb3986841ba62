"""What both estimators share: growing on arrays or frames, and what a grown tree answers."""

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Self

import attrs
import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from arboretum.engine import check
from arboretum.engine.class_weights import weigh_classes, weights_of_classes, with_weight
from arboretum.engine.row_costs import measure, measures_on, problem_without_tests
from arboretum.engine.run import fit as grow_tree
from arboretum.engine.scale import Scale, check_range
from arboretum.errors import BudgetError, ConfigError, DataError, sure
from arboretum.interfaces.method import Parts
from arboretum.model.encoded import Prices
from arboretum.model.frame import column_of_series, exact_numbers, is_constant, is_mixed, table_like
from arboretum.model.record import Solution
from arboretum.model.roles import EVENT, OUTCOME, PROPENSITY
from arboretum.model.spelling import EXACT, spelling
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import Tree
from arboretum.sklearn.parameters import Parameters
from arboretum.sklearn.roles import read_followed, read_roles, refuse_lacking


class _View(Column):
    """A column of rows to predict on, where it lies in their array: most values are read once,
    so it is not copied.
    """

    def __attrs_post_init__(self) -> None:
        pass


NO_PRICES = Prices(np.zeros(0), np.zeros(0))
"""Of no test."""


def _read_weights(given: Any, n_rows: int) -> np.ndarray | None:
    """float64[n_rows] ≥ 0, or None, as scikit-learn checks weights."""
    if given is None:
        return None
    rows = np.empty((n_rows, 0))  # scikit-learn looks at the shape only
    weights: np.ndarray = _check_sample_weight(
        given, rows, dtype=np.float64, ensure_non_negative=True
    )
    return weights


def _in_numpy(y: Any) -> Any:
    """A target of integers or truth values of a type of pandas (Int64, boolean) in NumPy's, since
    scikit-learn makes floats of them; any other as it is.
    """
    dtype = getattr(y, "dtype", None)
    own = getattr(dtype, "kind", "O") in "biu" and not isinstance(dtype, np.dtype)
    return y.to_numpy() if own and not y.isna().any() else y


class BaseTree(Parameters):
    """What both estimators share."""

    _task: Task
    tree_: Tree
    solution_: Solution | None
    _fields: Mapping[str, Any] = {}
    # -- fit ---------------------------------------------------------------------------------------

    def fit(
        self,
        X: object,
        y: object = None,
        sample_weight: Any = None,
        *,
        event: object = None,
        treatment: object = None,
        outcome: object = None,
        propensity: object = None,
        costs: object = None,
        roles: object = None,
    ) -> Self:
        """Grow the tree.

        X : [n_rows, n_features] array or frame.
        y : classes, or numbers; or, structured, an event and a time (scikit-survival's ``Surv``).
        sample_weight : float[n_rows] ≥ 0.
        event : [n_rows], 1 where y is the time of an event, 0 where it is that of the last look.
        treatment : [n_rows], the action that was taken, in place of y.
        outcome : float[n_rows], what came of that action, more is better.
        propensity : float[n_rows], how likely that action was, above 0, up to 1.
        costs : what each row costs where it is given a label: a frame with a column for each
            label, a mapping label → float[n_rows], or float[n_rows, n_classes] by ``classes_``.
        roles : numbers of rows that a component reads by a name of its own: a frame with a column
            for each name, or a mapping name → float[n_rows].

        Raises ValueError (also a DataError, ConfigError or CapabilityError) naming what does not
        fit.
        """
        parts = self._parts()
        if treatment is not None:
            y = self._as_target(treatment, y)
        y, event = read_followed(y, event)
        columns, y, n_rows = self._read_training(X, y)
        target = self._target(y)
        said = {EVENT: event, OUTCOME: outcome, PROPENSITY: propensity}
        known = read_roles(said, costs, roles, target.classes, n_rows)
        weights = _read_weights(sample_weight, n_rows)
        table = Table("X", columns, target, weights, roles=known)
        if (by_class := self._class_weights(target)) is not None:
            table = weigh_classes(table, by_class)
        table = with_weight(table)
        parts = self._with_max_features(parts, len(columns))
        check.check_parts(parts)
        refuse_lacking(parts, table, "fit")
        check.check_table(parts, table)
        self._train = table if hasattr(parts.objective, "metrics") else None
        scale = Scale.of(table, parts)
        table = check_range(table, scale)
        if all(is_constant(column) for column in table.columns):
            from arboretum.engine.honest import tree_without_tests

            self.tree_, self.solution_ = scale.tree(tree_without_tests(parts, table)), None
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

    def _as_target(self, treatment: object, y: object) -> object:
        """Return the actions that were taken; raises ConfigError beside a target, and where numbers
        are predicted.
        """
        if y is not None:
            raise ConfigError("treatment is the target; leave y out")
        if self._task is Task.regression:
            raise ConfigError(
                "treatment is one of several actions, and TreeRegressor predicts numbers; use "
                "TreeClassifier"
            )
        return treatment

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
            else isinstance(asked, Real)
            and not isinstance(asked, bool)
            and (int(asked) >= 1 if isinstance(asked, Integral) else 0.0 < float(asked) <= 1.0)
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

        Raises ValueError where y is absent or of another length, or no row is there.  Keeps
        whether X was a mixed frame.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        self._mixed, y = is_mixed(X), _in_numpy(y)
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
        if not len(X):
            raise ValueError("X has 0 rows, and a tree needs at least 1")
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

    def measures(
        self,
        X: object,
        y: object = None,
        sample_weight: Any = None,
        *,
        event: object = None,
        treatment: object = None,
        outcome: object = None,
        propensity: object = None,
        costs: object = None,
        roles: object = None,
    ) -> dict[str, float]:
        """Return how well the tree answers rows, by the names of a run's record: ``error`` or
        ``mse`` …; by the objective ``mean_cost`` and its standard error ``mean_cost_error``,
        ``concordance``, ``integrated_brier`` …

        The arguments are those of :meth:`fit`.  Raises ValueError (also a DataError or ConfigError)
        naming what does not fit, as a class that no training row has.
        """
        tree, parts = self._grown, self._parts()
        columns, n_rows = self._read_columns(X), len(X)  # type: ignore[arg-type]
        y, event = read_followed(y, event)
        target = self._known_target(y if treatment is None else self._as_target(treatment, y))
        if len(target.missing) != n_rows:
            raise DataError(f"X has {n_rows} rows, but y has {len(target.missing)}")
        said = {EVENT: event, OUTCOME: outcome, PROPENSITY: propensity}
        known = read_roles(said, costs, roles, target.classes, n_rows)
        table = Table("X", columns, target, _read_weights(sample_weight, n_rows), roles=known)
        table = with_weight(table)
        refuse_lacking(parts, table, "measures")
        problem = problem_without_tests(table, attrs.evolve(parts, criterion=None), NO_PRICES)
        train = table if self._train is None else self._train
        found = measures_on(tree, problem, table, train)
        return {name: float(value) for name, value in found.items()}

    def _read_columns(self, X: Any) -> tuple[Column, ...]:
        """All columns of rows to answer, as the tree knows them."""
        if self._mixed:
            validate_data(self, X, reset=False, skip_check_array=True)
            return table_like(self._grown, X).columns
        X = self._numbers(X, reset=False)
        return tuple(
            _View(name, ColumnKind.continuous, X[:, j]) for j, name in enumerate(self._names())
        )

    def _known_target(self, y: Any) -> Target:
        """The target of rows to judge by, in the classes of training.  Raises DataError for others,
        ValueError without one.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__}.measures requires y, or a treatment")
        if self._task is Task.regression:
            found: Target = self._target(column_or_1d(_in_numpy(y), warn=True))
            return found
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        labels = np.asarray(column_or_1d(_in_numpy(y), warn=True)).tolist()
        if wrong := [label for label in labels if label not in place]:
            raise DataError(
                f"y has the class {wrong[0]!r}, which no training row has; leave its rows out, or "
                "train on more rows"
            )
        codes = np.array([place[label] for label in labels], np.int32)
        return Target("y", Task.classification, codes, self._grown.classes)

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
