"""Fuzzy thresholds: the tables of a soft split, and how well its two sides together tell the
target::

    v_i ← share of row i above the threshold, for the width at hand
    left ← Σ w_i (1 − v_i) · row i;  right ← Σ w_i v_i · row i;  p, q ← their means
    error ← Σ w_i (y_i − (1 − v_i) p − v_i q)²
          = Σ w y² + p² Σ w (1 − v)² + 2 p q Σ w v (1 − v) + q² Σ w v² − 2 (p a + q b)
            with a = Σ w (1 − v) y and b = Σ w v y

For classes y is the vector of 0 and 1 of the row's class, and the error is summed over classes.

Invariants: v is in 0 … 1, and 0 or 1 where the width is 0.  Rows without a value are in no sum.
Tables are added to, and are 0 at first; errors are written.  Numbers of rows are shares, not whole.
"""

import math

from arboretum.kernels.jit import jit

STEEP, CUT = 4.0, 2.0
"""A logistic membership is 1 / (1 + exp(−STEEP z)), z the distance from the threshold in widths,
which rises at z = 0 as fast as the linear one; it is cut to 0 and 1 from z = ∓CUT on, where 0.03 %
are left.
"""


@jit(inline=True)
def share_above(x, threshold, width, logistic):
    """Return the share of a value x that goes above a threshold, 0 … 1.

    width : in the unit of x; 0 or less: a crisp test.
    logistic : how shares change, else linearly.
    """
    if width <= 0.0:
        return 1.0 if x > threshold else 0.0
    z = (x - threshold) / width
    if not logistic:
        return min(max(z + 0.5, 0.0), 1.0)
    return 0.0 if z <= -CUT else 1.0 if z >= CUT else 1.0 / (1.0 + math.exp(-STEEP * z))


@jit
def totals(who, share, objects, weights, rows):
    """Add up parts of objects: their class weights or moments to ``weights``, and to ``rows``,
    float64[·], the rows that they are.

    who : int[k].
    share : float64[k].
    objects : :class:`arboretum.kernels.tables.Objects`.
    """
    label, y, weight, count, _ = objects
    for j in range(len(who)):
        i = who[j]
        w, k = weight[i] * share[j], label[i] if len(label) > 0 else 0
        weights[k] += w
        if len(label) == 0:
            weights[1] += w * y[i]
            weights[2] += w * y[i] * y[i]
        rows[k] += count[i] * share[j]


@jit
def soft_tables(x, label, y, weight, rows, cut, widths, weights, counts, error):
    """The tables of one threshold with several widths, and their errors.

    x : float64[m], NaN = missing: such rows are left out.
    label : int32[m], empty for numbers.
    y : float64[m].
    weight, rows : float64[m].
    cut : (threshold, logistic).
    weights, counts : float64[widths, 2, ·], added to.
    error : float64[widths], written: Σ w · (squared distance between the target, as shares of
        classes or as number, and the mean of both sides' predictions by the row's shares).
    """
    classes = len(label) > 0
    for s in range(len(widths)):
        below, mixed, above, total = 0.0, 0.0, 0.0, 0.0
        left, right = weights[s, 0], weights[s, 1]
        for i in range(len(x)):
            if x[i] != x[i]:
                continue
            v, w = share_above(x[i], cut[0], widths[s], cut[1]), weight[i]
            below += w * (1.0 - v) * (1.0 - v)
            mixed += w * v * (1.0 - v)
            above += w * v * v
            k = label[i] if classes else 0
            counts[s, 0, k] += rows[i] * (1.0 - v)
            counts[s, 1, k] += rows[i] * v
            left[k] += w * (1.0 - v)
            right[k] += w * v
            if not classes:
                below_y, above_y = w * (1.0 - v) * y[i], w * v * y[i]
                left[1] += below_y
                right[1] += above_y
                left[2] += below_y * y[i]
                right[2] += above_y * y[i]
                total += w * y[i] * y[i]
            else:
                total += w
        m, n = left.sum() if classes else left[0], right.sum() if classes else right[0]
        error[s] = total
        for k in range(len(left) if classes else 1):
            a, b = left[k if classes else 1], right[k if classes else 1]
            p, q = a / m if m > 0.0 else 0.0, b / n if n > 0.0 else 0.0
            error[s] += p * p * below + 2.0 * p * q * mixed + q * q * above - 2.0 * (p * a + q * b)
