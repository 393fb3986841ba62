"""The paper's sentences about its results, each with a verdict computed from ours.

A verdict goes by the authors' reading of the score, for the sentences are about their program; what the paper's reading gives
stands beside it.  A sentence about "some data sets" fails only when all twenty have results; one about ranks needs
:data:`ENOUGH` of them, one about times :data:`TIMED` on which they can be measured.  A no is explained where the published
means say no as well, or where the other reading says yes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import attrs
import numpy as np

from arboretum.api import Claim
from arboretum_regularized.known_differences import DRIFT
from arboretum_regularized.published import AUTHORS, BASES, PAPER, PRICES, RANDOM, UNIT, called, published
from arboretum_regularized.results import FAMILY, WORDS, Part, Results, as_published

ENOUGH = 15
"""Data sets that a sentence about ranks or means over the twenty needs."""
ALPHA = 0.05
SIMILAR = 0.05
"""Areas under the ROC curve that differ by less are called similar."""


TIMED, MEASURABLE = 3, 0.1
"""Data sets that a sentence about times needs, and the seconds from which on a time is measured rather than noise."""
SKEWED = 1.5
"""Tests that C4.5's tree asks for each of EC4.5's, from which on it is called skewed."""


@attrs.frozen
class Answer:
    """Whether a sentence holds by one reading; None: not shown.   certain : whether more data sets could not change a no."""

    holds: bool | None
    words: str
    certain: bool = True


Question = Callable[[Results, Part, str], Answer | None]


def claims(found: Results) -> list[Claim]:
    """Every sentence that the results at hand can judge."""
    made = []
    for prices, base, sentence, question in _questions():
        answers = {v: question(found, Part(prices, v), base) for v in (AUTHORS, PAPER) if Part(prices, v) in found.parts}
        known = {variant: answer for variant, answer in answers.items() if answer is not None}
        if not known:
            continue
        judged = known.get(AUTHORS) or known[PAPER]
        if judged.holds is False and not judged.certain:
            continue
        evidence = "; ".join(f"{variant} variant: {'no, ' if a.holds is False else ''}{a.words}" for variant, a in known.items())
        reason = _reason(prices, base, question, known) if judged.holds is False else ""
        made.append(Claim.judged(f"{prices.capitalize()} prices: {sentence}", judged.holds, evidence, reason))
    return made


def _reason(prices: str, base: str, question: Question, answers: Mapping[str, Answer]) -> str:
    """Why a sentence does not hold by the authors' reading, "" where nothing explains it."""
    if prices == RANDOM:
        return DRIFT if AUTHORS in answers and PAPER in answers and answers[PAPER].holds else ""
    printed = question(as_published(), Part(UNIT, AUTHORS), base) if question in OF_MEANS else None
    return f"the published means say no as well: {printed.words}" if printed and printed.holds is False else ""


def _questions() -> list[tuple[str, str, str, Question]]:
    """(price setting, base, sentence, question), in the order of the paper's section 6."""
    asked: list[tuple[str, str, str, Question]] = []
    for prices in PRICES:
        for base in BASES:
            e = FAMILY[base][-1]
            near = f"{e} does not differ significantly from the best performer, in AUC and in expected cost (Figures 3 and 4)"
            over = f"{e} is significantly better than most of the four baselines, in AUC or in expected cost"
            differ = f"the seven of the family of {called(base, prices)} differ (Friedman's test, before any two are compared)"
            asked += [(prices, base, differ, differ_at_all), (prices, base, near, near_the_best), (prices, base, over, above_most)]
    asked.append((UNIT, "C4.5", "C4.5 and CART behave alike (every rank of one family is that of its counterpart)", behave_alike))
    helps = "post-pruning helps C4.5, in AUC and in expected cost (Wilcoxon's test)"
    asked.append((UNIT, "C4.5", helps, pruning_helps))
    for base in BASES:
        p, e = f"p{base}", FAMILY[base][1]
        cost = f"in expected cost {p} ranks close to un-pruned {e}"
        twice = f"on some data sets the expected cost of {p} is about twice that of {e}, or more"
        less = f"pruning changes the AUC of {e} less than that of {base}"
        size = f"pruning cuts tree size more than the enhancement does ({p} ranks before {e})"
        asked += [(UNIT, base, cost, pruned_plain_near_enhanced), (UNIT, base, twice, twice_as_dear)]
        asked += [(UNIT, base, less, pruning_changes_less), (UNIT, base, size, pruning_cuts_size)]
    asked += [
        (UNIT, "C4.5", "BAL is the worst in both AUC and expected cost", balance_is_worst),
        (UNIT, "C4.5", "BAL's trees are long because their nodes rarely become homogeneous", rarely_homogeneous),
        (UNIT, "C4.5", "IP is better than ASR in both AUC and expected cost", pairs_before_ranking),
        (UNIT, "CART", "IP falls behind ECART by more than 10 % in AUC on some data sets", pairs_behind),
    ]
    for base in BASES:
        same = f"ASR and IP do not differ significantly from BAL in AUC (Nemenyi, with the family of {base})"
        asked.append((UNIT, base, same, like_balance))
    skewed = f"there are data sets on which C4.5 takes longer than EC4.5, where its tree is skewed ({SKEWED:g} times as many tests)"
    asked += [(UNIT, "C4.5", "growing EC4.5 takes 3 to 4 times as long as C4.5", slower), (UNIT, "C4.5", skewed, skewed_takes_longer)]
    for base in BASES:
        c = called(base, RANDOM)
        fail = f"{c} fails to reduce the expected cost, against {base} grown without regard to prices"
        dear = f"{c} costs significantly more than p{FAMILY[base][1]}"
        save = f"the enhanced trees, pruned or not, cost up to 90 % less than {c} at similar AUC (within {SIMILAR:g})"
        asked += [(RANDOM, base, fail, no_saving), (RANDOM, base, dear, dearer), (RANDOM, base, save, up_to_ninety)]
    return asked


# -- ranks -------------------------------------------------------------------------------------------------------------


def _ranks(found: Results, part: Part, base: str, measure: str) -> tuple[Mapping[str, float], float] | None:
    """(algorithm → average rank within its family, critical difference of Bonferroni–Dunn); None with too few data sets.

    Where Friedman's test finds no difference at all, no two are told apart: the critical difference is infinite.
    """
    from arboretum.api import study

    if len(found.datasets(part)) < ENOUGH:
        return None
    scores = found.scores(part, measure, FAMILY[base])
    test = study.bonferroni_dunn(scores, scores.methods[-1])
    reach = float(test.critical_difference) if study.friedman(scores).p <= test.alpha else math.inf
    return dict(zip(FAMILY[base], map(float, test.ranks), strict=True)), reach


def differ_at_all(found: Results, part: Part, base: str) -> Answer | None:
    """Friedman's test of the average ranks, by AUC and by expected cost."""
    from arboretum.api import study

    if len(found.datasets(part)) < ENOUGH:
        return None
    tests = {m: study.friedman(found.scores(part, m, FAMILY[base])) for m in ("roc_auc", "expected_cost")}
    words = (f"{WORDS[m][0]}: chi-square {t.chi_square:.1f}, p = {t.p:.2g}, F {t.f:.1f}, p = {t.f_p:.2g}" for m, t in tests.items())
    return Answer(all(test.p <= ALPHA for test in tests.values()), ", ".join(words))


def behave_alike(found: Results, part: Part, base: str) -> Answer | None:
    """The average rank of every algorithm in C4.5's family is within the critical difference of its counterpart's in CART's."""
    words, holds, both = [], True, [_both_ranks(found, part, one) for one in BASES]
    for measure in both[0]:
        (first, reach), (second, other) = (ranks[measure] for ranks in both)
        gap, one, two = max((abs(first[one] - second[two]), one, two) for one, two in zip(first, second, strict=True))
        holds &= gap <= min(reach, other)
        words.append(f"{WORDS[measure][0]}: furthest apart {one} {first[one]:.2f} and {two} {second[two]:.2f}, critical difference {reach:.2f}")
    return Answer(holds, ", ".join(words)) if words else None


def pruning_helps(found: Results, part: Part, base: str) -> Answer | None:
    """pC4.5 is better than C4.5 on more data sets than not, by Wilcoxon's signed-rank test, in AUC and in expected cost."""
    from arboretum.api import study

    if len(_pairs(found, part, base, f"p{base}", "expected_cost")) < ENOUGH:
        return None
    words, holds = [], True
    for measure in ("roc_auc", "expected_cost"):
        scores = found.scores(part, measure, (base, f"p{base}"))
        change = scores.values[:, 1] - scores.values[:, 0]
        gain = change if scores.higher_is_better else -change
        p = float(study.wilcoxon_holm(scores).p[0, 1])
        holds &= bool(p <= ALPHA and (gain > 0).sum() > (gain < 0).sum())
        words.append(f"{WORDS[measure][0]}: better on {(gain > 0).sum()} of {len(gain)}, worse on {(gain < 0).sum()}, p = {p:.2g}")
    return Answer(holds, ", ".join(words))


def near_the_best(found: Results, part: Part, base: str) -> Answer | None:
    """Rank of the pruned enhanced tree minus the best rank, against the critical difference."""
    words, holds, own = [], True, FAMILY[base][-1]
    for measure, (ranks, reach) in _both_ranks(found, part, base).items():
        best = min(ranks, key=ranks.__getitem__)
        holds &= ranks[own] - ranks[best] <= reach
        first = f"best {called(best, part.prices)} {ranks[best]:.2f}"
        words.append(f"{WORDS[measure][0]}: rank {ranks[own]:.2f}, {first}, critical difference {reach:.2f}")
    return Answer(bool(holds), ", ".join(words)) if words else None


def above_most(found: Results, part: Part, base: str) -> Answer | None:
    """At least three of base, ASR, IP and BAL are worse by more than the critical difference, in one of the measures."""
    beaten: dict[str, list[str]] = {}
    both = _both_ranks(found, part, base)
    for measure, (ranks, reach) in both.items():
        for other in (base, "ASR", "IP", "BAL"):
            if ranks[other] - ranks[FAMILY[base][-1]] > reach:
                beaten.setdefault(other, []).append("AUC" if measure == "roc_auc" else "cost")
    words = ", ".join(f"{called(name, part.prices)} ({' and '.join(where)})" for name, where in beaten.items())
    return Answer(len(beaten) >= 3, f"better than {words or 'none'}") if both else None


def _both_ranks(found: Results, part: Part, base: str) -> dict[str, tuple[Mapping[str, float], float]]:
    """AUC and expected cost → what :func:`_ranks` says; empty with too few data sets."""
    both = {measure: _ranks(found, part, base, measure) for measure in ("roc_auc", "expected_cost")}
    return {} if None in both.values() else both


def _ranked_pair(found: Results, part: Part, base: str, one: str, other: str, measure: str) -> tuple[float, float, float] | None:
    known = _ranks(found, part, base, measure)
    return None if known is None else (known[0][one], known[0][other], known[1])


def pruned_plain_near_enhanced(found: Results, part: Part, base: str) -> Answer | None:
    """Ranks of pC4.5 and EC4.5 in expected cost are within the critical difference."""
    e = FAMILY[base][1]
    if (pair := _ranked_pair(found, part, base, f"p{base}", e, "expected_cost")) is None:
        return None
    return Answer(abs(pair[0] - pair[1]) <= pair[2], f"ranks {pair[0]:.2f} and {pair[1]:.2f}, critical difference {pair[2]:.2f}")


def pruning_cuts_size(found: Results, part: Part, base: str) -> Answer | None:
    """The pruned plain tree has the better average rank in size."""
    if (pair := _ranked_pair(found, part, base, f"p{base}", FAMILY[base][1], "n_nodes")) is None:
        return None
    return Answer(pair[0] < pair[1], f"ranks {pair[0]:.2f} and {pair[1]:.2f}")


def dearer(found: Results, part: Part, base: str) -> Answer | None:
    """The plain form's average rank in expected cost is above that of the pruned enhanced form by more than the difference."""
    if (pair := _ranked_pair(found, part, base, base, FAMILY[base][-1], "expected_cost")) is None:
        return None
    return Answer(pair[0] - pair[1] > pair[2], f"ranks {pair[0]:.2f} and {pair[1]:.2f}, critical difference {pair[2]:.2f}")


def balance_is_worst(found: Results, part: Part, base: str) -> Answer | None:
    """BAL has the last average rank of its family in both measures."""
    both = {measure: ranks for measure, (ranks, _) in _both_ranks(found, part, base).items()}
    last = {measure: max(ranks, key=ranks.__getitem__) for measure, ranks in both.items()}
    words = ", ".join(f"{WORDS[m][0]}: last is {last[m]} {ranks[last[m]]:.2f}, BAL {ranks['BAL']:.2f}" for m, ranks in both.items())
    return Answer(set(last.values()) == {"BAL"}, words) if both else None


def pairs_before_ranking(found: Results, part: Part, base: str) -> Answer | None:
    """IP has the better average rank in both measures."""
    both = {measure: ranks for measure, (ranks, _) in _both_ranks(found, part, base).items()}
    words = ", ".join(f"{WORDS[m][0]}: IP {ranks['IP']:.2f}, ASR {ranks['ASR']:.2f}" for m, ranks in both.items())
    return Answer(all(ranks["IP"] < ranks["ASR"] for ranks in both.values()), words) if both else None


def like_balance(found: Results, part: Part, base: str) -> Answer | None:
    """Nemenyi's test tells neither ASR nor IP from BAL."""
    from arboretum.api import study

    if len(found.datasets(part)) < ENOUGH:
        return None
    test = study.nemenyi(found.scores(part, "roc_auc", FAMILY[base]))
    at = {name: FAMILY[base].index(name) for name in ("ASR", "IP", "BAL")}
    alike = not any(test.different[at[name], at["BAL"]] for name in ("ASR", "IP"))
    ranks = ", ".join(f"{name} {test.ranks[m]:.2f}" for name, m in at.items())
    return Answer(alike, f"ranks {ranks}, critical difference {test.critical_difference:.2f}")


# -- data set by data set ----------------------------------------------------------------------------------------------


def _pairs(found: Results, part: Part, one: str, other: str, measure: str) -> dict[str, tuple[float, float]]:
    """Data set → (mean of one, mean of the other), where both are known."""
    both = {name: tuple(found.mean(part, name, a, measure) for a in (one, other)) for name in found.datasets(part)}
    return {name: (a, b) for name, (a, b) in both.items() if not np.isnan([a, b]).any()}


def _largest(values: Mapping[str, float], holds: Callable[[float], bool], what: str, told: Callable[[float], str], whole: bool) -> Answer | None:
    """Whether the largest value is as large as that; the first three in words.   whole : of all the twenty data sets."""
    top = sorted(values, key=values.__getitem__)[::-1][:3]
    words = what + ", ".join(f"{name} {told(values[name])}" for name in top)
    return Answer(holds(values[top[0]]), words, whole) if top else None


def _whole(pairs: Collection[str]) -> bool:
    return len(pairs) == len(published().datasets)


def twice_as_dear(found: Results, part: Part, base: str) -> Answer | None:
    """Somewhere the ratio of expected costs is at least 1.8."""
    ratios = {name: a / b for name, (a, b) in _pairs(found, part, f"p{base}", FAMILY[base][1], "expected_cost").items()}
    return _largest(ratios, lambda ratio: ratio >= 1.8, "ratios ", "{:.2f}".format, _whole(ratios))


def pruning_changes_less(found: Results, part: Part, base: str) -> Answer | None:
    """Mean absolute change of the AUC over data sets."""
    changes = []
    for name in (base, FAMILY[base][1]):
        pairs = _pairs(found, part, name, f"p{name}", "roc_auc")
        if len(pairs) < ENOUGH:
            return None
        changes.append(float(np.mean([abs(a - b) for a, b in pairs.values()])))
    return Answer(changes[1] < changes[0], f"mean change {FAMILY[base][1]} {changes[1]:.4f}, {base} {changes[0]:.4f}")


def pairs_behind(found: Results, part: Part, base: str) -> Answer | None:
    """Somewhere IP's AUC is more than a tenth below ECART's."""
    short = {name: (b - a) / b for name, (a, b) in _pairs(found, part, "IP", FAMILY[base][1], "roc_auc").items()}
    return _largest(short, lambda share: share > 0.1, "", lambda share: f"{100 * share:.1f} %", _whole(short))


def rarely_homogeneous(found: Results, part: Part, base: str) -> Answer | None:
    """Less than half the rows of BAL's trees end in leaves of one class, and that, not useless tests, is most of their cost."""
    shares = _pairs(found, part, "BAL", base, "pure")
    costs, useless = (_pairs(found, part, "BAL", base, measure) for measure in ("expected_cost", "useless"))
    if len(shares) < ENOUGH:
        return None
    pure, plain = (float(np.median([pair[k] for pair in shares.values()])) for k in (0, 1))
    wasted = float(np.median([useless[name][0] / costs[name][0] for name in costs if name in useless]))
    words = f"{100 * pure:.0f} % of the rows end in leaves of one class ({base}: {100 * plain:.0f} %), and {100 * wasted:.0f} % of the cost"
    return Answer(pure < 0.5 and wasted < 0.5, f"{words} is of tests that divide nothing (medians of {len(shares)} data sets)")


def _times(found: Results, part: Part, one: str, other: str) -> dict[str, tuple[float, float]]:
    """Data set → seconds of both, where both can be measured."""
    pairs = _pairs(found, part, one, other, "seconds")
    return {name: pair for name, pair in pairs.items() if min(pair) > MEASURABLE}


def _timed(times: Mapping[str, Any], holds: bool, words: str) -> Answer:
    """No verdict on too few data sets."""
    if len(times) >= TIMED:
        return Answer(holds, words)
    return Answer(None, f"{len(times)} of the {TIMED} data sets needed take more than {MEASURABLE:g} s; {words}")


def _middle(pairs: Mapping[str, tuple[float, float]]) -> float:
    return float(np.exp(np.mean([np.log(a / b) for a, b in pairs.values()]))) if pairs else math.nan


def slower(found: Results, part: Part, base: str) -> Answer | None:
    """The geometric mean of the ratio of seconds lies between 3 and 4; beside it those of other pairs, and the published ones."""
    times, words = _times(found, part, FAMILY[base][1], base), []
    if not _pairs(found, part, FAMILY[base][1], base, "seconds"):
        return None
    for one, other in (("EC4.5", "C4.5"), ("ECART", "CART"), ("IP", "C4.5"), ("ASR", "C4.5")):
        ours, printed = _times(found, part, one, other), _pairs(as_published(), Part(UNIT, AUTHORS), one, other, "seconds")
        same = {name: printed[name] for name in ours}
        mine = f"{_middle(ours):.2f} (published {_middle(same):.2f}; on all twenty" if ours else "(published"
        words.append(f"{one}/{other} {mine} {_middle(printed):.2f})")
    ratios = [f"{name} {_to_cc45(found, part, name)} (published {theirs:.2f})" for name, theirs in published().to_cc45.items()]
    words = [f"geometric means on {', '.join(times) or 'none'}: " + ", ".join(words), "mean ratios to CC4.5: " + ", ".join(ratios)]
    return _timed(times, 3.0 <= _middle(times) <= 4.0, "; ".join(words))


def _to_cc45(found: Results, part: Part, name: str) -> str:
    """The mean ratio of an algorithm's seconds to those of CC4.5 (random prices), "–" where none can be measured."""
    times = _times(found, Part(RANDOM, part.variant), name, "C4.5")
    return f"{np.mean([a / b for a, b in times.values()]):.2f}" if times else "–"


def skewed_takes_longer(found: Results, part: Part, base: str) -> Answer | None:
    """Somewhere C4.5 takes longer than EC4.5, and its tree asks :data:`SKEWED` times as many tests of a row."""
    enhanced = FAMILY[base][1]
    times, costs = _times(found, part, enhanced, base), _pairs(found, part, enhanced, base, "expected_cost")
    if not _pairs(found, part, enhanced, base, "seconds"):
        return None
    longer = sorted((a / b, name, costs[name][1] / costs[name][0]) for name, (a, b) in times.items() if a < b)
    words = ", ".join(f"{name} ({ratio:.2f} of the time with {enhanced}, {tests:.2f} times the tests)" for ratio, name, tests in longer)
    return _timed(times, any(tests >= SKEWED for _, _, tests in longer), f"{base} takes longer on {words or 'none'}")


def no_saving(found: Results, part: Part, base: str) -> Answer | None:
    """The median ratio of the cost-benefit form's expected cost to the plain form's, at the same prices, is at least 1."""
    pairs = _pairs(found, part, base, f"plain {base}", "expected_cost")
    if len(pairs) < ENOUGH:
        return None
    ratios = np.array([a / b for a, b in pairs.values()])
    more = int((ratios >= 1).sum())
    words = f"median ratio {np.median(ratios):.2f}; not lower on {more} of {len(ratios)} data sets (the paper shows no plain tree)"
    return Answer(bool(np.median(ratios) >= 1.0), words)


def up_to_ninety(found: Results, part: Part, base: str) -> Answer | None:
    """The largest saving of the enhanced tree, pruned or not, among data sets with similar AUC is at least 85 %."""
    saved: dict[str, float] = {}
    for tree in (FAMILY[base][1], FAMILY[base][-1]):
        costs, areas = (_pairs(found, part, tree, base, measure) for measure in ("expected_cost", "roc_auc"))
        for name, (a, b) in costs.items():
            if name in areas and areas[name][0] >= areas[name][1] - SIMILAR:
                saved[name] = max(saved.get(name, 0.0), 1.0 - a / b)
    return _largest(saved, lambda share: share >= 0.85, "largest savings ", lambda share: f"{100 * share:.0f} %", _whole(found.datasets(part)))


OF_MEANS = (near_the_best, above_most, pruned_plain_near_enhanced, twice_as_dear, balance_is_worst, pairs_before_ranking, pairs_behind,
            pruning_changes_less, like_balance, behave_alike, pruning_helps)  # fmt: skip
"""Questions that the published means can answer."""
