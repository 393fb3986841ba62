"""Tests of methods over data sets: by ranks (Demšar 2006), by blocks of one data set (Nadeau &
Bengio 2003), and by what is probable (Benavoli, Corani, Demšar & Zaffalon 2017).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arboretum.api import (
    AgainstControl,
    DataError,
    Estimate,
    Facts,
    Listing,
    Pairwise,
    RankDiagram,
    Repeats,
    Section,
    Terms,
    comparison,
    param,
)

DEMSAR = (
    "J. Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7 (2006), 1-30"
)
TUTORIAL = (
    "A. Benavoli, G. Corani, J. Demšar, M. Zaffalon, Time for a Change: a Tutorial for Comparing "
    "Multiple Classifiers Through Bayesian Analysis, JMLR 18(77) (2017), 1-36"
)
LEVEL = 0.95
"""Probability from which on a Bayesian test is said to have decided."""
MOST_DRAWN = 40
"""Methods up to which their ranks are drawn."""
MOST_PAIRS = 60
"""Pairs up to which all are compared; of more methods each is compared with one."""


def pairs_of(repeats: Repeats, control: str) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Return the pairs of numbers of methods to compare, and a note where they are not all: those
    with the control, or of very many methods those with the one of best average rank.
    """
    k = len(repeats.methods)
    if k < 2:
        raise DataError(f"a comparison needs two or more methods, not {k}")
    pairs = list(itertools.combinations(range(k), 2))
    if control:
        one = repeats.scores().method(control)
        return [(one, other) for other in range(k) if other != one], ()
    if len(pairs) <= MOST_PAIRS:
        return pairs, ()
    one = int(np.argmin(comparison.average_ranks(repeats.scores())))
    name = repeats.methods[one]
    return [(one, other) for other in range(k) if other != one], (
        f"Of {len(pairs)} pairs those with {name} alone, the best by average rank; "
        f"--control NAME chooses another.",
    )


def diagrams(test: Pairwise | AgainstControl, name: str, title: str) -> dict[str, RankDiagram]:
    """Return the critical-difference diagram of a test by its file's name; none of so many methods
    that nobody could read it.
    """
    few = len(test.methods) <= MOST_DRAWN
    return {name: comparison.rank_diagram(test, title)} if few else {}


def pair_rows(test: Pairwise) -> list[Facts]:
    """Return a row per pair of a test of all pairs, the clearest first."""
    rows: list[Facts] = [
        {
            "first": test.methods[i],
            "second": test.methods[j],
            "ranks apart": float(abs(test.ranks[i] - test.ranks[j])),
            "p": float(test.p[i, j]),
            "differ": bool(test.different[i, j]),
        }
        for i, j in itertools.combinations(range(len(test.methods)), 2)
    ]
    return sorted(rows, key=lambda row: float(row["p"]))


def pair_sentence(test: Pairwise) -> str:
    """ "1 of 3 pairs differ: cart and random." """
    k = len(test.methods)
    found = [(i, j) for i, j in itertools.combinations(range(k), 2) if test.different[i, j]]
    named = [f"{test.methods[i]} and {test.methods[j]}" for i, j in found[:6]]
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return f"{len(found)} of {k * (k - 1) // 2} pairs differ" + (
        f": {', '.join(named)}{more}." if found else "."
    )


@attrs.frozen
class FriedmanTest:
    """Whether average ranks differ by more than chance: χ², and the F of Iman and Davenport, which
    is less conservative.
    """

    kind, name, asks, capabilities = "comparison", "friedman", "overall", ()
    paper = DEMSAR

    correct_ties: bool = param(True, "divide χ² by what ties take away (most papers do not)")

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return the answer in a sentence; needs three methods and two data sets."""
        scores = repeats.scores()
        found = comparison.friedman(scores, correct_ties=self.correct_ties)
        n, k = found.n, found.k
        differ = found.f_p <= terms.alpha
        sentences = [
            ("Some methods differ" if differ else "No difference is found")
            + f" (F {found.f:.4g} with {k - 1} and {(k - 1) * (n - 1)} degrees of freedom, "
            f"p = {found.f_p:.3g}; χ² {found.chi_square:.4g} with {k - 1}, p = {found.p:.3g})."
        ]
        notes = list(comparison.gap_notes(scores))
        if not differ:
            notes.append("A pair that is found different below may be chance.")
        least_n, least_k = comparison.CHI_SQUARE_NEEDS
        if n <= least_n or k <= least_k:
            notes.append(f"With {n} data sets and {k} methods χ² is rough; the sentence goes by F.")
        return Section("Friedman", sentences, notes=notes)


@attrs.frozen
class Nemenyi:
    """Which pairs of average ranks are further apart than the critical difference
    q·√(k(k+1)/(6N)), with the diagram.
    """

    kind, name, asks, capabilities = "comparison", "nemenyi", "pairs", ()
    paper = DEMSAR

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return the diagram and the pairs; needs two methods and two data sets."""
        test = comparison.nemenyi(repeats.scores(), terms.alpha)
        words = f"critical difference of average ranks {test.critical_difference:.4g}"
        diagram = diagrams(test, "nemenyi", f"Average ranks by {repeats.measure}")
        return Section(
            "Nemenyi",
            [pair_sentence(test).rstrip(".") + f" ({words})."],
            [Listing("nemenyi", "Pairs by average ranks, the clearest first", pair_rows(test))],
            diagram,
            test.notes,
        )


@attrs.frozen
class WilcoxonHolm:
    """Which pairs differ by their values: Wilcoxon's signed-rank test of each, p adjusted by Holm's
    steps; what other methods reach does not matter for a pair.
    """

    kind, name, asks, capabilities = "comparison", "wilcoxon_holm", "pairs", ()
    paper = DEMSAR

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return the pairs; needs six data sets at 0.05."""
        test = comparison.wilcoxon_holm(repeats.scores(), terms.alpha)
        rows = [
            {name: cell for name, cell in row.items() if name != "ranks apart"}
            for row in pair_rows(test)
        ]
        listing = Listing("wilcoxon_holm", "Pairs by their means, the clearest first", rows)
        return Section("Wilcoxon–Holm", [pair_sentence(test)], [listing], notes=test.notes)


@attrs.frozen
class BonferroniDunn:
    """Which methods' average ranks are further from the control's than a critical difference that
    is smaller than Nemenyi's, as it asks less.
    """

    kind, name, asks, capabilities = "comparison", "bonferroni_dunn", "control", ()
    paper = DEMSAR

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return the diagram and a row per method; needs two methods and two data sets."""
        test = comparison.bonferroni_dunn(repeats.scores(), terms.control, terms.alpha)
        diagram = diagrams(test, "bonferroni_dunn", f"Average ranks against {terms.control}")
        return Section(
            "Bonferroni–Dunn",
            [self._sentence(test)],
            [
                Listing(
                    "bonferroni_dunn",
                    f"Methods against {terms.control}, best average rank first",
                    self._rows(test),
                )
            ],
            diagram,
            test.notes,
        )

    @staticmethod
    def _sentence(test: AgainstControl) -> str:
        names = [m for m, other in zip(test.methods, test.different, strict=True) if other]
        control = test.methods[test.control]
        answer = f"{', '.join(names)} differ" if names else "no method differs"
        return (
            f"From {control} {answer} (critical difference of average ranks "
            f"{test.critical_difference:.4g})."
        )

    @staticmethod
    def _rows(test: AgainstControl) -> list[Facts]:
        return [
            {
                "method": test.methods[m],
                "average rank": float(test.ranks[m]),
                "p": None if m == test.control else float(test.p[m]),
                "differs": None if m == test.control else bool(test.different[m]),
            }
            for m in np.argsort(test.ranks, kind="stable").tolist()
        ]


def on_each(
    repeats: Repeats, control: str, judged: Callable[[np.ndarray, float], Facts]
) -> tuple[list[Facts], list[str]]:
    """Return a row per data set and pair, and notes on those that cannot be judged.

    judged : of the differences of a pair on a data set and its share of rows that judge, or a
        DataError.
    """
    pairs, notes = pairs_of(repeats, control)
    rows: list[Facts] = []
    refused: dict[str, list[str]] = {}
    for d, dataset in enumerate(repeats.datasets):
        for i, j in pairs:
            first, second = repeats.methods[i], repeats.methods[j]
            try:
                found = judged(repeats.differences(d, i, j), repeats.test_share(d))
            except DataError as error:
                refused.setdefault(str(error), []).append(f"{first} and {second} on {dataset}")
                continue
            rows.append({"data set": dataset, "first": first, "second": second, **found})
    if not rows:
        raise DataError(next(iter(refused), "there is nothing to compare"))
    left_out = [
        f"Left out: {', '.join(at[:3])}{f' and {len(at) - 3} more' if len(at) > 3 else ''}: {why}."
        for why, at in refused.items()
    ]
    return rows, [*notes, *left_out]


def tally(rows: Sequence[Facts]) -> list[Facts]:
    """Return per pair on how many data sets the first is found better, the second, neither."""
    found: dict[tuple[str, str], Facts] = {}
    for row in rows:
        pair = str(row["first"]), str(row["second"])
        one = found.setdefault(
            pair,
            {"first": pair[0], "second": pair[1], "first better": 0, "open": 0, "second better": 0},
        )
        one[{pair[0]: "first better", pair[1]: "second better"}.get(row["better"], "open")] += 1
    return list(found.values())


@attrs.frozen
class CorrectedT:
    """Which methods differ on a data set: the corrected resampled t-test of their differences in
    blocks (folds, repeats) that both ran on, p adjusted by Holm's steps over all of them.
    """

    kind, name, asks, capabilities = "comparison", "corrected_t", "datasets", ()
    paper = (
        "C. Nadeau, Y. Bengio, Inference for the Generalization Error, Machine Learning 52 (2003), "
        "239-281"
    )

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return a row per data set and pair; needs two blocks and rows that judge."""

        def judged(differences: np.ndarray, test_share: float) -> Facts:
            found = comparison.corrected_t(differences, test_share)
            apart = Estimate(found.mean, found.error)
            return {"by": apart, "blocks": found.n, "t": found.t, "p": found.p}

        rows, notes = on_each(repeats, terms.control, judged)
        adjusted = comparison.holm(np.array([row["p"] for row in rows]))
        for row, p in zip(rows, adjusted.tolist(), strict=True):
            row["p (Holm)"] = p
            first = float(row["by"]) > 0
            row["better"] = (row["first"] if first else row["second"]) if p <= terms.alpha else None
        n = sum(row["better"] is not None for row in rows)
        sentence = f"{n} of {len(rows)} pairs on a data set differ, p adjusted for all of them."
        return Section(
            "Corrected resampled t",
            [sentence],
            [
                Listing(
                    "corrected_t_counts",
                    "Data sets on which one of a pair is significantly better",
                    tally(rows),
                ),
                Listing(
                    "corrected_t",
                    "By how much the first is better (± corrected standard error)",
                    rows,
                ),
            ],
            notes=notes,
        )


@attrs.frozen
class BayesianT:
    """How probable it is on a data set that one method is better than another, or practically
    alike: Student's t around their mean difference, its variance corrected for shared rows.

    Computed exactly, of a prior that knows nothing (p(μ, ν) ∝ 1/ν).
    """

    kind, name, asks, capabilities = "comparison", "bayesian_t", "datasets", ()
    paper = (
        "G. Corani, A. Benavoli, A Bayesian Approach for Comparing Cross-Validated Algorithms on "
        "Multiple Data Sets, Machine Learning 100 (2015), 285-304"
    )

    level: float = param(LEVEL, "probability from which on it has decided", gt=0.5, lt=1)

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return a row per data set and pair; needs two blocks and rows that judge."""

        def judged(differences: np.ndarray, test_share: float) -> Facts:
            found = comparison.bayesian_t(differences, test_share, terms.rope)
            return probabilities(found, terms.rope) | {"verdict": found.verdict(self.level)}

        rows, notes = on_each(repeats, terms.control, judged)
        decide(rows)
        better, alike = (
            sum(row["better"] is not None for row in rows),
            sum(row["verdict"] == "alike" for row in rows),
        )
        rest = len(rows) - better - alike
        sentence = f"At probability {self.level:g}, of {len(rows)} pairs on a data set one is " + (
            f"better in {better}, both are practically alike in {alike}, and {rest} are open."
            if terms.rope
            else f"better in {better}, and {rest} are open."
        )
        listing = Listing(
            "bayesian_t",
            "Probability that the first, neither, or the second is better",
            [{name: cell for name, cell in row.items() if name != "verdict"} for row in rows],
        )
        about = region(repeats.measure, terms.rope)
        return Section("Bayesian correlated t", [sentence, about], [listing], notes=notes)


def probabilities(found: comparison.Posterior, rope: float) -> Facts:
    """Return the columns of a posterior; alike only where there is a region."""
    alike = {"P(alike)": found.alike} if rope else {}
    return {"P(first)": found.better, **alike, "P(second)": found.worse}


def decide(rows: Sequence[Facts]) -> None:
    """Name in each row, by its verdict, the method that is better; None for neither."""
    for row in rows:
        row["better"] = {"better": row["first"], "worse": row["second"]}.get(row["verdict"])


def region(measure: str, rope: float) -> str:
    """Return what counts as alike, in a sentence."""
    return (
        f"Practically alike: {measure} within ±{rope:g}."
        if rope
        else f"No region of practical equivalence is set for {measure} (--rope)."
    )


@attrs.frozen
class BayesianSignedRank:
    """How probable it is that, on a data set like these, one method is better than another, or
    practically alike: the signed-rank test by draws from a Dirichlet process.
    """

    kind, name, asks, capabilities = "comparison", "bayesian_signed_rank", "pairs", ("randomised",)
    paper = TUTORIAL

    level: float = param(LEVEL, "probability from which on it has decided", gt=0.5, lt=1)
    prior: float = param(0.5, "weight of the prior, a data set without a difference", gt=0)
    samples: int = param(50_000, "draws; standard error at most 0.5/√samples", ge=100)
    seed: int = param(0, "of the draws", ge=0)

    def judge(self, repeats: Repeats, terms: Terms) -> Section:
        """Return a row per pair; needs two data sets on which both have results."""
        scores = repeats.scores()
        pairs, notes = pairs_of(repeats, terms.control)
        rows: list[Facts] = []
        refused = []
        for i, j in pairs:
            apart = scores.values[:, i] - scores.values[:, j]
            apart = (apart if scores.higher_is_better else -apart)[~np.isnan(apart)]
            both = {"first": scores.methods[i], "second": scores.methods[j]}
            try:
                found = comparison.bayesian_signed_rank(
                    apart, terms.rope, prior=self.prior, samples=self.samples, seed=self.seed
                )
            except DataError as error:
                refused.append(f"Left out: {both['first']} and {both['second']}: {error}.")
                continue
            columns = probabilities(found, terms.rope)
            rows.append({**both, "data sets": len(apart), **columns, "verdict": found})
        if not rows:
            raise DataError(refused[0].removeprefix("Left out: ").rstrip("."))
        for row in rows:
            row["verdict"] = row["verdict"].verdict(self.level)
        decide(rows)
        named = [
            f"{row['better']} over {row['second' if row['better'] == row['first'] else 'first']}"
            for row in rows
            if row["better"] is not None
        ]
        alike = [f"{row['first']} and {row['second']}" for row in rows if row["verdict"] == "alike"]
        sentences = [
            f"At probability {self.level:g} better: {', '.join(named[:6]) or 'none'}"
            + (f" and {len(named) - 6} more" if len(named) > 6 else "")
            + "."
        ]
        if alike:
            more = f" and {len(alike) - 6} more" if len(alike) > 6 else ""
            sentences.append(f"Practically alike: {', '.join(alike[:6])}{more}.")
        sentences.append(region(repeats.measure, terms.rope))
        drawn = (
            f"{self.samples} draws from seed {self.seed}, prior of weight {self.prior:g} at 0: a "
            f"probability has a standard error of at most {0.5 / self.samples**0.5:.2g}."
        )
        listing = Listing(
            "bayesian_signed_rank",
            "Probability that the first, neither, or the second is better on a data set like these",
            [{name: cell for name, cell in row.items() if name != "verdict"} for row in rows],
        )
        return Section(
            "Bayesian signed-rank", sentences, [listing], notes=[*notes, *refused, drawn]
        )
