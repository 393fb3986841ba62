"""How good are predictions?  Every measure weighs rows; numbers in, one float out.

A measure that is not defined on the rows at hand (the area under a curve with one class) is NaN.
"""

import numpy as np

from arboretum.model.plain import Facts


def error(codes: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Weighted share of rows predicted wrongly.

    codes, predicted : int[n_rows] class indices.   weights : float64[n_rows] > 0.
    """
    return float(weights[codes != predicted].sum() / weights.sum())


def accuracy(codes: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Weighted share of rows predicted rightly; arguments as in :func:`error`."""
    return float(weights[codes == predicted].sum() / weights.sum())


def balanced_accuracy(codes: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean over the classes shown of the share of their weight predicted rightly;
    arguments as in :func:`error`.
    """
    total = np.bincount(codes, weights)
    right = np.bincount(codes, weights * (codes == predicted))
    shown = total > 0
    return float((right[shown] / total[shown]).mean())


def confusion(
    codes: np.ndarray, predicted: np.ndarray, weights: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return float64[n_classes, n_classes]: weight of the rows by true and predicted class;
    arguments as in :func:`error`.
    """
    return np.bincount(
        codes.astype(np.int64) * n_classes + predicted, weights, n_classes**2
    ).reshape(n_classes, n_classes)


def rates(table: np.ndarray, average: str | None = None, beta: float = 1.0) -> Facts:
    """precision, recall (sensitivity), specificity, f1 (in general F_β, "f2" for β = 2): of each
    class against the rest, float64[n_classes].

    table : from :func:`confusion`.
    average : "macro" over the classes that occur, "weighted" by true weight, or "micro" of summed
        counts; then floats.  What would divide by 0 is 0.  As scikit-learn's
        ``precision_recall_fscore_support``.
    """
    right = table.diagonal()
    predicted = table.sum(axis=0)
    there = table.sum(axis=1)
    total = np.full(len(table), table.sum())
    occurs = predicted + there > 0
    weight = there if average == "weighted" else occurs
    if average == "micro":
        right, predicted, there, total, weight = (
            np.array([one[occurs].sum()]) for one in (right, predicted, there, total, occurs)
        )
    pairs = {
        "precision": (right, predicted),
        "recall": (right, there),
        "specificity": (np.maximum(total - predicted - there + right, 0.0), total - there),
        f"f{beta:g}": ((1 + beta**2) * right, beta**2 * there + predicted),
    }
    found = {
        name: np.divide(a, b, out=np.zeros(len(b)), where=b > 0) for name, (a, b) in pairs.items()
    }
    return (
        {name: float(np.average(values, weights=weight)) for name, values in found.items()}
        if average
        else found
    )


def _probability_of_true_class(codes: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Return float64[n_rows]: probability of the true class, 0 of one beyond the columns of
    ``proba``, float64[n_rows, n_classes].

    codes : int[n_rows].
    """
    known = codes < proba.shape[1]
    return np.where(known, proba[np.arange(len(codes)), np.where(known, codes, 0)], 0.0)


def log_loss(codes: np.ndarray, proba: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of −ln P(true class), in nats; probabilities are kept above the float64 epsilon
    (2.2e-16).

    proba : float64[n_rows, n_classes]; a class beyond its columns has probability 0.
    codes, weights : as in :func:`error`.
    """
    # + 0.0: a loss of nothing is 0, not −0
    return (
        float(
            -(
                weights
                * np.log(
                    np.maximum(_probability_of_true_class(codes, proba), np.finfo(np.float64).eps)
                )
            ).sum()
            / weights.sum()
        )
        + 0.0
    )


def brier(codes: np.ndarray, proba: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of Σ over classes of (probability − truth)²; of two classes half of it, as is
    customary.

    codes, weights : as in :func:`error`.   proba : as in :func:`log_loss`.
    """
    apart = (proba**2).sum(axis=1) - 2 * _probability_of_true_class(codes, proba) + 1
    return float((weights * apart).sum() / weights.sum()) / (2 if proba.shape[1] == 2 else 1)


def roc_auc(codes: np.ndarray, proba: np.ndarray, weights: np.ndarray) -> float:
    """Area under the ROC curve: P(score of a positive > score of a negative) + ½ P(both equal), by
    weight.

    Two classes: of class 1 against class 0.  More: the mean over the classes shown of each against
    the rest (macro).
    proba : float64[n_rows, n_classes], the scores.  NaN when only one class is shown.

    Hanley & McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve".
    """
    mass = np.zeros((len(codes), max(proba.shape[1], int(codes.max(initial=0)) + 1)))
    mass[np.arange(len(codes)), codes] = weights
    return roc_auc_of_groups(proba, mass)


def roc_auc_of_groups(scores: np.ndarray, mass: np.ndarray) -> float:
    """As :func:`roc_auc`, over groups of rows that share their scores (300 classes then cost no 300
    sorts of rows).

    scores : float64[n_groups, n_classes].
    mass : float64[n_groups, ≥ n_classes], weight of each class in the group.
    """
    total, n_classes = mass.sum(axis=1), scores.shape[1]
    # of two classes the first has the same area
    tried = [1] if n_classes == 2 else range(n_classes)
    areas = [
        area_under_roc(scores[:, c], mass[:, c], np.maximum(total - mass[:, c], 0)) for c in tried
    ]
    areas = [area for area in areas if not np.isnan(area)]
    return float(np.mean(areas)) if areas else float("nan")


def area_under_roc(score: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> float:
    """Return P(s⁺ > s⁻) + ½ P(s⁺ = s⁻); NaN when a side has no weight.

    score : float64[n]; positive, negative : float64[n], weight of each class at that score.
    """
    distinct, group = np.unique(score, return_inverse=True)
    up, down = (np.bincount(group, mass, len(distinct)) for mass in (positive, negative))
    pairs = up.sum() * down.sum()
    if pairs == 0:
        return float("nan")
    below = np.cumsum(down) - down
    return float((up * (below + down / 2)).sum() / pairs)


def mse(values: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean squared error (unit: the target's, squared).

    values, predicted, weights : float64[n_rows].
    """
    return float((weights * (values - predicted) ** 2).sum() / weights.sum())


def mae(values: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean absolute error (unit: the target's); arguments as in :func:`mse`."""
    return float((weights * np.abs(values - predicted)).sum() / weights.sum())


def r2(values: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """Coefficient of determination, 1 − mse / variance; arguments as in :func:`mse`.

    On a constant target: 1 when it is predicted exactly, else 0.
    """
    mean = (weights * values).sum() / weights.sum()
    variance = mse(values, np.full_like(values, mean), weights)
    residual = mse(values, predicted, weights)
    if variance == 0:
        return 1.0 if residual == 0 else 0.0
    return 1.0 - residual / variance
