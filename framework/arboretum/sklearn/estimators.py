"""The two estimators: a tree of classes, a tree of numbers."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from arboretum.engine import check
from arboretum.errors import ArboretumError, DataError
from arboretum.interfaces.component import Capability
from arboretum.model.frame import exact_numbers
from arboretum.model.missing import missing_among
from arboretum.model.plain import Plain
from arboretum.model.spelling import canonical, spelling
from arboretum.model.table import Target, Task
from arboretum.model.tree import Tree
from arboretum.sklearn.base import BaseTree
from arboretum.sklearn.parameters import show_kinds


class TreeClassifier(ClassifierMixin, BaseTree):
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

    @show_kinds
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
        """The target of the training rows, whose classes are kept.

        y : [n_rows].  Raises DataError where a row has none.
        """
        if y.dtype.kind == "O" and (missing := missing_among(y)).any():
            raise DataError(
                f"y has no class in row {int(missing.argmax()) + 1} (input contains NaN, or None); "
                "leave such rows out"
            )
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


class TreeRegressor(RegressorMixin, BaseTree):
    """A regression tree, grown by any method of the laboratory that handles numbers.

    Parameters and attributes as of :class:`TreeClassifier`, without those that concern classes.
    """

    _task = Task.regression

    @show_kinds
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
        """The target of the training rows.

        y : [n_rows], numbers.  Raises DataError where a row has none.
        """
        values = exact_numbers("y", np.asarray(y)).astype(np.float64, copy=False)
        if (missing := np.isnan(values)).any():
            raise DataError(
                f"y has no number in row {int(missing.argmax()) + 1} (input contains NaN, or "
                "None); leave such rows out"
            )
        return Target("y", Task.regression, values=values)

    def predict(self, X: object) -> np.ndarray:
        """float64[n_rows]: the number predicted for each row."""
        return np.asarray(self._answer(Tree.predict, X))
