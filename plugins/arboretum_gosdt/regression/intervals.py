"""The least cost of dividing sorted targets into intervals: no tree of as many leaves costs less
(numba kernels).

With c(i, j) the cost of the objects i … j − 1 as one leaf (``cost_of_interval``), from sums of
prefixes::

    best[0] = 0;  best[j] = min over i < j of best[i] + c(i, j) + price
    for j = 1 … n:
        drop the first of the queue while the next one's time has come; the first is the best i
        drop the last while j is no worse at its time; else find when j gets no worse (bisection)
        append j with that time, if it is at most n

Invariants: c is Monge, so that the best i never falls as j grows.  The queue holds starts i, and
from which j on each is the best, both ascending; it needs no more than n + 1 places, since every j
is appended once.  Objects have to be sorted by target, and have positive weights.
"""

import numpy as np

from arboretum.kernels.jit import inner, jit


@inner
def cost_of_interval(table, prefix, i, j):
    """Return the cost of the objects i … j − 1 of a sorted list as one leaf, without its price.

    table : RegressionTable; ``absolute`` and ``scale`` say how errors are counted.
    prefix : float64[4, objects + 1], rows 0, 1 and 2 sums of weight, total and square over the
        first objects.
    """
    weight, total = prefix[0, j] - prefix[0, i], prefix[1, j] - prefix[1, i]
    if not table.absolute:
        return prefix[2, j] - prefix[2, i] - table.scale * total * total / weight
    half, low, high = (prefix[0, i] + prefix[0, j]) / 2, i, j - 1
    while low < high:  # the object that holds the median
        middle = (low + high) // 2
        if prefix[0, middle + 1] < half:
            low = middle + 1
        else:
            high = middle
    y = (prefix[1, low + 1] - prefix[1, low]) / (prefix[0, low + 1] - prefix[0, low])
    return table.scale * (
        prefix[1, j]
        + prefix[1, i]
        - 2 * prefix[1, low]
        - y * (prefix[0, j] + prefix[0, i] - 2 * prefix[0, low])
    )


@jit(borrow=True)
def least_cost_of_intervals(table, scratch, objects, price):
    """Return the least cost of a division of sorted objects into intervals, each of which costs
    ``price`` more.

    The cost of intervals is Monge, so that the best last interval never begins earlier for a longer
    list: what begins where is kept in a queue.

    table : RegressionTable; scratch : ``prefix`` and ``queue`` are overwritten.
    objects : int64, sorted by target, of positive weight.
    Returns a float, which rounding may put off by as much as ``table.slack`` allows for.
    """
    n, prefix, best, queue = len(objects), scratch.prefix, scratch.prefix[3], scratch.queue
    prefix[:3, 0] = 0.0
    for at in range(n):
        r = objects[at]
        prefix[0, at + 1] = prefix[0, at] + table.weight[r]
        prefix[1, at + 1] = prefix[1, at] + table.total[r]
        prefix[2, at + 1] = prefix[2, at] + table.square[r]
    begin, end = np.int64(0), np.int64(1)
    best[0], queue[0, 0], queue[1, 0] = 0.0, 0, 1
    for j in range(1, n + 1):
        while begin + 1 < end and queue[1, begin + 1] <= j:
            begin += 1
        best[j] = (
            best[queue[0, begin]] + cost_of_interval(table, prefix, queue[0, begin], j) + price
        )
        low = np.int64(n + 1)
        while end > begin:
            last, since = queue[0, end - 1], max(queue[1, end - 1], j + 1)
            if since <= n and best[j] + cost_of_interval(table, prefix, j, since) <= best[
                last
            ] + cost_of_interval(table, prefix, last, since):
                low = since
                end -= 1
                continue
            high, low = low, max(since, j + 1)
            while low < high:
                middle = (low + high) // 2
                if best[j] + cost_of_interval(table, prefix, j, middle) <= best[
                    last
                ] + cost_of_interval(table, prefix, last, middle):
                    high = middle
                else:
                    low = middle + 1
            break
        if low <= n:
            queue[0, end], queue[1, end] = j, low
            end += 1
    return best[n]
