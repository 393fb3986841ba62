"""Encoders: the conformance suite for every named form, and what each rule must give."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    DataError,
    Family,
    Table,
    Target,
    Task,
    TestRule,
)
from arboretum.testing import strategies
from arboretum.testing.suites.encoder import DRAWS, assert_rules_agree, encoded
from arboretum_data.encoding.columns import (
    BinTests,
    Categorical,
    Known,
    Numeric,
    Ordinal,
    OrdinalAtMost,
)
from arboretum_data.encoding.encoder import (
    AutoEncoder,
    Coalesce,
    FitOn,
    MidpointsEncoder,
    Missing,
    MultiwayEncoder,
    OneHotEncoder,
    OneHotKMeans5Encoder,
    TestsEncoder,
)

SETTINGS = [
    TestsEncoder(
        numeric=numeric,
        ordinal=ordinal,
        bin_tests=tests,
        missing=missing,
        coalesce=coalesce,
        categorical=categorical,
    )
    for numeric, (ordinal, tests, missing, coalesce, categorical) in zip(
        itertools.cycle([n for n in Numeric if n not in (Numeric.auto, Numeric.raw)]),
        itertools.product(
            (Ordinal.thresholds, Ordinal.categories), BinTests, Missing, Coalesce, Categorical
        ),
        strict=False,
    )
]
"""Every combination of the other choices, with the numeric rules going round."""


def table_of(*columns: Column, classes=None, weights=None, y=None) -> Table:
    n = len(columns[0].values)
    if y is not None:
        return Table(
            "made", columns, Target("y", Task.regression, values=np.array(y, float)), weights
        )
    codes = np.array(classes if classes is not None else np.arange(n) % 2, np.int32)
    names = tuple(f"c{k}" for k in range(int(codes.max()) + 1))
    return Table("made", columns, Target("y", Task.classification, codes, names), weights)


def numbers(values, name="x", dtype=np.float64) -> Column:
    return Column(name, ColumnKind.continuous, np.array(values, dtype))


def words(values, name="w", kind=ColumnKind.categorical, categories=None) -> Column:
    categories = (
        tuple(sorted({v for v in values if v is not None})) if categories is None else categories
    )
    codes = [categories.index(v) if v is not None else -1 for v in values]
    return Column(name, kind, np.array(codes, np.int32), categories)


def encode(component, table, whole=None, *, raw=False):
    return component.encode(table, table if whole is None else whole, raw_thresholds=raw, seed=0)


def read(objects) -> list[str]:
    return [objects.rule(t).describe() for t in range(int(objects.test_offset[-1]))]


@settings(DRAWS, max_examples=5 * settings().max_examples)
@given(table=strategies.tables(max_rows=14), component=st.sampled_from(SETTINGS))
def test_tests_on_raw_rows_agree_with_codes_for_every_setting(table, component):
    found = encoded(component, table, raw_thresholds=False)
    if found is not None:
        assert_rules_agree(found)


@DRAWS
@given(table=strategies.tables(min_rows=4, max_rows=14), component=st.sampled_from(SETTINGS))
def test_bins_placed_on_all_rows_agree_on_the_training_rows(table, component):
    train = table.take(np.arange(0, table.n_rows, 2))
    try:
        found = encode(attrs.evolve(component, fit_on=FitOn.all), train, table)
    except (DataError, CapabilityError):
        return
    assert_rules_agree(found)


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=20)
)
@DRAWS
def test_midpoints_separate_any_two_neighbouring_floats(values):
    for dtype in (np.float32, np.float64):
        column = numbers(values, dtype=dtype)
        neighbour = np.nextafter(column.values[0], np.inf, dtype=dtype)
        column = attrs.evolve(column, values=np.append(column.values, neighbour))
        if not np.isfinite(column.values).all():
            return
        objects = encode(MidpointsEncoder(), table_of(column))
        assert objects.features[0].n_tests == len(np.unique(column.values)) - 1
        assert_rules_agree(objects)


class TestTestsReadAloud:
    """What a node of a tree will say."""

    def test_a_threshold_lies_half_way_and_reads_so(self):
        assert read(encode(AutoEncoder(), table_of(numbers([26, 27, 30], "age")))) == [
            "age ≤ 26.5",
            "age ≤ 28.5",
        ]

    def test_a_categorical_column_offers_a_test_for_every_value(self):
        table = table_of(words(["anise", "almond", "none"], "odor"))
        assert read(encode(AutoEncoder(), table)) == [
            "odor = almond",
            "odor = anise",
            "odor = none",
        ]

    def test_dropping_the_last_value_leaves_one_test_less(self):
        table = table_of(words(["anise", "almond", "none"], "odor"))
        objects = encode(OneHotEncoder(categorical=Categorical.drop_last), table)
        assert read(objects) == ["odor = almond", "odor = anise"]

    def test_a_two_valued_column_offers_one_test(self):
        assert read(encode(AutoEncoder(), table_of(words(["no", "yes", "no"], "windy")))) == [
            "windy = no"
        ]
        assert read(encode(OneHotEncoder(), table_of(numbers([0, 1, 1], "flag")))) == ["flag ≤ 0.5"]

    def test_an_ordinal_column_offers_thresholds_on_its_order(self):
        column = words(["low", "high", "mid"], "size", ColumnKind.ordinal, ("low", "mid", "high"))
        assert read(encode(AutoEncoder(), table_of(column))) == ["size ≤ low", "size ≤ mid"]

    def test_multiway_asks_one_question_with_an_answer_per_value(self):
        objects = encode(MultiwayEncoder(), table_of(words(["b", "a", "c"], "w")))
        (rule,) = [objects.rule(0)]
        assert [rule.outcome_label(k) for k in range(rule.arity)] == ["= a", "= b", "= c"]
        assert objects.features[0].family is Family.multiway

    def test_missing_as_a_category_has_a_test_of_its_own(self):
        table = table_of(words(["a", "b", None, "c"], "w"))
        assert read(encode(AutoEncoder(missing=Missing.category), table))[-1] == "w = missing"
        ordinal = words(["a", "b", None, "c"], "o", ColumnKind.ordinal)
        assert (
            read(encode(AutoEncoder(missing=Missing.category), table_of(ordinal)))[-1]
            == "o is known"
        )
        gap = numbers([1, 2, np.nan])
        assert (
            read(encode(AutoEncoder(missing=Missing.category), table_of(gap)))[-1] == "x is known"
        )

    @pytest.mark.parametrize("rule", [Known("o"), OrdinalAtMost("o", ("a", "b", "c"), 1)])
    def test_the_rules_of_this_plugin_survive_json(self, rule):
        assert TestRule.from_json(rule.to_json()) == rule

    @pytest.mark.parametrize("rule", [Known("o"), OrdinalAtMost("o", ("a", "b", "c"), 1)])
    def test_the_rules_of_this_plugin_decide_in_sql_as_here(self, rule):
        cases = " ".join(
            f"WHEN {condition} THEN {k}"
            for k, condition in enumerate(
                rule.sql_conditions(lambda name: f'"{name}"', lambda text: f"'{text}'")
            )
        )
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            found = [
                base.execute(
                    f'SELECT CASE {cases} END FROM (SELECT ? AS "o")', (value,)
                ).fetchone()[0]
                for value in ("a", "c", "new", None)
            ]
        assert found == [rule.outcome_of({"o": value}) for value in ("a", "c", "new", None)]


class TestRawColumns:
    """``encoder=auto`` for a method that searches raw columns."""

    def test_numbers_and_ordinals_stay_raw_and_categories_do_not(self):
        ordinal = words(["a", "b", "c"], "o", ColumnKind.ordinal)
        table = table_of(numbers([1, 2, 3]), ordinal, words(["u", "v", "w"], "w"))
        objects = encode(AutoEncoder(), table, raw=True)
        assert [f.column for f in objects.raw_features] == ["x", "o"]
        assert [f.column for f in objects.features] == ["w"]
        assert objects.raw_features[1].rule(0.5).describe() == "o ≤ a"

    def test_single_precision_columns_are_not_widened(self):
        assert (
            encode(
                AutoEncoder(), table_of(numbers([1, 2, 3], dtype=np.float32)), raw=True
            ).raw.dtype
            == np.float32
        )
        assert encode(AutoEncoder(), table_of(numbers([1, 2, 3])), raw=True).raw.dtype == np.float64


class TestColumnsThatAreLeftOut:
    """Constant columns, identifiers, too many values: a note says why, other columns stay."""

    @pytest.mark.parametrize(
        ("column", "why"),
        [
            (words(["a"] * 30), "it is constant"),
            (words(["a", None] * 15), "its known values are one (encoder.missing=category asks"),
            (numbers([np.nan] * 30), "every value is missing"),
            (words([f"id{i:02}" for i in range(30)]), "as an identifier"),
        ],
    )
    def test_a_useless_column_among_others_is_left_out_with_a_note(self, column, why):
        objects = encode(AutoEncoder(), table_of(numbers(np.arange(30.0)), column))
        assert [f.column for f in objects.features] == ["x"]
        (note,) = objects.notes
        assert column.name in note and why in note

    @pytest.mark.parametrize(("raw", "kept"), [(True, ["x", "z"]), (False, [])])
    def test_of_a_raw_column_of_one_value_and_gaps_whether_it_is_known_is_a_test(self, raw, kept):
        table = table_of(numbers(np.arange(30.0)), numbers([np.nan, 5.0] * 15, "z"))
        assert [f.column for f in encode(AutoEncoder(), table, raw=raw).raw_features] == kept

    def test_an_identifier_is_kept_on_demand(self):
        table = table_of(words([f"id{i:02}" for i in range(30)]))
        assert encode(MultiwayEncoder(keep_identifiers=True), table).features[0].n_bins == 30

    def test_a_column_of_a_million_levels_is_left_out(self):
        n = 1_000_002  # two rows share a value, so that it is no identifier
        codes = np.minimum(np.arange(n), n - 2).astype(np.int32)
        wide = Column("serial", ColumnKind.categorical, codes, tuple(map(str, range(n - 1))))
        objects = encode(AutoEncoder(), table_of(numbers(np.arange(n) % 7), wide))
        assert [f.column for f in objects.features] == ["x"]
        assert "max_levels" in objects.notes[0]

    def test_more_bins_than_a_byte_take_wider_codes(self):
        for n, dtype in ((256, np.uint8), (257, np.uint16), (65537, np.uint32)):
            assert encode(MidpointsEncoder(), table_of(numbers(np.arange(n)))).codes.dtype == dtype

    def test_a_table_of_constants_is_refused(self):
        with pytest.raises(DataError, match="no usable column is left"):
            encode(AutoEncoder(), table_of(words(["a", "a"]), numbers([1, 1])))


class TestMissingValues:
    """Four ways."""

    table = table_of(
        numbers([1.0, np.nan, 2.0, 3.0]), words(["a", "b", None, "b"]), classes=[0, 1, 0, 1]
    )

    def test_kept_values_have_no_outcome(self):
        objects = encode(MidpointsEncoder(), self.table)
        assert [f.has_missing for f in objects.features] == [True, True]
        assert objects.rule(0).outcomes(self.table, np.arange(4)).tolist() == [0, -1, 1, 1]

    @pytest.mark.parametrize("encoder", [MidpointsEncoder, OneHotEncoder, MultiwayEncoder])
    def test_as_a_category_every_row_has_an_outcome(self, encoder):
        objects = encode(encoder(missing=Missing.category), self.table)
        assert not any(f.has_missing for f in objects.features)
        outcomes = [
            objects.rule(t).outcomes(self.table, np.arange(4)) for t in range(objects.n_tests)
        ]
        assert np.min(outcomes) == 0

    def test_rows_can_be_dropped(self):
        objects = encode(MidpointsEncoder(missing=Missing.drop_rows), self.table)
        assert objects.table.n_rows == objects.n_objects == 2
        assert objects.notes == ("2 rows with missing values are left out",)

    def test_columns_can_be_dropped(self):
        full = attrs.evolve(self.table, columns=(*self.table.columns, numbers([1, 2, 3, 4], "z")))
        objects = encode(MidpointsEncoder(missing=Missing.drop_columns), full)
        assert [f.column for f in objects.features] == ["z"]

    def test_dropping_every_row_is_refused(self):
        with pytest.raises(DataError, match="drop_rows leaves no row"):
            encode(
                MidpointsEncoder(missing=Missing.drop_rows),
                table_of(numbers([np.nan, 1]), words(["a", None])),
            )


class TestCoalescing:
    """Identical objects become one."""

    table = table_of(
        words(["a", "b", "a", "a", "b", "a"]),
        numbers([1, 2, 1, 1, 2, 1]),
        classes=[2, 1, 0, 2, 0, 0],
        weights=np.array([1.0, 1.0, 2.0, 1.0, 1.0, 0.5]),
    )

    def test_none_keeps_every_row(self):
        assert encode(MultiwayEncoder(), self.table).n_objects == 6

    def test_sum_adds_weights_and_takes_the_heaviest_label(self):
        objects = encode(MultiwayEncoder(coalesce=Coalesce.sum), self.table)
        assert objects.weight.tolist() == [4.5, 2.0]
        assert objects.count.tolist() == [4, 2]
        # a: 0 weighs 2.5 against 2; b: a tie of 0 and 1, the smallest wins
        assert objects.label.tolist() == [0, 0]
        assert objects.object_of_row.tolist() == [0, 1, 0, 0, 1, 0]

    def test_one_gives_every_object_the_weight_one(self):
        objects = encode(MultiwayEncoder(coalesce=Coalesce.one), self.table)
        assert objects.weight.tolist() == [1.0, 1.0]
        assert objects.count.tolist() == [4, 2]

    def test_regression_targets_are_averaged_by_weight(self):
        table = attrs.evolve(
            self.table, target=Target("y", Task.regression, values=np.array([1.0, 2, 4, 1, 6, 0]))
        )
        objects = encode(MultiwayEncoder(coalesce=Coalesce.sum), table)
        assert objects.y.tolist() == [(1 + 8 + 1 + 0) / 4.5, 4.0]

    def test_raw_rows_with_the_same_missing_values_and_zeros_are_identical(self):
        table = table_of(numbers([0.0, -0.0, np.nan, -np.nan, 1.0]))
        objects = encode(AutoEncoder(coalesce=Coalesce.sum), table, raw=True)
        assert objects.object_of_row.tolist() == [0, 0, 1, 1, 2]


def test_a_supervised_rule_refuses_a_regression_target():
    for rule in (Numeric.mdl, Numeric.bucketised):
        with pytest.raises(
            CapabilityError, match=rf"encoder.numeric={rule.value} looks at classes"
        ):
            encode(TestsEncoder(numeric=rule), table_of(numbers([1, 2, 3]), y=[1, 2, 4]))


def test_a_field_out_of_bounds_names_field_rule_and_value():
    with pytest.raises(ValueError, match=r"encoder.n_bins must be ≥ 2; got 1"):
        TestsEncoder(n_bins=1)


def test_three_hundred_classes_are_encoded_by_every_rule():
    generator = np.random.default_rng(0)
    table = table_of(numbers(generator.normal(size=900)), classes=np.arange(900) % 300)
    for rule in (Numeric.mdl, Numeric.bucketised, Numeric.kmeans):
        try:
            objects = encode(TestsEncoder(numeric=rule), table)
        except DataError:
            assert rule is Numeric.mdl  # noise: no cut pays
        else:
            assert objects.n_classes == 300


def test_bins_are_placed_on_the_training_rows_or_on_all():
    whole = table_of(numbers([1, 2, 3, 4, 5, 6]), words(["a", "a", "a", "b", "b", "c"]))
    train = whole.take(np.array([0, 3]))
    on_train = encode(MidpointsEncoder(), train, whole)
    on_all = encode(MidpointsEncoder(fit_on=FitOn.all), train, whole)
    assert read(on_train) == ["x ≤ 2.5", "w = a"]
    assert read(on_all) == [
        "x ≤ 1.5",
        "x ≤ 2.5",
        "x ≤ 3.5",
        "x ≤ 4.5",
        "x ≤ 5.5",
        "w = a",
        "w = b",
        "w = c",
    ]
    assert on_all.codes[:, 0].tolist() == [0, 3]


def test_the_protocol_encoder_is_one_hot_with_bins_of_all_rows_and_merged_rows():
    colour = Column(
        "c", ColumnKind.categorical, np.array([0, 0, 1, 1, -1, -1], np.int32), ("r", "g")
    )
    table = table_of(numbers([1, 1, 2, 2, 3, 3]), colour, classes=[0, 1, 1, 1, 0, 0])
    named = OneHotKMeans5Encoder().encode(
        table.take(np.arange(4)), table, raw_thresholds=False, seed=0
    )
    spelled = OneHotEncoder(fit_on=FitOn.all, missing=Missing.category, coalesce=Coalesce.sum)
    assert attrs.asdict(OneHotKMeans5Encoder()) == attrs.asdict(spelled)
    assert named.weight.tolist() == [2.0, 2.0]
    assert named.label.tolist() == [0, 1]  # one row of each class: the smaller one
    assert named.n_tests == 3 + 3  # the value 3 and "missing" occur among all rows only


def test_guessed_cuts_are_midpoints_where_stumps_of_an_ensemble_cut():
    generator = np.random.default_rng(0)
    first, second = generator.integers(0, 30, 200), generator.normal(size=200)
    classes = (first > 11) ^ (generator.random(200) < 0.1)
    table = table_of(
        numbers(first), numbers(second, "noise"), words(list("ab" * 100)), classes=classes
    )
    few, many = (
        TestsEncoder(numeric=Numeric.guessed, guesses=n).encode(
            table, table, raw_thresholds=False, seed=0
        )
        for n in (1, 60)
    )
    assert [feature.column for feature in few.features] == ["x", "w"] and few.features[0].edges == (
        11.5,
    )
    assert 11.5 in many.features[0].edges and set(many.features[0].edges) <= {
        k + 0.5 for k in range(29)
    }
    assert "column 'noise' is left out: guessed finds no cut" in few.notes
    tiny = TestsEncoder(numeric=Numeric.kmeans).encode(
        *[table_of(numbers(first * 1e-10), words(list("ab" * 100)), classes=classes)] * 2,
        raw_thresholds=False,
        seed=0,
    )
    assert "column 'x' is left out: kmeans finds no cut between bins wider than 1e-08" in tiny.notes
    for k, edge in enumerate(many.features[0].edges):
        assert ((many.codes[:, 0] > k) == (first > edge)).all()
    constant = table_of(numbers([1.0, 2.0, 3.0]), words(["a", "b", "a"]), classes=[0, 0, 0])
    assert [
        feature.column
        for feature in TestsEncoder(numeric=Numeric.guessed)
        .encode(constant, constant, raw_thresholds=False, seed=0)
        .features
    ] == ["w"]
    huge = table_of(numbers([-1e300, 1e300, 2e300, 3e300]), y=[0.0, 1.0, 1.0, 1.0])
    assert (
        TestsEncoder(numeric=Numeric.guessed)
        .encode(huge, huge, raw_thresholds=False, seed=0)
        .features[0]
        .n_bins
        == 2
    )


@pytest.mark.parametrize("rule", ["kmeans", "kmeans_elkan", "quantile", "equal_width_floor"])
@pytest.mark.filterwarnings("error")
def test_numbers_too_large_for_a_rule_are_refused_by_column(rule):
    huge = table_of(numbers([-1.5e308, 0.0, 1.0, 1.5e308]), y=[0.0, 1.0, 1.0, 1.0])
    encoder = TestsEncoder(numeric=Numeric[rule], n_bins=3)
    with pytest.raises(DataError, match=r"column 'x' reaches from -1.5e\+308 to 1.5e\+308, and"):
        encoder.encode(huge, huge, raw_thresholds=False, seed=0)
    few = attrs.evolve(encoder, numeric=Numeric.midpoints)
    assert few.encode(huge, huge, raw_thresholds=False, seed=0).features[0].n_bins == 4
