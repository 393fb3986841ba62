"""Score finished tables, and fill a criterion's own column, through function pointers::

    for each table t:
        out[t] = kernel(weights[t], counts[t], price[t], extra[t], node)

    for each row, p so far: v ← column(weight[row], label[row], node)
        if v ≠ 0: picked[p], values[p] ← row, v

Invariants: arrays are the caller's, C-contiguous and of the types in :mod:`.function_pointers`,
which makes the addresses; ``out``, ``picked`` and ``values`` alone are written.
"""

from arboretum.kernels.function_pointers import call_batch, call_column, call_impurity, make_node
from arboretum.kernels.jit import jit


@jit
def score_tables(weights, counts, price, extra, batch, scalars, params, impurity, out):
    """Score a block of tables.

    weights, counts : float64[tests, outcomes, width], int64[tests, outcomes, count width].
    price, extra : float64[tests], float64[tests, outcomes, k].
    batch, impurity : addresses.
    scalars, params : see ``make_node``.
    out : float64[tests], written.
    """
    node = make_node(scalars, params, impurity)
    call_batch(batch, weights, counts, price, extra, node, out)


@jit
def impurity_of(weights, impurity):
    """The impurity of one table row through its address.   weights : float64[classes]."""
    return call_impurity(impurity, weights)


@jit
def pick_column(rows, weight, label, column, scalars, params, impurity, picked, values):
    """Find the rows whose value in a criterion's own column is not 0; return how many, or −1 where
    a value is not finite.

    weight : float64[n], label : int32[n], by object.
    column, impurity : addresses; scalars, params : see ``make_node``.
    picked : int32[≥ len(rows)], receives these rows, or first the one that is not finite.
    values : float64[≥ len(rows)], receives their values.
    """
    return call_column(
        column, rows, weight, label, make_node(scalars, params, impurity), picked, values
    )
