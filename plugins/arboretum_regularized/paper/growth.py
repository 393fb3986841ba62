"""Figure 15: the seconds that growing takes, by objects and by tests, on one data set of many
objects and one of many tests.

The paper shows two selected data sets and does not say which; here they are the one of the twenty
with the most objects and the one with the most tests.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs
import numpy as np

from arboretum.api import (
    Claim,
    Context,
    Facts,
    Judgement,
    Key,
    Keyed,
    LineChart,
    Piece,
    Problem,
    Scores,
    Services,
    comparison,
    csv_text,
    sure,
)
from arboretum_regularized.paper.claims import MEASURABLE
from arboretum_regularized.paper.protocol import (
    Measured,
    TrainingSplit,
    price_list,
    training_objects,
    training_split,
)
from arboretum_regularized.paper.reproduction import Regularized
from arboretum_regularized.paper.results import PAPER, UNIT
from arboretum_regularized.paper.study import recipe


class Growth(NamedTuple):
    """What is noted of a growth, or its mean over the splits.   A file of results holds lists.

    cut : "objects" or "tests", of which a part was left out.
    objects, tests : that were left.
    seconds : of processor time, to grow.
    depth : average depth of the tree.
    """

    method: str
    cut: str
    objects: float
    tests: float
    seconds: float
    depth: float


DATASETS = {"covertype": 900.0, "bioresponse": 700.0}
"""The two data sets, and what a piece costs."""
SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)
METHODS = ("C4.5", "EC4.5")
SPLITS = 5
OVER = ("seconds over objects", "seconds over tests", "depth over the logarithm of objects")


def pieces(paper: Regularized) -> list[Piece]:
    """Return one per data set and split; none where no times are asked for."""
    return [
        Piece({"chapter": "growth", "dataset": name, "seed": seed}, cost)
        for name, cost in DATASETS.items()
        if paper.times and paper.wants(name)
        for seed in range(SPLITS)
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return "rows", the fields of a :class:`Growth` each.

    Cut are rows at random, and columns at random with all their tests; λ of EC4.5 is 100, as when
    it is not tuned.  Useless tests do not compete: where columns are missing some objects cannot be
    told apart, and all tests would be asked there.
    """
    run = seed + key["seed"]
    whole, rows = training_split(services, key["dataset"], run), []
    price = price_list(services, whole.objects, UNIT, run)
    for kind, cut in (("objects", _fewer_rows), ("tests", _fewer_columns)):
        for share in SHARES if kind == "objects" else SHARES[1:]:
            part = cut(whole, share, run)
            for method in METHODS:
                problem = Problem(
                    part.objects,
                    price_list(services, part.objects, UNIT, run),
                    recipe(services, method, UNIT, PAPER, part.theta),
                )
                method_of = sure(problem.parts.method)
                if hasattr(method_of, "warm_up"):
                    method_of.warm_up(problem, Context())
                start = time.process_time()
                tree = sure(method_of.fit(problem, Context()).tree)
                seconds = time.process_time() - start
                found = Measured.of(tree, part, price)
                rows.append(
                    [
                        method,
                        kind,
                        part.objects.n_objects,
                        part.objects.n_tests,
                        round(seconds, 6),
                        found.expected_cost,
                    ]
                )
    return {"rows": rows}


def _fewer_rows(whole: TrainingSplit, share: float, seed: int) -> TrainingSplit:
    """Return a training split of some of the training rows; validation and test rows stay.

    share : of the rows that train, 0 … 1; which, is drawn by ``seed``.
    """
    rows = np.sort(
        np.random.default_rng([seed, 15]).permutation(whole.rows)[: round(share * len(whole.rows))]
    )
    objects, origin = training_objects(whole.coded, rows)
    return attrs.evolve(
        whole, objects=objects, origin=origin, train=whole.coded.tally(rows), rows=rows
    )


def _fewer_columns(whole: TrainingSplit, share: float, seed: int) -> TrainingSplit:
    """Return the same objects with some of the columns; objects that no test tells apart any more
    stay two.

    share : of the columns, 0 … 1, one at least; which, is drawn by ``seed``.
    """
    n = len(whole.objects.features)
    kept = np.sort(np.random.default_rng([seed, 15]).permutation(n)[: max(1, round(share * n))])
    features = tuple(whole.objects.features[f] for f in kept)
    codes = np.asfortranarray(whole.objects.codes[:, kept])
    return attrs.evolve(whole, objects=attrs.evolve(whole.objects, features=features, codes=codes))


def judge(results: Keyed) -> Judgement:
    """Return the exponents with their 95 % intervals, three sentences by them, a table and charts;
    no verdict on one data set or on short times.
    """
    found = {
        name: _average_over_splits(
            [result["rows"] for key, result in results if key["dataset"] == name]
        )
        for name in DATASETS
    }
    found = {name: own for name, own in found.items() if own}
    laws = {
        (name, method): _fitted_exponents([line for line in own if line.method == method])
        for name, own in found.items()
        for method in METHODS
    }
    rows = [
        [name, *line[:2], *(f"{x:.6g}" for x in line[2:])]
        for name, own in found.items()
        for line in own
    ]
    heads = "dataset method cut objects tests seconds average_depth"
    pictures = {
        f"growth_{name}_{kind}": _draw_chart(name, own, kind)
        for name, own in found.items()
        for kind in ("objects", "tests")
    }
    metrics = {
        f"{name}/{method}/{over}": law.middle
        for (name, method), own in laws.items()
        for over, law in zip(OVER, own, strict=True)
    }
    return Judgement.of_chapter(
        "growing time (Figure 15)",
        {"datasets": ",".join(found)},
        metrics,
        claims=_claims(found, laws),
        tables={"growth.csv": csv_text([heads.split(), *rows])},
        pictures=pictures,
    )


def _claims(
    found: Mapping[str, Sequence[Growth]], laws: Mapping[tuple[str, str], Sequence[Exponent]]
) -> list[Claim]:
    """Return the sentences on times, where the slowest growth of each method can be measured, and
    on the height.

    found : data set → growths.
    laws : (data set, method) → an exponent per word of :data:`OVER`.
    """
    both = len(found) == len(DATASETS)
    slow = (
        both
        and min(
            max(line.seconds for line in own if line.method == method)
            for own in found.values()
            for method in METHODS
        )
        > MEASURABLE
    )
    quick = (
        "quick for many objects or many tests, but not both: seconds grow with either (exponents "
        "above 0)"
    )
    worse = "the dependence on objects is slightly worse than that on tests"
    height = "the tree's height is about the logarithm of the number of objects (exponent 1)"
    return [
        _claim_of_growth(quick, laws, OVER[:2], slow, lambda n, m: min(n.low, m.low) > 0.0),
        _claim_of_growth(
            worse,
            laws,
            OVER[:2],
            slow,
            lambda n, m: True if n.low > m.high else False if n.high < m.low else None,
        ),
        _claim_of_growth(
            height, laws, OVER[2:], both, lambda log_n: log_n.low <= 1.0 <= log_n.high
        ),
    ]


def _average_over_splits(splits: Sequence[Sequence[Sequence[Any]]]) -> list[Growth]:
    """Return the growths with their numbers averaged over the splits, which all have the same.

    splits : the "rows" of each, as :func:`work` returns them.
    """
    return [
        Growth(*lines[0][:2], *np.mean([line[2:] for line in lines], axis=0).tolist())
        for lines in zip(*splits, strict=True)
    ]


@attrs.frozen
class Exponent:
    """y ≈ c · x^middle, and the 95 % interval of the exponent: least squares of logarithms,
    Student's t.
    """

    middle: float
    low: float
    high: float

    @staticmethod
    def of(points: Sequence[tuple[float, float]]) -> Exponent:
        """Fit the power law to points (x, y), all above 0.

        The interval is NaN for two points.  Raises DataError where a number is not above 0, or all
        x are equal.
        """
        from scipy.stats import t

        law = comparison.power_law(*np.array(points).T)
        reach = float(t.ppf(0.975, len(points) - 2)) * law.error
        return Exponent(law.exponent, law.exponent - reach, law.exponent + reach)

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.low:.2f} to {self.high:.2f})"


def _of(own: Sequence[Growth], kind: str) -> list[Growth]:
    """Return the growths of one cut, "objects" or "tests"; the first, of the whole table, belongs
    to both.
    """
    whole = own[0].objects, own[0].tests
    return [line for line in own if line.cut == kind or (line.objects, line.tests) == whole]


def _fitted_exponents(own: Sequence[Growth]) -> list[Exponent]:
    """Return an exponent per word of :data:`OVER`, by the growths of one method."""
    n, m = _of(own, "objects"), _of(own, "tests")
    over = (
        [(line.objects, line.seconds) for line in n],
        [(line.tests, line.seconds) for line in m],
        [(math.log(line.objects), line.depth) for line in n],
    )
    return [Exponent.of(points) for points in over]


def _claim_of_growth(
    sentence: str,
    laws: Mapping[tuple[str, str], Sequence[Exponent]],
    over: Sequence[str],
    ready: bool,
    holds: Callable[..., bool | None],
) -> Claim:
    """Return the claim that a sentence holds, for both methods on both data sets.

    laws : (data set, method) → an exponent per word of :data:`OVER`.
    over : the words of those that the sentence is about.
    ready : whether times can be measured; if not it is undecided.
    holds : exponents → True, False, or None where it is not shown.
    """
    shown = {
        place: [law for word, law in zip(OVER, own, strict=True) if word in over]
        for place, own in laws.items()
    }
    answers = [holds(*own) for own in shown.values()]
    undecided = not ready or (None in answers and False not in answers)
    words = (
        f"{name}, {method}: " + ", ".join(f"{w} {law}" for w, law in zip(over, own, strict=True))
        for (name, method), own in shown.items()
    )
    reported = f"Figure 15 (two data sets, unit prices): {sentence}"
    return Claim.judged(
        reported, None if undecided else all(answers), "exponents of " + "; ".join(words)
    )


def _draw_chart(name: str, own: Sequence[Growth], kind: str) -> LineChart:
    """Return the seconds over "objects" or "tests" (``kind``) of a data set, with the fitted
    powers.
    """
    by_method = [_of([line for line in own if line.method == method], kind) for method in METHODS]
    sizes = {f"part {number}": getattr(line, kind) for number, line in enumerate(by_method[0])}
    seconds = np.array([[line.seconds for line in lines] for lines in by_method]).T
    return comparison.growth_chart(
        Scores("seconds to grow", METHODS, list(sizes), seconds, False),
        sizes,
        f"{name}: fewer {kind}",
        axis=kind,
    )
