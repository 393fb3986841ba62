"""Encoders: the conformance suite for every named form, and what each rule must give."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from arboretum_data.encoding.coalesce import Coalesce
from arboretum_data.encoding.columns import BinTests, Categorical, Numeric, Ordinal
from arboretum_data.encoding.encoder import (
    ENCODERS,
    AutoEncoder,
    BinsEncoder,
    FitOn,
    MidpointsEncoder,
    Missing,
    MultiwayEncoder,
    OneHotEncoder,
    RawEncoder,
    TestsEncoder,
)
from hypothesis import given

from arboretum.api import CapabilityError, Column, ColumnKind, DataError, Family, Table, Target, Task
from arboretum.testing import EncoderSuite, strategies
from arboretum.testing.suites.encoder import DRAWS, assert_rules_agree, encoded


@pytest.mark.parametrize("component", [cls() for cls in ENCODERS], ids=lambda c: c.name)
class TestNamedForms(EncoderSuite):
    """Every registered encoder with its defaults."""


SETTINGS = [
    TestsEncoder(numeric=numeric, bin_tests=tests, missing=missing, coalesce=coalesce, categorical=categorical)
    for numeric, (tests, missing, coalesce, categorical) in zip(
        itertools.cycle([n for n in Numeric if n not in (Numeric.auto, Numeric.raw)]),
        itertools.product(BinTests, Missing, Coalesce, Categorical),
    )
]


@pytest.mark.parametrize("ordinal", [Ordinal.thresholds, Ordinal.categories])
@pytest.mark.parametrize("missing", list(Missing))
@DRAWS
@given(table=strategies.tables(max_rows=14))
def test_tests_on_raw_rows_agree_with_codes_for_every_setting(table, missing, ordinal):
    for component in SETTINGS:
        if component.missing is missing:
            found = encoded(attrs.evolve(component, ordinal=ordinal), table, raw_thresholds=False)
            if found is not None:
                assert_rules_agree(found)
