"""``arboretum lint``: what is printed of one component and of all, and what a false claim costs."""

from __future__ import annotations

import pytest

FALSE = '''
"""An impurity that says more than is true."""
import attrs
import numpy as np
from arboretum.api import hookimpl, param


@attrs.frozen
class Boaster:
    """Objects outside the first class, to a power."""

    kind, name, paper, scale = "impurity", "boaster", "", "total"
    capabilities = ("classification", "multiclass", "weights", "admissible")
    power: float = param(1.0, "what for", gt=0.0)

    def value(self, weights):
        return np.maximum(weights.sum(axis=-1) - weights.max(axis=-1), 0.0) ** self.power


@hookimpl
def arboretum_components():
    return [Boaster]
'''


def test_one_impurity_is_told_with_axioms_claims_and_theorems(call):
    done = call("lint", "impurity.entropy")
    assert done.status == 0 and done.err == ""
    lines = done.out.splitlines()
    row = next(line for line in lines if line.startswith("monotone"))
    assert row.split() == [
        "monotone",
        "broken",
        "6,948",
        "+",
        "0",
        "F(1,",
        "1)",
        ">",
        "F(2,",
        "1):",
        "1",
        ">",
        "0.918296",
    ]
    assert "  concave       true" in lines and any(
        line.startswith("  ● Zhang & Gionis 2023, Theorem 1: with coverages") for line in lines
    )
    assert any("Theorem 2.2: not known, as it is not monotone" in line for line in lines)


def test_fields_are_given_as_words_and_presets_stand_for_their_component(call):
    assert "Tsallis(order=0.5)" in call("lint", "order=0.5", "impurity.tsallis").out
    assert "impurity.order must be > 0" in call("lint", "impurity.tsallis", "order=-1").error


def test_without_a_name_all_are_compared(call, examined_once):
    text = call("lint").out
    assert "rt (classification)                 ●  ●  ●  ●  ●  ●  ●  ●  ●  ✗" in text
    assert "auto (regression)                   ●  ●  –  –  ●  –  ✗  ✗  ●  ●" in text
    assert "probability (classification)  ●  ●  ●  ●  ●  ●" in text and " 8 supermodular: " in text


def test_a_false_claim_is_an_error_and_sets_the_status(call, here):
    (here / "boaster.py").write_text(FALSE)
    done = call("lint", "--plugin", "boaster.py", "impurity.boaster")
    assert done.status == 1
    told = (
        "impurity boaster declares admissible, but is not supermodular: F(1, 1) + F(1, 1) > F(0, "
        "1) + F(2, 1): 1 + 1 > 0 + 1"
    )
    assert done.error == told
    assert "  concave              holds, as far as tried; declare 'concave'" in done.out.replace(
        "hint  ", "      "
    )


def test_a_broken_contract_is_called_that(call, here):
    (here / "boaster.py").write_text(
        FALSE.replace(', "admissible"', "").replace("np.maximum(", "-np.maximum(")
    )
    done = call("lint", "--plugin", "boaster.py", "impurity.boaster")
    assert (
        done.status == 1
        and done.error
        == "impurity boaster breaks its contract: it is not non-negative: 0 > F(1, 1): 0 > -1"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["impurity.gin"], "unknown impurity 'gin'; did you mean 'gini'"),
        (
            ["criterion.reduction"],
            "unknown kind 'criterion'; known: coverage, impurity; say KIND.NAME",
        ),
        (["impurity"], "impurity which? say impurity.NAME; known: absolute_error, "),
        (["order=1"], "order=… is a field of one component; name one"),
        (["impurity.gini", "order=1"], "unknown parameter 'order'"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(words, said, call):
    done = call("lint", *words)
    assert done.status == 1 and said in done.error
