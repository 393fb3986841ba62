"""What is proven of trees on the very rows that they were grown on: whose is better, and how far
each is from the minimum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import attrs

from arboretum.model.document import Chapter, Listing, Section
from arboretum.model.plain import Facts
from arboretum.model.record import Record
from arboretum.runs.grouping import Grouping, asked_of
from arboretum.runs.sweeps import spell_choice

REACHED = 1e-9  # relative: values that differ by less are sums of the same numbers in other orders


MOST_PAIRED = 40  # methods up to which each is held against each
CERTIFIED = ("expected_cost", "max_cost", "depth", "n_leaves")
"""Complexities that are shown; the others say the same in other units."""
ROWS_AND_TESTS = ("dataset", "split", "train_fraction", "honest", "encoder", "cost", "class_weight")
"""Groups and keys that say which rows teach, what they weigh, and which tests are asked."""


@attrs.frozen(eq=False)
class Claim:
    """What is known of one tree by one measure.

    problem : rows, tests and what is minimised; trees of equal ones can be held against each
        other.
    value : of the tree, computed again.
    bound : no tree that its method may grow is below it (proven).
    """

    problem: str
    measure: str
    value: float
    bound: float

    @property
    def is_optimal(self) -> bool:
        """Whether nothing that its method may grow is smaller."""
        return self.value <= self.bound + REACHED * abs(self.bound)

    def beats(self, other: Claim) -> bool:
        """Whether the value is smaller than another's, by more than rounding."""
        return self.value < other.value - REACHED * max(abs(self.value), abs(other.value))

    def is_out_of_reach(self, other: Claim) -> bool:
        """Whether it is smaller than anything that the other's method could have found."""
        return self.value < other.bound - REACHED * max(abs(self.value), abs(other.bound))


def claims_of(record: Record) -> list[Claim]:
    """Return what is proven of a run: the objective of its solver, the complexities of its
    certificate.
    """
    asked = asked_of(record)
    rows = {key: value for key, value in asked.items() if key.partition(".")[0] in ROWS_AND_TESTS}
    sizes = [record.data.get(name) for name in ("sha256", "n_train", "n_objects", "n_tests")]
    ground = repr((record.seed, sizes, sorted(rows.items(), key=repr)))
    found = []
    solution = record.solution
    if solution is not None and solution.checked is not None:
        objective = sorted(
            (key, value)
            for key, value in asked.items()
            if key.partition(".")[0] in ("objective", "complexity")
        )
        if asked.get("objective") not in (None, "none") and math.isfinite(solution.value):
            name = f"objective {spell_choice(asked['objective'])}"
            found.append(
                Claim(f"{ground} {objective!r}", name, solution.value, solution.lower_bound)
            )
    if record.certificate is not None:
        rule = sorted(record.certificate.leaf_rule.items())
        found += [
            Claim(
                f"{ground} {rule!r}",
                name.removeprefix("n_").replace("_", " "),
                one.value,
                one.lower_bound,
            )
            for name, one in record.certificate.complexities.items()
            if name in CERTIFIED
        ]
    return found


def proven(grouping: Grouping) -> Chapter | None:
    """Whose trees are provably better on the very rows that they were grown on; None where nothing
    is proven.
    """
    claims: dict[tuple[str, str], dict[str, dict[str, list[Claim]]]] = {}
    for dataset in grouping.datasets:
        for method in grouping.methods:
            for _, record in grouping.runs(dataset, method):
                for claim in claims_of(record):
                    here = claims.setdefault((dataset, claim.measure), {})
                    here.setdefault(claim.problem, {}).setdefault(method, []).append(claim)
    if not claims:
        return None
    ratios = [
        row
        for (dataset, measure), problems in claims.items()
        for row in _ratio_rows(dataset, measure, problems.values())
    ]
    pairs = [
        row
        for (dataset, measure), problems in claims.items()
        if len(grouping.methods) <= MOST_PAIRED
        for row in _pair_rows(dataset, measure, problems.values())
    ]
    sentences = [
        "Of the trees on the rows they were grown on, not of new rows: values are computed again "
        "from the tree, bounds are proven for every tree on the same rows and tests under the same "
        "rule. Being provably better here is not being significantly better on others."
    ]
    tables = [
        Listing(
            "proven_ratios",
            "How far trees are from the proven minimum (ratio: mean, worst)",
            ratios,
        )
    ]
    if pairs:
        tables.append(
            Listing(
                "proven_pairs",
                "Runs on the same rows and tests in which the first tree is provably "
                "better/equal/worse; beyond reach: one (first/second) is better than anything the "
                "other method may grow there",
                pairs,
            )
        )
    return Chapter("Proven on these rows", [Section("", tables=tables)], sentences)


def _ratio_rows(
    dataset: str, measure: str, problems: Iterable[Mapping[str, Sequence[Claim]]]
) -> list[Facts]:
    """A row per method: how many trees are proven optimal, and their ratios to the bounds, each
    proven for what its own method may grow.
    """
    found: dict[str, list[Claim]] = {}
    for methods in problems:
        for method, claims in methods.items():
            found.setdefault(method, []).extend(claims)
    rows: list[Facts] = []
    for method, claims in found.items():
        known = [claim.value / claim.bound for claim in claims if claim.bound > 0]
        rows.append(
            {
                "data set": dataset,
                "measure": measure,
                "method": method,
                "trees": len(claims),
                "proven optimal": sum(claim.is_optimal for claim in claims),
                "mean ratio at most": math.fsum(known) / len(known) if known else None,
                "worst ratio at most": max(known, default=None),
            }
        )
    return rows


def _pair_rows(
    dataset: str, measure: str, problems: Iterable[Mapping[str, Sequence[Claim]]]
) -> list[Facts]:
    """A row per pair of methods that ran on the same problem."""
    found: dict[tuple[str, str], list[int]] = {}
    for methods in problems:
        for a, b in itertools.combinations(sorted(methods), 2):
            counts = found.setdefault((a, b), [0] * 6)
            for x, y in zip(methods[a], methods[b], strict=False):
                counts[0] += 1
                counts[1] += x.beats(y)
                counts[2] += not x.beats(y) and not y.beats(x)
                counts[3] += y.beats(x)
                counts[4] += x.is_out_of_reach(y)
                counts[5] += y.is_out_of_reach(x)
    return [
        {
            "data set": dataset,
            "measure": measure,
            "first": a,
            "second": b,
            "runs": runs,
            "better/equal/worse": f"{better}/{equal}/{worse}",
            "beyond reach": f"{beyond}/{beneath}",
        }
        for (a, b), (runs, better, equal, worse, beyond, beneath) in found.items()
    ]
