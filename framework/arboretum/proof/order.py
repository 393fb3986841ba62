"""Trees whose predictions are monotone in columns: their leaves as boxes, and all of them below a
cost.

A *cell* of a column is a value that the tests of the run tell apart: a bin of its feature, or one
of the different values among all training objects.  A leaf is a box: the cells of every column that
its path leaves.  Leaf a must say no more than leaf b where a cell of a and a cell of b differ in
one increasing column alone, and that of b is greater there: where the boxes share cells of all
other columns, and the least cell of a lies below the greatest of b.

Which tests of the table divide objects alike does not matter for costs, but it does for boxes, so
that every test is asked.  All trees below a cost B are listed::

    from the smallest set up (of those that trees within the budget meet, :mod:`.fronts`):
        least(S) ← the least cost of a leaf, or of least(one) + least(rest) + price of a test kept
    list(leaves, open sets, cost):
        stop, if cost + Σ least(open sets) is B or more
        no set is open: the tree is listed, if it keeps the rates; B ← its cost
        else take the last open set, and
            for each answer that no leaf before forbids: list with that leaf
            for each test kept, and all tests that divide the set so: list with both sides

``least`` is what completions cost at least, so that nothing below B is passed over; the same is
asked of the line of the fronts, whose budget no tree exceeds that keeps the rates and is below B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError
from arboretum.interfaces.constraints import Constraints
from arboretum.model.encoded import Encoded, Family, Feature, RawFeature
from arboretum.model.rules import TestRule
from arboretum.model.tree import Tree
from arboretum.proof.fronts import Key, Waiting
from arboretum.proof.ground import Columns, rule_key, tests_of_rules

MOST_STEPS, MOST_LEAVES = 1 << 18, 200
"""Partial trees that are listed, so that a check ends, and their leaves."""
Box = int
"""Cells of all columns, as bits of a number."""
Sides = tuple[Box, Box]
"""Of a test: the boxes of outcome 0, and of outcome 1."""
Split = tuple[Box, Box, int]
"""Of a test: the boxes of what has not its column, and of what has it, and its price."""


@attrs.frozen(eq=False)
class Cells:
    """The cells of a table, and what leaves must not say of them.

    masks : of each column that tests ask, its cells.   whole : all of them.
    ordered : places in ``masks`` of the columns in an order, and whether it rises.
    sides : of each fixed test, as (feature, number), and of each (raw column, cut), raw columns
        counted on, what lies on its sides; tests that divide no training objects have none.
    values : of each raw column its different values, and its mask's first bit.
    """

    masks: list[Box]
    whole: Box
    ordered: list[tuple[int, bool]]
    sides: dict[tuple[int, int], Sides]
    values: dict[str, tuple[np.ndarray, int]]
    known: dict[tuple[Box, Box], tuple[bool, bool]]

    @staticmethod
    def of(objects: Encoded, columns: Columns, asked: Constraints) -> Cells:
        """The cells of a table.  Raises VerificationError for a column that it has not,
        CapabilityError for one that has no order.
        """
        names = {column.name for column in objects.table.columns}
        if strange := {*asked.increasing, *asked.decreasing} - names:
            raise VerificationError(f"the table has no column {min(strange)!r} to be monotone in")
        ranks = [np.unique(values, return_inverse=True)[1].ravel() for values in objects.raw.T]
        coded = [codes.astype(np.int64) for codes in objects.codes.T]
        features: list[Feature | RawFeature] = [*objects.features, *objects.raw_features]
        tests = _tests_of_features(objects, columns, ranks)
        found = Cells([], 0, [], {}, {}, {})
        masks, ordered, sides, whole = found.masks, found.ordered, found.sides, 0
        raw_of = dict[str, tuple[np.ndarray, int]]()
        for name in dict.fromkeys(features[f].column for f in tests):
            mine = [f for f in tests if features[f].column == name]
            codes = np.stack([[*coded, *ranks][f] for f in mine], axis=1)
            feature = features[mine[0]]
            if len(mine) > 1:
                cells = np.unique(codes, axis=0)
            elif isinstance(feature, Feature):
                cells = np.arange(feature.n_bins)[:, None]
            else:
                cells = np.arange(int(codes.max()) + 1)[:, None]
            if name in asked.increasing or name in asked.decreasing:
                by_number = not isinstance(feature, Feature) or feature.family is Family.thresholds
                if len(mine) > 1 or not (by_number or len(cells) <= 2):
                    raise CapabilityError(
                        f"the column {name!r} is asked by its categories, which have no order"
                    )
                ordered.append((len(masks), name in asked.increasing))
            first, here = whole.bit_length(), (1 << len(cells)) - 1
            masks.append(here << first)
            whole |= masks[-1]
            for place, f in enumerate(mine):
                feature, code = features[f], cells[:, place]
                if not isinstance(feature, Feature):
                    raw_of[name] = np.unique(objects.raw[:, f - len(coded)]), first
                for test in tests[f]:
                    if isinstance(feature, Feature):
                        says = feature.family.outcome(test[1], code) == 1
                    else:
                        says = code > test[1]
                    sides[test] = _bits(~says) << first, _bits(says) << first
        # beyond its own column a test leaves all cells
        for test, (rest, one) in sides.items():
            mask = next(mask for mask in masks if (rest | one) & mask)
            sides[test] = rest | whole & ~mask, one | whole & ~mask
        return attrs.evolve(found, whole=whole, values=raw_of)

    def order(self, a: Box, b: Box) -> tuple[bool, bool]:
        """Whether leaf a must say no more than leaf b, and b no more than a.  Two leaves of a tree
        share no cell of some column.
        """
        if (a, b) not in self.known:
            apart = [k for k, mask in enumerate(self.masks) if not a & b & mask]
            up = down = False
            for k, rises in self.ordered:
                if apart == [k]:
                    x, y = a & self.masks[k], b & self.masks[k]
                    less = _lowest(x) < y.bit_length() - 1
                    more = _lowest(y) < x.bit_length() - 1
                    up, down = up or (less if rises else more), down or (more if rises else less)
            self.known[a, b] = up, down
        return self.known[a, b]

    def allows(self, leaves: Sequence[tuple[Box, int]], box: Box, answer: int) -> bool:
        """Whether a leaf may say so beside others."""
        for other, says in leaves:
            up, down = self.order(other, box)
            if (up and says > answer) or (down and answer > says):
                return False
        return True

    def beyond(self, tree: Tree, objects: Encoded) -> str:
        """Why a tree is not monotone, or none of the table; "" where it is."""
        of_rule = tests_of_rules(objects)
        cuts = dict[tuple[str, Box], object]()
        leaves = list[tuple[Box, int]]()
        waiting = [(0, self.whole)]
        while waiting:
            node, box = waiting.pop()
            if tree.is_end[node]:
                answer = int(tree.label[node])
                if not self.allows(leaves, box, answer):
                    return f"what leaf {node} says is not monotone beside another leaf"
                leaves.append((box, answer))
                continue
            rule = tree.rule(node)
            test = of_rule.get(rule_key(rule))
            sides = self._cut(rule) if test is None else self.sides.get(objects.place(test))
            # between two values one cut has one place, or it would cut off a cell
            place = (rule.columns[0], sides[0]) if sides else ("", 0)
            if sides is None or (test is None and cuts.setdefault(place, rule.cuts) != rule.cuts):
                return f"node {node} asks what is no test of the table"
            waiting += [
                (child, box & side) for child, side in zip(tree.children(node), sides, strict=True)
            ]
        return ""

    def _cut(self, rule: TestRule) -> Sides | None:
        """What lies on the sides of a threshold of a raw column; None: it is none."""
        if rule.columns[0] not in self.values or len(rule.columns) > 1 or rule.arity != 2:
            return None
        values, first = self.values[rule.columns[0]]
        says = [rule.outcome_of({rule.columns[0]: value}) for value in values.tolist()]
        if says != sorted(says) or len({*says}) != 2 or says[0] != 0:
            return None
        mask = next(mask for mask in self.masks if mask >> first & 1)
        one = _bits(np.array(says) == 1) << first
        return self.whole & ~one, one | self.whole & ~mask


def _tests_of_features(
    objects: Encoded, columns: Columns, ranks: list[np.ndarray]
) -> dict[int, list[tuple[int, int]]]:
    """Of each feature, raw ones counting on, the tests that divide training objects."""
    constant, found = columns.has.shape[1], dict[int, list[tuple[int, int]]]()
    for test in range(objects.n_fixed):
        if columns.literal[columns.first[test]] >> 1 != constant:
            place = objects.place(test)
            found.setdefault(place[0], []).append(place)
    for g, rank in enumerate(ranks):
        number, feature = objects.n_fixed + g, len(objects.features) + g
        for cut in range(int(rank.max())):
            if columns.literal[columns.first[number] + 2 * cut] >> 1 != constant:
                found.setdefault(feature, []).append((feature, cut))
    return dict(sorted(found.items()))


def _bits(which: np.ndarray) -> Box:
    return sum(1 << k for k in np.flatnonzero(which).tolist())


def _lowest(bits: Box) -> int:
    return (bits & -bits).bit_length() - 1


def splits_of_columns(
    cells: Cells, columns: Columns, objects: Encoded, price: np.ndarray
) -> list[list[Split]]:
    """For each column all tests that divide objects as it does, of those with equal sides the
    cheapest.

    price : int64[problem's tests], of a unit of mass.
    """
    found: list[dict[Sides, int]] = [{} for _ in range(columns.has.shape[1])]
    coded = len(objects.features)
    for (feature, number), sides in cells.sides.items():
        fixed = feature < coded
        asks = objects.n_fixed + feature - coded
        if fixed:
            asks = int(objects.test_offset[feature]) + number
        literal = int(
            columns.literals(asks if fixed else [asks, number])[1]
        )  # of what has outcome 1, or lies above the cut
        turned = sides if literal & 1 else sides[::-1]
        known = found[literal >> 1]
        known[turned] = min(known.get(turned, int(price[asks])), int(price[asks]))
    return [[(*sides, paid) for sides, paid in one.items()] for one in found]


@attrs.define(eq=False)
class Listing:
    """All trees of sets that trees within a budget meet.

    cells : of the table.   columns : as :func:`splits_of_columns` returns them.
    of_leaf : the trees of a leaf by its answers, int64[answers, numbers], what they cost by the
        line and by the objective first.
    keeps : which of several trees keep the rates.   scale : of the line.
    most_leaves : of a tree; None: any.   steps : partial trees so far.
    """

    cells: Cells
    columns: list[list[Split]]
    of_leaf: Callable[[np.ndarray], np.ndarray]
    keeps: Callable[[np.ndarray], np.ndarray]
    scale: int
    most_leaves: int | None
    steps: int = 0

    def least(self, taken: list[tuple[Key, Waiting]], below: int, budget: int) -> float:
        """The least cost of a tree that keeps all constraints, if it is less than ``below``; else
        ∞.  Raises VerificationError where more than MOST_STEPS partial trees are listed.

        budget : of the line of the fronts.
        """
        sets = dict(taken)
        leaves = {key: self.of_leaf(here.leaf) for key, here in taken}
        low = dict[Key, tuple[int, int]]()
        for key, here in reversed(taken):
            costs = [(cost, line) for line, cost in leaves[key][:, :2].tolist()]
            costs += [
                (
                    low[one][0] + low[rest][0] + paid // self.scale,
                    low[one][1] + low[rest][1] + paid,
                )
                for one, rest, paid in here.sides
            ]
            low[key] = min(cost for cost, _ in costs), min(line for _, line in costs)
        best: float = math.inf
        root = taken[0][0]

        def list_trees(
            said: list[tuple[Box, int]],
            waiting: list[tuple[Key, Box]],
            cost: int,
            line: int,
            sums: np.ndarray,
        ) -> None:
            nonlocal best, below
            self.steps += 1
            if self.steps > MOST_STEPS or len(said) + len(waiting) > MOST_LEAVES:
                raise VerificationError(
                    f"more than {MOST_STEPS:,} partial trees are below its bound, or one of more "
                    f"than {MOST_LEAVES} leaves"
                )
            if not waiting:
                if self.keeps(sums[None])[0]:
                    best = below = cost
                return
            if self.most_leaves is not None and len(said) + len(waiting) > self.most_leaves:
                return
            key, box = waiting[-1]
            rest_of = waiting[:-1]
            cost, line = cost - low[key][0], line - low[key][1]
            here = sets[key]
            for answer, leaf in enumerate(leaves[key]):
                paid, by_line = cost + int(leaf[1]), line + int(leaf[0])
                if paid < below and by_line <= budget and self.cells.allows(said, box, answer):
                    list_trees([*said, (box, answer)], rest_of, paid, by_line, sums + leaf)
            for one, rest, _ in here.sides:
                for column, turned in here.alike[one]:
                    for without, having, price in self.columns[column]:
                        paid = price * here.mass
                        more_cost = cost + low[one][0] + low[rest][0] + paid
                        more_line = line + low[one][1] + low[rest][1] + self.scale * paid
                        if more_cost >= below or more_line > budget:
                            continue
                        boxes = (without, having) if turned else (having, without)
                        sides = [(rest, box & boxes[1]), (one, box & boxes[0])]
                        list_trees(said, [*rest_of, *sides], more_cost, more_line, sums)

        if low[root][0] < below and low[root][1] <= budget:
            nothing = np.zeros_like(leaves[root][0])
            list_trees([], [(root, self.cells.whole)], low[root][0], low[root][1], nothing)
        return best
