"""The best trees of three and of four leaves below a child, from its parent's words (numba
kernels).

With X the rows of the child, and most(k) what a tree of k leaves may lose to matter::

    least_losses_of_few_leaves:
        for every literal ℓ whose tree of three leaves may fit (:mod:`.masked_counts`):
            three = loss(X ∧ ℓ) + two(X ∧ ¬ℓ), counted in one pass over the words
        for every feature f whose two leaves on each side may fit:
            four = two(X ∧ f) + two(X ∧ ¬f), in one pass for both
        for every literal ℓ that can be a leaf beside three others:
            four = loss(X ∧ ℓ) + three(X ∧ ¬ℓ), with the counts of X ∧ ¬ℓ, from one pass
            (two(X ∧ ¬ℓ) ≥ three(X) − loss(X ∧ ℓ) says which trees of three leaves are in question)
    mark_trees:
        where there are two labels, the literals whose leaf may be the largest of its label
                                                                               (keep_largest_leaves)

Each that is found lowers what the next may lose.  Two thirds of the nodes that were entered on hard
tables had a budget between 4 p and 5 p, and their best trees of four leaves lose 5 p more than they
may: for most of those nothing fits, and the child is closed without being entered.  Sets expanded
and processor seconds without the bound ``four``, with it in two passes a feature and 30 at most, in
one pass and 120, and as it is now:

===================== ================ ============= ============= =============
coupon_carryout .02   310,340, 5.2 s   117,147, 3.1  93,496, 3.0   93,331, 2.1
german-credit .02     1,095,650        519,172, 11.0 348,088, 9.2  347,065, 6.0
heart-cleveland .01   422,813, 3.8     224,707, 2.4  130,546, 1.9  128,856, 1.3
anneal .005           984,154, 5.6     775,265, 4.6  631,764, 4.5  615,470, 2.8
===================== ================ ============= ============= =============

Of the last step, passes for two leaves of a part are 48 a node without ``largest`` and 12 with it
(heart-cleveland), 10 and .1 (coupon_carryout).

Of those that are still entered, 58 to 66 % have a budget of five leaves, next to none of four.

Invariants: a loss that is found is exact if it is at most ``most``; else it is ``most`` + 1, and
says that no such tree that could be best loses less: all trees are of leaves that save enough, and
of divided cells that lose enough (B.6).  Tests have no prices here.  Overwrites all of ``scratch``
but ``row``, ``two``, ``three``, ``least`` and ``alive``.
"""

import numpy as np

from arboretum.kernels.jit import inner
from arboretum_gosdt.sparse.masked_counts import (
    KINDS,
    fill_counts_of_child,
    fill_losses_of_rows,
    find_two_leaves_of_both_sides,
    keep_largest_leaves,
    mark_small_trees,
    sum_weights_of_mask,
)
from arboretum_gosdt.sparse.node import LARGEST, complete_row_of_pairs, words_of_level
from arboretum_gosdt.sparse.pair_counts import (
    least_loss_of_two_leaves,
    lowest_bit,
    mask_rows_with_feature,
)

PASSES = 120
"""Over the words, for trees of four leaves of one child; more would take as long as to enter it.
With 60 of them german-credit λ=.02 expands 2 % more sets, with 30 a third more.
"""


@inner
def mark_trees(data, levels, scratch, d, cells, counts, totals, two_leaves, three, four, fits):
    """Mark the trees that may lose no more than ``three`` and ``four`` (−1: none is asked for);
    returns 0 where there are none.

    cells, counts, totals : of the rows that are asked about.
    """
    node, never = levels.node[d], np.int64(scratch.never[0])
    scratch.allowed[0], scratch.allowed[1] = min(three, never - 1), min(max(four, 0), never - 1)
    alive, allowed = levels.alive[d], scratch.allowed
    some = mark_small_trees(
        cells,
        node.stride,
        alive,
        levels.two[d],
        levels.counts[d],
        data.numbers.classes,
        data.numbers.summed,
        node.weight,
        two_leaves,
        allowed,
        fits,
    )
    if some == 0 or data.numbers.classes != 2 or data.numbers.bounds & LARGEST == 0:
        return some
    return keep_largest_leaves(cells, node.stride, counts, totals, alive, allowed, fits)


@inner
def least_loss_of_two(data, levels, scratch, d, rows, counts, totals, f, without):
    """Return the least loss of two leaves for those of some rows that have f (without = 1: that do
    not), the largest number where there are none.

    rows : mask; counts, totals : of these rows.
    """
    stride, n_words = levels.node[d].stride, levels.starts[d, data.factors.shape[0]]
    mask_rows_with_feature(levels.words[d], stride, f, without, rows, 0, n_words, scratch.mask)
    for k in range(data.numbers.summed):
        with_f = counts[k * stride + f]
        scratch.some[k] = totals[k] - with_f if without == 1 else with_f
    return np.int64(
        least_loss_of_two_leaves(
            words_of_level(data, levels, d), scratch.mask, scratch.some, data.saving
        )
    )


@inner
def find_two_leaves_of_sides(data, levels, scratch, d, rows, counts, totals, f):
    """Write the least losses of two leaves for those of some rows that have not f, and that have
    it, into ``scratch.sides``, the largest number where there are none.

    rows : mask; counts, totals : of these rows.
    """
    stride, n_words = levels.node[d].stride, levels.starts[d, data.factors.shape[0]]
    mask_rows_with_feature(levels.words[d], stride, f, 0, rows, 0, n_words, scratch.mask)
    for k in range(data.numbers.summed):
        scratch.some[k] = counts[k * stride + f]
    find_two_leaves_of_both_sides(
        words_of_level(data, levels, d),
        scratch.mask,
        counts,
        totals,
        scratch.some,
        data.saving,
        scratch.sides,
    )


@inner
def least_loss_of_three(data, levels, scratch, d, rows, counts, totals, cells, fits, most, passes):
    """Return the least loss of three leaves for some rows, at most ``most`` + 1, and how many more
    passes may be made.

    rows : mask; counts, totals, cells : of these rows; fits : their marks.
    passes : at most so many; below 0 the loss says nothing.
    """
    stride, lanes, never = levels.node[d].stride, data.numbers.lanes, np.int64(scratch.never[0])
    for vector in range(stride // lanes):
        for without in range(2):
            bits = fits[KINDS * vector + without]
            while bits != 0:
                f = vector * lanes + lowest_bit(bits)
                bits &= bits - 1
                loss = np.int64(cells[2 * without * stride + f])
                if loss > most:
                    continue
                passes -= 1
                if passes < 0:
                    return most, passes
                rest = least_loss_of_two(
                    data, levels, scratch, d, rows, counts, totals, f, 1 - without
                )
                if rest != never:
                    most = min(most, loss + rest - 1)
    return most + 1, passes


@inner
def least_loss_of_four(data, levels, scratch, d, two_leaves, three_leaves, most, passes):
    """Return the least loss of four leaves for the child whose rows, counts, totals and marks are
    in ``scratch``, at most ``most`` + 1, and how many more passes may be made.

    two_leaves, three_leaves : bounds of two and of three leaves for it.
    passes : as of ``least_loss_of_three``.
    """
    stride, lanes, never = levels.node[d].stride, data.numbers.lanes, np.int64(scratch.never[0])
    classes, summed = data.numbers.classes, data.numbers.summed
    child, counts, totals, cells = scratch.child, scratch.counts, scratch.totals, scratch.cells
    n_words = levels.starts[d, data.factors.shape[0]]
    for vector in range(stride // lanes):
        bits = scratch.fits[KINDS * vector + 4]
        while bits != 0:
            f = vector * lanes + lowest_bit(bits)
            bits &= bits - 1
            passes -= 1
            if passes < 0:
                return most, passes
            find_two_leaves_of_sides(data, levels, scratch, d, child, counts, totals, f)
            one, other = np.int64(scratch.sides[1]), np.int64(scratch.sides[0])
            if one != never and other != never:
                most = min(most, one + other - 1)
    for vector in range(stride // lanes):
        for without in range(2):
            bits = scratch.fits[KINDS * vector + 2 + without]
            while bits != 0:
                f = vector * lanes + lowest_bit(bits)
                bits &= bits - 1
                loss = np.int64(cells[2 * without * stride + f])
                if loss > most:
                    continue
                passes -= 1
                if passes < 0:
                    return most, passes
                mask_rows_with_feature(
                    levels.words[d], stride, f, 1 - without, child, 0, n_words, scratch.rest
                )
                sum_weights_of_mask(words_of_level(data, levels, d), scratch.rest, scratch.counted)
                for k in range(summed):
                    with_f = counts[k * stride + f]
                    scratch.left[k] = with_f if without == 1 else totals[k] - with_f
                fill_losses_of_rows(
                    scratch.part,
                    stride,
                    classes,
                    summed,
                    scratch.counted,
                    scratch.left,
                    data.numbers.support,
                    data.numbers.support,
                )
                gone = loss + np.int64(cells[(2 * without + 1) * stride + f])
                left = never
                if two_leaves != never:
                    left = min(max(two_leaves - gone, three_leaves - loss, 0), never)
                if not mark_trees(
                    data,
                    levels,
                    scratch,
                    d,
                    scratch.part,
                    scratch.counted,
                    scratch.left,
                    left,
                    most - loss,
                    -1,
                    scratch.fitting,
                ):
                    continue
                found, passes = least_loss_of_three(
                    data,
                    levels,
                    scratch,
                    d,
                    scratch.rest,
                    scratch.counted,
                    scratch.left,
                    scratch.part,
                    scratch.fitting,
                    most - loss,
                    passes,
                )
                if passes < 0:
                    return most, passes
                most = min(most, loss + found - 1)
    return most + 1, passes


@inner
def least_losses_of_few_leaves(data, levels, scratch, d, i, side, three, four):
    """Return the least losses of trees of three and of four leaves for child (side, i), at most
    ``three`` + 1 and ``four`` + 1, and the work that took.

    three, four : what such trees may lose to matter; four = −1: they are not asked for.
    A loss of −1 says nothing: there was more to do than ``numbers.three_work``, or PASSES.
    """
    summed, stride = data.numbers.summed, levels.node[d].stride
    n_words, two_leaves = levels.starts[d, data.factors.shape[0]], levels.two[d, side * stride + i]
    complete_row_of_pairs(data, levels, d, i)
    fill_counts_of_child(
        scratch.counts,
        stride,
        summed,
        levels.both[d, i * data.numbers.planes * stride :],
        levels.counts[d],
        1 - side,
    )
    for k in range(summed):
        of_i = levels.counts[d, k * stride + i]
        scratch.totals[k] = of_i if side == 1 else levels.totals[d, k] - of_i
    fill_losses_of_rows(
        scratch.cells,
        stride,
        data.numbers.classes,
        summed,
        scratch.counts,
        scratch.totals,
        data.numbers.support,
        data.numbers.support,
    )
    if not mark_trees(
        data,
        levels,
        scratch,
        d,
        scratch.cells,
        scratch.counts,
        scratch.totals,
        two_leaves,
        three,
        four,
        scratch.fits,
    ):
        return three + 1, four + 1, np.int64(0)
    mask_rows_with_feature(
        levels.words[d], stride, i, 1 - side, levels.full[d], 0, n_words, scratch.child
    )
    work = max(n_words * stride // 32, 1)
    passes = data.numbers.three_work // work
    before = passes
    three, passes = least_loss_of_three(
        data,
        levels,
        scratch,
        d,
        scratch.child,
        scratch.counts,
        scratch.totals,
        scratch.cells,
        scratch.fits,
        three,
        passes,
    )
    done = before - passes
    if passes < 0:
        return np.int64(-1), np.int64(-1), done * work
    if four >= 0:
        most = min(passes, PASSES)
        four, passes = least_loss_of_four(data, levels, scratch, d, two_leaves, three, four, most)
        done += most - passes
        four = np.int64(-1) if passes < 0 else four
    return three, four, done * work
