"""Branch and bound over sets of tests: the leaves of an oblivious tree do not depend on the
order of its levels::

    while some set is at hand, T its tests, d of them, t the last:
        if t is past the last test: drop it; the one before it moves on; next
        cells ← the cells of T without t, divided by t
        value ← loss(cells) + λ · cells + prices of T;  keep it if it is the best
        least ← loss(cells divided by all tests after t) + λ · cells + prices of T
        if T may have more tests and least < best: add test t + 1
        else: t moves on

No set that has T and tests after t costs less than ``least``: more tests divide cells further,
which lowers the loss at most to that, and adds leaves and prices.

Invariants:

- ``chosen`` ascends; cells[d] are those of its first d tests, numbered from 0 in the order of the
  groups: cells behind the set at hand are stale.
- ``numbers`` is −1 everywhere between calls of :func:`refine_cells`.
- What is left to do, and the best set, are in ``state``, ``chosen``, cells and ``best``: a search
  that was stopped goes on from there.
"""

import numpy as np

from arboretum.kernels.jit import jit

STATE = np.dtype(
    [
        ("depth", np.int64),  # the place of t in T, −1 when all is searched
        ("done", np.int64),  # 1: all is searched
        ("sets", np.int64),  # that were looked at
        ("size", np.int64),  # tests of the best set
        ("upper", np.float64),  # value of the best set
    ],
    align=True,
)
"""What is known of the search, besides the sets."""


@jit
def refine_cells(cells, n_cells, outcome, arity, numbers, out):
    """Divide cells by a test; return how many there are then.

    cells : int32[groups], the cell of each group; out : receives the same after the test.
    outcome : uint[groups], below arity.
    numbers : int32[≥ n_cells · arity], −1 everywhere, and again afterwards.
    """
    n = 0
    for g in range(len(cells)):
        key = cells[g] * arity + outcome[g]
        if numbers[key] < 0:
            numbers[key] = n
            n += 1
        out[g] = numbers[key]
    for g in range(len(cells)):
        numbers[cells[g] * arity + outcome[g]] = -1
    return n


@jit
def loss_of(cells, n_cells, costs, sums):
    """Return Σ over cells of the least cost of a label.

    costs : float64[groups, labels].
    sums : float64[≥ n_cells, labels], scratch.
    """
    sums[:n_cells] = 0.0
    for g in range(len(cells)):
        for k in range(costs.shape[1]):
            sums[cells[g], k] += costs[g, k]
    total = 0.0
    for c in range(n_cells):
        least = sums[c, 0]
        for k in range(1, costs.shape[1]):
            least = min(least, sums[c, k])
        total += least
    return total


@jit
def write_suffix_losses(outcomes, arity, costs, numbers, sums, classes, n_classes, loss):
    """Write the cells of all tests from t on, for every t, and their loss: no set of such tests
    loses less.

    outcomes : uint[tests, groups]; arity : most outcomes of a test.
    costs : float64[groups, labels], what a group costs under each label.
    numbers, sums : scratch of :func:`refine_cells` and :func:`loss_of`.
    classes : int32[tests + 1, groups], n_classes : int64[tests + 1], loss : float64[tests + 1],
        written.
    """
    last = len(outcomes)
    classes[last], n_classes[last] = 0, 1
    loss[last] = loss_of(classes[last], 1, costs, sums)
    for t in range(last - 1, -1, -1):
        n_classes[t] = refine_cells(
            classes[t + 1], n_classes[t + 1], outcomes[t], arity, numbers, classes[t]
        )
        loss[t] = loss_of(classes[t], n_classes[t], costs, sums)


@jit
def search_sets(
    tests, suffix, prices, lam, slack, most_work, state, chosen, cells, n_cells, best, scratch
):
    """Look at sets of at most ``len(chosen)`` tests, by rising numbers, depth first; go on where
    ``state`` and the rest say; stop after some work.

    tests : outcomes uint8[tests, groups], most outcomes, costs.
    suffix : of :func:`write_suffix_losses`.
    prices : float64[tests], what each adds.
    lam : per leaf.
    slack : what a set has to be better by.
    chosen : int64[k], the set at hand.
    cells, n_cells : int32[k + 1, groups], int64[k + 1], its cells test by test.
    best : int64[k], its tests.
    state : STATE[1].
    scratch : numbers, sums, joined as above.
    """
    outcomes, arity, costs = tests
    classes, n_classes, _ = suffix
    numbers, sums, joined = scratch
    work, k, last, state = 0, len(chosen), len(outcomes), state[0]
    while work < most_work:
        d = state.depth
        if d < 0:
            state.done = 1
            return
        t = chosen[d]
        if t >= last:  # no further test here: the one above moves on
            state.depth -= 1
            if d > 0:
                chosen[d - 1] += 1
            continue
        n_cells[d + 1] = refine_cells(
            cells[d], n_cells[d], outcomes[t], arity, numbers, cells[d + 1]
        )
        paid = 0.0
        for e in range(d + 1):
            paid += prices[chosen[e]]
        value = loss_of(cells[d + 1], n_cells[d + 1], costs, sums) + lam * n_cells[d + 1] + paid
        state.sets += 1
        work += len(cells[0])
        if value < state.upper - slack:
            state.upper, state.size = value, d + 1
            for e in range(d + 1):
                best[e] = chosen[e]
        if d + 1 < k and t + 1 < last and lam * n_cells[d + 1] + paid < state.upper - slack:
            n = refine_cells(
                classes[t + 1], n_classes[t + 1], cells[d + 1], n_cells[d + 1], numbers, joined
            )
            if loss_of(joined, n, costs, sums) + lam * n_cells[d + 1] + paid < state.upper - slack:
                chosen[d + 1] = t + 1
                state.depth = d + 1
                continue
        chosen[d] += 1
