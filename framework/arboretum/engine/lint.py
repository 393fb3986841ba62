"""What a component's axioms say of what it declares, and which theorems hold in consequence."""

from collections.abc import Mapping
from typing import cast

import attrs

from arboretum.engine.axioms import (
    ADMISSIBLE,
    CONCAVE,
    DECOMPOSABLE,
    MONOTONE,
    NON_NEGATIVE,
    SCALE_FREE,
    SUPERMODULAR,
    SYMMETRIC,
    UNIFORM,
    ZERO,
    Finding,
    examine,
)
from arboretum.engine.axioms_of_coverages import (
    MONOTONE as NEVER_FALLS,
    RANGE,
    SAYS,
    SUBMODULAR,
    examine_coverage,
)
from arboretum.engine.check import capabilities_of, tasks_of
from arboretum.interfaces.component import Capability, Component
from arboretum.interfaces.coverage import Coverage
from arboretum.interfaces.impurity import Impurity
from arboretum.model.table import Task

KINDS = ("impurity", "coverage")
"""Kinds that have axioms."""
CONTRACT = "its contract"
"""The claim that every component of a kind makes."""


@attrs.frozen
class Claim:
    """What a component declares (its contract declares the rest).

    true : None where it declares nothing, but could.
    """

    name: str
    true: bool | None
    note: str = ""


@attrs.frozen
class Theorem:
    """What follows from some axioms."""

    name: str
    needs: tuple[str, ...]
    then: str

    def unmet(self, found: Mapping[str, Finding]) -> list[str]:
        """The axioms that it asks for and that were not found to hold."""
        return [name for name in self.needs if not found[name].holds]


# max(F − δ, 0) is supermodular where F is, and monotone: with a = F(R) ≤ b = F(R∪i), c = F(R∪j) and
# d = F(R∪i∪j) ≥ b + c − a, and φ(x) = max(x − δ, 0), φ(d) ≥ φ(b + c − a) ≥ φ(b) + φ(c) − φ(a), as φ
# is convex and never falls.
THEOREMS = {
    "impurity": (
        Theorem(
            "Zhang & Gionis 2023, Theorem 1",
            (NON_NEGATIVE, ZERO, UNIFORM, SYMMETRIC, CONCAVE, DECOMPOSABLE, SCALE_FREE),
            "with coverages that satisfy theirs, trees by criterion=regularized have an "
            "expected cost of O(log 1/p_min + log n + λ ε_h) times the least",
        ),
        Theorem(
            "Nan, Wang & Saligrama 2015, Lemmas 2.1 and 4.1",
            (NON_NEGATIVE, ZERO, MONOTONE, SUPERMODULAR),
            "c(t) (F(S) − δ) / (F(S) − F(S_t)) bounds the least max cost down to F ≤ δ from "
            "below, for any prices: a bound of exact solvers",
        ),
        Theorem(
            "Nan, Wang & Saligrama 2015, Theorem 2.2",
            ADMISSIBLE,
            "down to F = 0, trees by worst-case reduction have a max cost of (ln(F(S)/u) + "
            "1) times the least, u the least positive F: O(log n)",
        ),
        Theorem(
            "Nan, Wang & Saligrama 2015, Theorem 4.2",
            ADMISSIBLE,
            "down to F ≤ δ the same for equal prices; for others it is false as printed, but "
            "Theorem 2.2 holds of max(F − δ, 0), which is admissible, too",
        ),
        Theorem(
            "leaves by F ≤ δ",
            (MONOTONE,),
            "whatever is part of a leaf is one: with stopping=[impurity] exact solvers may "
            "end there, whichever way they came",
        ),
        Theorem("no test is a loss", (CONCAVE,), "criterion=reduction scores no test below 0"),
        Theorem(
            "vertices bound a bin",
            (CONCAVE, SCALE_FREE),
            "reduction is convex in the weights of an outcome: the best vertex of a bin "
            "bounds all its thresholds (bounded_by_vertices)",
        ),
    ),
    "coverage": (
        Theorem(
            "Zhang & Gionis 2023, Theorem 1",
            tuple(SAYS),
            "with an impurity that satisfies its part, trees by criterion=regularized have "
            "an expected cost of O(log 1/p_min + log n + λ ε_h) times the least",
        ),
        Theorem(
            "joined or truncated",
            (RANGE, NEVER_FALLS, SUBMODULAR),
            "min(f, c)/c, and 1 − (1 − f)(1 − g) with another such g, satisfy the same: "
            "several coverages may be chosen",
        ),
    ),
}


@attrs.frozen
class Lint:
    """All that is found of a component, for one kind of target."""

    component: Component
    task: Task
    found: Mapping[str, Finding]

    @property
    def claims(self) -> list[Claim]:
        """What is declared and what could be."""
        if self.component.kind == "coverage":
            return [self.claim(CONTRACT, tuple(SAYS))]
        declared = capabilities_of(self.component)
        total = cast(Impurity, self.component).scale == "total"
        known = [
            ("concave", (CONCAVE,), Capability.concave in declared),
            ("admissible", ADMISSIBLE, Capability.admissible in declared),
        ]
        free = self.found[SCALE_FREE]
        scale = (
            Claim("scale=total", not free.holds, "scale-free" if free.holds else "")
            if total
            else self.claim("scale=mean", (SCALE_FREE,))
        )
        optional = (self.claim(name, needs, said) for name, needs, said in known)
        return [
            self.claim(CONTRACT, (NON_NEGATIVE, ZERO)),
            scale,
            *(each for each in optional if each.true is not None or each.note),
        ]

    def claim(self, name: str, needs: tuple[str, ...], declared: bool = True) -> Claim:
        """Whether something declared is true: all axioms of ``needs`` hold; without a note where
        nothing is declared, and nothing could be.
        """
        wrong = [
            f"not {name}: {self.found[name].note}"
            for name in needs
            if self.found[name].holds is False
        ]
        if declared:
            return Claim(name, not wrong, "".join(wrong[:1]))
        return Claim(
            name,
            None,
            f"holds, as far as tried; declare {name!r}"
            if all(self.found[need].holds for need in needs)
            else "",
        )

    @property
    def false(self) -> list[str]:
        """The claims that are false, as sentences."""
        label = f"{self.component.kind} {self.component.name}"
        false = [claim for claim in self.claims if claim.true is False]
        says = {CONTRACT: f"{label} breaks its contract: it is"}
        return [
            f"{says.get(claim.name, f'{label} declares {claim.name}, but is')} {claim.note}"
            for claim in false
        ]

    @property
    def theorems(self) -> tuple[Theorem, ...]:
        """All theorems about components of this kind, met or not."""
        return THEOREMS[self.component.kind]


def lint(component: Component, task: Task | None = None) -> Lint:
    """Try all axioms of an impurity or a coverage.   task : default the first that it handles.

    Raises ArboretumError where the component refuses small sets of objects.
    """
    task = task or tasks_of(component)[0]
    return Lint(
        component,
        task,
        examine(cast(Impurity, component), task=task)
        if component.kind == "impurity"
        else examine_coverage(cast(Coverage, component)),
    )
