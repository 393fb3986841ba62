"""Tests of m-of-n intervals, found greedily."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arboretum.api import CodedTests, Column, Encoded, Family, Interval, Threshold, param
from arboretum_classic.predicates import ALL, HANDLES, HOW_MANY, coarse
from arboretum_classic.proposals import Goal, plain_numbers
from arboretum_classic.rules import MOfN


@attrs.frozen
class MOfNIntervals:
    """Do at least m of n intervals hold their values: Σ [a_j ≤ x_j ≤ b_j] ≥ m, or ≤ d = m − 1; of several columns, or several of one.

    Intervals are added greedily, up to ``terms``: the one that is best by the proxy (:mod:`~arboretum_classic.proposals`) for some m; after each,
    every interval is put in question again until none changes.  All m of each number of intervals are proposed.  Ends are midpoints that
    divide the rows into ``size`` parts most evenly.  O(p n log n) per node, and O(p (n + s² t)) per interval tried, s = ``size``,
    t = ``terms``, of which there are some t² · ``passes``.
    """

    kind, name, capabilities = "predicate", "m_of_n", HANDLES
    paper = "Murphy & Pazzani 1991, ID2-of-3"

    terms: int = param(3, "intervals of a test, at most", ge=1)
    size: int = param(12, "parts of a column between which intervals begin and end", ge=2)
    passes: int = param(3, "how often all intervals are put in question, at most", ge=0)
    columns: int = param(ALL, HOW_MANY, ge=0)

    def candidates(self, objects: Encoded, rows: np.ndarray, seed: int) -> Sequence[CodedTests]:
        columns = plain_numbers(objects, rows, seed, self.columns)
        if not columns:
            return []
        pool, chosen, found = _Pool.of(columns, self.size, Goal.of(objects, rows)), [], []
        while len(chosen) < self.terms:
            chosen, best = pool.with_one_more(chosen)
            for _ in range(self.passes if len(chosen) > 1 else 0):
                before = best
                for i in range(len(chosen)):
                    chosen, best = pool.with_one_more(chosen[:i] + chosen[i + 1 :])
                    chosen = [*chosen[:i], chosen[-1], *chosen[i:-1]]
                if best <= before * (1 + 1e-12):
                    break
            found.append(pool.tests(chosen))
        return found


@attrs.frozen(eq=False)
class _Pool:
    """Intervals of some columns.   codes : int64[k] bins of each, one more without a value; an interval is (column, first bin, last bin)."""

    columns: Sequence[Column]
    codes: Sequence[np.ndarray]
    cuts: Sequence[np.ndarray]
    goal: Goal

    @staticmethod
    def of(columns: Sequence[Column], size: int, goal: Goal) -> _Pool:
        codes, cuts = zip(*(coarse(column.values, size) for column in columns), strict=True)
        return _Pool(columns, codes, cuts, goal)

    def held(self, intervals: Sequence[tuple[int, int, int]]) -> np.ndarray:
        """int64[n]: how many of them hold a row."""
        return sum(((self.codes[f] >= a) & (self.codes[f] <= b) for f, a, b in intervals), np.zeros(len(self.goal.weight), np.int64))

    def with_one_more(self, chosen: list[tuple[int, int, int]]) -> tuple[list[tuple[int, int, int]], float]:
        """The interval added that is best by the proxy for some m, and its proxy."""
        held, k, goal = self.held(chosen), len(chosen) + 1, self.goal
        each = np.column_stack([goal.parts, goal.weight])
        at_least = np.stack([each[held >= m].sum(axis=0) for m in range(1, k + 1)])
        best = (-np.inf, (0, 0, 0))
        for f, (codes, cuts) in enumerate(zip(self.codes, self.cuts, strict=True)):
            n = len(cuts) + 1
            sums = np.stack([np.bincount(codes * k + held, part, (n + 1) * k).reshape(n + 1, k)[:n] for part in each.T], axis=2)
            upto = np.concatenate([np.zeros((1, *sums.shape[1:])), np.cumsum(sums, axis=0)])
            first, last = np.triu_indices(n)
            whole = (first == 0) & (last == n - 1)
            first, last = first[~whole], last[~whole]
            inside = upto[last + 1] - upto[first]  # [intervals, held before, k + 1]: those that come to hold one more
            tables = at_least + inside  # m or more: those of m before, and those of m − 1 that gain one
            scores = goal.proxy(tables[..., :-1], tables[..., -1]).max(axis=1)
            if scores.max() > best[0]:
                best = float(scores.max()), (f, int(first[scores.argmax()]), int(last[scores.argmax()]))
        return [*chosen, best[1]], best[0]

    def tests(self, chosen: list[tuple[int, int, int]]) -> CodedTests:
        """The tests of all m: its code is the number of intervals that do not hold."""
        order = sorted(range(len(chosen)), key=lambda i: chosen[i])
        places = [chosen[i] for i in order]
        names = tuple(self.columns[f].name for f, _, _ in places)
        low = tuple(float(self.cuts[f][a - 1]) if a else None for f, a, _ in places)
        high = tuple(float(self.cuts[f][b]) if b < len(self.cuts[f]) else None for f, _, b in places)
        n, held = len(places), self.held(places)
        lost = np.any([self.columns[f].missing for f, _, _ in places], axis=0)
        codes = np.where(lost, n + 1, n - held)[None]
        if n == 1:  # in the form that reads best
            alone = Interval(names[0], low[0], high[0]) if None not in low + high else Threshold(names[0], low[0] if high[0] is None else high[0])
            codes = np.where(lost, 2, held == (high[0] is None))[None]
            return CodedTests(names, Family.thresholds, np.array([2]), lambda first, stop: codes[first:stop], lambda _, index: alone)
        return CodedTests(
            tuple(dict.fromkeys(names)), Family.thresholds, np.array([n + 1]), lambda first, stop: codes[first:stop],
            lambda _, index: MOfN(names, low, high, n - index),
        )  # fmt: skip
