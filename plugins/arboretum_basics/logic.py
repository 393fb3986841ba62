"""The classes of a tree as logical rules: of each class a disjunction of conjunctions that none can
be shortened or left out of.

A leaf is a box: of every column the values that reach it.  The boxes of a class are widened as far
as they meet no other class, and those that the others cover are left out, as in two-level
minimisation of logic with many values (Rudell & Sangiovanni-Vincentelli 1987).
"""

import math
from collections.abc import Mapping, Sequence

import attrs

from arboretum.api import (
    MISSING_SPLITS,
    CapabilityError,
    ColumnKind,
    ColumnSpec,
    TestRule,
    Tree,
    policies,
    spell,
    sure,
)

Box = tuple[int, ...]
"""Of every dimension the values that are meant, as bits."""
PIECES = 2000
"""Into which a box is cut, at most, to see whether others cover it; beyond, it stays."""


@attrs.frozen
class Dimension:
    """What a literal speaks of: a column in values that no test tells apart, or a test that reads
    several columns by its outcomes.

    values : one that stands for each, None for a missing one.
    cuts : between them, of a continuous column.
    digits : in which each cut is shown.
    ordered : of an ordinal one.
    """

    subject: str
    values: tuple[str | float | None, ...]
    cuts: tuple[float, ...] | None = None
    digits: Mapping[float, int] = attrs.field(factory=dict)
    unit: str = ""
    rule: TestRule | None = None
    ordered: bool = False

    @property
    def full(self) -> int:
        """All values, as bits: a literal that says nothing."""
        return (1 << len(self.values)) - 1

    def sent(self, rule: TestRule, otherwise: int) -> list[int]:
        """Return the values that a test sends to each outcome, as bits, and last those that stop.

        otherwise : outcome of what has none, −1 to stop.
        """
        found = [0] * (rule.arity + 1)
        for k, value in enumerate(self.values):
            outcome = k if self.rule is not None else rule.outcome_of({self.subject: value})
            found[outcome if outcome >= 0 else otherwise] |= 1 << k
        return found

    def wider(self, held: int) -> list[int]:
        """Return what may be added to ``held``, values as bits: everything, else a value, of
        numbers one beside those that are held.
        """
        rest = [1 << k for k in range(len(self.values)) if not held >> k & 1]
        if self.cuts is not None:
            rest = [
                bit
                for bit in rest
                if (bit << 1 | bit >> 1) & held or self.values[bit.bit_length() - 1] is None
            ]
        return [self.full & ~held, *rest]

    def literal(self, held: int) -> str:
        """Return the values whose bits are set in ``held`` in words: "x ≤ 3", "1 < x ≤ 3", "colour
        ≠ red", "colour in {blue, red}".
        """
        here = [k for k in range(len(self.values)) if held >> k & 1]
        if self.rule is not None:
            return _either([f"{self.subject} {self.rule.outcome_label(k)}" for k in here])
        missing = (
            [f"{self.subject} is missing"] if any(self.values[k] is None for k in here) else []
        )
        known = [k for k in here if self.values[k] is not None]
        if self.cuts is not None:
            ends = [k for k in known if k + 1 not in known]
            return _either(
                [
                    self._between(min(k for k in known if set(range(k, end)) <= set(known)), end)
                    for end in ends
                ]
                + missing
            )
        others = [k for k, value in enumerate(self.values) if value is not None and k not in known]
        if self.ordered and known and others and (known[-1] < others[0] or others[-1] < known[0]):
            named = [
                f"{self.subject} "
                + (
                    f"≤ {self.values[known[-1]]}"
                    if known[-1] < others[0]
                    else f"> {self.values[others[-1]]}"
                )
            ]
        elif len(known) == 1 or len(others) != 1:
            names = ", ".join(str(self.values[k]) for k in known)
            named = [
                f"{self.subject} = {names}" if len(known) == 1 else f"{self.subject} in {{{names}}}"
            ] * bool(known)
        else:
            named = [f"{self.subject} ≠ {self.values[others[0]]}"]
        return _either(named + missing)

    def _spelled(self, cut: int) -> str:
        at = sure(self.cuts)[cut]
        return spell(at, self.unit, self.digits[at])

    def _between(self, first: int, last: int) -> str:
        """Return the intervals ``first`` … ``last`` between cuts in words."""
        low = None if first == 0 else self._spelled(first - 1)
        high = None if last == len(sure(self.cuts)) else self._spelled(last)
        if low is None or high is None:
            return (
                f"{self.subject} is known"
                if low is high
                else f"{self.subject} ≤ {high}"
                if low is None
                else f"{self.subject} > {low}"
            )
        return f"{low} < {self.subject} ≤ {high}"


def _either(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def tree_rules(tree: Tree) -> str:
    """Return a paragraph per class.  Rows hold values that the tree knows; a column without missing
    values in training has none.

    Raises CapabilityError for a tree of numbers, one that sends rows down several branches, and one
    with surrogates.
    """
    if not tree.classes:
        raise CapabilityError(
            "rules are of classes, but this tree predicts numbers; export it as text"
        )
    if (
        ((policies(tree) == MISSING_SPLITS) & ~tree.is_leaf).any()
        or any(rule.fuzzy for rule in tree.rules)
        or tree.surrogates
    ):
        raise CapabilityError(
            "this tree sends rows down several branches, or asks surrogates, which no "
            "logical rule says; export it as text"
        )
    dimensions, boxes = _boxes_of_classes(tree)
    lines = []
    for label, name in enumerate(tree.classes):
        terms = minimised(
            boxes.get(label, []),
            [box for other, found in boxes.items() if other != label for box in found],
            dimensions,
        )
        reported = [
            " and ".join(
                d.literal(held) for d, held in zip(dimensions, term, strict=True) if held != d.full
            )
            for term in terms
        ]
        lines += (
            [
                f"{name} if",
                *(f"  {'or' if k else '  '} {one or 'always'}" for k, one in enumerate(reported)),
            ]
            if reported
            else [f"{name} never"]
        )
    return "\n".join(lines) + "\n"


def _deciding_column(rule: TestRule, specs: Mapping[str, ColumnSpec]) -> str | TestRule:
    """Return the column whose values decide a test; the test itself where it reads several, or has
    no cuts.
    """
    if len(rule.columns) > 1 or (
        specs[rule.columns[0]].kind is ColumnKind.continuous and rule.cuts is None
    ):
        return rule
    return rule.columns[0]


def _boxes_of_classes(tree: Tree) -> tuple[list[Dimension], dict[int, list[Box]]]:
    """Return what the tests read, and of each class the boxes of its leaves and of nodes where rows
    stop.
    """
    specs = {column.name: column for column in tree.columns}
    dimensions: list[Dimension] = []
    place: dict[str | TestRule, int] = {}
    for node in tree.inner.tolist():
        rule = tree.rule(node)
        key = _deciding_column(rule, specs)
        if key in place:
            continue
        place[key] = len(dimensions)
        if not isinstance(key, str):
            dimensions.append(Dimension(rule.subject, tuple(range(rule.arity)), rule=rule))
            continue
        spec, own = specs[key], [one for one in tree.rules if _deciding_column(one, specs) == key]
        missing = (None,) * (
            spec.missing or any(getattr(one, "missing_outcome", False) for one in own)
        )
        if spec.is_continuous:
            digits = {cut: getattr(one, "digits", 6) for one in own for cut in one.cuts or ()}
            cuts = tuple(sorted(digits))
            dimensions.append(
                Dimension(
                    key,
                    (*cuts, math.nextafter(cuts[-1], math.inf) if cuts else 0.0, *missing),
                    cuts,
                    digits,
                    spec.unit,
                )
            )
        else:
            dimensions.append(
                Dimension(
                    key, (*spec.categories, *missing), ordered=spec.kind is ColumnKind.ordinal
                )
            )
    found: dict[int, list[Box]] = {}
    policy, stack = policies(tree).tolist(), [(0, tuple(d.full for d in dimensions))]
    while stack:
        node, box = stack.pop()
        if node < 0 or tree.is_leaf[node]:
            found.setdefault(int(tree.label[~node if node < 0 else node]), []).append(box)
            continue
        rule = tree.rule(node)
        at = place[_deciding_column(rule, specs)]
        for child, sent in zip(
            [*tree.children(node).tolist(), -1],
            dimensions[at].sent(rule, policy[node]),
            strict=True,
        ):
            if box[at] & sent:  # ~node: it stops there
                stack.append(
                    (child if child >= 0 else ~node, (*box[:at], box[at] & sent, *box[at + 1 :]))
                )
    return dimensions, found


def minimised(
    own: Sequence[Box], others: Sequence[Box], dimensions: Sequence[Dimension]
) -> list[Box]:
    """Return boxes that cover ``own`` and none of ``others``; none could be wider, nor, where that
    was seen within PIECES, be left out.

    dimensions : what the numbers of a box are bits of.
    """
    asked = [sum(box[at] != d.full for box in own) for at, d in enumerate(dimensions)]
    order = sorted(range(len(dimensions)), key=asked.__getitem__)  # what few leaves ask goes first
    wide = dict.fromkeys(_widen_box(box, others, dimensions, order) for box in own)
    kept = sorted(wide, key=lambda box: sum(held.bit_count() for held in box))
    for box in list(kept):
        rest = [one for one in kept if one != box]
        if _is_covered(box, rest):
            kept = rest
    return sorted(
        kept, key=lambda box: sum(held != d.full for held, d in zip(box, dimensions, strict=True))
    )


def _widen_box(
    box: Box, others: Sequence[Box], dimensions: Sequence[Dimension], order: Sequence[int]
) -> Box:
    """Return the widest box around ``box`` that meets none of ``others``, grown dimension by
    dimension in ``order``; first by whole dimensions, which make a literal go.
    """
    for whole in (True, False):  # first what makes a literal go, then what makes it weaker
        for at in order:
            # what boxes of other classes hold here, of those that meet this one everywhere else
            near = 0
            for other in others:
                if all(a & b for k, (a, b) in enumerate(zip(box, other, strict=True)) if k != at):
                    near |= other[at]
            more: int = True
            while more:
                more = next(
                    (
                        bits
                        for bits in dimensions[at].wider(box[at])[: 1 if whole else None]
                        if bits and not bits & near
                    ),
                    0,
                )
                box = (*box[:at], box[at] | more, *box[at + 1 :])
    return box


def _is_covered(box: Box, others: Sequence[Box]) -> bool:
    """Return whether every point of a box is in one of the others."""
    stack, pieces = [(box, 0)], 0
    while stack:
        box, first = stack.pop()
        pieces += 1
        at = next(
            (
                k
                for k in range(first, len(others))
                if all(a & b for a, b in zip(box, others[k], strict=True))
            ),
            None,
        )
        if at is None or pieces > PIECES:
            return False
        for d, (held, taken) in enumerate(zip(box, others[at], strict=True)):
            if held & ~taken:
                stack.append(((*box[:d], held & ~taken, *box[d + 1 :]), at + 1))
            box = (*box[:d], held & taken, *box[d + 1 :])
    return True
