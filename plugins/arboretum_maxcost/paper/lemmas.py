"""Lemmas 4.3 to 4.5 and Theorem 4.6, tried: class counts of leaves where hinged Pairs are 0, and
greedy trees against all trees.

The lemmas speak of the leaves of any tree, so any class counts will do: they are drawn, leaf by
leaf, among those with P_α = 0.  The theorem speaks of GREEDYTREE, so it is tried on small tables of
two-way tests, against the least depth that allows so many errors.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from arboretum.api import (
    Claim,
    Column,
    ColumnKind,
    Facts,
    Judgement,
    Key,
    Keyed,
    Piece,
    Plain,
    Services,
    Table,
    Target,
    Task,
    csv_text,
)
from arboretum_maxcost.paper.reproduction import MaxCostStudy
from arboretum_maxcost.paper.study import Measured, encode_objects, grow_tree, parts_of_greedytree

PARTS, DRAWS = 4, 250
"""Pieces of each kind; leaves of so many trees in each."""
TABLES = 25
"""Tables of each piece."""
REFUTES = (1, ((9, 1),) * 5)
"""α and five leaves that refute Lemma 4.3 as printed."""
LIMITS = ("4.3", "4.3 · l", "4.4", "4.5, first", "4.5, second")


def pieces(paper: MaxCostStudy) -> list[Piece]:
    """Return PARTS pieces of drawn leaves (Lemmas 4.3 to 4.5), and as many of trees (Theorem
    4.6).
    """
    return [
        Piece({"chapter": "lemmas", "what": what, "part": i}, cost)
        for what, cost in (("leaves", 0.3), ("trees", 0.6))
        for i in range(PARTS)
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Draw leaves or tables by the seed and the key's ``part``, and return the counts: of
    ``leaves`` {"beyond": limit → drawn trees beyond it, "drawn": how many}; of ``trees`` {"rows": a
    row per drawn table}.
    """
    draw = np.random.default_rng([seed, key["part"]])
    return (
        _count_broken_limits(services, draw, key["part"])
        if key["what"] == "leaves"
        else _compare_trees(services, draw)
    )


def _count_broken_limits(services: Services, draw: np.random.Generator, part: int) -> Facts:
    """Draw leaves where hinged Pairs are 0; return "beyond", limit → how many drawn trees are
    beyond it, and how many were "drawn".

    part : number of the piece; the first one has the tree that refutes Lemma 4.3, too.
    """
    beyond = dict.fromkeys(LIMITS, 0)
    cases: list[tuple[int, tuple[tuple[int, ...], ...]]] = [REFUTES] if part == 0 else []
    while len(cases) < DRAWS:
        alpha = int(draw.integers(1, 4))
        k = int(draw.integers(2, 5))
        n_leaves = int(draw.integers(1, 9))
        value = services.component("impurity", "hinged_pairs", {"alpha": float(alpha)}).value
        counts = draw.integers(0, 13, size=(40 * n_leaves, k))
        fit = counts[(value(counts.astype(float)) == 0) & (counts.sum(axis=1) > 0)][:n_leaves]
        if len(fit):
            cases.append((alpha, tuple(map(tuple, fit.tolist()))))
    for alpha, leaves in cases:
        for name, holds in check_limits(alpha, leaves).items():
            beyond[name] += not holds
    return {"beyond": beyond, "drawn": len(cases)}


def check_limits(alpha: int, leaves: Sequence[Sequence[int]]) -> dict[str, bool]:
    """Return limit → whether leaves with P_α = 0 keep it, in whole numbers: ε = α / n, and errors
    are n times the share.

    alpha : α, objects.
    leaves : class counts of each leaf.

    Of Lemma 4.4 every l heaviest leaves are tried, which are the bounds of all η.  Lemma 4.5,
    first: leaves whose errors are at most α together have P_α = 0, said of the heaviest leaves that
    do.
    """
    k, n = len(leaves[0]), sum(map(sum, leaves))
    sizes = sorted(map(sum, leaves), reverse=True)
    errors = sum(sum(leaf) - max(leaf) for leaf in leaves)
    each = k * (k - 1) * alpha
    refined = all(
        k * errors <= k * each * l + (k - 1) * (n - sum(sizes[:l])) for l in range(len(leaves) + 1)
    )
    # ε = within / n allows each of these leaves alone
    within = max(sum(leaf) - max(leaf) for leaf in leaves)
    first = all(hinged_pairs(leaf, within) == 0 for leaf in leaves)
    return {
        "4.3": errors <= each,
        "4.3 · l": errors <= each * len(leaves),
        "4.4": refined,
        "4.5, first": first,
        "4.5, second": errors <= each * len(leaves),
    }


def hinged_pairs(leaf: Sequence[int], alpha: int) -> int:
    """Return P_α of class counts (equation 10, each pair of classes once)."""
    pairs = ((a, b) for i, a in enumerate(leaf) for b in leaf[:i])
    return sum(max(a * b - alpha * (a + b), 0) for a, b in pairs if min(a, b) > alpha)


def _compare_trees(services: Services, draw: np.random.Generator) -> Facts:
    """Draw tables and grow a tree on each; return "rows" of [α, objects, cost of the greedy tree,
    its errors, least cost with at most α errors, ln F + 1].
    """
    rows = []
    for _ in range(TABLES):
        alpha = int(draw.integers(1, 3))
        k = int(draw.integers(2, 4))
        tests = int(draw.integers(3, 6))
        bits = np.unique(draw.integers(2, size=(3 * 2**tests, tests)), axis=0)
        label = (
            (bits[:, 0] ^ bits[:, 1])
            + bits[:, 2]
            + draw.integers(2, size=len(bits)) * (draw.random(len(bits)) < 0.3)
        ) % k
        columns = tuple(
            Column(f"t{j + 1}", ColumnKind.categorical, bits[:, j].astype(np.int32), ("0", "1"))
            for j in range(tests)
        )
        classes = tuple(str(j + 1) for j in range(k))
        objects = encode_objects(
            services,
            Table(
                "drawn",
                columns,
                Target("class", Task.classification, label.astype(np.int32), classes),
            ),
        )
        tree = grow_tree(
            objects, parts_of_greedytree(services, "hinged_pairs", (("alpha", float(alpha)),))
        )
        found = Measured.walk(tree, objects)
        whole = hinged_pairs(np.bincount(label, minlength=k).tolist(), alpha)
        least = least_depth(bits, label, alpha)
        rows.append(
            [
                alpha,
                len(bits),
                found.max_cost,
                found.errors,
                least,
                math.log(whole) + 1 if whole else 1.0,
            ]
        )
    return {"rows": rows}


def least_depth(bits: np.ndarray, label: np.ndarray, errors: int) -> int:
    """Return the least depth of a tree of two-way tests with at most so many errors, among all
    trees.

    bits : int64[objects, tests].
    label : int64[objects].
    """

    @cache
    def least_errors(rows: frozenset[int], depth: int) -> int:
        """Return the fewest errors on these objects of a tree of at most this depth."""
        own = label[list(rows)]
        found = len(own) - np.bincount(own).max() if len(own) else 0
        if depth == 0 or found == 0:
            return int(found)
        sides = (
            [frozenset(r for r in rows if bits[r, t] == side) for side in (0, 1)]
            for t in range(bits.shape[1])
        )
        return min(
            [
                int(found),
                *(
                    least_errors(a, depth - 1) + least_errors(b, depth - 1)
                    for a, b in sides
                    if a and b
                ),
            ]
        )

    whole = frozenset(range(len(label)))
    return next(d for d in range(bits.shape[1] + 1) if least_errors(whole, d) <= errors)


def judge(results: Keyed) -> Judgement:
    """Return the verdict: on the lemmas by their counts, on the theorem by every tree."""
    leaves = [one for key, one in results if key["what"] == "leaves"]
    rows = [row for key, one in results if key["what"] == "trees" for row in one["rows"]]
    claims = _claims_on_leaves(leaves) if leaves else []
    header = "alpha objects greedy_cost greedy_errors least_cost_within_alpha_errors factor"
    return Judgement.of_chapter(
        "lemmas 4.3 to 4.6",
        {},
        {},
        claims=[*claims, _claim_on_trees(rows)] if rows else claims,
        tables={"lemmas.csv": csv_text([header.split(), *rows])} if rows else {},
    )


def _claims_on_leaves(leaves: Sequence[Plain]) -> list[Claim]:
    """Return the claims of the lemmas.   leaves : as :func:`_count_broken_limits` returns them."""
    drawn = sum(one["drawn"] for one in leaves)
    beyond = {name: sum(one["beyond"][name] for one in leaves) for name in LIMITS}

    def claim(sentence: str, name: str, reason: str = "") -> Claim:
        """Return the claim that no tree is beyond the limit ``name``; ``reason``: why some are."""
        return Claim.judged(
            sentence,
            not beyond[name],
            f"{beyond[name]} of {drawn:,} drawn trees with P_α = 0 at every leaf are beyond it",
            reason,
        )

    missing = (
        "the number of leaves l is missing, as in Lemma 4.5 it is not: k (k − 1) ε bounds "
        "one leaf, and with the factor l no tree is beyond it"
    )
    return [
        claim(
            "Lemma 4.3: the error is at most k (k − 1) ε",
            "4.3",
            missing if not beyond["4.3 · l"] else "",
        ),
        claim("Lemma 4.4: the error is at most k (k − 1) l_η ε + (k − 1)/k η, for every η", "4.4"),
        claim("Lemma 4.5: leaves with no more than ε n errors have P_εn = 0", "4.5, first"),
        claim(
            "Lemma 4.5: trees with P_εn = 0 have an error of at most k (k − 1) ε l", "4.5, second"
        ),
    ]


def _claim_on_trees(rows: Sequence[Sequence[float]]) -> Claim:
    """Return the claim of Theorem 4.6.   rows : as :func:`_compare_trees` returns them."""
    beyond = sum(
        cost > (factor * least if least else 0) + 1e-9 for _, _, cost, _, least, factor in rows
    )
    most = max((cost / least for _, _, cost, _, least, _ in rows if least), default=0.0)
    return Claim.judged(
        "Theorem 4.6: GREEDYTREE with hinged Pairs, α = ε n, costs at most (ln F + "
        "1) times the least cost with an error of ε",
        not beyond,
        f"beyond (ln F + 1) · OPT on {beyond} of {len(rows)} tables; cost over OPT is at "
        f"most {most:.3g}",
    )
