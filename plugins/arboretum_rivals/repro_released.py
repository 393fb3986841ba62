"""The results that the authors released for the monk problems, held against the proven optimum of the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.api import Cell, Claim, House, Judgement, Piece
from arboretum_rivals.repro_study import fold_of, published, released, run

WORDS = "GOSDT's results as released: errors / n + λ · leaves"
PLACES = 0.5e-10
"""Half a unit of the last digit in which an accuracy is printed, as a share."""


def pieces(paper: Any) -> list[Piece]:
    return [Piece({"chapter": "released", "dataset": name}, 2.0) for name in published()["released"]["leaves_and_accuracy_percent"] if paper.wants(name)]


def work(key: Mapping[str, Any], seed: int, house: House) -> list[list[list[Any]]]:
    """Per λ and fold: rows, errors, leaves, whether it is proven."""
    table, found = released(house, key["dataset"]), []
    for lam in published()["released"]["lambdas"]:
        found.append([])
        for fold in range(5):
            train, _ = fold_of(table, fold)
            one = run(house, train, "gosdt", {"objective.lam": lam})
            found[-1].append([train.n_rows, one.errors, one.leaves, one.finished])
    return found


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    cells, paper = [], published()["released"]
    for key, found in results:
        for lam, own, printed in zip(paper["lambdas"], found, paper["leaves_and_accuracy_percent"][key["dataset"]], strict=True):
            for fold, ((n, errors, leaves, proven), one) in enumerate(zip(own, printed, strict=True)):
                if one is not None and proven:
                    theirs = 1 - one[1] / 100 + lam * one[0]
                    row, column = f"{key['dataset']}, fold {fold}", f"λ = {lam:g}"
                    cells.append(Cell.judged(WORDS, row, column, theirs, errors / n + lam * leaves, PLACES))
    if not cells:
        return Judgement()
    same = sum(abs(cell.ours - cell.published) <= Cell.LIMIT * PLACES for cell in cells)
    whole = sum(one is not None for rows in paper["leaves_and_accuracy_percent"].values() for row in rows for one in row)
    claim = Claim.judged(
        "GOSDT finds optimal trees: every result that the authors released for the monk problems has the least risk",
        same == len(cells) if len(cells) == whole or same < len(cells) else None, f"{same} of {len(cells)} are equal; {whole} have been released",
    )  # fmt: skip
    return Judgement.of_chapter("released results", {}, {"released_equal": float(same)}, cells=cells, claims=[claim])
