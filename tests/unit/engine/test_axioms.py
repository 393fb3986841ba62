"""Every axiom finds the function that breaks it and nothing else, with the smallest
counterexample; and what is declared is compared.
"""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from toy_coverage import ToyExcluded

from arboretum.api import ConfigError, Task, lint, not_admissible
from arboretum.engine.axioms import EXHAUSTIVE, examine, vectors
from arboretum.engine.axioms_of_coverages import examine_coverage
from arboretum.testing.tables import ToyGini, ToyVariance


@attrs.frozen
class Made:
    """An impurity by its formula, of n: float64[…, classes]."""

    kind, name, paper = "impurity", "made", ""
    formula: object
    scale: str = "total"
    capabilities: tuple = ("classification", "multiclass", "weights")

    def value(self, weights):
        return np.asarray(self.formula(weights), np.float64)


def total(n):
    return n.sum(axis=-1)


def pairs(n):
    return (total(n) ** 2 - (n**2).sum(axis=-1)) / 2


def gini(n):
    return ToyGini().value(n)


def entropy(n):
    p = n / np.where(total(n) > 0, total(n), 1.0)[..., None]
    return -(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)


def powers(n, l=3):
    return total(n) ** l - (n**l).sum(axis=-1)


def hinged(n, alpha=2):
    m = np.maximum(n - alpha, 0)
    return sum(
        np.maximum(m[..., i] * m[..., j] - alpha**2, 0)
        for i, j in itertools.combinations(range(n.shape[-1]), 2)
    )


def broken(formula, **how):
    return [
        name for name, finding in examine(Made(formula, **how)).items() if finding.holds is False
    ]


PLANTED = {
    "non-negative": (lambda n: pairs(n) - 3 * (pairs(n) == 2), "0 > F(1, 2): 0 > -1"),
    "zero at purity": (lambda n: pairs(n) + (total(n) == 2), "F(2, 0) ≠ 0: 1 ≠ 0"),
    "maximal at uniform": (
        lambda n: pairs(n) * (1 + np.abs(n[..., 0] - n[..., -1])),
        "F(0, 1, 1) > F(0.666667, 0.666667, 0.666667): 2 > 1.33333",
    ),
    "symmetric": (
        lambda n: pairs(n) * (1 + (n[..., 0] == 1) * (n[..., 1] == 3)),
        "F(1, 3) ≠ F(3, 1): 6 ≠ 3",
    ),
    "concave": (
        lambda n: np.minimum(pairs(n), 3),
        "F(0, 1, 1) + F(1, 1, 1) > F(1, 2, 2): 1 + 3 > 3",
    ),
    "monotone": (lambda n: pairs(n) * (total(n) != 4), "F(1, 2) > F(2, 2): 2 > 0"),
    "supermodular": (
        lambda n: np.minimum(pairs(n), 4),
        "F(1, 1, 1) + F(1, 1, 1) > F(0, 1, 1) + F(2, 1, 1): 3 + 3 > 1 + 4",
    ),
    "scale-free": (
        lambda n: np.sqrt(pairs(n)),
        "homogeneous of degree 1; F(2, 2) ≠ F(1, 1): 2 ≠ 1",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_function_that_breaks_one_axiom_is_caught_with_the_smallest_counterexample(name):
    formula, expected = PLANTED[name]
    found = examine(Made(formula), [name])[name]
    assert (found.holds, found.note) == (False, expected)


def by_hand(name, formula, most=6, k=2):
    """The first violation among all sets of at most so many objects, straight from the
    definition on sets: its number of objects.
    """
    grid = [np.array(v, float) for v in itertools.product(range(most + 1), repeat=k)]
    f = lambda v: float(formula(v))
    one, worst = np.eye(k), np.inf
    for r, g in itertools.product(grid, grid):
        if name == "concave" and (r + g).sum() <= most and f(r) + f(g) > f(r + g) + 1e-9:
            worst = min(worst, (r + g).sum())
        if not (r <= g).all() or g.sum() > most:
            continue
        if name == "monotone" and f(r) > f(g) + 1e-9:
            worst = min(worst, g.sum())
        if name == "supermodular":
            worst = min(
                [worst, *(g.sum() + 1 for j in one if f(r + j) - f(r) > f(g + j) - f(g) + 1e-9)]
            )
    return worst


@pytest.mark.parametrize("name", ["concave", "monotone", "supermodular"])
@pytest.mark.parametrize(
    "formula",
    [
        pairs,
        powers,
        hinged,
        entropy,
        gini,
        lambda n: total(n) * entropy(n),
        lambda n: total(n) - n.max(axis=-1),
        PLANTED["supermodular"][0],
        PLANTED["monotone"][0],
        lambda n: pairs(n) ** 0.5,
        lambda n: n.prod(axis=-1) ** 2,
    ],
)
def test_steps_of_one_object_find_what_the_definition_on_sets_finds_and_as_small(name, formula):
    """Monotony and supermodularity are defined for R ⊆ G of any size; the search takes steps of
    one object.
    """
    found = examine(Made(formula, capabilities=("classification",)), [name])[name]
    expected = by_hand(name, formula)
    if expected <= 6:
        sets = [
            np.array(part.split(")")[0].split(","), float) for part in found.note.split("F(")[1:]
        ]
        assert found.holds is False and max(v.sum() for v in sets) == expected
    else:
        assert found.holds or "F(" in found.note  # it looks further


def test_the_functions_of_the_paper_are_admissible_and_the_others_are_told_why():
    for formula in (pairs, powers, lambda n: powers(n, 5), hinged):
        assert not_admissible(Made(formula)) == ""
    assert not_admissible(Made(entropy)) == "not monotone: F(1, 1) > F(2, 1): 1 > 0.918296"
    assert not_admissible(Made(gini)).startswith("not monotone: F(1, 1) > F(2, 1)")
    for formula in (
        lambda n: total(n) * entropy(n),
        lambda n: total(n) * gini(n),
        lambda n: total(n) - n.max(axis=-1),
    ):
        assert not_admissible(Made(formula)).startswith(
            "not supermodular: F(1, 1) + F(1, 1) > F(0, 1) + F(2, 1)"
        )


@pytest.mark.parametrize("delta", [0.5, 1.0, 7.0, 40.0, 1000.0])
@pytest.mark.parametrize(
    "formula",
    [pairs, powers, hinged, lambda n: pairs(n) ** 2],
    ids=["pairs", "powers", "hinged", "square"],
)
def test_what_lies_above_a_level_of_an_admissible_function_is_admissible(formula, delta):
    """So Theorem 2.2 holds of it, for any prices, where Theorem 4.2 is false as printed."""
    assert not_admissible(Made(lambda n: np.maximum(formula(n) - delta, 0.0))) == ""


def test_entropy_and_gini_satisfy_what_theorem_1_asks_for_and_misclassification_does_not():
    assert (
        broken(entropy, scale="mean") == broken(gini, scale="mean") == ["monotone", "supermodular"]
    )
    assert broken(
        lambda n: (
            1 - n.max(axis=-1) / np.maximum(total(n), 1e-300) * (total(n) > 0) - (total(n) == 0)
        ),
        scale="mean",
    ) == [
        "decomposable",
        "monotone",
        "supermodular",
    ]


def test_sums_of_one_function_per_class_are_decomposable_and_products_of_three_are_not():
    """Of three classes at a given mass, n1 n2 n3 is one (Newton: of sums of squares and cubes);
    of four it is none.
    """
    assert examine(Made(powers), ["decomposable"])["decomposable"].holds
    product = lambda k: examine(
        Made(lambda n: n[..., :k].prod(axis=-1) * (n.shape[-1] >= k)), ["decomposable"]
    )["decomposable"]
    assert product(4).note.startswith("F(") and product(4).holds is False
    assert (
        product(3).note
        == "F(1, 1, 1, 0) + F(0, 2, 0, 1) ≠ F(1, 1, 0, 1) + F(0, 2, 1, 0): 1 + 0 ≠ 0 + 0"
    )
    assert (
        examine(Made(gini, capabilities=("classification",)), ["decomposable"])[
            "decomposable"
        ].holds
        is None
    )


def test_growth_is_told_from_what_outgrows_every_power():
    grows = lambda formula: examine(Made(formula), ["log F = O(log n)"])["log F = O(log n)"]
    assert [
        grows(f).holds
        for f in (
            pairs,
            entropy,
            lambda n: pairs(n) + pairs(n) ** 3 / 1e6,
            lambda n: hinged(n, 100),
        )
    ] == [True] * 4
    assert grows(lambda n: powers(n, 4)).note == "like n^4"
    assert grows(lambda n: np.exp2(n.min(axis=-1)) - 1).holds is False
    assert (
        grows(lambda n: pairs(n) * np.exp(np.log(np.maximum(total(n), 1.0)) ** 1.5)).holds is False
    )

    def refuses(n):
        if total(n).max() > 50:
            raise ConfigError("too large")
        return pairs(n)

    assert (
        grows(refuses).holds is None
        and not_admissible(Made(refuses)) == ""
        and examine(Made(refuses), ["monotone"])["monotone"].holds
    )


def test_what_breaks_only_in_large_sets_is_found_at_random_and_shrunk():
    found = examine(Made(lambda n: pairs(n) * (n[..., 0] < 500)), ["monotone"])["monotone"]
    assert found.note == "F(499, 1) > F(500, 1): 499 > 0"
    fractions = examine(
        Made(lambda n: pairs(n) * ((n == np.rint(n)).all(axis=-1) | (pairs(n) < 3))), ["monotone"]
    )["monotone"]
    assert fractions.holds is False and ") > F(" in fractions.note


def test_numbers_are_looked_at_as_sets_of_values():
    found = examine(ToyVariance())
    assert [name for name, each in found.items() if each.holds is None] == [
        "maximal at uniform",
        "symmetric",
        "decomposable",
    ]
    assert [name for name, each in found.items() if each.holds is False] == [
        "monotone",
        "supermodular",
    ]
    assert found["monotone"].note == "F(1, 1) > F(2, 1): 0.25 > 0.222222"


def test_what_is_no_number_is_no_value():
    assert (
        examine(Made(lambda n: pairs(n) / (total(n) != 2)), ["non-negative"])["non-negative"].holds
        is False
    )


def test_vectors_come_by_their_sum_then_lexicographically():
    found = [tuple(v) for v in vectors(2, 2).tolist()]
    assert found == [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0)]
    assert len(vectors(3, EXHAUSTIVE[3])) == 969


@pytest.mark.parametrize(
    ("formula", "scale", "declared", "false"),
    [
        (pairs, "total", ("admissible", "concave"), []),
        (gini, "mean", ("concave",), []),
        (gini, "mean", ("admissible",), ["declares admissible, but is not monotone"]),
        (gini, "total", (), ["declares scale=total, but is scale-free"]),
        (
            pairs,
            "mean",
            (),
            ["declares scale=mean, but is not scale-free: homogeneous of degree 2"],
        ),
        (
            lambda n: pairs(n) + 1,
            "total",
            (),
            ["breaks its contract: it is not zero at purity: F(0, 0) ≠ 0: 1 ≠ 0"],
        ),
        (lambda n: gini(n) ** 4, "mean", ("concave",), ["declares concave, but is not concave: "]),
    ],
)
def test_a_false_claim_is_told_and_an_unclaimed_property_is_a_hint(formula, scale, declared, false):
    found = lint(
        Made(
            formula,
            scale=scale,
            capabilities=("classification", "multiclass", "weights", *declared),
        )
    )
    assert len(found.false) == len(false)
    assert all(
        said.startswith(f"impurity made {start}")
        for said, start in zip(found.false, false, strict=True)
    )
    if not declared and formula is pairs:
        assert [claim.name for claim in found.claims if claim.true is None] == [
            "concave",
            "admissible",
        ]


def test_theorems_follow_from_their_axioms_alone():
    def of(formula, scale):
        found = lint(Made(formula, scale=scale))
        return [
            theorem.name.split(", ")[-1]
            for theorem in found.theorems
            if not theorem.unmet(found.found)
        ]

    assert of(gini, "mean") == ["Theorem 1", "no test is a loss", "vertices bound a bin"]
    assert of(pairs, "total") == [
        "Lemmas 2.1 and 4.1",
        "Theorem 2.2",
        "Theorem 4.2",
        "leaves by F ≤ δ",
        "no test is a loss",
    ]


# -- coverages -------------------------------------------------------------------------------------


@attrs.frozen
class BySize:
    """f of a set by its number of objects among n, as a formula of (k, n)."""

    kind, name, paper, capabilities = "coverage", "by_size", "", ()
    formula: object

    def covered(self, objects, rows):
        return np.full(len(rows), float(self.formula(len(rows), objects.n_objects)))


def linear(k, n):
    return (n - k) / (n - 1)


@pytest.mark.parametrize(
    ("name", "formula", "expected"),
    [
        (
            "from 0 to 1",
            lambda k, n: linear(k, n) * (1 + (k == 2)),
            "classes 0 0 0 1, weights 1 1 1 1: f of object 0 is 1.33333 among {0, 1}",
        ),
        (
            "0 at the root",
            lambda k, n: 1.0 if k == 1 else max(linear(k, n), 0.1),
            "classes 0 1, weights 1 1: f of object 0 is 0.1 among {0, 1}",
        ),
        (
            "1 when alone",
            lambda k, n: linear(k, n) * 0.9,
            "classes 0 1, weights 1 1: f of object 0 is 0.9 among {0}",
        ),
        (
            "never falls",
            lambda k, n: 0.1 if (k, n) == (2, 4) else linear(k, n),
            "f of object 0 is 0.333333 among {0, 1, 2}, 0.1 among {0, 1}",
        ),
        (
            "submodular",
            lambda k, n: linear(k, n) ** 2,
            "classes 0 0 1, weights 1 1 1: f of object 0 is 0 among {0, 1, 2}, 0.25 among "
            "{0, 1}, 0.25 among {0, 2}, 1 among {0}",
        ),
    ],
)
def test_a_coverage_that_breaks_an_axiom_is_caught_with_a_smallest_counterexample(
    name, formula, expected
):
    found = examine_coverage(BySize(formula))[name]
    assert found.holds is False and expected in found.note


def test_a_coverage_that_reads_the_order_is_caught():
    class Ordered(ToyExcluded):
        def prepare(self, objects):
            return self

        def covered(self, objects, rows):
            return np.arange(len(rows)) / len(rows)

    assert examine_coverage(Ordered())["order-free"].holds is False


def test_a_sound_coverage_breaks_nothing_and_its_theorems_hold():
    for sound in (ToyExcluded(), BySize(linear)):
        found = lint(sound)
        assert found.false == [] and all(
            not theorem.unmet(found.found) for theorem in found.theorems
        )
    assert found.task is Task.classification
