"""C4.5: the criterion, and that the kernel grows what the loop grows."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.api import (
    Column,
    ColumnKind,
    Context,
    Parts,
    Prices,
    Problem,
    Table,
    Target,
    Task,
    grow,
)
from arboretum.testing.effort import examples
from arboretum_classic.c45.criterion import C45, C45Release8, C45Textbook
from arboretum_classic.c45.growth import (
    Cut,
    Quinlan,
    QuinlanTextbook,
    _grow_by_kernel,
    _reason_for_the_loop,
)
from arboretum_classic.criteria.impurities import Entropy
from arboretum_classic.missing.rules import Fractional
from arboretum_data.encoding.encoder import Categorical, DeclaredEncoder
from arboretum_data.generated import play_tennis


def problem_of(table, criterion=C45(), encoder=DeclaredEncoder(), **more):
    objects = encoder.encode(table, table, raw_thresholds=True, seed=0)
    prices = Prices(np.ones(int(objects.test_offset[-1])), np.ones(len(objects.raw_features)))
    parts = Parts(
        method=Quinlan(**more),
        criterion=criterion,
        impurity=Entropy(),
        missing=Fractional(),
        encoder=encoder,
    )
    return Problem(objects, prices, parts)


@st.composite
def tables(draw):
    """Two numbers and two nominal columns, of eighths and of three declared values, some cells
    empty, some rows with a weight.
    """
    n, seed = draw(st.integers(12, 60)), draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    gaps = draw(st.sampled_from([0.0, 0.2, 0.6]))
    numbers = [
        np.where(random.random(n) < gaps, np.nan, random.integers(0, 20, n) / 8) for _ in range(2)
    ]
    names = [np.where(random.random(n) < gaps, -1, random.integers(0, 2 + k, n)) for k in range(2)]
    columns = [Column(f"x{k}", ColumnKind.continuous, values) for k, values in enumerate(numbers)]
    columns += [
        Column(f"c{k}", ColumnKind.categorical, codes, ("a", "b", "c"))
        for k, codes in enumerate(names)
    ]
    label = (
        np.nan_to_num(numbers[0])
        + names[1]
        + random.normal(0, draw(st.sampled_from([0.1, 1.0])), n)
        > 1.5
    ) + (names[0] > 1)
    label[:2] = 0, 1
    weights = random.integers(1, 4, n) / 2.0 if draw(st.booleans()) else None
    order = random.permutation(4)
    return Table(
        "drawn",
        tuple(columns[i] for i in order),
        Target("y", Task.classification, label.astype(np.int32), ("u", "v", "w")),
        weights,
    )


@examples(60)
@given(
    tables(),
    st.sampled_from([C45(), C45(min_objects=1.0), C45Release8(), C45Textbook()]),
    st.booleans(),
)
def test_the_kernel_grows_the_tree_of_the_loop(table, criterion, binary):
    encoder = DeclaredEncoder(categorical=Categorical.onehot) if binary else DeclaredEncoder()
    problem = problem_of(table, criterion, encoder)
    assert list(_reason_for_the_loop(problem, Context())) == []
    one, other = _grow_by_kernel(problem)[0], grow(problem, Context()).tree
    assert one.rules == other.rules
    for name in ("test", "child", "missing_child"):
        assert (getattr(one, name) == getattr(other, name)).all(), name
    slack = 1e-12 * problem.objects.weight.sum()
    for name in ("weights", "counts", "impurity", "price"):
        assert np.abs(getattr(one, name) - getattr(other, name)).max() <= slack, name


@pytest.mark.parametrize("seconds", [None, 100.0])
def test_close_values_are_equal_to_the_programs_alone_with_a_note(seconds):
    """A deadline that never came made another tree, since the loop took them apart."""
    until = None if seconds is None else time.monotonic() + seconds
    x = np.arange(32.0) * 1e-8
    table = Table(
        "close",
        (Column("x", ColumnKind.continuous, x),),
        Target("y", Task.classification, (x > 1.5e-7).astype(np.int32), ("u", "v")),
    )
    problem = problem_of(table, C45Release8())
    program = Quinlan().fit(problem, Context(deadline=until))
    assert program.tree.n_nodes == 1
    assert program.notes[0].startswith("column 'x': 31 of 31 cuts lie between values at most 1e-05")
    told = QuinlanTextbook().fit(problem_of(table, C45Textbook()), Context(deadline=until))
    assert told.tree.n_nodes == 3 and "cuts lie" not in " ".join(told.notes)


def test_play_tennis_is_the_tree_of_the_book():
    tree = Quinlan().fit(problem_of(play_tennis()), Context()).tree
    assert [rule.describe() for rule in tree.rules] == ["outlook", "windy", "humidity"]
    assert (tree.n_nodes, tree.n_leaves) == (8, 5)
    assert tree.weights[tree.is_leaf].max(axis=1).tolist() == tree.mass[tree.is_leaf].tolist()


def fitted(columns, label, criterion=C45Release8(), **more):
    """The tree of a small table.

    columns : name → numbers, or words of one letter, “?” without a value.
    """
    made = []
    for name, values in columns.items():
        if isinstance(values, str):
            codes = np.array(["abcdef".find(letter) for letter in values], np.int32)
            made.append(
                Column(name, ColumnKind.categorical, codes, tuple("abcdef"[: codes.max() + 1]))
            )
        else:
            made.append(Column(name, ColumnKind.continuous, np.array(values, float)))
    codes = np.array(label, np.int32)
    table = Table(
        "by_hand",
        tuple(made),
        Target("y", Task.classification, codes, ("u", "v", "w")[: codes.max() + 1]),
    )
    return Quinlan(**more).fit(problem_of(table, criterion), Context()).tree


def bits(*weights):
    share = np.array([w for w in weights if w > 0]) / sum(weights)
    return float(-(share * np.log2(share)).sum())


def test_thresholds_are_values_of_the_whole_training_set():
    """Below word a the cut lies between 2 and 8; a row of word b has 4.5, the largest value that
    is not above the midpoint of 5.
    """
    columns = {"word": "aaaaaaaabbbbbb", "x": [1, 1, 2, 2, 8, 8, 9, 9, 4.5, 4.5, 6, 6, 6, 4.5]}
    label = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]
    for way, expected in ((Cut.data, 4.5), (Cut.midpoint, 5.0)):
        tree = fitted(columns, label, threshold=way)
        assert tree.rule(0).describe() == "word" and [
            r.threshold for r in tree.rules if hasattr(r, "threshold")
        ] == [expected]


def test_the_choice_of_a_cut_is_charged_by_all_that_were_admissible():
    """16 rows of 16 values, 2 rows asked for on either side: 13 cuts; that after the 7th row
    gains most, as does that after the 9th.
    """
    label = [0] * 7 + [1, 0] + [1] * 7
    gain = 1.0 - 9 / 16 * bits(1, 8)
    assert fitted({"x": np.arange(16.0)}, label).score[0] == pytest.approx(
        (gain - np.log2(13) / 16) / bits(7, 9), rel=1e-12
    )
    assert fitted({"x": np.arange(16.0)}, label, C45(mdl=False)).score[0] == pytest.approx(
        gain / bits(7, 9), rel=1e-12
    )
    mixed = [0, 1] * 8  # the best cut gains less than log2(13)/16
    assert (
        fitted({"x": np.arange(16.0)}, mixed, collapse=False).n_nodes
        == 1
        < fitted({"x": np.arange(16.0)}, mixed, C45(mdl=False), collapse=False).n_nodes
    )


def test_a_test_below_the_average_gain_does_not_compete_whatever_its_ratio():
    """Two pure rows of 24 have the better ratio, and less gain than the mean of the two."""
    columns = {"few": "aa" + "b" * 22, "even": "abcdef" * 4}
    label = [0, 0, 1, 0, 1, 1] + [1, 1, 0, 1, 0, 0] * 3
    few, even = (
        fitted({name: column}, label, collapse=False).score[0] for name, column in columns.items()
    )
    assert (
        few == pytest.approx((1 - 22 / 24 * bits(10, 12)) / bits(2, 22))
        and even == pytest.approx((1 - bits(1, 3)) / np.log2(6))
        and few > even
    )
    asked = {
        rule: fitted(columns, label, C45Release8(average_gain=rule), collapse=False)
        .rule(0)
        .describe()
        for rule in (True, False)
    }
    assert asked == {True: "even", False: "few"}


def test_rows_without_a_value_weaken_gain_and_are_a_branch_of_the_split_information():
    tree = fitted({"word": "aaaaabbbbb??"}, [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1])
    gain = 10 / 12 * (bits(5, 5) - bits(4, 1))
    assert tree.score[0] == pytest.approx(gain / bits(5, 5, 2), rel=1e-12)
    assert tree.weights[1:].tolist() == [[4.5, 1.5], [1.5, 4.5]]


def test_release_8_divides_where_a_word_gains_nothing_and_j48_does_not():
    columns, label = {"p": "aabb" * 4, "q": "abab" * 4}, [0, 1, 1, 0] * 4
    assert fitted(columns, label).n_leaves == 4 and fitted(columns, label, C45()).n_nodes == 1
