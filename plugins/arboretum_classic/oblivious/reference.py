"""The slow, obvious twins of ``level_kernels.py``: NumPy tables of every test at every node,
scored by the criterion's own ``score``.

They also serve criteria that have no kernel.
"""

from typing import Any

import numpy as np

from arboretum.api import NO_OUTCOME, Node


def search(
    columns: Any, level: Any, objects: Any, price: np.ndarray, rules: Any, scorer: Any
) -> tuple[int, int, int, float]:
    """Return (column, position, side, score) of the best cut.

    All arguments and results as in :func:`arboretum_classic.oblivious.level_kernels.search`, after
    its kernel; column −1 where there is none.
    """
    best = -1, -1, -1, -np.inf
    for f in np.flatnonzero(price < np.inf).tolist():
        order, values = columns.order[f].astype(np.int64), columns.values[f].astype(float)
        there = np.flatnonzero(level.place[order] >= 0)
        last = there[there < columns.known[f]]
        order, n_known = order[there], len(last)
        cuts = last[:-1][values[last[1:]] > values[last[:-1]] + float(rules.gap)]
        for side in [-1] if n_known == len(order) or rules.shared else [0, 1]:
            # the last: with a value, or without
            own = np.append(cuts, last[-1:]) if side == 1 else cuts
            if not len(own):
                continue
            left = np.searchsorted(there, own)[:, None]  # position among the rows of the level
            goes = np.where(np.arange(len(order)) < n_known, np.arange(len(order)) > left, -1)
            scores = level_scores(
                goes, order, 2, level, objects, np.full(len(own), price[f]), rules, scorer, side
            )
            for at, score in zip(own.tolist(), scores.tolist(), strict=True):
                ties = (
                    max(1e-12 * abs(best[3]), scorer.floor * np.nanmax(level.impurity, initial=0.0))
                    if best[0] >= 0
                    else 0.0
                )
                if score > best[3] + ties:
                    best = f, at, side, score
    return best


def score_coded(
    feature: tuple[int, int],
    codes: np.ndarray,
    level: Any,
    objects: Any,
    price: np.ndarray,
    rules: Any,
    scorer: Any,
    found: np.ndarray,
) -> tuple[int, int]:
    """Write the scores of a coded feature's tests to ``found``; return its heaviest bin, and how
    many rows have no value.

    All arguments as in :func:`arboretum_classic.oblivious.level_kernels.score_coded`, after its
    kernel.
    """
    (family, bins), order = feature, np.asarray(level.members, np.int64)
    code, tests = codes[order].astype(np.int64), np.arange(len(price))[:, None]
    goes = (code[None], code[None] > tests, code[None] != tests)[family].astype(np.int64)
    goes = np.where(code >= bins, NO_OUTCOME, np.broadcast_to(goes, (len(price), len(code))))
    heaviest = np.bincount(code[code < bins], objects.weight[order][code < bins], bins)
    to, found[:] = int(heaviest.argmax()), -np.inf
    for s in range(2 if (code >= bins).any() and family != 0 and not rules.shared else 1):
        found[s] = level_scores(
            goes,
            order,
            bins if family == 0 else 2,
            level,
            objects,
            price,
            rules,
            scorer,
            to if family == 0 else s,
        )
    found[:, price == np.inf] = -np.inf
    return to, int((code >= bins).sum())


def level_scores(
    goes: np.ndarray,
    order: np.ndarray,
    arity: int,
    level: Any,
    objects: Any,
    price: np.ndarray,
    rules: Any,
    scorer: Any,
    side: int,
) -> np.ndarray:
    """Return float64[tests]: the sum over the open nodes that a test divides; −inf where it may not
    compete.

    goes : int[tests, rows], outcomes, −1 without a value.
    order : the rows.
    side : outcome of rows without a value.
    """
    width = level.weights.shape[1]
    total = np.zeros(len(goes))
    n_split = np.zeros(len(goes), np.int64)
    moments = len(objects.y) > 0
    for v in range(len(level.mass)):
        here = level.place[order] // width == v
        rows, own = order[here], goes[:, here]
        label = level.place[rows] - v * width
        what = objects.y[rows, None] ** np.arange(3) if moments else np.eye(width)[label]
        mass = objects.weight[rows, None] * what
        count = objects.rows[rows, None] * (what[:, :1] if moments else what)
        weights, counts = (
            np.stack([(own == o).astype(float) @ part for o in range(arity)], axis=1)
            for part in (mass, count)
        )
        lost = [(own == NO_OUTCOME).astype(float) @ part for part in (mass, count)]
        known = weights[..., 0] if moments else weights.sum(axis=2)
        part = np.zeros_like(known)
        if rules.shared:
            part = known / np.maximum(known.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        elif side >= 0:
            part[:, side] = 1.0
        weights, counts = (
            table + part[:, :, None] * gone[:, None]
            for table, gone in zip((weights, counts), lost, strict=True)
        )
        n, heavy = counts.sum(axis=2), weights[..., 0] if moments else weights.sum(axis=2)
        total[((n > 0) & ((n < rules.rows) | (heavy < rules.weight))).any(axis=1)] = -np.inf
        some = np.flatnonzero((n > 0).sum(axis=1) > 1)
        if level.open[v] and len(some):
            whole = np.rint(level.rows[v]).astype(np.int64)
            node = Node(
                level.weights[v],
                whole,
                float(level.mass[v]),
                level.total,
                float(level.impurity[v]),
                level.depth,
            )
            tables = scorer.tables(
                weights[some],
                np.rint(counts[some]).astype(np.int64),
                price[some],
                np.zeros((len(some), arity, 0)),
                np.arange(len(some)),
            )
            total[some] += level.factor[v] * scorer.score(tables, node)
            n_split[some] += 1
    return np.where(n_split > 0, total, -np.inf)
