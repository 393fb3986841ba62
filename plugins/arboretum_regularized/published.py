"""What the paper reports, as data: Table 1, the means of five runs with unit prices, and the numbers of its protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

BASES = ("C4.5", "CART")
"""Plain algorithms, with the impurity that each stands for."""
IMPURITY = {"C4.5": "entropy", "CART": "gini", "EC4.5": "entropy", "ECART": "gini"}
GROWN = ("C4.5", "CART", "EC4.5", "ECART", "ASR", "IP", "BAL")
"""The algorithms that grow a tree, in the order of the paper's tables."""
PRUNED = tuple(f"p{name}" for name in IMPURITY)
ALGORITHMS = (*GROWN, *PRUNED)
"""Eleven per price setting; with random prices the plain ones are the cost-benefit ones, under the names of :func:`called`."""
UNIT, RANDOM = "unit", "random"
PRICES = (UNIT, RANDOM)
AUTHORS, PAPER = "authors", "paper"
VARIANTS = (AUTHORS, PAPER)
"""How the score is read: as the authors' program has it, or as the paper prints it."""
MEASURES = ("roc_auc", "expected_cost")
"""The measures of which numbers are published."""


def called(algorithm: str, prices: str) -> str:
    """The name of an algorithm under a price setting: with random prices C4.5 is CC4.5, pCART is pCCART."""
    if prices == UNIT or algorithm.removeprefix("p") not in BASES:
        return algorithm
    base = algorithm.removeprefix("p")
    return f"{'p' if algorithm != base else ''}C{base}"


@attrs.frozen(eq=False)
class Published:
    """datasets : name → (rows, tests, classes), Table 1.   adjusted : name → fields of the data set component.

    results : (data set, algorithm, measure) → mean of five runs with unit prices.   seconds : (data set, algorithm) → running
    time of the authors' program.   to_cc45 : algorithm → mean ratio of its seconds to those of CC4.5.   sweep : (data set, λ, measure) → mean of EC4.5 with unit prices and that λ; validation AUC.
    captions : (data set, preset) → test AUC and expected height of the tree drawn.   theta, lambdas, alphas, runs : of the
    protocol.
    """

    datasets: Mapping[str, tuple[int, int, int]]
    adjusted: Mapping[str, Mapping[str, Any]]
    results: Mapping[tuple[str, str, str], float]
    seconds: Mapping[tuple[str, str], float]
    to_cc45: Mapping[str, float]
    sweep: Mapping[tuple[str, float, str], float]
    captions: Mapping[tuple[str, str], tuple[float, float]]
    theta: float
    lambdas: tuple[float, ...]
    alphas: tuple[float, ...]
    runs: int

    @property
    def sweep_lambdas(self) -> tuple[float, ...]:
        """Those of Figure 2, from small to large."""
        return tuple(sorted({lam for _, lam, _ in self.sweep}))


@lru_cache(maxsize=1)
def published() -> Published:
    """The numbers as printed."""
    data = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
    results, seconds = {}, {}
    for dataset, rows in data["results"].items():
        for kind, values in zip(data["measures"], rows, strict=True):
            for algorithm, value in zip(data["algorithms"], values, strict=True):
                if value is None:
                    continue
                if kind == "seconds":
                    seconds[dataset, algorithm] = value
                else:
                    pruned = kind.startswith("pruned_")
                    results[dataset, f"p{algorithm}" if pruned else algorithm, kind.removeprefix("pruned_")] = value
    return Published(
        datasets={name: (row["rows"], row["tests"], row["classes"]) for name, row in data["datasets"].items()},
        adjusted=data["adjusted"],
        results=results,
        seconds=seconds,
        to_cc45=data["seconds_to_cc45"],
        sweep={
            (name, float(lam), measure): value
            for name, rows in data["lambda_sweep_of_ec45"].items()
            for measure, values in zip(MEASURES, rows, strict=True)
            for lam, value in zip(data["lambda_figure_2"], values, strict=True)
        },
        captions={(name, preset): tuple(values) for name, rows in data["captions"].items() for preset, values in rows.items()},
        theta=data["theta"],
        lambdas=tuple(map(float, data["lambdas"])),
        alphas=tuple(map(float, data["alphas"])),
        runs=data["runs"],
    )
