"""Where columns are cut: formulas, k-means against scikit-learn, the MDL partition against a
plain reading of it.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

from arboretum.testing.effort import examples
from arboretum_data.encoding import cuts
from arboretum_data.encoding.cuts import kmeans, mdl

DRAWS = examples(150)
COLUMNS = st.lists(st.integers(-40, 40), min_size=2, max_size=60).filter(
    lambda values: len(set(values)) > 1
)


def counted(values) -> tuple[np.ndarray, np.ndarray]:
    return np.unique(np.array(values, float), return_counts=True)


def codes(edges: np.ndarray, distinct: np.ndarray) -> list[int]:
    return np.searchsorted(edges, distinct, side="left").tolist()


def renumbered(bins) -> list[int]:
    return np.unique(bins, return_inverse=True)[1].tolist()


@DRAWS
@given(COLUMNS, st.integers(2, 12))
def test_equal_width_by_floor_follows_its_formula(values, n_bins):
    distinct, _ = counted(values)
    low, high = distinct[0], distinct[-1]
    wanted = [min(math.floor(n_bins * (v - low) / (high - low)), n_bins - 1) for v in distinct]
    assert codes(cuts.equal_width_floor(distinct, n_bins), distinct) == renumbered(wanted)


@DRAWS
@given(COLUMNS, st.integers(2, 12))
def test_equal_width_by_rounding_follows_its_formula(values, n_bins):
    distinct, _ = counted(values)
    low, high = distinct[0], distinct[-1]
    wanted = [round((n_bins - 1) * (v - low) / (high - low)) for v in distinct.tolist()]
    assert codes(cuts.equal_width_round(distinct, n_bins), distinct) == renumbered(wanted)


@DRAWS
@given(COLUMNS, st.integers(2, 12))
def test_quantile_bins_are_those_of_the_interpolated_quantiles(values, n_bins):
    distinct, counts = counted(values)
    limits = [np.quantile(np.array(values, float), k / n_bins) for k in range(1, n_bins)]
    wanted = [sum(limit < v for limit in sorted(set(limits))) for v in distinct]
    assert codes(cuts.quantile(distinct, counts, n_bins), distinct) == renumbered(wanted)


@DRAWS
@given(COLUMNS, st.data())
def test_bucketised_cuts_are_the_midpoints_between_objects_of_different_class(values, data):
    values = np.array(values, float)
    labels = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    )
    distinct, _ = counted(values)
    counts = np.array([[np.sum(labels[values == v] == k) for k in range(3)] for v in distinct])
    wanted = [
        (a + b) / 2
        for a, b in itertools.pairwise(distinct)
        if len(set(labels[(values == a) | (values == b)])) > 1
    ]
    assert cuts.bucketised(distinct, counts).tolist() == wanted


@pytest.mark.parametrize("draw", ["normal", "exponential", "pareto"])
def test_kmeans_bins_are_those_of_scikit_learn(draw):
    """Also where equal-width starting bins are empty (heavy tails) and clusters have to be
    moved.
    """
    from sklearn.preprocessing import KBinsDiscretizer

    for seed in range(4):
        generator = np.random.default_rng(seed)
        values = getattr(generator, draw)(*([1.5] if draw == "pareto" else []), size=300).round(3)
        distinct, counts = counted(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # both of them warn of bins that became too narrow
            oracle = KBinsDiscretizer(5, encode="ordinal", strategy="kmeans", subsample=None).fit(
                values[:, None]
            )
        wanted = renumbered(oracle.transform(distinct[:, None])[:, 0])
        assert codes(kmeans(distinct, counts, values, 5), distinct) == wanted, (draw, seed)


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_whole_numbers_half_way_between_two_bins_go_where_scikit_learns_algorithm_puts_them(
    algorithm,
):
    from sklearn.cluster import KMeans

    differ = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        values = np.round(generator.normal(8, 3, size=600)).clip(0, 15)
        distinct, counts = counted(values)
        first = np.linspace(values.min(), values.max(), 6)
        oracle = KMeans(
            5, init=((first[1:] + first[:-1]) / 2)[:, None], n_init=1, algorithm=algorithm
        ).fit(values[:, None])
        wanted = renumbered(oracle.predict(distinct[:, None]))
        bins = {
            rule: codes(kmeans(distinct, counts, values, 5, elkan=rule == "elkan"), distinct)
            for rule in ("lloyd", "elkan")
        }
        assert bins[algorithm] == wanted, seed
        differ += bins["lloyd"] != bins["elkan"]
    assert differ > 5


@pytest.mark.parametrize("seed", [10937, 20056, 21060, 35636])
def test_elkan_looks_at_the_upper_bin_only_beyond_half_the_way_between_the_centres(seed):
    """Columns on which the comparison of the two distances alone would send a tie elsewhere.

    Few whole numbers: their sums are exact, so that the oracle's answer hangs on no order of
    summation.
    """
    from sklearn.cluster import KMeans

    generator = np.random.default_rng(seed)
    values = generator.integers(
        0, int(generator.integers(8, 40)), int(generator.integers(40, 250))
    ).astype(float)
    distinct, counts = counted(values)
    first = np.linspace(values.min(), values.max(), 6)
    oracle = KMeans(
        5, init=((first[1:] + first[:-1]) / 2)[:, None], n_init=1, algorithm="elkan"
    ).fit(values[:, None])
    centres = np.sort(oracle.cluster_centers_[:, 0])
    # as KBinsDiscretizer bins
    wanted = np.searchsorted((centres[1:] + centres[:-1]) * 0.5, distinct, side="right")
    assert codes(kmeans(distinct, counts, values, 5, elkan=True), distinct) == renumbered(wanted)


def test_kmeans_keeps_every_value_apart_when_there_are_no_more_than_bins():
    distinct, counts = counted([1, 1, 2, 50])
    assert codes(kmeans(distinct, counts, np.array([1.0, 50, 1, 2]), 5), distinct) == [0, 1, 2]


def naive_mdl(values, labels) -> list[float]:
    """Fayyad & Irani's partition as the paper says it, one cut at a time."""
    order = np.argsort(values, kind="stable")
    values, labels = values[order], labels[order]
    best = None
    for i in range(1, len(values)):
        if values[i] > values[i - 1]:
            mixed = i / len(values) * plain_entropy(labels[:i]) + (
                1 - i / len(values)
            ) * plain_entropy(labels[i:])
            if best is None or mixed < best[0] - 1e-12:
                best = (mixed, i)
    if best is None:
        return []
    mixed, i = best
    n, (k, k1, k2) = len(labels), (len(set(part)) for part in (labels, labels[:i], labels[i:]))
    whole, left, right = (plain_entropy(part) for part in (labels, labels[:i], labels[i:]))
    delta = math.log2(3**k - 2) - (k * whole - k1 * left - k2 * right)
    if whole - mixed <= (math.log2(n - 1) + delta) / n:
        return []
    cut = (values[i - 1] + values[i]) / 2
    return [*naive_mdl(values[:i], labels[:i]), cut, *naive_mdl(values[i:], labels[i:])]


def plain_entropy(labels) -> float:
    share = [np.mean(labels == k) for k in set(labels.tolist())]
    return -sum(p * math.log2(p) for p in share)


@pytest.mark.parametrize("seed", range(12))
def test_the_mdl_partition_is_that_of_the_plain_reading(seed):
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 60, 200).astype(float)
    labels = np.where(
        generator.random(200) < 0.15, generator.integers(0, 3, 200), np.digitize(values, [20, 45])
    )
    distinct, _ = counted(values)
    counts = np.array([[np.sum(labels[values == v] == k) for k in range(3)] for v in distinct])
    assert len(naive_mdl(values, labels)) >= 2, "the example is to have something to find"
    assert mdl(distinct, counts).tolist() == naive_mdl(values, labels)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("ilpd", "total_bilirubin"),
        ("spambase", "charHash"),
        ("spambase", "internet"),
        ("letter", "x_box"),
    ],
)
def test_kmeans_bins_of_skewed_real_columns_are_those_of_scikit_learn(data_home, name, column):
    """Where clusters are emptied, and where values lie half-way between starting centres."""
    from sklearn.preprocessing import KBinsDiscretizer

    from arboretum_data.named import canonical

    values = canonical(name).column(column).values
    distinct, counts = counted(values)
    oracle = KBinsDiscretizer(5, encode="ordinal", strategy="kmeans", subsample=None).fit(
        values[:, None]
    )
    wanted = renumbered(oracle.transform(distinct[:, None])[:, 0])
    assert codes(kmeans(distinct, counts, values, 5), distinct) == wanted


def test_midpoints_between_neighbouring_floats_stay_below_the_upper_one():
    """The mean of two neighbours rounds to the even one, which may be the upper."""
    for dtype in (np.float32, np.float64):
        ladder = [dtype(1)]
        for _ in range(8):
            ladder.append(np.nextafter(ladder[-1], dtype(2)))
        values = np.array(ladder)
        edges = cuts.all_midpoints(values)
        assert edges.dtype == np.float64  # in which tests compare, whatever the column is
        assert (values[:-1] <= edges).all() and (edges < values[1:]).all()
    huge = np.array([-1.7e308, 1.7e308])
    assert cuts.all_midpoints(huge).tolist() == [0.0]


def test_the_mdl_stop_at_its_border():
    """One object against n of the other class, worked by hand.

    n = 5: gain 0.6500 > (log2 5 + log2 7 − 2·0.6500)/6 = 0.6382.  n = 6: 0.5917 < (log2 6 + log2 7
    − 2·0.5917)/7 = 0.6013.
    """
    values = np.array([1.0, 2.0])
    assert mdl(values, np.array([[0, 1], [5, 0]])).tolist() == [1.5]
    assert mdl(values, np.array([[0, 1], [6, 0]])).tolist() == []


def test_a_cluster_left_empty_twice_lands_where_scikit_learn_puts_it():
    """A found example: the emptied cluster comes before the largest one, whose sum is not yet
    divided then.
    """
    from sklearn.preprocessing import KBinsDiscretizer

    text = """0.11, 0.4, 0.59, 0.97, 0.98, 1.01, 1.09, 1.75, 1.77, 2.16, 2.74, 4.22, 5.57,
6.7, 7.33, 13.79, 21.25, 22.86, 35.41, 36.39, 49.52, 56.21, 2530.43, 45864.94"""
    values = np.array([float(v) for v in text.split(",")])
    distinct, counts = counted(values)
    oracle = KBinsDiscretizer(5, encode="ordinal", strategy="kmeans", subsample=None).fit(
        values[:, None]
    )
    wanted = renumbered(oracle.transform(distinct[:, None])[:, 0])
    assert codes(kmeans(distinct, counts, values, 5), distinct) == wanted
