"""From the lines of a search to a proof of a value that they bound: the lines that the bound needs,
what shows their least costs, and of the fronts' sets the tests that are not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arboretum.errors import VerificationError, sure
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.check import kind_of_lines
from arboretum.proof.extract import Extraction, Memo
from arboretum.proof.fronts import Waiting
from arboretum.proof.ground import MOST
from arboretum.proof.lines import Lines
from arboretum.proof.writing import ProofWriter


@attrs.frozen(eq=False)
class KnownLine:
    """A line with what is remembered of it.

    name : as a log names it, weights in whole multiples of the weights' common divisor: (a, b, p)
        of a · false positives + b · false negatives + p · leaves; (lengths, gains, q, p) of
        tangents, see :mod:`arboretum.proof.areas`.
    least : what no tree costs less than; None: as much as can be shown.
    """

    name: tuple[Any, ...]
    least: int | None
    memo: Memo | None = None


@attrs.frozen
class Shown:
    """What a proof shows: a bound, and the value of its tree."""

    bound: float
    value: float


class Kept:
    """Records of one line, on their way to the log."""

    def __init__(self, log: ProofWriter) -> None:
        self.header = {**log.header, "unit": "1"}
        self.words: list[np.ndarray] = []
        self.records = 0

    def append(self, words: np.ndarray, records: int) -> None:
        """As of :class:`ProofWriter`."""
        self.words.append(np.array(words, np.int32))
        self.records += records


def write_lines(
    log: ProofWriter,
    problem: Problem,
    lines: Sequence[KnownLine],
    bound: float,
    tree: Tree,
    progress: Callable[..., None],
) -> Shown:
    """Write a log, and its end; returns what it shows, ``bound`` or less.

    bound : of the objective's value, at most that of the tree.
    Where trees are left that are too many to go through, it shows what the lines show.
    Raises VerificationError where a line's least cost cannot be shown.
    """
    kind = kind_of_lines(log.header["shape"])
    lam = float(sure(problem.parts.objective).lam)  # type: ignore[attr-defined]
    lines = [line for line in lines if kind.is_usable(line.name, lam)]
    log_unit = Fraction(log.header["unit"])
    rules = kind(problem, log.header["tests"], [line.name for line in lines], -1, bound, log_unit)
    value = rules.cost_of(tree)
    rules.target = bound = value if bound >= value - rules.slack else bound
    limits = problem.parts.limits()
    most = tuple(-1 if one is None else one for one in (limits.max_depth, limits.max_leaves))
    log_of: dict[int, tuple[Extraction, Kept]] = {}

    def show(k: int) -> int:
        """Show what line k costs at least, and return that."""
        if k not in log_of:
            room: Any = Kept(log)
            constant, goal = rules.lines[k].constant, lines[k].least
            extraction = Extraction(room, problem, lines[k].memo, progress, rules.lines[k].rules)
            log_of[k] = extraction, room
            least = extraction.show(MOST if goal is None else goal - constant, *most) + constant
            if goal is not None and least < goal:
                raise VerificationError(
                    f"the proof shows that a line costs {least} at least, but the search claims "
                    f"{goal}: please report this"
                )
            return least if goal is None else goal
        return rules.least[k]

    rules.least = [show(k) if one.least is None else one.least for k, one in enumerate(lines)]
    kept, left, shown = needed(rules, most)
    shown = min(bound, shown)
    for k in kept:
        show(k)
    fronts = -1
    if len(left) and not kept:
        shown = min(shown, rules.least_left(left))
    elif len(left):
        # that leaves least room above its least cost, in prices of a leaf
        fronts = min(
            kept,
            key=lambda k: (rules.budget(left, k) - rules.least[k]) / max(rules.lines[k].p, 1),
        )
        rules.fronts, (extraction, _) = fronts, log_of[fronts]

        def ask(here: Waiting, column: int, side: int, goal: int) -> int:
            depth = here.depth - 1 if here.depth > 0 else -1
            return extraction.show_side((*here.path, (column, side)), goal, depth)

        least = rules.least_left(left)
        try:
            least = rules.least_below(rules.budget(left, fronts), ask)
        except VerificationError:  # too many sets
            fronts = -1
        else:
            if least < bound - rules.slack:
                raise VerificationError(
                    f"the proof finds a tree of the value {least}, but the search claims that none "
                    f"is below {bound}: please report this"
                )
        shown = min(shown, least)
    counts = []
    for extraction, room in map(log_of.__getitem__, kept):
        extraction.write()
        for words in room.words:
            log.append(words, room.records)
        counts.append(room.records)
    ends = [[*lines[k].name, count] for k, count in zip(kept, counts, strict=True)]
    shown = bound if shown >= bound - rules.slack else shown
    log.close(
        shown,
        value,
        tree,
        lines=ends,
        fronts=kept.index(fronts) if fronts >= 0 else -1,
    )
    return Shown(shown, value)


def needed(rules: Lines, limits: tuple[int, ...]) -> tuple[list[int], np.ndarray, float]:
    """The lines, by their places, that leave as little as all of them; what they leave; and the
    least value of what is looked at without them.
    """
    lines, least = rules.lines, rules.least

    def left_by(kept: Sequence[int]) -> tuple[np.ndarray, float]:
        rules.lines, rules.least = [lines[k] for k in kept], [least[k] for k in kept]
        return rules.left_by_lines(*limits)

    kept = list(range(len(lines)))
    left, shown = left_by(kept)
    for k in list(kept):
        fewer = [one for one in kept if one != k]
        if fewer and np.array_equal(left_by(fewer)[0], left):
            kept = fewer
    rules.lines, rules.least = lines, least
    return kept, left, shown
