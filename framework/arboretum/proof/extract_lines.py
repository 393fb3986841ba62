"""From the lines of a search to a proof of a loss of false positives and false negatives: the lines
that the bound needs, what shows their least costs, and of the fronts' sets the tests that are not
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arboretum.errors import VerificationError
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.confusion import DEAREST, FEW, ROUNDING, Confusion
from arboretum.proof.extract import Extraction, Memo
from arboretum.proof.fronts import MOST_SETS, Waiting, all_below
from arboretum.proof.writing import ProofWriter


@attrs.frozen(eq=False)
class KnownLine:
    """a · false positives + b · false negatives + p · leaves, in whole multiples of the weights'
    common divisor, and what is remembered of it.

    least : what no tree costs less than.
    """

    a: int
    b: int
    p: int
    least: int
    memo: Memo | None


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
    lines = [line for line in lines if min(line.a, line.b, line.p) > 0 and line.p < DEAREST]
    rules = Confusion(
        problem, log.header["tests"], [(line.a, line.b, line.p) for line in lines], -1, bound
    )
    value = rules.cost_of(tree)
    rules.target = bound = min(bound, value)
    limits = problem.parts.limits()
    most = tuple(-1 if one is None else one for one in (limits.max_depth, limits.max_leaves))
    rules.least = [line.least - one.constant for line, one in zip(lines, rules.lines, strict=True)]
    kept, left = needed(rules, most)
    shown = min(bound, rules.of_many_leaves())
    log_of: dict[int, tuple[Extraction, Kept]] = {}
    for k in kept:
        room = Kept(log)
        extraction = Extraction(room, problem, lines[k].memo, progress, rules.lines[k].rules)  # type: ignore[arg-type]
        least = extraction.show(rules.least[k], *most)
        if least < rules.least[k]:
            raise VerificationError(
                f"the proof shows that a line costs {least + rules.lines[k].constant} at least, "
                f"but the search claims {lines[k].least}: please report this"
            )
        log_of[k] = extraction, room
    fronts = -1
    if len(left) and not kept:
        shown = min(shown, float(left[:, 4].min()))
    elif len(left):
        fronts = min(kept, key=lambda k: room_of(rules, left, k))
        rules.fronts, (extraction, _) = fronts, log_of[fronts]

        def ask(here: Waiting, column: int, side: int, goal: int) -> int:
            depth = here.depth - 1 if here.depth > 0 else -1
            return extraction.show_side((*here.path, (column, side)), goal, depth)

        try:
            trees = all_below(rules.below(left), ask, MOST_SETS)
            shown = min(shown, rules.least_of_fronts(trees))
        except VerificationError:  # too many sets
            fronts, shown = -1, min(shown, float(left[:, 4].min()))
    counts = []
    for extraction, room in log_of.values():
        extraction.write()
        for words in room.words:
            log.append(words, room.records)
        counts.append(room.records)
    ends = [
        [lines[k].a, lines[k].b, lines[k].p, count] for k, count in zip(kept, counts, strict=True)
    ]
    shown = bound if shown >= bound - ROUNDING else shown
    log.close(
        shown,
        value,
        tree,
        lines=ends,
        fronts=kept.index(fronts) if fronts >= 0 else -1,
    )
    return Shown(shown, value)


def needed(rules: Confusion, limits: tuple[int, ...]) -> tuple[list[int], np.ndarray]:
    """The lines, by their places, that leave as little as all of them, and the steps that they
    leave beside those of few leaves.
    """
    every = list(rules.lines), list(rules.least)
    few_ok: list[bool] = []

    def left_by(kept: Sequence[int]) -> np.ndarray:
        rules.lines = [every[0][k] for k in kept]
        rules.least = [every[1][k] for k in kept]
        left = rules.steps_left()
        if len(left) and left[:, 0].min() <= FEW:
            if not few_ok:
                few = rules.least_of_few_leaves(*limits)
                few_ok.append(few >= rules.target - ROUNDING)
            if few_ok[0]:
                left = left[left[:, 0] > FEW]
        return left

    kept = list(range(len(every[0])))
    left = left_by(kept)
    for k in list(kept):
        fewer = [one for one in kept if one != k]
        if fewer and not len(left) and not len(left_by(fewer)):
            kept = fewer
    rules.lines, rules.least = every
    return kept, left


def room_of(rules: Confusion, left: np.ndarray, k: int) -> float:
    """By how many leaves' price trees of the steps that are left may cost more than a line's
    least.
    """
    line, rules.fronts = rules.lines[k], k
    return (rules.below(left).budget - line.constant - rules.least[k]) / line.p
