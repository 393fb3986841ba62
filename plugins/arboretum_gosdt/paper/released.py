"""The results that the authors released for the monk problems, held against the proven optimum of
the same rows.

Those of GOSDT and OSDT against the least risk for their λ; those of BinOCT and DL8.5 that ended in
time, and those of CART, against the most accurate tree of their depth.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arboretum.api import (
    Cell,
    Claim,
    Judgement,
    Key,
    Keyed,
    Known,
    Piece,
    Plain,
    Services,
    Table,
)
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import CALLED, load_released, published, run, split_fold

WORDS = "GOSDT's results as released: errors / n + λ · leaves"
BY_DEPTH = "{}'s results as released: errors / n of the best tree of a depth"
PLACES = 0.5e-10
"""Half a unit of the last digit in which an accuracy is printed, as a share."""
FOLDS = 5


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Two pieces per wanted monk problem: its optima for the released λs, and its best trees of the
    released depths.
    """
    names = [
        name for name in published()["released"]["leaves_and_accuracy_percent"] if paper.wants(name)
    ]
    return [
        Piece({"chapter": "released", "dataset": name, **limit}, 2.0)
        for limit in ({}, {"limit": "depth"})
        for name in names
    ]


def work(key: Key, seed: int, services: Services) -> list[list[list[Any]]]:
    """Per λ and fold: rows, errors, leaves, whether it is proven; by depths: rows, errors of the
    optimum, whether it is proven, CART's errors.
    """
    table, paper = load_released(services, key["dataset"]), published()["released"]
    trains = [split_fold(table, fold, FOLDS)[0] for fold in range(FOLDS)]
    if "limit" in key:
        return [
            [_solve_at_depth(services, train, depth) for train in trains]
            for depth in paper["others"]["depths"]
        ]
    return [[_solve_at_price(services, train, lam) for train in trains] for lam in paper["lambdas"]]


def _solve_at_price(services: Services, train: Table, lam: float) -> list[Any]:
    one = run(services, train, "gosdt", {"objective.lam": lam})
    return [train.n_rows, one.errors, one.leaves, one.finished]


def _solve_at_depth(services: Services, train: Table, depth: int) -> list[Any]:
    """Return the rows, errors and proof of the best tree of a depth, and the errors of CART's of at
    most that depth.
    """
    limit = {"stopping.standard.max_depth": depth}
    best = run(services, train, "gosdt", {**limit, "objective.lam": 0.0})
    greedy = run(
        services,
        train,
        "cart",
        {**limit, "stopping.standard.max_leaves": 2**depth, "method.order": "best"},
    )
    return [train.n_rows, best.errors, best.finished, greedy.errors]


def judge(results: Keyed) -> Judgement:
    """Return a cell per released result of GOSDT, and of those of DL8.5 and BinOCT that ended in
    time; a claim per method, OSDT and CART among them.  Empty without results.
    """
    priced = {key["dataset"]: found for key, found in results if "limit" not in key}
    limited = {key["dataset"]: found for key, found in results if "limit" in key}
    if not priced and not limited:
        return Judgement()
    cells, claims, paper = [], [], published()["released"]
    if priced:
        cells = list(_cells_of_gosdt(priced, paper))
        whole = _count_released(paper["leaves_and_accuracy_percent"])
        claims = [
            _judge_cells(
                "GOSDT finds optimal trees: every result that the authors released for the "
                "monk problems has the least risk",
                cells,
                whole,
            )
        ]
        claims.append(_judge_osdt(priced, paper["others"]["osdt_in_time"]))
    for name in ("dl85", "binoct") if limited else ():
        found = list(_cells_of_depth(limited, name, paper["others"]))
        whole = _count_released(paper["others"][name]) - sum(
            len(late)
            for rows in paper["others"].get(f"{name}_out_of_time", {}).values()
            for late in rows
        )
        words = (
            f"{CALLED[name]} finds the most accurate tree of a depth: every result that was "
            "released and ended in time is one"
        )
        claims.append(_judge_cells(words, found, whole))
        cells += found
    if limited:
        claims += [
            _judge_late_trees(limited, paper["others"]),
            _judge_cart(limited, paper["others"]["cart"]),
        ]
    same = float(sum(_is_equal(cell) for cell in cells))
    return Judgement.of_chapter(
        "released results", {}, {"released_equal": same}, cells=cells, claims=claims
    )


def _count_released(printed: Mapping[str, Sequence[Sequence[Any]]]) -> int:
    """Return how many results have been released: data set → per setting → per fold, None where
    none was.
    """
    return sum(one is not None for rows in printed.values() for row in rows for one in row)


def _is_equal(cell: Cell) -> bool:
    return abs(cell.ours - cell.published) <= Cell.LIMIT * PLACES


def _judge_cells(words: str, cells: Sequence[Cell], whole: int) -> Claim:
    """Judge whether all cells are equal; open while some are not asked and none differs.

    whole : how many have been released.
    """
    same = sum(map(_is_equal, cells))
    verdict = same == len(cells) if len(cells) == whole or same < len(cells) else None
    return Claim.judged(
        words, verdict, f"{same} of {len(cells)} are equal; {whole} have been released"
    )


def _released_results(
    found: Plain, printed: Plain, settings: Sequence[float]
) -> Iterator[tuple[str, int, float, Any, Any]]:
    """Yield (data set, fold, setting, ours, printed) of all results that were released.

    found : data set → per setting → per fold, what ``work`` returns there.
    printed : the same of the authors, None where nothing was released.
    settings : λs or depths, in their order.
    """
    for name, rows in found.items():
        for setting, own, theirs in zip(settings, rows, printed[name], strict=True):
            for fold, (mine, one) in enumerate(zip(own, theirs, strict=True)):
                if one is not None:
                    yield name, fold, setting, mine, one


def _cells_of_gosdt(priced: Plain, paper: Plain) -> Iterator[Cell]:
    """Yield a cell for each released risk, errors / n + λ · leaves, against the least one, wherever
    that is proven.
    """
    for name, fold, lam, (n, errors, leaves, proven), one in _released_results(
        priced, paper["leaves_and_accuracy_percent"], paper["lambdas"]
    ):
        if proven:
            yield Cell.judged(
                WORDS,
                f"{name}, fold {fold}",
                f"λ = {lam:g}",
                1 - one[1] / 100 + lam * one[0],
                errors / n + lam * leaves,
                PLACES,
            )


def _judge_osdt(priced: Plain, printed: Plain) -> Claim:
    """Judge whether OSDT's trees that were released as ended in time have the least risk; some are
    far from it.

    priced : data set → per λ → per fold (rows, errors, leaves, whether proven), ours.
    printed : the same of (leaves, accuracy in per cent).
    """
    gaps = [
        1 - one[1] / 100 + lam * one[0] - (errors / n + lam * leaves)
        for _, _, lam, (n, errors, leaves, proven), one in _released_results(
            priced, printed, published()["released"]["lambdas"]
        )
        if proven
    ]
    same, whole = sum(abs(gap) <= Cell.LIMIT * PLACES for gap in gaps), _count_released(printed)
    verdict = None if not gaps or (same == len(gaps) < whole) else same == len(gaps)
    reported = (
        f"{same} of {len(gaps)} have it, the others up to {max(gaps, default=0.0):.3g} more; "
        f"{whole} have been released"
    )
    return Claim.judged(
        "OSDT finds optimal trees: every result that was released and ended in time has the "
        "least risk",
        verdict,
        reported,
    )


def _cells_of_depth(limited: Plain, method: str, others: Plain) -> Iterator[Cell]:
    """Yield a cell for each released error of a method that ended in time, against the least of
    that depth, wherever that is proven.
    """
    late = others.get(f"{method}_out_of_time", {})
    for name, fold, depth, (n, errors, proven, _), one in _released_results(
        limited, others[method], others["depths"]
    ):
        if proven and fold not in (late[name][others["depths"].index(depth)] if late else ()):
            # a tree that is none of the best has an error more at least, but for rounding
            worse = Known(
                "the released tree is none of the best",
                (errors + 1) / n - Cell.LIMIT * PLACES,
                0.5,
                "our tree of the depth, replayed",
            )
            where = BY_DEPTH.format(CALLED[method]), f"{name}, fold {fold}", f"depth {depth}"
            yield Cell.judged(*where, 1 - one / 100, errors / n, PLACES, known=worse)


def _judge_late_trees(limited: Plain, others: Plain) -> Claim:
    """Judge whether BinOCT's trees are below the optimum when its time was out, more often than
    not; the others are optima without a proof.
    """
    worse = ended = 0
    for name, fold, depth, (n, errors, proven, _), one in _released_results(
        limited, others["binoct"], others["depths"]
    ):
        if proven and fold in others["binoct_out_of_time"][name][others["depths"].index(depth)]:
            ended, worse = ended + 1, worse + (1 - one / 100 - errors / n > Cell.LIMIT * PLACES)
    words = (
        "BinOCT's trees are not optimal after five minutes: released results that ran out of "
        "time are worse than the best tree of their depth"
    )
    return Claim.judged(
        words,
        2 * worse > ended if ended else None,
        f"{worse} of {ended} are worse; the others have no proof",
    )


def _judge_cart(limited: Plain, printed: Plain) -> Claim:
    """Judge whether none of CART's released trees is better than the best of its depth, and some
    are worse; ties decide which of several trees it grows.

    printed : data set → per depth → per fold, accuracy in per cent.
    """
    found = [
        (1 - one / 100, errors / n, own / n)
        for _, _, _, (n, errors, _, own), one in _released_results(
            limited, printed, published()["released"]["others"]["depths"]
        )
    ]
    above = sum(theirs >= best - Cell.LIMIT * PLACES for theirs, best, _ in found)
    same = sum(abs(theirs - own) <= Cell.LIMIT * PLACES for theirs, _, own in found)
    worse = sum(theirs > best + Cell.LIMIT * PLACES for theirs, best, _ in found)
    verdict = (
        None
        if len(found) < _count_released(printed) and above == len(found)
        else above == len(found) and worse > 0
    )
    reported = (
        f"{len(found) - above} of {len(found)} are better, {worse} are worse; {same} err as "
        "often as this project's CART, which breaks ties by column"
    )
    return Claim.judged(
        "CART's trees are not optimal: no released one is better than the best tree of its "
        "depth, and some are worse",
        verdict,
        reported,
    )
