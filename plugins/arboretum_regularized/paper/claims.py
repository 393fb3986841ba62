"""The paper's sentences about its results, each with a verdict computed from ours.

A verdict goes by the authors' reading of the score, for the sentences are about their program; what
the paper's reading gives stands beside it.  A sentence about "some data sets" fails only when all
twenty have results; one about ranks needs :data:`ENOUGH` of them, one about times :data:`TIMED` on
which they can be measured.  A no is explained where the published means say no as well, or where
the other reading says yes.
"""

import math
from collections.abc import Callable, Mapping

import attrs
import numpy as np

from arboretum.api import Claim, Plain, Scores, comparison
from arboretum_regularized.paper.results import (
    AUTHORS,
    BASES,
    FAMILY,
    JUDGED,
    MEASURES,
    PAPER,
    PRICES,
    RANDOM,
    UNIT,
    WORDS,
    Part,
    Results,
    as_published,
    called,
    published,
)

ENOUGH = 15
"""Data sets that a sentence about ranks or means over the twenty needs."""
ALPHA = 0.05
SIMILAR = 0.05
"""Areas under the ROC curve that differ by less are called similar."""
TIMED, MEASURABLE = 3, 0.1
"""Data sets that a sentence about times needs, and the seconds from which on a time is measured
rather than noise.
"""
SKEWED = 1.5
"""Tests that C4.5's tree asks for each of EC4.5's, from which on it is called skewed."""
DRIFT = (
    "it holds for the score as printed; the program's impurity term, weighted by p(S_v) "
    "instead of p(S_v)/p(S), drifts to the "
    "cheapest test, useful or not, once prices differ"
)
"""Why a sentence about random prices fails by the authors' reading where it holds by the
paper's.
"""


@attrs.frozen
class Answer:
    """Whether a sentence holds by one reading; None: not shown.

    certain : whether more data sets could not change a no.
    """

    holds: bool | None
    words: str
    certain: bool = True


@attrs.frozen(eq=False)
class Case:
    """The results of one part, asked about one plain algorithm and its family.

    enhanced, pruned, both : its enhanced form, its own pruned tree, and that of the enhanced one.
    """

    found: Results
    part: Part
    base: str
    enhanced = property(lambda self: FAMILY[self.base][1])
    pruned = property(lambda self: FAMILY[self.base][5])
    both = property(lambda self: FAMILY[self.base][6])

    def scores(self, measure: str, *algorithms: str) -> Scores:
        """Of these algorithms; none named: of the family."""
        return self.found.scores(self.part, measure, algorithms or FAMILY[self.base])

    def ranks(self, measure: str) -> tuple[Mapping[str, float], float]:
        """Return (algorithm → average rank within its family, critical difference of
        Bonferroni–Dunn).

        Where Friedman's test finds no difference at all, no two are told apart: the critical
        difference is infinite.
        """
        scores = self.scores(measure)
        test = comparison.bonferroni_dunn(scores, scores.methods[-1])
        reach = (
            float(test.critical_difference)
            if comparison.friedman(scores).p <= test.alpha
            else math.inf
        )
        return dict(zip(FAMILY[self.base], map(float, test.ranks), strict=True)), reach

    def pairs(self, one: str, other: str, measure: str) -> dict[str, tuple[float, float]]:
        """Return data set → (mean of one, mean of the other algorithm), where both are known.

        measure : "roc_auc", "expected_cost", "n_nodes" or "seconds".
        """
        means = {
            name: (
                self.found.mean(self.part, name, one, measure),
                self.found.mean(self.part, name, other, measure),
            )
            for name in self.found.datasets(self.part)
        }
        return {name: both for name, both in means.items() if not np.isnan(both).any()}

    def times(self, one: str, other: str) -> dict[str, tuple[float, float]]:
        """Return data set → seconds of both algorithms, where both can be measured."""
        return {
            name: pair
            for name, pair in self.pairs(one, other, "seconds").items()
            if min(pair) > MEASURABLE
        }


Question = Callable[[Case], Answer | None]


def claims(found: Results) -> list[Claim]:
    """Return every sentence that the results at hand can judge, with why where it fails."""
    made = []
    asked = [
        (prices, base, words, ask)
        for settings, bases, some in ASKED
        for prices in settings
        for base in bases
        for words, ask in some
    ]
    for prices, base, words, question in asked:
        sentence = words.format(
            base=base,
            called=called(base, prices),
            e=FAMILY[base][1],
            p=FAMILY[base][5],
            pe=FAMILY[base][6],
        )
        cases = {
            v: Case(found, Part(prices, v), base)
            for v in (AUTHORS, PAPER)
            if Part(prices, v) in found.parts
        }
        known = {
            variant: answer
            for variant, case in cases.items()
            if (answer := question(case)) is not None
        }
        judged = known.get(AUTHORS) or known.get(PAPER)
        if judged is None or (judged.holds is False and not judged.certain):
            continue
        evidence = "; ".join(
            f"{variant} variant: {'no, ' if a.holds is False else ''}{a.words}"
            for variant, a in known.items()
        )
        reason = _reason_of_authors(prices, base, question, known) if judged.holds is False else ""
        made.append(
            Claim.judged(
                f"{prices.capitalize()} prices: {sentence}", judged.holds, evidence, reason
            )
        )
    return made


def _reason_of_authors(
    prices: str, base: str, question: Question, answers: Mapping[str, Answer]
) -> str:
    """Return why a sentence does not hold by the authors' reading, "" where nothing explains it.

    prices, base : of the case; question : of the sentence.
    answers : variant → what our trees say.
    """
    if prices == RANDOM:
        return DRIFT if len(answers) == 2 and answers[PAPER].holds else ""
    printed = None if question in BEYOND_THE_MEANS else question(Case(as_published(), JUDGED, base))
    return (
        f"the published means say no as well: {printed.words}"
        if printed and printed.holds is False
        else ""
    )


# -- ranks -----------------------------------------------------------------------------------------


def _of_ranks(question: Question) -> Question:
    """Return no answer where few data sets have results."""
    return lambda x: question(x) if len(x.found.datasets(x.part)) >= ENOUGH else None


@_of_ranks
def differ_at_all(x: Case) -> Answer:
    """Friedman's test of the average ranks, by AUC and by expected cost."""
    tests = {m: comparison.friedman(x.scores(m)) for m in MEASURES}
    words = (
        f"{WORDS[m][0]}: chi-square {t.chi_square:.1f}, p = {t.p:.2g}, F {t.f:.1f}, p = {t.f_p:.2g}"
        for m, t in tests.items()
    )
    return Answer(all(test.p <= ALPHA for test in tests.values()), ", ".join(words))


@_of_ranks
def behave_alike(x: Case) -> Answer:
    """The average rank of every algorithm in C4.5's family is within the critical difference
    of its counterpart's in CART's.
    """
    words, holds = [], True
    for measure in MEASURES:
        (first, reach), (second, other) = (
            attrs.evolve(x, base=base).ranks(measure) for base in BASES
        )
        gap, one, two = max(
            (abs(first[one] - second[two]), one, two)
            for one, two in zip(first, second, strict=True)
        )
        holds &= gap <= min(reach, other)
        words.append(
            f"{WORDS[measure][0]}: furthest apart {one} {first[one]:.2f} and {two} "
            f"{second[two]:.2f}, critical difference {reach:.2f}"
        )
    return Answer(holds, ", ".join(words))


def pruning_helps(x: Case) -> Answer | None:
    """pC4.5 is better than C4.5 on more data sets than not, by Wilcoxon's signed-rank test, in
    AUC and in expected cost.
    """
    if len(x.pairs(x.base, x.pruned, "expected_cost")) < ENOUGH:
        return None
    words, holds = [], True
    for measure in MEASURES:
        scores = x.scores(measure, x.base, x.pruned)
        change = scores.values[:, 1] - scores.values[:, 0]
        gain = change if scores.higher_is_better else -change
        p = float(comparison.wilcoxon_holm(scores).p[0, 1])
        holds &= bool(p <= ALPHA and (gain > 0).sum() > (gain < 0).sum())
        words.append(
            f"{WORDS[measure][0]}: better on {(gain > 0).sum()} of {len(gain)}, worse on "
            f"{(gain < 0).sum()}, p = {p:.2g}"
        )
    return Answer(holds, ", ".join(words))


@_of_ranks
def near_the_best(x: Case) -> Answer:
    """Rank of the pruned enhanced tree minus the best rank, against the critical difference."""
    words, holds = [], True
    for measure in MEASURES:
        ranks, reach = x.ranks(measure)
        best = min(ranks, key=ranks.__getitem__)
        holds &= ranks[x.both] - ranks[best] <= reach
        first = f"best {called(best, x.part.prices)} {ranks[best]:.2f}"
        words.append(
            f"{WORDS[measure][0]}: rank {ranks[x.both]:.2f}, {first}, critical difference "
            f"{reach:.2f}"
        )
    return Answer(bool(holds), ", ".join(words))


@_of_ranks
def above_most(x: Case) -> Answer:
    """At least three of base, ASR, IP and BAL are worse by more than the critical difference, in
    one of the measures.
    """
    beaten: dict[str, list[str]] = {}
    for measure, short in zip(MEASURES, ("AUC", "cost"), strict=True):
        ranks, reach = x.ranks(measure)
        for other in (
            base for base in (x.base, "ASR", "IP", "BAL") if ranks[base] - ranks[x.both] > reach
        ):
            beaten.setdefault(other, []).append(short)
    words = ", ".join(
        f"{called(name, x.part.prices)} ({' and '.join(where)})" for name, where in beaten.items()
    )
    return Answer(len(beaten) >= 3, f"better than {words or 'none'}")


def _compare_two(
    x: Case, one: str, other: str, measure: str, holds: Callable[[float, float], bool]
) -> Answer:
    """Return what the difference of two average ranks says.

    one, other : algorithms.
    holds : rank of one − rank of other, critical difference → whether the sentence does.
    """
    ranks, reach = x.ranks(measure)
    return Answer(
        holds(ranks[one] - ranks[other], reach),
        f"ranks {ranks[one]:.2f} and {ranks[other]:.2f}, critical difference {reach:.2f}",
    )


@_of_ranks
def pruned_plain_near_enhanced(x: Case) -> Answer:
    """Ranks of pC4.5 and EC4.5 in expected cost are within the critical difference."""
    return _compare_two(
        x, x.pruned, x.enhanced, "expected_cost", lambda gap, reach: abs(gap) <= reach
    )


@_of_ranks
def pruning_cuts_size(x: Case) -> Answer:
    """The pruned plain tree has the better average rank in size."""
    return _compare_two(x, x.pruned, x.enhanced, "n_nodes", lambda gap, reach: gap < 0.0)


@_of_ranks
def dearer(x: Case) -> Answer:
    """The plain form's average rank in expected cost is above that of the pruned enhanced form
    by more than the difference.
    """
    return _compare_two(x, x.base, x.both, "expected_cost", lambda gap, reach: gap > reach)


@_of_ranks
def balance_is_worst(x: Case) -> Answer:
    """BAL has the last average rank of its family in both measures."""
    both = {measure: x.ranks(measure)[0] for measure in MEASURES}
    last = {measure: max(ranks, key=ranks.__getitem__) for measure, ranks in both.items()}
    words = (
        f"{WORDS[m][0]}: last is {last[m]} {ranks[last[m]]:.2f}, BAL {ranks['BAL']:.2f}"
        for m, ranks in both.items()
    )
    return Answer(set(last.values()) == {"BAL"}, ", ".join(words))


@_of_ranks
def pairs_before_ranking(x: Case) -> Answer:
    """IP has the better average rank in both measures."""
    both = {measure: x.ranks(measure)[0] for measure in MEASURES}
    words = (
        f"{WORDS[m][0]}: IP {ranks['IP']:.2f}, ASR {ranks['ASR']:.2f}" for m, ranks in both.items()
    )
    return Answer(all(ranks["IP"] < ranks["ASR"] for ranks in both.values()), ", ".join(words))


@_of_ranks
def like_balance(x: Case) -> Answer:
    """Nemenyi's test tells neither ASR nor IP from BAL."""
    test = comparison.nemenyi(x.scores("roc_auc"))
    at = {name: FAMILY[x.base].index(name) for name in ("ASR", "IP", "BAL")}
    alike = not any(test.different[at[name], at["BAL"]] for name in ("ASR", "IP"))
    ranks = ", ".join(f"{name} {test.ranks[m]:.2f}" for name, m in at.items())
    return Answer(alike, f"ranks {ranks}, critical difference {test.critical_difference:.2f}")


# -- data set by data set --------------------------------------------------------------------------


def _claim_largest(
    x: Case,
    values: Mapping[str, float],
    holds: Callable[[float], bool],
    what: str,
    reported: str,
    unit: float = 1.0,
) -> Answer | None:
    """Return whether the largest value is as large as that, certain on all twenty data sets; the
    first three in words; None without values.

    values : data set → number; holds : number → whether.
    what : words before them; reported : format of a number, multiplied by ``unit``.
    """
    top = sorted(values, key=values.__getitem__)[::-1][:3]
    words = what + ", ".join(f"{name} {reported.format(unit * values[name])}" for name in top)
    return (
        Answer(
            holds(values[top[0]]), words, len(x.found.datasets(x.part)) == len(published().datasets)
        )
        if top
        else None
    )


def pruned_costs_about_twice(x: Case) -> Answer | None:
    """Somewhere the pruned plain tree's expected cost is at least 1.8 times the enhanced one's:
    what "about twice" is taken to be.  None without a data set that has both.
    """
    ratios = {
        name: a / b for name, (a, b) in x.pairs(x.pruned, x.enhanced, "expected_cost").items()
    }
    return _claim_largest(x, ratios, lambda ratio: ratio >= 1.8, "ratios ", "{:.2f}")


def pruning_changes_less(x: Case) -> Answer | None:
    """Return the mean absolute change of the AUC over data sets."""
    both = [x.pairs(name, f"p{name}", "roc_auc").values() for name in (x.base, x.enhanced)]
    if min(map(len, both)) < ENOUGH:
        return None
    plain, enhanced = (float(np.mean([abs(a - b) for a, b in pairs])) for pairs in both)
    return Answer(
        enhanced < plain, f"mean change {x.enhanced} {enhanced:.4f}, {x.base} {plain:.4f}"
    )


def pairs_behind(x: Case) -> Answer | None:
    """Somewhere IP's AUC is more than a tenth below ECART's."""
    short = {name: (b - a) / b for name, (a, b) in x.pairs("IP", x.enhanced, "roc_auc").items()}
    return _claim_largest(x, short, lambda share: share > 0.1, "", "{:.1f} %", 100.0)


def rarely_homogeneous(x: Case) -> Answer | None:
    """Less than half the rows of BAL's trees end in leaves of one class, and that, not useless
    tests, is most of their cost.
    """
    shares, costs, useless = (
        x.pairs("BAL", x.base, measure) for measure in ("pure", "expected_cost", "useless")
    )
    if len(shares) < ENOUGH:
        return None
    pure, plain = np.median(list(shares.values()), axis=0).tolist()
    wasted = float(
        np.median([useless[name][0] / costs[name][0] for name in costs if name in useless])
    )
    words = (
        f"{100 * pure:.0f} % of the rows end in leaves of one class ({x.base}: {100 * plain:.0f} "
        f"%), and {100 * wasted:.0f} % of the cost"
    )
    return Answer(
        pure < 0.5 and wasted < 0.5,
        f"{words} is of tests that divide nothing (medians of {len(shares)} data sets)",
    )


def _claim_on_times(times: Plain, holds: bool, words: str) -> Answer:
    """Return the answer ``holds``, without a verdict where times of fewer than TIMED data sets can
    be measured.

    times : data set → seconds.
    """
    if len(times) >= TIMED:
        return Answer(holds, words)
    return Answer(
        None,
        f"{len(times)} of the {TIMED} data sets needed take more than {MEASURABLE:g} s; {words}",
    )


def _middle(pairs: Mapping[str, tuple[float, float]]) -> float:
    return float(np.exp(np.mean([np.log(a / b) for a, b in pairs.values()]))) if pairs else math.nan


def slower(x: Case) -> Answer | None:
    """Return the geometric mean of the ratio of seconds lies between 3 and 4; beside it those of
    other pairs, and the published ones.
    """
    times, words = x.times(x.enhanced, x.base), []
    if not x.pairs(x.enhanced, x.base, "seconds"):
        return None
    for one, other in (("EC4.5", "C4.5"), ("ECART", "CART"), ("IP", "C4.5"), ("ASR", "C4.5")):
        ours = x.times(one, other)
        printed = Case(as_published(), JUDGED, x.base).pairs(one, other, "seconds")
        same = {name: printed[name] for name in ours}
        mine = (
            f"{_middle(ours):.2f} (published {_middle(same):.2f}; on all twenty"
            if ours
            else "(published"
        )
        words.append(f"{one}/{other} {mine} {_middle(printed):.2f})")
    random, ratios = attrs.evolve(x, part=Part(RANDOM, x.part.variant)), []
    for name, theirs in published().to_cc45.items():
        both = random.times(name, "C4.5").values()
        mean = f"{np.mean([a / b for a, b in both]):.2f}" if both else "–"
        ratios.append(f"{name} {mean} (published {theirs:.2f})")
    words = [
        f"geometric means on {', '.join(times) or 'none'}: " + ", ".join(words),
        "mean ratios to CC4.5: " + ", ".join(ratios),
    ]
    return _claim_on_times(times, 3.0 <= _middle(times) <= 4.0, "; ".join(words))


def skewed_takes_longer(x: Case) -> Answer | None:
    """Somewhere C4.5 takes longer than EC4.5, and its tree asks :data:`SKEWED` times as many
    tests of a row.
    """
    times, costs = x.times(x.enhanced, x.base), x.pairs(x.enhanced, x.base, "expected_cost")
    if not x.pairs(x.enhanced, x.base, "seconds"):
        return None
    longer = sorted(
        (a / b, name, costs[name][1] / costs[name][0]) for name, (a, b) in times.items() if a < b
    )
    words = ", ".join(
        f"{name} ({ratio:.2f} of the time with {x.enhanced}, {tests:.2f} times the tests)"
        for ratio, name, tests in longer
    )
    return _claim_on_times(
        times,
        any(tests >= SKEWED for _, _, tests in longer),
        f"{x.base} takes longer on {words or 'none'}",
    )


def no_saving(x: Case) -> Answer | None:
    """Return the median ratio of the cost-benefit form's expected cost to the plain form's, at the
    same prices, is at least 1.
    """
    ratios = np.array(
        [a / b for a, b in x.pairs(x.base, f"plain {x.base}", "expected_cost").values()]
    )
    if len(ratios) < ENOUGH:
        return None
    more, middle = int((ratios >= 1).sum()), float(np.median(ratios))
    return Answer(
        middle >= 1.0,
        f"median ratio {middle:.2f}; not lower on {more} of {len(ratios)} data sets (the "
        "paper shows no plain tree)",
    )


def up_to_ninety(x: Case) -> Answer | None:
    """Return the largest saving of the enhanced tree, pruned or not, among data sets with similar
    AUC is at least 85 %.
    """
    saved: dict[str, float] = {}
    for tree in (x.enhanced, x.both):
        costs, areas = (x.pairs(tree, x.base, measure) for measure in ("expected_cost", "roc_auc"))
        for name, (a, b) in costs.items():
            if name in areas and areas[name][0] >= areas[name][1] - SIMILAR:
                saved[name] = max(saved.get(name, 0.0), 1.0 - a / b)
    return _claim_largest(
        x, saved, lambda share: share >= 0.85, "largest savings ", "{:.0f} %", 100.0
    )


ASKED: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[str, Question], ...]], ...] = (
    (
        PRICES,
        BASES,
        (
            (
                "the seven of the family of {called} differ (Friedman's test, before any two "
                "are compared)",
                differ_at_all,
            ),
            (
                "{pe} does not differ significantly from the best performer, in AUC and in "
                "expected cost (Figures 3 and 4)",
                near_the_best,
            ),
            (
                "{pe} is significantly better than most of the four baselines, in AUC or in "
                "expected cost",
                above_most,
            ),
        ),
    ),
    (
        (UNIT,),
        ("C4.5",),
        (
            (
                "C4.5 and CART behave alike (every rank of one family is that of its counterpart)",
                behave_alike,
            ),
            (
                "post-pruning helps C4.5, in AUC and in expected cost (Wilcoxon's test)",
                pruning_helps,
            ),
        ),
    ),
    (
        (UNIT,),
        BASES,
        (
            ("in expected cost {p} ranks close to un-pruned {e}", pruned_plain_near_enhanced),
            (
                "on some data sets the expected cost of {p} is about twice that of {e}, or more",
                pruned_costs_about_twice,
            ),
            ("pruning changes the AUC of {e} less than that of {base}", pruning_changes_less),
            (
                "pruning cuts tree size more than the enhancement does ({p} ranks before {e})",
                pruning_cuts_size,
            ),
        ),
    ),
    (
        (UNIT,),
        ("C4.5",),
        (
            ("BAL is the worst in both AUC and expected cost", balance_is_worst),
            (
                "BAL's trees are long because their nodes rarely become homogeneous",
                rarely_homogeneous,
            ),
            ("IP is better than ASR in both AUC and expected cost", pairs_before_ranking),
        ),
    ),
    (
        (UNIT,),
        ("CART",),
        (("IP falls behind ECART by more than 10 % in AUC on some data sets", pairs_behind),),
    ),
    (
        (UNIT,),
        BASES,
        (
            (
                "ASR and IP do not differ significantly from BAL in AUC (Nemenyi, with the "
                "family of {base})",
                like_balance,
            ),
        ),
    ),
    (
        (UNIT,),
        ("C4.5",),
        (
            ("growing EC4.5 takes 3 to 4 times as long as C4.5", slower),
            (
                "there are data sets on which C4.5 takes longer than EC4.5, where its tree "
                "is skewed (1.5 times as many tests)",
                skewed_takes_longer,
            ),
        ),
    ),
    (
        (RANDOM,),
        BASES,
        (
            (
                "{called} fails to reduce the expected cost, against {base} grown without "
                "regard to prices",
                no_saving,
            ),
            ("{called} costs significantly more than {pe}", dearer),
            (
                "the enhanced trees, pruned or not, cost up to 90 % less than {called} at "
                "similar AUC (within 0.05)",
                up_to_ninety,
            ),
        ),
    ),
)
"""Price settings, plain algorithms, and what is asked of each; in the order of the paper's
section 6.
"""
BEYOND_THE_MEANS = (pruning_cuts_size, slower, skewed_takes_longer)
"""Questions that the published means cannot answer."""
