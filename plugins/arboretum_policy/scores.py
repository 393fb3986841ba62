"""What each action is worth to each row, estimated from the actions that were taken.

With x a row, t the action that was taken, y what came of it (more is better), π(a | x) how likely
action a was, and μ(a, x) what is expected of it (Dudík, Langford & Li 2011, section 3)::

    inverse propensity   s(a) = 1[t = a] · y / π(t | x)
    direct               s(a) = μ(a, x)
    doubly robust        s(a) = μ(a, x) + 1[t = a] · (y − μ(t, x)) / π(t | x)

μ, and π where the table does not say it, are fitted by scikit-learn on other folds of the same rows
(Athey & Wager 2021, section 2: cross-fitting), so that no row is judged by a model that saw it.
"""

from __future__ import annotations

import enum
from functools import lru_cache

import attrs
import numpy as np

from arboretum.api import OUTCOME, PROPENSITY, DataError, Table


class Estimate(enum.Enum):
    """How an action's worth is estimated."""

    inverse_propensity = "inverse_propensity"
    direct = "direct"
    doubly_robust = "doubly_robust"


class Model(enum.Enum):
    """What outcomes and propensities are fitted by."""

    linear = "linear"
    forest = "forest"


@attrs.frozen
class Scoring:
    """How rows are scored; see :mod:`arboretum_policy.scores`.

    folds : of the cross-fitting.   least : below which no estimated propensity falls.
    """

    estimate: Estimate
    model: Model
    folds: int
    least: float


@lru_cache(maxsize=4)
def scores_of(table: Table, how: Scoring) -> np.ndarray:
    """Return float64[n_rows, actions], read-only: what each action is worth to each row.

    The same table, with the same settings, has the same scores: folds go round and the models draw
    from a fixed seed.  Raises DataError where an action was never taken, or the table does not say
    the outcomes.
    """
    taken, actions = table.target.codes, table.target.classes
    times = np.bincount(taken, minlength=len(actions))
    if not times.all():
        raise DataError(
            f"the action {actions[int(times.argmin())]!r} was taken in no row, so that nobody "
            "knows what comes of it; leave its name out of the data, or train on more rows"
        )
    outcome, features = table.role(OUTCOME), numbers_of(table)
    fold = folds_of(taken, how.folds)
    found = np.zeros((table.n_rows, len(actions)))
    if how.estimate is not Estimate.inverse_propensity:
        found[:] = _expected(features, taken, outcome, fold, len(actions), how)
    if how.estimate is not Estimate.direct:
        rows = np.arange(table.n_rows)
        likely = (
            table.role(PROPENSITY)
            if PROPENSITY in table.roles
            else _propensities(features, taken, fold, len(actions), how)
        )
        found[rows, taken] += over_propensities(outcome - found[rows, taken], likely, table)
    found.flags.writeable = False
    return found


def over_propensities(outcome: np.ndarray, propensity: np.ndarray, table: Table) -> np.ndarray:
    """Return float64[n_rows], numbers over propensities.  Raises DataError, naming the row, where
    that is more than a float holds.
    """
    with np.errstate(over="ignore"):
        found: np.ndarray = outcome / propensity
    if (amiss := ~np.isfinite(found) & np.isfinite(outcome)).any():
        row = int(amiss.argmax())
        way = (
            "mend dataset.propensity, or leave the row out"
            if PROPENSITY in table.roles
            else "raise objective.least"
        )
        raise DataError(
            f"{table.name}: {outcome[row]:g} over the propensity of row {row + 1}, "
            f"{propensity[row]:g}, is more than a float holds; {way}"
        )
    return found


def numbers_of(table: Table) -> np.ndarray:
    """Return float64[n_rows, k]: the columns as numbers of mean 0 and variance 1, each category one
    of 0 and 1; what is missing becomes the mean, and a column of its own.
    """
    found: list[np.ndarray] = []
    for column in table.columns:
        missing = column.missing
        if column.categories and not column.is_continuous:
            found += [column.values == k for k in range(len(column.categories))]
        else:
            values = column.as_numbers().astype(np.float64)
            known = values[~missing]
            mean, spread = (known.mean(), known.std() or 1.0) if len(known) else (0.0, 1.0)
            found.append(np.where(missing, 0.0, (values - mean) / spread))
        if missing.any():
            found.append(missing)
    return np.array(found, np.float64).T


def folds_of(taken: np.ndarray, folds: int) -> np.ndarray:
    """Return int64[n]: the fold of each row; the rows of each action go round."""
    order = np.argsort(taken, kind="stable")
    place = np.empty(len(taken), np.int64)
    place[order] = np.arange(len(taken)) - np.searchsorted(taken[order], taken[order])
    return place % folds


def _expected(
    features: np.ndarray,
    taken: np.ndarray,
    outcome: np.ndarray,
    fold: np.ndarray,
    actions: int,
    how: Scoring,
) -> np.ndarray:
    """float64[n, actions]: the outcome that is expected of each action, by models that were fitted
    on the other folds' rows of it; the action's mean where these are fewer than two.
    """
    found = np.empty((len(taken), actions))
    for k in range(how.folds):
        here = fold == k
        for action in range(actions):
            other = ~here & (taken == action)
            if other.sum() < 2:
                found[here, action] = outcome[taken == action].mean()
                continue
            model = _regressor(how.model).fit(features[other], outcome[other])
            found[here, action] = model.predict(features[here]) if here.any() else 0.0
    return found


def _propensities(
    features: np.ndarray, taken: np.ndarray, fold: np.ndarray, actions: int, how: Scoring
) -> np.ndarray:
    """float64[n]: how likely the action was that was taken, by a model that was fitted on the other
    folds, ``how.least`` or more.
    """
    found = np.empty(len(taken))
    for k in range(how.folds):
        here, share = fold == k, np.zeros(actions)
        if not here.any():
            continue
        there = np.unique(taken[~here])
        if len(there) < 2:  # no model to fit: who took the one action took no other
            share[there if len(there) else taken] = 1.0
            found[here] = share[taken[here]]
            continue
        model = _classifier(how.model).fit(features[~here], taken[~here])
        chances = np.zeros((int(here.sum()), actions))
        chances[:, model.classes_] = model.predict_proba(features[here])
        found[here] = chances[np.arange(len(chances)), taken[here]]
    return np.maximum(found, how.least)


def _regressor(model: Model):  # type: ignore[no-untyped-def]  # of scikit-learn
    if model is Model.linear:
        from sklearn.linear_model import Ridge

        return Ridge()
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(100, min_samples_leaf=5, random_state=0)


def _classifier(model: Model):  # type: ignore[no-untyped-def]  # of scikit-learn
    if model is Model.linear:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
