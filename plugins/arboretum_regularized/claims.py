"""The paper's sentences about its results, each with a verdict computed from ours.

A verdict goes by the authors' reading of the score, for the sentences are about their program; what the paper's reading gives
stands beside it.  A sentence about "some data sets" fails only when all twenty have results; one about ranks needs
:data:`ENOUGH` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from arboretum.api import Claim, Verdict
from arboretum_regularized.known_differences import CLAIMS, DRIFT
from arboretum_regularized.published import AUTHORS, BASES, PAPER, PRICES, RANDOM, UNIT, called, published
from arboretum_regularized.results import FAMILY, WORDS, Part, Results

ENOUGH = 15
"""Data sets that a sentence about ranks or means over the twenty needs."""
SIMILAR = 0.05
"""Areas under the ROC curve that differ by less are called similar."""


@attrs.frozen
class Answer:
    """Whether a sentence holds by one reading.   certain : whether more data sets could not change a no."""

    holds: bool
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
        if not judged.holds and not judged.certain:
            continue
        evidence = "; ".join(f"{variant} variant: {'' if a.holds else 'no, '}{a.words}" for variant, a in known.items())
        reason = "" if judged.holds else CLAIMS.get((prices, base, question.__name__), "")
        if not judged.holds and not reason and prices == RANDOM and PAPER in known and known[PAPER].holds:
            reason = DRIFT
        verdict = Verdict.PASS if judged.holds else Verdict.KNOWN if reason else Verdict.FAIL
        made.append(Claim(f"{prices.capitalize()} prices: {sentence}", verdict, evidence, reason))
    return made


def _questions() -> list[tuple[str, str, str, Question]]:
    """(price setting, base, sentence, question), in the order of the paper's section 6."""
    asked: list[tuple[str, str, str, Question]] = []
    for prices in PRICES:
        for base in BASES:
            e = FAMILY[base][-1]
            near = f"{e} does not differ significantly from the best performer, in AUC and in expected cost (Figures 3 and 4)"
            over = f"{e} is significantly better than most of the four baselines, in AUC or in expected cost"
            asked += [(prices, base, near, near_the_best), (prices, base, over, above_most)]
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
        (UNIT, "C4.5", "IP is better than ASR in both AUC and expected cost", pairs_before_ranking),
        (UNIT, "CART", "IP falls behind ECART by more than 10 % in AUC on some data sets", pairs_behind),
    ]
    for base in BASES:
        same = f"ASR and IP do not differ significantly from BAL in AUC (Nemenyi, with the family of {base})"
        asked.append((UNIT, base, same, like_balance))
    asked.append((UNIT, "C4.5", "growing EC4.5 takes 3 to 4 times as long as C4.5", slower))
    for base in BASES:
        c = called(base, RANDOM)
        fail = f"{c} fails to reduce the expected cost, against {base} grown without regard to prices"
        dear = f"{c} costs significantly more than p{FAMILY[base][1]}"
        save = f"the enhanced trees, pruned or not, cost up to 90 % less than {c} at similar AUC (within {SIMILAR:g})"
        asked += [(RANDOM, base, fail, no_saving), (RANDOM, base, dear, dearer), (RANDOM, base, save, up_to_ninety)]
    return asked


# -- ranks -------------------------------------------------------------------------------------------------------------


def _ranks(found: Results, part: Part, base: str, measure: str) -> tuple[Mapping[str, float], float] | None:
    """(algorithm → average rank within its family, critical difference of Bonferroni–Dunn); None with too few data sets."""
    from arboretum.api import study

    if len(found.datasets(part)) < ENOUGH:
        return None
    scores = found.scores(part, measure, FAMILY[base])
    test = study.bonferroni_dunn(scores, scores.methods[-1])
    return dict(zip(FAMILY[base], map(float, test.ranks), strict=True)), float(test.critical_difference)


def near_the_best(found: Results, part: Part, base: str) -> Answer | None:
    """Rank of the pruned enhanced tree minus the best rank, against the critical difference."""
    words, holds, own = [], True, FAMILY[base][-1]
    for measure in ("roc_auc", "expected_cost"):
        known = _ranks(found, part, base, measure)
        if known is None:
            return None
        ranks, reach = known
        best = min(ranks, key=ranks.__getitem__)
        holds &= ranks[own] - ranks[best] <= reach
        first = f"best {called(best, part.prices)} {ranks[best]:.2f}"
        words.append(f"{WORDS[measure][0]}: rank {ranks[own]:.2f}, {first}, critical difference {reach:.2f}")
    return Answer(bool(holds), ", ".join(words))


def above_most(found: Results, part: Part, base: str) -> Answer | None:
    """At least three of base, ASR, IP and BAL are worse by more than the critical difference, in one of the measures."""
    beaten: dict[str, list[str]] = {}
    for measure in ("roc_auc", "expected_cost"):
        known = _ranks(found, part, base, measure)
        if known is None:
            return None
        ranks, reach = known
        for other in (base, "ASR", "IP", "BAL"):
            if ranks[other] - ranks[FAMILY[base][-1]] > reach:
                beaten.setdefault(other, []).append("AUC" if measure == "roc_auc" else "cost")
    words = ", ".join(f"{called(name, part.prices)} ({' and '.join(where)})" for name, where in beaten.items())
    return Answer(len(beaten) >= 3, f"better than {words or 'none'}")


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
    words, holds = [], True
    for measure in ("roc_auc", "expected_cost"):
        known = _ranks(found, part, base, measure)
        if known is None:
            return None
        worst = max(known[0], key=known[0].__getitem__)
        holds &= worst == "BAL"
        words.append(f"{WORDS[measure][0]}: last is {worst} {known[0][worst]:.2f}, BAL {known[0]['BAL']:.2f}")
    return Answer(holds, ", ".join(words))


def pairs_before_ranking(found: Results, part: Part, base: str) -> Answer | None:
    """IP has the better average rank in both measures."""
    pairs = {m: _ranked_pair(found, part, base, "IP", "ASR", m) for m in ("roc_auc", "expected_cost")}
    if None in pairs.values():
        return None
    words = ", ".join(f"{WORDS[m][0]}: IP {pair[0]:.2f}, ASR {pair[1]:.2f}" for m, pair in pairs.items())
    return Answer(all(pair[0] < pair[1] for pair in pairs.values()), words)


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


def _whole(pairs: Mapping[str, Any]) -> bool:
    return len(pairs) == len(published().datasets)


def twice_as_dear(found: Results, part: Part, base: str) -> Answer | None:
    """Somewhere the ratio of expected costs is at least 1.8."""
    pairs = _pairs(found, part, f"p{base}", FAMILY[base][1], "expected_cost")
    ratios = {name: a / b for name, (a, b) in pairs.items()}
    if not ratios:
        return None
    top = sorted(ratios, key=ratios.__getitem__)[::-1][:3]
    return Answer(ratios[top[0]] >= 1.8, "ratios " + ", ".join(f"{name} {ratios[name]:.2f}" for name in top), _whole(pairs))


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
    pairs = _pairs(found, part, "IP", FAMILY[base][1], "roc_auc")
    short = {name: (b - a) / b for name, (a, b) in pairs.items()}
    if not short:
        return None
    top = sorted(short, key=short.__getitem__)[::-1][:3]
    printed = published().results
    most = max((1 - printed[n, "IP", "roc_auc"] / printed[n, "ECART", "roc_auc"], n) for n in published().datasets)
    words = ", ".join(f"{name} {100 * short[name]:.1f} %" for name in top)
    return Answer(short[top[0]] > 0.1, f"{words} (largest in the published means: {most[1]} {100 * most[0]:.1f} %)", _whole(pairs))


def slower(found: Results, part: Part, base: str) -> Answer | None:
    """The geometric mean of the ratio of seconds lies between 3 and 4."""
    pairs = _pairs(found, part, FAMILY[base][1], base, "seconds")
    ratios = [a / b for a, b in pairs.values() if a > 0 and b > 0]
    if not ratios:
        return None
    middle = float(np.exp(np.mean(np.log(ratios))))
    over = "one data set" if len(ratios) == 1 else f"{len(ratios)} data sets, from {min(ratios):.2f} to {max(ratios):.2f}"
    return Answer(3.0 <= middle <= 4.0, f"geometric mean {middle:.2f} over {over}")


def no_saving(found: Results, part: Part, base: str) -> Answer | None:
    """The median ratio of the cost-benefit form's expected cost to the plain form's, at the same prices, is at least 1."""
    pairs = _pairs(found, part, base, f"plain {base}", "expected_cost")
    if len(pairs) < ENOUGH:
        return None
    ratios = np.array([a / b for a, b in pairs.values()])
    more = int((ratios >= 1).sum())
    return Answer(bool(np.median(ratios) >= 1.0), f"median ratio {np.median(ratios):.2f}; not lower on {more} of {len(ratios)} data sets")


def up_to_ninety(found: Results, part: Part, base: str) -> Answer | None:
    """The largest saving of the enhanced tree, pruned or not, among data sets with similar AUC is at least 85 %."""
    saved: dict[str, float] = {}
    for tree in (FAMILY[base][1], FAMILY[base][-1]):
        costs, areas = (_pairs(found, part, tree, base, measure) for measure in ("expected_cost", "roc_auc"))
        for name, (a, b) in costs.items():
            if name in areas and areas[name][0] >= areas[name][1] - SIMILAR:
                saved[name] = max(saved.get(name, 0.0), 1.0 - a / b)
    if not saved:
        return None
    top = sorted(saved, key=saved.__getitem__)[::-1][:3]
    words = ", ".join(f"{name} {100 * saved[name]:.0f} %" for name in top)
    return Answer(saved[top[0]] >= 0.85, f"largest savings {words}", len(found.datasets(part)) == len(published().datasets))
