"""A share of the training rows teaches: nested, stratified, whole groups, and nothing else of a run
changes.
"""

from __future__ import annotations

import math
from collections import Counter

import attrs
import numpy as np
import pytest
from hypothesis import given, strategies as st

import arboretum
from arboretum.api import Column, ColumnKind, Division, Table, Target, Task
from arboretum.engine.run import Request, fingerprint
from arboretum.engine.train_fraction import draw_fraction
from arboretum.errors import ConfigError
from arboretum.interfaces.method import Parts
from arboretum.plugin.assemble import assemble
from arboretum.plugin.build import configuration
from arboretum.plugin.discovery import load_registry
from arboretum.testing.effort import examples

CLASSES = ("a", "b", "c")


@attrs.frozen
class Folds:
    """A split whose fold is all that is read of it."""

    fold: int = 0


def _table(codes: list[int] | None, n: int, groups: list[int] | None = None) -> Table:
    if codes is None:
        target = Target("y", Task.regression, values=np.arange(n, dtype=float))
    else:
        target = Target("y", Task.classification, np.array(codes, np.int32), CLASSES)
    columns = (Column("x", ColumnKind.continuous, np.arange(float(n))),)
    named = None if groups is None else np.array(groups)
    return Table("made", columns, target, groups=named)


def _order(division: Division, seed: int, fold: int) -> list[int]:
    bits = np.random.PCG64(np.random.SeedSequence([seed, 0x7472, fold]))
    return np.random.Generator(bits).permutation(division.train).tolist()


def slow_rows(table: Table, division: Division, fraction: float, seed: int, fold: int) -> list[int]:
    """Walk the drawn order; take a row while its class has not had its share."""
    label = [0] * table.n_rows if table.is_regression else table.target.codes.tolist()
    sizes = Counter(label[row] for row in division.train)
    taken: Counter[int] = Counter()
    kept = []
    for row in _order(division, seed, fold):
        due = max(1, math.floor(round(sizes[label[row]] * fraction, 9) + 0.5))
        if taken[label[row]] < due:
            taken[label[row]] += 1
            kept.append(row)
    return sorted(kept)


def slow_groups(
    table: Table, division: Division, fraction: float, seed: int, fold: int
) -> list[int]:
    """Deal groups to the classes that most of their rows have; of each, take the first ones."""
    label = [0] * table.n_rows if table.is_regression else table.target.codes.tolist()
    members: dict[int, list[int]] = {}
    for row in _order(division, seed, fold):
        members.setdefault(int(table.groups[row]), []).append(row)
    shown: set[int] = set()
    dealt: dict[int, tuple[list[int], list[int]]] = {}
    for name, rows in members.items():
        found = Counter(label[row] for row in rows)
        owner = min(found, key=lambda code: (-found[code], code))
        early, late = dealt.setdefault(owner, ([], []))
        (late if set(found) <= shown else early).append(name)
        shown |= set(found)
    kept: list[int] = []
    for early, late in dealt.values():
        queue = early + late
        total = sum(len(members[name]) for name in queue)
        sums = [sum(len(members[name]) for name in queue[:k]) for k in range(len(queue) + 1)]
        off = [abs(rows - total * fraction) for rows in sums]
        for name in queue[: max(len(early), off.index(min(off)))]:
            kept += members[name]
    return sorted(kept)


@st.composite
def divided(draw):
    n = draw(st.integers(2, 60))
    codes = draw(st.none() | st.lists(st.integers(0, 2), min_size=n, max_size=n))
    groups = draw(st.none() | st.lists(st.integers(0, 9), min_size=n, max_size=n))
    part = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=n - 1, max_size=n - 1))
    division = Division(*(np.flatnonzero(np.array([0, *part]) == k) for k in range(3)))
    return _table(codes, n, groups), division


@given(
    divided(),
    st.lists(st.floats(0.01, 1), min_size=2, max_size=2).map(sorted),
    st.integers(0, 99),
    st.integers(0, 3),
)
@examples(300)
def test_shares_are_nested_stratified_disjoint_and_those_of_the_slow_twin(
    rows, fractions, seed, fold
):
    table, division = rows
    slow = slow_rows if table.groups is None else slow_groups
    found = []
    for fraction in fractions:
        drawn = draw_fraction(table, division, fraction, seed, Folds(fold))
        assert drawn.valid is division.valid and drawn.test is division.test
        assert drawn.train.dtype == np.int64 and (np.diff(drawn.train) > 0).all()
        if fraction < 1:
            assert drawn.train.tolist() == slow(table, division, fraction, seed, fold)
        found.append(set(drawn.train.tolist()))
        label = table.target.codes if table.is_classification else np.zeros(table.n_rows, int)
        had, has = (np.bincount(label[part.train], minlength=3) for part in (division, drawn))
        assert ((has > 0) == (had > 0)).all(), "every class keeps a row"
        if table.groups is None:
            assert (np.abs(has - had * fraction) < 1).all(), "within one row per class"
        else:
            left = set(division.train.tolist()) - found[-1]
            assert not set(table.groups[list(left)]) & set(table.groups[drawn.train])
    assert found[0] <= found[1] <= set(division.train.tolist())


def test_a_whole_share_is_the_same_division_and_others_are_refused():
    table, everything = _table(None, 9), Division(*map(np.arange, (9, 0, 0)))
    assert draw_fraction(table, everything, 1.0, 0) is everything
    for wrong in (0.0, -0.5, 1.5, math.nan):
        with pytest.raises(ConfigError, match="train_fraction must be > 0 and ≤ 1; got"):
            draw_fraction(table, everything, wrong, 0)


def test_a_half_is_rounded_up_whatever_binary_fractions_take_off():
    table, everything = _table(None, 45), Division(*map(np.arange, (45, 0, 0)))
    assert 45 * 0.7 < 31.5
    assert len(draw_fraction(table, everything, 0.7, 0).train) == 32


def test_seeds_and_folds_draw_other_rows():
    table, everything = _table([0, 1] * 50, 100), Division(*map(np.arange, (100, 0, 0)))
    drawn = [
        tuple(draw_fraction(table, everything, 0.3, seed, Folds(fold)).train)
        for seed in (0, 1)
        for fold in (0, 1)
    ]
    assert len(set(drawn)) == 4


def test_a_run_learns_from_the_share_and_is_judged_on_all_test_rows():
    words = ["dataset=iris", "method=id3", "certify=true", "tracker=none", "seed=3"]
    whole, part = (arboretum.run([*words, *more]) for more in ([], ["train_fraction=0.4"]))
    assert part.verified and part.certificate is not None
    assert whole.data["n_train"] == 105 and part.data["n_train"] == 42
    assert part.tree.counts[0] == 42 and part.tree.weights[0].tolist() == [14, 14, 14]
    assert part.data["n_test"] == whole.data["n_test"] == 30
    assert "42 of the 105 rows that may train were drawn" in " ".join(part.notes)
    assert part.config["train_fraction"] == 0.4 and whole.config["train_fraction"] == 1.0
    assert part.fingerprint != whole.fingerprint


def test_balanced_class_weights_are_of_the_drawn_rows():
    words = ["dataset=iris", "method=id3", "tracker=none", "split=none", "train_fraction=0.1"]
    record = arboretum.run([*words, "class_weight=balanced"])
    assert record.tree.weights[0].tolist() == [5, 5, 5]


def test_one_leaves_the_fingerprint_as_it_was_before_there_were_fractions():
    def of(**config):
        return fingerprint(Request(Parts(None), config={"method": "cart", **config}), "data")

    assert of() == of(train_fraction=1.0) == of(train_fraction=1)
    assert of() != of(train_fraction=0.5)


def test_assembled_parts_take_it_and_say_so():
    parts = assemble(load_registry(), {"method": "cart"}, {"train_fraction": 0.5})
    assert parts.train_fraction == 0.5 and configuration(parts)["train_fraction"] == 0.5
    assert "train_fraction" not in configuration(attrs.evolve(parts, train_fraction=1.0))
    with pytest.raises(ConfigError, match="give fit the rows that teach"):
        arboretum.TreeClassifier(overrides={"train_fraction": 0.5}).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("wrong", ["0", "1.5", "-1", "much"])
def test_bad_shares_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match="train_fraction"):
        arboretum.run(["dataset=iris", "method=cart", "tracker=none", f"train_fraction={wrong}"])
