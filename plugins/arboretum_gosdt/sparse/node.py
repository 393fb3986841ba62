"""A node of the sparse search: its words, the pairs of its features, what is known of its children
(numba kernels).

Costs are integers: q for a unit of loss, p for a leaf.  A *literal* is a feature with a side: 1,
the rows that have it, or 0; child (side, f) of a node has the rows of that literal.  Arrays by
literal have the side first: place ``side · stride + f``.  The kernels of this folder take data, a
Data, which is only read; levels and scratch, SparseLevels and SparseScratch, which are written; d,
the level of a node; i and f, lanes of its features; and side, 1 or 0.

With low and many the lower bounds of a child (of all its trees, and of those of three leaves and
more), n(x) the weight of a class in the rows x, and S, i the node and a feature::

    raise_bound_of_test:
        test_bound[i] = min(low[1, i] + many[0, i], many[1, i] + low[0, i]) + test_cost(i)
    evaluate_cells_of_child:
        n(i ∧ f) = both[i, f];  n(¬i ∧ f) = n(f) − both[i, f];  without f: the rest
        loss(x) = weight(x) − greatest n(x) of a class;  saving(x) = that greatest one
    test_cost_of:
        test_cost(i) = price of i · mass(S)
    set_mass_and_least_saving:
        a leaf must save SAVING: p // q + 1 (B.6), less where tests have prices

Where tests have prices, a test costs its price for each unit of mass that it is asked of.  Then the
pairs tell what two leaves cost without the price of the test between them; ``cost_of_two_leaves``
finds it exactly for one literal.  Leaves of a least mass are searched in the same way, with prices
of 0 where tests cost nothing: a feature that leaves a side too light is not alive, and the pairs
bound two leaves of any mass.

Invariants:

- A level is one row of every array of ``SparseLevels``.  It has ``node.stride`` lanes, a multiple
  of PART.  Features that are alive are among the first ``node.n_features``.
- In words, counts and both the lane comes last, so that a vector of features is read at once.  No
  index is checked, and vectors are read to the end of the stride.
- NEVER marks a cost of what does not exist; two of them still add up in int64.
- Without prices ``test_cost``, ``mass`` and ``more`` are empty, and ``has_prices`` keeps all that
  reads them out of the compiled kernel.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.jit import inner
from arboretum_gosdt.sparse.pair_counts import (
    Words,
    copy_column_of_pairs,
    fill_losses_of_cells,
    has_prices,
)

NEVER = np.int64(1) << 60
"""The cost of what does not exist; two of them still add up."""
UNLIMITED = np.int64(1) << 20
"""Remaining depth where there is no limit."""
PART = 32
"""Features of one uint32 of a row; lanes are moved in whole parts."""


class Data(NamedTuple):
    """The table, and what is asked.

    of_class, factors : int64[planes + 1], int64[groups], see :mod:`.pair_counts`.
    saving : [1], what a leaf must save, in the type of a lane.
    price : int64, of every feature, ascending; none where tests cost nothing.
    max_path_cost : int64, [k] the sum of the k highest prices.
    numbers : a record of NUMBERS.
    """

    of_class: np.ndarray
    factors: np.ndarray
    saving: np.ndarray
    price: np.ndarray
    max_path_cost: np.ndarray
    numbers: np.record


NUMBERS = np.dtype(
    [
        ("classes", "i8"),  # the first planes
        # those of classes and of the weight that every label loses: that stays the same, whatever
        # the tree, so no bound needs it, and the weight of a row is what its best label saves
        ("summed", "i8"),
        ("planes", "i8"),  # all: more than ``summed`` where mass is counted
        ("word_bits", "i8"),  # rows of a word
        ("positions", "i8"),  # rows that a level can hold
        ("lanes", "i8"),  # of a vector
        ("q", "i8"),  # cost of a unit of loss
        ("p", "i8"),  # cost of a leaf
        ("support", "i8"),  # weight that a leaf must save (B.6)
        ("least", "i8"),  # mass of a leaf, where mass is counted
        ("own", "i8"),  # 1: the weights of the classes are mass, besides that which is counted
        ("bounds", "i8"),  # those that are used: the bits below
        ("three_work", "i8"),  # most work on trees of three leaves below one child
    ]
)
SIMILAR, SPLIT_FIRST, INHERIT, SUPERSET, THREE, SHAPE, MEMO, SELECT = (1 << k for k in range(8))
SUPPORT, FOUR, LABELS, LARGEST = (1 << k for k in range(8, 12))
"""Bits of ``NUMBERS.bounds``; ``BOUNDS`` of :mod:`.search` says what each switches on.  No kernel
reads SUPPORT: without it ``support`` is 1.
"""


class SparseLevels(NamedTuple):
    """The nodes on the way from the root, one row a level; elements as wide as a lane unless said.

    words, full : words of the features, bits that stand for rows.
    rows : uint32[parts · positions], the features of each row.
    sums : uint64[2 · positions], its random words.
    starts : int64[groups + 1].
    features : int32, of the table.
    totals, counts, both : see ``count_pairs_of_feature``.
    alive : 1 for features that divide the rows as no feature before them.
    two : by literal, least loss of two leaves where the feature's pairs are counted, else a bound
        of it; the largest number: there are none.
    upper, low, many : int64 by literal: least cost known, bound of all trees, bound of trees of
        three leaves and more; low ≤ least cost ≤ upper.
    test_bound : int64, bound of the trees that ask the feature first, other than those whose cost
        is known: ``raise_bound_of_test``.
    test_cost : int64, what it costs to ask it.
    mass, more : int64 by literal, the mass of the rows; ``many``, before two leaves may cost less
        (where tests have prices).
    rank : int64, the larger the sooner a feature is tried.
    lane : int32, of a feature on the level above.
    keys : uint64[…, 2], of child (1, f).
    seen : uint16, what was done for a feature.
    node : records of NODE.
    node_key : uint64[2].
    """

    words: np.ndarray
    full: np.ndarray
    rows: np.ndarray
    sums: np.ndarray
    starts: np.ndarray
    features: np.ndarray
    totals: np.ndarray
    counts: np.ndarray
    both: np.ndarray
    alive: np.ndarray
    two: np.ndarray
    upper: np.ndarray
    low: np.ndarray
    many: np.ndarray
    test_bound: np.ndarray
    test_cost: np.ndarray
    mass: np.ndarray
    more: np.ndarray
    rank: np.ndarray
    lane: np.ndarray
    keys: np.ndarray
    seen: np.ndarray
    node: np.ndarray
    node_key: np.ndarray


NODE = np.dtype(
    [
        ("n_features", "i8"),  # its lanes behind these are not alive
        ("stride", "i8"),  # that number rounded up to a multiple of PART
        ("depth", "i8"),  # tests that may follow; UNLIMITED: any number
        ("budget", "i8"),  # what a tree may cost to matter
        ("best", "i8"),  # least cost known
        ("best_feature", "i8"),  # the test of that tree; −1: a leaf
        ("least", "i8"),  # cost of every tree, at least
        ("child", "i8"),  # feature whose child is being solved; −1: none
        ("side", "i8"),  # of that child
        ("state", "i8"),  # FRESH, COUNTING or EXPANDED_NODE
        ("weight", "i8"),  # of all rows
        ("saving", "i8"),  # weight that a leaf must save beside a node that is divided
        # where tests have prices
        ("mass", "i8"),  # of all rows
        ("path", "i8"),  # what a path below may cost, of a unit of mass
        ("cheapest", "i8"),  # lowest price of a feature that is alive
        # while pairs are counted
        ("counted", "i8"),  # features whose turn was
        ("within", "i8"),  # what a tree may cost whose first feature's pairs are counted
        ("half", np.bool_),  # a pair is counted once, with the first of its features
    ],
    align=True,
)
FRESH, EXPANDED_NODE, COUNTING = range(3)
"""States of a node: nothing is known of it; its children are bounded; its pairs are being
counted.
"""
RANK_BITS = 20
RANK = 1 << RANK_BITS
"""Rank = weight of the smaller side · RANK + features behind; of lanes of 64 bits without the
weight's lowest RANK_BITS.
"""


class SparseScratch(NamedTuple):
    """Elements as wide as a lane.

    row : one word of every feature of the table.
    two, three : by literal.
    mask, child, rest : words.
    some, totals, left : [planes].
    least : see ``count_pairs_of_feature``.
    cells, part : see ``fill_losses_of_cells``.
    counts, counted : [k · stride + f] of planes.
    fits, fitting, allowed : int64, int64, [2], see ``mark_small_trees``.
    sides : [2], see ``find_two_leaves_of_both_sides``.
    numbers : int64 by literal, see ``find_children`` of :mod:`.loop`.
    gone : int64, mass of its cells, with f and without.
    alive : see ``count_pairs``.
    """

    row: np.ndarray
    two: np.ndarray
    three: np.ndarray
    mask: np.ndarray
    child: np.ndarray
    some: np.ndarray
    least: np.ndarray
    alive: np.ndarray
    cells: np.ndarray
    gone: np.ndarray
    fits: np.ndarray
    never: np.ndarray
    rest: np.ndarray
    totals: np.ndarray
    left: np.ndarray
    part: np.ndarray
    counts: np.ndarray
    counted: np.ndarray
    fitting: np.ndarray
    allowed: np.ndarray
    sides: np.ndarray
    numbers: np.ndarray


QUERIED, THREE_0, THREE_1, TWO_0, TWO_1, OPEN, WHOLE, NEWLY, FOUR_0, FOUR_1 = (
    1 << k for k in range(10)
)
"""Bits of ``SparseLevels.seen``, what was done for feature i; those that end in 0 or 1 are of its
child of that side::

    bit     what it says                              set by                   read by
    OPEN    the pairs of i are counted                count_pairs              bound_by_pairs
    WHOLE   row i of ``both`` is complete (else from  count_pairs,             complete_row_of_pairs
            i's vector on)                            complete_row_of_pairs
    TWO_*   two leaves may cost less than ``upper``   raise_bounds_from_pairs  take_step_for_feature
    NEWLY   the memo is to be asked for the children  take_step_for_feature    the same
    QUERIED it was asked; ``keys[i]`` is there        take_step_for_feature    the same
    THREE_* trees of three leaves are known           tighten_by_…_leaves      take_step_for_feature
    FOUR_*  trees of four leaves were asked for       tighten_by_few_leaves    take_step_for_feature

A node begins with none (``bound_by_features``).  TWO_* is set only where tests have prices, and
goes with ``cost_of_two_leaves``.  QUERIED goes where another thread tells what its memo knows.
"""


class ClosedSets(NamedTuple):
    """What a search knows of the sets that were closed, and of every first test.

    words : uint64[rows, 2], of the rows' fingerprints.
    slots : of the memo.
    lower, upper : int64 by number of the set, bounds of what its best tree costs.
    first : int64[features], what trees cost at least that ask it first, 0 where that is not known.
    """

    words: np.ndarray
    slots: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    first: np.ndarray


@inner
def words_of_level(data, levels, d):
    """Return the words of level d with their groups.

    The record borrows the level's arrays, no copy is made.
    """
    numbers, groups = data.numbers, (levels.starts[d], data.of_class, data.factors)
    return Words(
        levels.words[d],
        *groups,
        numbers.classes,
        numbers.summed,
        numbers.planes,
        levels.node[d].stride,
    )


@inner
def complete_row_of_pairs(data, levels, d, i):
    """Complete row i of ``levels.both[d]``, where it was counted only from i's vector on."""
    lanes = data.numbers.lanes
    if levels.seen[d, i] & WHOLE == 0:
        levels.seen[d, i] |= WHOLE
        copy_column_of_pairs(
            levels.both[d], levels.node[d].stride, data.numbers.planes, i, i // lanes * lanes
        )


@inner
def evaluate_cells_of_child(data, levels, scratch, d, i, side):
    """Write what child (side, i) loses and saves with and without each feature into
    ``scratch.cells``, and the mass of these cells into ``scratch.gone``.

    Row i of ``levels.both[d]`` is completed first, where it was counted only from i's vector on.
    ``gone`` is written only where tests have prices: [f] with feature f, [stride + f] without.
    """
    summed = data.numbers.summed
    planes = data.numbers.planes
    stride = levels.node[d].stride
    planes = data.numbers.planes
    counts, totals = levels.counts[d], levels.totals[d]
    complete_row_of_pairs(data, levels, d, i)
    row, found = levels.both[d, i * planes * stride : (i + 1) * planes * stride], scratch.cells
    fill_losses_of_cells(
        found,
        stride,
        data.numbers.classes,
        summed,
        row,
        counts,
        totals,
        i,
        1 - side,
        levels.node[d].saving,
        data.numbers.support,
    )
    if has_prices(data.price):
        gone = scratch.gone
        for c in range(2 * stride):
            gone[c] = 0
        if data.numbers.own != 0:
            # a cell's own weight: what it loses and what it saves
            for f in range(stride):
                gone[f] = np.int64(found[f]) + np.int64(found[stride + f])
                gone[stride + f] = np.int64(found[2 * stride + f]) + np.int64(found[3 * stride + f])
        if planes > summed:
            # and the plane of masses, where there is one
            of_i, plane = np.int64(counts[summed * stride + i]), summed * stride
            size = of_i if side == 1 else np.int64(totals[summed]) - of_i
            for f in range(stride):
                with_f = np.int64(row[plane + f])
                if side == 0:
                    with_f = np.int64(counts[plane + f]) - with_f
                gone[f] += with_f
                gone[stride + f] += size - with_f


@inner
def test_cost_of(data, levels, d, f):
    """Return what it costs to ask feature f of all rows of level d."""
    return levels.test_cost[d, f] if has_prices(data.price) else np.int64(0)


@inner
def raise_bound_of_test(data, levels, d, i):
    """Raise the bound of feature i: a tree that is not among those known has at least three leaves
    on one side.

    ``levels.test_bound[d, i]`` never falls.  Trees that are known are those whose cost is in
    ``upper`` of both children.
    """
    low, many, other = levels.low[d], levels.many[d], levels.node[d].stride + i
    levels.test_bound[d, i] = max(
        levels.test_bound[d, i],
        min(low[other] + many[i], many[other] + low[i]) + test_cost_of(data, levels, d, i),
    )


@inner
def set_mass_and_least_saving(data, levels, scratch, d):
    """Write the mass of the node of level d, what a path below it may cost (``node.path``), and
    what a leaf must save there (``node.saving``).

    Of the best trees one of fewest leaves has at most 1 + q · loss / p leaves, as a leaf alone
    costs no more.  If a leaf goes, its rows are asked what the other side of the test above is
    asked (B.6): where tests have prices that costs at most its mass times the price of a path.

    ``node.weight`` and ``levels.totals[d]`` must be there.  ``scratch.least`` becomes what a leaf
    must save, and the least loss of one that may be split, in the type of a lane.  Without prices a
    leaf must save ``numbers.support``, and mass and path stay as they are.
    """
    node, numbers, classes = levels.node[d], data.numbers, data.numbers.classes
    q, p = numbers.q, numbers.p
    node.saving = numbers.support
    if has_prices(data.price):
        most, weight, summed = np.int64(0), node.weight, numbers.summed
        for k in range(classes):
            most = max(most, np.int64(levels.totals[d, k]))
        rest = np.int64(levels.totals[d, summed]) if numbers.planes > summed else np.int64(0)
        node.mass = numbers.own * weight + rest
        tests = min(q * (weight - most) // p, node.depth - 1, data.max_path_cost.shape[0] - 1)
        node.path = data.max_path_cost[max(tests, 0)]
        path = data.max_path_cost[max(min(tests, q * (weight - most) // p - 1), 0)]
        saved = (
            (p - rest * path) // (q + numbers.own * classes * path) + 1
            if rest * path <= p
            else np.int64(0)
        )
        node.saving = min(numbers.support, saved)
    scratch.least[0], scratch.least[1] = min(node.saving, np.int64(data.saving[0])), data.saving[0]
