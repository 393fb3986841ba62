"""Is a criterion bounded by the vertices of a bin, as it promises?  Tried on small bins before the
bins of raw columns are believed.

A column's objects are left of a bin, in it, or right of it.  A cut inside divides those in it, and
the promise is that no division of them scores above the best that keeps each of their classes
together; the scan then leaves bins out whose vertices are below the best cut known.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from arboretum.engine.axioms import vectors
from arboretum.engine.ground import Ground
from arboretum.engine.search.compiled_criterion import (
    CompiledCriterion,
    ScorerTrial,
    component_name,
)
from arboretum.errors import ContractError
from arboretum.kernels.scoring import impurity_of, score_tables

# relative: rounding of a score, which ties forgive at 1e-12 of an impurity; what bins wrongly leave
# out is more
CLOSE = 1e-9
MOST_LEFT, MOST_INSIDE = 2, 4
"""Objects beside a bin and in it, of which all are tried; bins of some hundred objects at random
besides.
"""
LARGE, POINTS = 24, 16
"""Bins of many objects, and divisions of each."""
ACTIVE = 3  # classes of a bin that differ


class Bins(NamedTuple):
    """Divisions of bins, small bins first.

    counts : int64[divisions, 2, classes].
    bin : int64[divisions], which each is of.
    vertex : bool[divisions].
    left, inside, right : int64[bins, classes].
    """

    counts: np.ndarray
    bin: np.ndarray
    vertex: np.ndarray
    left: np.ndarray
    inside: np.ndarray
    right: np.ndarray


def check_vertices(scorer: CompiledCriterion, ground: Ground) -> None:
    """Raise ContractError with the smallest bin, of those tried, whose best cut its vertices
    would have ruled out.

    ground : of the run.
    """
    if found := find_broken_bin(ScorerTrial.of(scorer, ground)):
        way = (
            "leave bounded_by_vertices out (columns are then sorted), or let it answer False for "
            "this impurity"
        )
        impurity = (
            "" if scorer.impurity is None else f" with impurity {component_name(scorer.impurity)}"
        )
        raise ContractError(
            f"criterion {component_name(scorer.criterion)} promises "
            f"bounded_by_vertices{impurity}, but {found}; {way}"
        )


@lru_cache(maxsize=256)
def find_broken_bin(trial: ScorerTrial) -> str:
    """Return the smallest counterexample, as a sentence; "" where none was found."""
    if trial.width < 2:  # a node of one class is a leaf
        return ""
    bins, params = draw_bins(trial.width), np.array(trial.params)
    node_of_bin, member = np.unique(
        bins.left + bins.inside + bins.right, axis=0, return_inverse=True
    )
    by_node = np.argsort(member.ravel()[bins.bin], kind="stable")
    ends = np.cumsum(np.bincount(member.ravel()[bins.bin], minlength=len(node_of_bin)))
    for weight, price in dict.fromkeys(
        [
            (1.0, trial.prices[-1]),
            (trial.weights[0], trial.prices[0]),
            (trial.weights[-1], trial.prices[-1]),
        ]
    ):
        scores = np.empty(len(bins.bin))
        for node, first, stop in zip(node_of_bin, np.append(0, ends), ends, strict=False):
            here, total = by_node[first:stop], weight * node
            mixed = impurity_of(total, trial.impurity_at)
            scalars = np.array([total.sum(), 2.0 * total.sum(), mixed, 1.0, 0.0, trial.width])
            counts, out = bins.counts[here], np.empty(len(here))
            given = weight * counts, counts, np.full(len(here), price), np.zeros((len(here), 2, 0))
            score_tables(*given, trial.batch, scalars, params, trial.impurity_at, out)
            scores[here] = out
        if found := _find_counterexample(bins, scores, weight):
            return found
    return ""


def _find_counterexample(bins: Bins, scores: np.ndarray, weight: float) -> str:
    """Return the first division that scores above all vertices of its bin, as a sentence; ""
    without any.

    scores : float64[divisions].
    weight : of an object.
    """
    best = np.full(len(bins.left), -np.inf)
    np.maximum.at(best, bins.bin[bins.vertex], scores[bins.vertex])
    bound = best[bins.bin]
    above = scores > bound + CLOSE * np.maximum(
        1.0, np.maximum(np.abs(scores), np.where(np.isfinite(bound), np.abs(bound), 0.0))
    )
    for i in np.flatnonzero(above)[:1]:
        b, (one, other) = bins.bin[i], weight * bins.counts[i]
        reported = [
            _format_weights(weight * part[b]) for part in (bins.left, bins.inside, bins.right)
        ]
        return (
            f"of a bin of the class weights {reported[1]}, with {reported[0]} before and "
            f"{reported[2]} behind it, the division {_format_weights(one)} | "
            f"{_format_weights(other)} scores {scores[i]:.6g} and the best vertex {bound[i]:.6g}"
        )
    return ""


def _format_weights(weights: np.ndarray) -> str:
    return f"({', '.join(f'{w:g}' for w in weights.tolist())})"


@lru_cache(maxsize=8)
def draw_bins(width: int) -> Bins:
    """Return bins for so many classes: all small ones, then large ones, each with divisions of
    which none leaves a side empty.
    """
    small, generator = min(width, 2), np.random.default_rng(width)
    beside = vectors(small, MOST_LEFT).astype(np.int64)
    within = vectors(small, MOST_INSIDE).astype(np.int64)
    few = [(a, b, c) for b in within[within.sum(axis=1) > 1] for a in beside for c in beside]
    cases = [
        _pad_classes(case, width) for case in sorted(few, key=lambda case: sum(map(np.sum, case)))
    ]
    for k in range(LARGE):
        active = np.arange(width) if k % 2 else generator.permutation(width)[:ACTIVE]
        large = np.zeros((3, width), np.int64)
        large[:, active] = generator.integers(0, (12, 200)[k % 3 > 0], (3, len(active))) * (
            generator.random((3, len(active))) < 0.8
        )
        cases.append(tuple(large))
    # a node of one class is a leaf
    cases = [case for case in cases if np.count_nonzero(sum(case)) > 1]
    counts, bin_, vertex = [], [], []
    for number, (left, inside, right) in enumerate(cases):
        taken = _draw_divisions(inside, generator)
        both = np.stack([left + taken, inside - taken + right], axis=1)
        both, taken = (each[(both.sum(axis=2) > 0).all(axis=1)] for each in (both, taken))
        counts.append(both)
        bin_.append(np.full(len(both), number))
        vertex.append(((taken == 0) | (taken == inside)).all(axis=1))
    parts = [np.array([case[part] for case in cases]) for part in range(3)]
    return Bins(
        np.ascontiguousarray(np.concatenate(counts)),
        np.concatenate(bin_),
        np.concatenate(vertex),
        *parts,
    )


def _pad_classes(case: tuple[np.ndarray, ...], width: int) -> tuple[np.ndarray, ...]:
    """The parts of a case with zeros for the classes that it lacks up to ``width``."""
    return tuple(np.pad(part, (0, width - len(part))) for part in case)


def _draw_divisions(inside: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return int64[divisions, classes]: what goes left; all divisions of a small bin, else all
    vertices and some points.

    inside : int64[classes], objects of the bin.
    """
    some = np.flatnonzero(inside)
    ways = (
        [range(n + 1) for n in inside[some].tolist()]
        if inside.sum() <= MOST_INSIDE
        else [(0, n) for n in inside[some].tolist()]
    )
    grid = np.zeros((int(np.prod([len(way) for way in ways], initial=1)), len(inside)), np.int64)
    if len(some):
        grid[:, some] = np.stack(np.meshgrid(*ways, indexing="ij"), axis=-1).reshape(-1, len(some))
    if inside.sum() <= MOST_INSIDE:
        return grid
    return np.concatenate([grid, generator.integers(0, inside + 1, (POINTS, len(inside)))])
