"""Theorem 1 on real tables: the greedy trees beside the least expected cost of any tree with the
same leaf rule.

Compared are all trees on the first split's objects and tests whose leaves have one class or a share
of at most θ; by the program's reading also those of at most two objects, which it does not divide.
A tree of the program may ask tests that divide nothing, which no cheapest tree does.  The tables
are those on which the minimum is proven within some seconds.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from arboretum.api import (
    Chapter,
    Claim,
    Context,
    Facts,
    Judgement,
    Key,
    Keyed,
    Piece,
    Plain,
    Prices,
    Problem,
    Services,
    Status,
    VerificationError,
    csv_text,
    sure,
)
from arboretum_regularized.paper.protocol import Measured, TrainingSplit, price_list, training_split
from arboretum_regularized.paper.reproduction import Regularized
from arboretum_regularized.paper.results import PROVEN, RANDOM, UNIT
from arboretum_regularized.paper.study import recipe

METHODS = {name: (name, UNIT) for name in ("C4.5", "EC4.5", "ECART", "ASR", "IP")} | {
    "CC4.5": ("C4.5", RANDOM)
}
"""Name → the algorithm, and the price setting in which the study has it under that name; λ is
100.
"""
MEGABYTES = 1500
"""For a proof."""
COST = 200.0


def pieces(paper: Regularized) -> list[Piece]:
    """Return one piece per table, price setting and reading that ``paper`` asks for."""
    return [
        Piece({"chapter": "certified", "dataset": name, "prices": p, "variant": v}, COST)
        for name, proven in PROVEN.items()
        if paper.wants(name)
        for p in proven
        if p in paper.prices
        for v in paper.variants
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return "methods": method → "expected_cost" of its tree and what the theorem has "promised"
    (None: nothing), "least": the proven least, "theta" and the number of "objects".

    Raises VerificationError when a tree is not what it says, or costs less than the least.
    """
    split = training_split(services, key["dataset"], seed)
    price = price_list(services, split.objects, key["prices"], seed)
    least = math.nan
    found: dict[str, Facts] = {}
    for method in METHODS:
        parts = recipe(services, *METHODS[method], key["variant"], split.theta)
        problem = Problem(split.objects, price, parts)
        cost = Measured.of(
            sure(sure(parts.method).fit(problem, Context()).tree), split, price
        ).expected_cost
        promises: Callable[[Problem], Plain] = getattr(parts.criterion, "promises", lambda _: {})
        found[method] = {
            "expected_cost": cost,
            "promised": promises(problem).get("expected_cost"),
        }
        if method == "EC4.5":
            least = _least_expected_cost(services, problem, split, price)
    slack = 4.0 * split.objects.n_objects * 2.0**-52 * max(1.0, least)
    if min(one["expected_cost"] for one in found.values()) < least - slack:
        raise VerificationError(
            f"verification failed: a tree on {key['dataset']} costs less than the proven "
            f"least, {least!r}"
        )
    return {
        "least": least,
        "theta": split.theta,
        "objects": split.objects.n_objects,
        "methods": found,
    }


def _least_expected_cost(
    services: Services, problem: Problem, split: TrainingSplit, price: Prices
) -> float:
    """Return the least expected cost of all trees, proven by the solver of subtables; raises
    VerificationError where it proves none.
    """
    solver = services.component("solver", "subtable_dp")
    complexity = services.component("complexity", "expected_cost")
    answer = solver.minima(problem, [complexity], Context(memory_bytes=MEGABYTES * 1_000_000))[0]
    if answer.status is not Status.optimal:
        raise VerificationError("verification failed: the least expected cost is not proven")
    return Measured.of(answer.tree, split, price).expected_cost


def judge(results: Keyed) -> Judgement:
    """Return ratios to the least per table; geometric means per price setting and reading; Theorem
    1's promise, with a verdict.
    """
    heads = "table objects theta prices variant method expected_cost least ratio theorem_1"
    rows = [heads.split()]
    ratios: dict[tuple[str, str], dict[str, list[float]]] = {}
    promised: dict[str, list[tuple[float, float]]] = {}
    for key, found in results:
        place, least = (key["prices"], key["variant"]), found["least"]
        for method, one in found["methods"].items():
            cost, promise = one["expected_cost"], one["promised"]
            ratios.setdefault(place, {}).setdefault(method, []).append(cost / least)
            if promise is not None:
                promised.setdefault(method, []).append((cost / least, promise))
            numbers = (
                f"{cost:.12g}",
                f"{least:.12g}",
                f"{cost / least:.6f}",
                "" if promise is None else f"{promise:.6g}",
            )
            rows.append(
                [key["dataset"], found["objects"], f"{found['theta']:g}", *place, method, *numbers]
            )
    tables = {"certified.csv": csv_text(rows)}
    chapters = [
        Chapter(
            f"ratio to the least, {variant} variant, {prices} prices",
            {"prices": prices, "variant": variant},
            {
                f"{what}/{method}": number
                for method, own in by_method.items()
                for what, number in _summary(own).items()
            },
            tables,
        )
        for (prices, variant), by_method in ratios.items()
    ]
    notes = [
        f"Expected cost by the proven least of any tree with the same leaf rule, {prices} "
        f"prices, {variant} variant, "
        f"{len(next(iter(own.values())))} tables (geometric mean, at most): "
        + ", ".join(
            "{} {mean:.3f}, {most:.3f}".format(method, **_summary(values))
            for method, values in own.items()
        )
        + "."
        for (prices, variant), own in ratios.items()
    ]
    claims = [_claim_theorem(promised)] if promised else []
    return Judgement(claims=claims, tables=tables, chapters=chapters, notes=notes)


def _summary(ratios: Sequence[float]) -> dict[str, float]:
    """Return the geometric "mean" of ratios, and what they are at "most"."""
    return {"mean": math.exp(math.fsum(map(math.log, ratios)) / len(ratios)), "most": max(ratios)}


def _claim_theorem(promised: Mapping[str, Sequence[tuple[float, float]]]) -> Claim:
    """Return the claim that no ratio is above its promise.

    promised : method → (ratio to the least expected cost, promised ratio) of each tree.
    """
    holds = all(ratio <= most for pairs in promised.values() for ratio, most in pairs)
    words = (
        f"{method} at most {max(ratio for ratio, _ in pairs):.3f} ({len(pairs)} proven), "
        f"promised {min(most for _, most in pairs):,.0f} or more"
        for method, pairs in promised.items()
    )
    return Claim.judged(
        "Theorem 1: expected cost is at most 20γ times the least", holds, ", ".join(words)
    )
