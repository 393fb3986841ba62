"""The arrays that the kernels of the depth-limited search share, and its rows: of one class and
one weight 2ᵇ each.

An object of weight 5 of a class is two rows, of weight 4 and of 1; so weights are counted by their
binary digits::

    for every object u, class k and bit b of its weight of k: a row of the group (k, b)  (fill_rows)
    weight of k in a set = Σ over b of 2ᵇ · rows of (k, b) in it
    fingerprint of a set and of the depth d of its trees = sum of its rows' words + d · TURN

Kernels take v, the level of a set; f, g and h, features; and literal, 0 for outcome 1 of a feature.

Invariants: rows are in the order of their groups; of two classes groups take turns (class 0, 1 of
one weight), of more they are by class; in both the weight falls to 1.  The place after the last row
is that of zeros, which fill up words.  Level v of ``DepthLevels`` has the set v literals below the
root. All arrays of ``allocate_together`` begin at multiples of 64 bytes in one piece of memory that
they share. HUGE is the loss of what is not known, and two of them add up.
"""

from collections import namedtuple
from collections.abc import Sequence

import numpy as np

from arboretum.kernels.jit import jit
from arboretum.kernels.solving.fingerprints import GOLDEN
from arboretum_gosdt.depth.pair_counts import Layout
from arboretum_gosdt.simd.lanes import VECTOR_BYTES

OPEN, PAIRS, CHOOSE, SPLIT, CHILD = range(5)
"""What is to be done next with a set."""
FRAME = np.dtype(
    [
        ("rows", "i8"),  # how many
        ("weight", "i8"),  # of them all
        ("budget", "i8"),  # the loss below which it matters
        ("ub", "i8"),  # least loss known
        ("feature", "i8"),  # first of the best tree, PAIR for a tree of depth 2, LEAF
        ("one", "i8"),  # where depth 3 is left: the feature that it asks on its side of outcome 1,
        ("other", "i8"),  # and on the other; PAIR: it is not known
        ("phase", "i8"),  # what is to be done next
        ("at", "i8"),  # features of a pass done
        ("current", "i8"),  # the feature that is searched, or −1
        ("side", "i8"),  # its literal that is, or (a pass) the outcome of the lighter side
        ("tried", "i8"),  # a bit for each of its literals that has been searched
        ("node", "i8"),  # number of the set in the memory
        ("words", "i8"),  # of its rows
        ("side_words", "i8"),  # of the rows of the lighter side
        ("less", "i8"),  # weight of class 0 in them
        ("solved", "i8"),  # 1: no feature is left to do
    ],
    align=True,
)
"""A set on the path."""
START = np.zeros(1, FRAME)
"""The set of all rows as the search begins, but for their number."""
STATE = np.dtype(
    [
        ("level", "i8"),  # of the set on top, −1: the search is over
        ("nodes", "i8"),  # sets in the memory
        ("cells", "i8"),  # cells entered
        ("opened", "i8"),  # sets opened, and sides of splits
        ("mode", "i8"),  # FULL or GREEDY
    ],
    align=True,
)
"""Where the search is."""
FULL, GREEDY = 0, 1
LEAF, PAIR, LAST = -1, -2, -3
HUGE = np.int64(1) << np.int64(60)
START[["budget", "ub", "current"]] = HUGE, HUGE, -1
TURN = GOLDEN
"""Added to a fingerprint per remaining depth."""
WAYS = 4
"""Cells that share a line of the memory; bits of the fingerprint say which makes room."""
COST_OF_PASS = 8
"""What a vector costs besides its words, in words."""
LARGE = 1 << 21
"""Words · vectors between two looks at the clock, at most."""

I16, I32, I64 = (np.dtype(of) for of in (np.int16, np.int32, np.int64))
U16, U32, U64 = (np.dtype(of) for of in (np.uint16, np.uint32, np.uint64))
WORDS, SIGNED = {16: U16, 32: U32, 64: U64}, {16: I16, 32: I32, 64: I64}
"""Types of words and counts, and of signed counts, by their bits."""

Setting = namedtuple("Setting", "depth classes two similarity keep_cells triples width groups")
"""What does not change, whole numbers.

depth : of the trees.
classes : of the counts, 1 where two classes are signed.
two : whether they are.
similarity, keep_cells, triples : the switches.
width : bits of a word.
groups : of rows.
"""

DepthTable = namedtuple("DepthTable", "bits place group power kind first mixed hashes")
"""Rows of one weight 2ᵇ and one class each, in the order of their groups.

bits : int32, outcomes of the merged rows, and a row of zeros, flat.
place : int32[rows + 1], where a row's begin, last of the zeros.
group : int32[rows].
power : int64[groups], b.
kind : int64[groups], class.
first : int64[classes + 1], groups of a class.
mixed : the same of groups of both classes of two.
hashes : uint64[2 · rows]; none where no set but that of all rows is remembered.
"""

DepthLevels = namedtuple(
    "DepthLevels",
    "rows entries words start count weight margin whole total low up key todo sums own frame",
)
"""The sets on the path that is searched, by level.

rows : int32, the set.
entries : int32, places of its rows by word.
words, start : see Packed.
count, weight : see Pairs.
margin, whole : see Side.
total : int64, weights of features.
low, up : int64[·, 2, stride], bounds by literal (0: outcome 1).
key : int64, right rows with depth 2.
todo : bool.
sums, own : uint64[·, 2, lanes], uint64[·, 2], fingerprints by feature, and that of the set.
frame : FRAME.
"""

DepthScratch = namedtuple(
    "DepthScratch", "words flip start entries lanes single margins wholes key shared best"
)
"""Memory of one pass.

words, flip, start, entries : rows of the smaller side.
lanes, single : see Pairs.
margins, wholes : [2, ·], of both sides.
key : counts [stride].
shared : int64[stride], weight of pairs with the current feature.
best : [2, 2, features, stride], what the best split of a cell gets right, of triples alone.
"""

Memory = namedtuple("Memory", "slots lower upper feature cells")
"""What is known of sets.

slots : uint64[2^k, 2].
lower, upper : int64[sets].
feature : int32[sets].
cells : uint64[WAYS · 2^k, 2]: a fingerprint of 96 bits, and the loss + 1.
"""

Task = namedtuple("Task", "table layout levels scratch memory setting state")
"""All that the search works on; ``state`` is STATE[1]."""


def allocate(
    table: DepthTable, layout: Layout, setting: Setting, levels: int
) -> tuple[DepthLevels, DepthScratch]:
    """Return the arrays of so many levels, and those of one pass: zeros.

    levels : sets on the path; max(1, depth − 2) of a whole search, 1 to look at one set.
    """
    width = setting.width
    classes, of = setting.classes, WORDS[width]
    # of two classes differences are counted
    counts = (SIGNED if setting.two else WORDS)[width]
    # a set has at most a word more for each group than its rows fill
    words = len(table.group) // width + setting.groups + 2
    stride, features = layout.stride, layout.features
    of_levels = [
        ((levels, len(table.group) + 1), I32),
        ((levels, words * width), I32),
        ((levels, words * stride), of),
        ((levels, setting.groups + 1), I64),
        ((levels, classes * features * stride), counts),
        ((levels, features * stride), counts),
        ((levels, classes * stride), counts),
        ((levels, classes), counts),
        ((levels, stride), I64),
        ((levels, 2, stride), I64),
        ((levels, 2, stride), I64),
        ((levels, stride), I64),
        ((levels, stride), np.dtype(np.bool_)),
        ((levels, 64 * layout.chunks), U64),
        ((levels, 2), U64),
        ((levels,), FRAME),
    ]
    of_scratch = [
        ((words * stride,), of),
        ((2 * words + 2,), of),
        ((setting.groups + 1,), I64),
        (((words + 1) * width,), I32),
        ((8 * stride,), counts),
        ((4 * stride,), counts),
        ((2, classes * stride), counts),
        ((2, classes), counts),
        ((stride,), counts),
        ((stride,), I64),
        ((2, 2, features if setting.triples else 0, stride), counts),
    ]
    found = allocate_together([*of_levels, *of_scratch])
    return DepthLevels(*found[: len(of_levels)]), DepthScratch(*found[len(of_levels) :])


def allocate_together(shapes: Sequence[tuple[tuple[int, ...], np.dtype]]) -> list[np.ndarray]:
    """Return arrays of zeros in one piece of memory, each from a multiple of 64 bytes on, as are
    the vectors in their rows.

    shapes : (shape, dtype) of each.
    """
    begins, end = [], 0
    for shape, of in shapes:
        begins.append(end)
        size = of.itemsize
        for length in shape:
            size *= length
        end += (size + VECTOR_BYTES - 1) & -VECTOR_BYTES
    memory = np.zeros(end + VECTOR_BYTES, np.uint8)
    # the address, for which ``ctypes`` takes four times as long
    begin = -memory.__array_interface__["data"][0] % VECTOR_BYTES
    return [
        np.ndarray(shape, of, memory, begin + at)
        for (shape, of), at in zip(shapes, begins, strict=True)
    ]


@jit(borrow=True)
def count_rows_of_bits(weights, sizes, totals):
    """Count the rows with bit b in their weight of a class into sizes[class, b].

    weights : int64[rows, classes].
    sizes : out, int64[classes, 63].
    totals : out, int64[classes], sums of weights.
    """
    for u in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            rest, b = weights[u, k], 0
            totals[k] += rest
            while rest:
                sizes[k, b] += rest & 1
                rest >>= 1
                b += 1


@jit(borrow=True)
def fill_rows(weights, next_row, chunks, table, merged):
    """Fill the rows of a table, an object's weight of a class being one row for each of its bits.

    weights : int64[rows, classes] ≥ 0.
    next_row : int64[classes, bits], where the rows of a class and a bit begin; behind it, where
        they end.
    chunks : int32 words of a row.
    table : DepthTable; ``place`` and ``group`` are written, but not the last place.
    merged : out, int32[rows of the table], the row of ``weights`` that each is of.
    """
    for u in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            rest, b = weights[u, k], 0
            while rest:
                if rest & 1:
                    at = next_row[k, b]
                    next_row[k, b] = at + 1
                    merged[at], table.place[at] = u, u * chunks
                rest >>= 1
                b += 1
    at = 0
    for q in range(table.power.shape[0]):
        end = next_row[table.kind[q], table.power[q]]
        for row in range(at, end):
            table.group[row] = q
        at = end
