"""The last tests of the best tree, which the depth-limited search does not keep: those of nodes
below which nothing is asked, found on the words of all rows.

A part of the rows is a bit for each of them, in words as they are packed::

    for every node, from the root on:
        part = that of the node above & words of its test (or of what lacks it)
        margin[f] = D(part ∧ f), or weight of each class, of the features that are asked for
        LAST: test = the one whose two leaves get most right, none if a leaf gets as much
    for every node, from the last one: where both sides get no more right than a leaf, it is one

Invariants: nodes stand in preorder.  ``part`` of level l is that of the node of this level that is
looked at; a node's own is made from that of the node above, when the walk comes to it.  Rows that
fill up a word may be in any part: they have no feature, and nodes are counted by features.
"""

import numpy as np

from arboretum.kernels.jit import inner, jit
from arboretum_gosdt.depth.arrays import LAST, LEAF
from arboretum_gosdt.depth.packing import sum_margins_of_part
from arboretum_gosdt.depth.passes import correct_of_leaf

NODE = np.dtype(
    [
        ("test", np.int64),  # LEAF, LAST or the feature that it asks
        ("above", np.int64),  # the node above
        ("other", np.int64),  # the one below with outcome 0; with outcome 1 it is the next
        ("level", np.int64),  # tests above it
        ("right", np.int64),  # what it gets right, as leaves count that
    ]
)


@inner
def count_part(packed, layout, setting, part, margins, begin, end):
    """Sum what features have in a part into ``margins[0]``, of the lanes ``begin`` … ``end`` − 1.

    packed : Packed, of all rows.   margins : [2, classes · stride], written.
    """
    if setting.two:
        sum_margins_of_part(packed, layout, 0, setting.groups, margins[1], 0, part, begin, end)
        sum_margins_of_part(packed, layout, 1, setting.groups, margins[0], 0, part, begin, end)
        for h in range(begin, end):
            margins[0, h] -= margins[1, h]
        return
    for k in range(setting.classes):
        low, high, at = packed.first[k], packed.first[k + 1], k * layout.stride
        sum_margins_of_part(packed, layout, low, high, margins[0], at, part, begin, end)


@inner
def best_last_test(layout, setting, margin, whole, features, most):
    """Return (feature, right) of the test whose two leaves get more right than ``most``, and than
    those of any other; (LEAF, ``most``) without one.

    margin, whole : as of a Side.   features : how many there are.
    """
    found = np.int64(LEAF)
    for f in range(features):
        one, other = np.int64(0), np.int64(0)
        for k in range(setting.classes):
            there = np.int64(margin[k * layout.stride + f])
            rest = np.int64(whole[k]) - there
            if setting.two:
                there, rest = abs(there), abs(rest)
            one, other = max(one, there), max(other, rest)
        if one + other > most:
            most, found = one + other, np.int64(f)
    return found, most


@jit(borrow=True)
def find_last_tests(layout, setting, packed, nodes, parts, whole, margins, features):
    """Write the test of every LAST node, and what all nodes get right; where both sides get no more
    right than a leaf, the test becomes LEAF.

    packed : Packed, of all rows.
    nodes : NODE[nodes], in preorder, a LAST node without those below it; ``test`` and ``right`` are
        written.
    parts : uint[levels, words], all bits of the first set; the others are written.
    whole : [nodes, classes], the first is that of all rows, the others are written.
    margins : [2, classes · stride], room.
    features : how many there are.
    """
    stride, words = layout.stride, packed.start[setting.groups]
    for n in range(nodes.shape[0]):
        node = nodes[n]
        part, test = parts[node.level], node.test
        if n:
            above, f = parts[node.level - 1], nodes[node.above].test
            lacks = np.int64(node.above != n - 1)
            for w in range(words):
                part[w] = np.int64(above[w]) & (np.int64(packed.words[w * stride + f]) ^ -lacks)
        node.right = correct_of_leaf(setting, whole[n])
        if test == LAST:
            count_part(packed, layout, setting, part, margins, 0, stride)
            node.test, node.right = best_last_test(
                layout, setting, margins[0], whole[n], features, node.right
            )
        elif test >= 0:
            begin, other = test // 32 * 32, node.other
            count_part(packed, layout, setting, part, margins, begin, begin + 32)
            for k in range(setting.classes):
                there = margins[0, k * stride + test]
                whole[n + 1, k], whole[other, k] = there, whole[n, k] - there
    for n in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[n]
        if node.test >= 0 and node.other:
            both = nodes[n + 1].right + nodes[node.other].right
            if both > node.right:
                node.right = both
            else:
                node.test = LEAF
