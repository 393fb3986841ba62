"""Charts of studies: whole, readable, nothing over anything else, and true to the numbers."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import attrs
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from arboretum.errors import DataError
from arboretum.measure.figures import bar_chart, growth_chart, pareto_chart, rank_diagram, sweep_chart, time_chart
from arboretum.measure.significance import bonferroni_dunn, nemenyi, wilcoxon_holm
from arboretum.model.charts import Axis, Line, LineChart, Panels, Point, PointChart, RankDiagram
from arboretum.model.grid import Grid
from arboretum.model.scores import Scores
from arboretum.report.axes import Scale
from arboretum.report.canvas import label_box
from arboretum.report.charts import chart_png, chart_scene, chart_svg
from arboretum.report.palette import series_colour, series_form
from arboretum.report.plots import overlap, place_labels
from arboretum.report.rank_diagram import BAND, BAR
from arboretum.report.scene import Box, Dot, Label, Stroke

METHODS = ("C4.5", "EC4.5", "a method with a long name", "ASR & <IP>", "BAL")
DATASETS = tuple(f"data-set-{i}" for i in range(9)) + ("one-with-quite-a-long-name",)


def scores(measure: str = "ROC AUC", *, seed: int = 0, higher: bool = True, gap: bool = False) -> Scores:
    values = np.random.default_rng(seed).uniform(0.5, 0.99, (10, 5, 4)) + 0.02 * np.arange(5)[:, None]
    if gap:
        values[3, 4] = math.nan
    return Scores.of_repeats(measure, METHODS, DATASETS, values, higher_is_better=higher)


def charts() -> dict[str, object]:
    auc, cost = scores(gap=True), scores("expected cost", seed=1, higher=False)
    sizes = {name: 10.0 ** (2 + i / 2) for i, name in enumerate(DATASETS)}
    sweep = sweep_chart([0.01, 0.1, 1, 10, 100], scores(), "A sweep", axis="λ")
    cd = rank_diagram(nemenyi(auc), "Average ranks by AUC", subtitle="ten data sets")
    dunn = rank_diagram(bonferroni_dunn(auc, "EC4.5"), "Against one")
    return {
        "Nemenyi": cd,
        "Bonferroni–Dunn": dunn,
        "Wilcoxon–Holm": rank_diagram(wilcoxon_holm(scores()), "Average ranks & <pairs>"),
        "bars": bar_chart(auc, "Bars", base=0.5, subtitle="mean of 4 runs", notes=["A note."]),
        "bars of their own": bar_chart(cost, "Bars", own_scales=True),
        "logarithmic bars": bar_chart(cost, "Bars", base=0.01, log=True),
        "Pareto": pareto_chart(cost, auc, "AUC against expected cost"),
        "sweep": sweep,
        "times": time_chart(scores("seconds"), "Running times"),
        "growth": growth_chart(scores("seconds"), sizes, "Time against size", axis="objects"),
        "panels": Panels("Six panels", [attrs.evolve(sweep, title=f"panel {i}") for i in range(5)], 2, "together", ["A note."]),
        "mixed panels": Panels("Two", [cd, sweep, dunn], 2),
    }


def labels(scene) -> list[Label]:
    return [shape for shape in scene.shapes if isinstance(shape, Label)]


def assert_readable(scene) -> None:
    """Labels lie within the picture and over no other label; dots within it."""
    for label in labels(scene):
        left, top, right, bottom = label_box(label)
        assert left >= 0 and top >= 0 and right <= scene.width and bottom <= scene.height, label
    for a, b in itertools.combinations(labels(scene), 2):
        assert not overlap(label_box(a), label_box(b)), f"{a.text!r} over {b.text!r}"
    for dot in (shape for shape in scene.shapes if isinstance(shape, Dot)):
        assert 0 <= dot.x <= scene.width and 0 <= dot.y <= scene.height
    for stroke in (shape for shape in scene.shapes if isinstance(shape, Stroke)):
        assert all(0 <= x <= scene.width and 0 <= y <= scene.height for x, y in stroke.points)


@pytest.mark.parametrize("name", list(charts()))
def test_every_chart_is_a_well_formed_picture_with_all_words_and_nothing_over_anything(name):
    chart = charts()[name]
    root = ET.fromstring(chart_svg(chart))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join(element.text or "" for element in root.iter())
    assert all(word in text for word in (chart.title, chart.subtitle, *chart.notes))
    assert_readable(chart_scene(chart))


@pytest.mark.parametrize("name", ["Nemenyi", "Pareto", "bars", "growth", "times", "panels"])
def test_charts_are_painted_as_png_files(name, tmp_path):
    chart_png(charts()[name], tmp_path / "chart.png", scale=0.5)
    assert (tmp_path / "chart.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(OSError):
        chart_png(charts()[name], tmp_path / "missing" / "chart.png", scale=0.5)


def test_a_heat_map_is_drawn_by_the_same_function():
    assert "<svg" in chart_svg(Grid("t", ("r",), ("c",), ((1.0,),), (("1",),)))


# -- rank diagrams --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 18).flatmap(lambda k: arrays(np.float64, k, elements=st.floats(1, 1.5) | st.floats(1, k) | st.just(2.0))))
def test_names_touch_nothing_however_close_the_ranks_are(ranks):
    ranks = np.minimum(ranks, len(ranks)).tolist()
    names = [f"method number {i}" for i in range(len(ranks))]
    scene = chart_scene(RankDiagram("Ranks", names, ranks, groups=[range(len(ranks))], critical_difference=0.7, test="any"))
    assert_readable(scene)
    assert sorted(label.text for label in labels(scene) if label.text in names) == sorted(names)
    words = [label_box(label) for label in labels(scene) if label.text in names]
    for stroke in (shape for shape in scene.shapes if isinstance(shape, Stroke)):
        for (x1, y1), (x2, y2) in itertools.pairwise(stroke.points):
            line = (min(x1, x2) - 0.5, min(y1, y2) - 0.5, max(x1, x2) + 0.5, max(y1, y2) + 0.5)
            assert not any(overlap(line, word) for word in words)


def test_stems_stand_at_their_ranks_and_bars_span_their_groups():
    chart = RankDiagram("Ranks", ("a", "b", "c", "d"), (1.5, 2.0, 2.5, 4.0), groups=((0, 1, 2), (2, 3)))
    shapes = chart_scene(chart).shapes
    dots = {shape.hint[0]: shape.x for shape in shapes if isinstance(shape, Dot)}
    per_rank = (dots["d"] - dots["a"]) / 2.5
    assert dots["b"] - dots["a"] == pytest.approx(0.5 * per_rank)
    bars = [shape for shape in shapes if isinstance(shape, Box) and shape.fill == BAR]
    assert [bar.hint for bar in bars] == ["not different: a, b, c", "not different: c, d"]
    for bar, (first, last) in zip(bars, (("a", "c"), ("c", "d")), strict=True):
        assert bar.x == pytest.approx(dots[first] - 4) and bar.x + bar.width == pytest.approx(dots[last] + 4)
    assert abs(bars[0].y - bars[1].y) > bars[0].height, "bars that share a method lie in rows of their own"


@settings(deadline=None, max_examples=40)
@given(arrays(np.float64, st.tuples(st.integers(2, 12), st.integers(2, 6)), elements=st.integers(0, 5).map(float)))
def test_the_bars_of_a_diagram_say_what_the_pairwise_test_says(values):
    test = nemenyi(Scores("m", [f"m{i}" for i in range(values.shape[1])], [f"d{i}" for i in range(len(values))], values))
    chart = rank_diagram(test, "Ranks")
    joined = {pair for group in chart.groups for pair in itertools.combinations(sorted(group), 2)}
    alike = {(i, j) for i, j in itertools.combinations(range(len(test.methods)), 2) if not test.different[i, j]}
    assert joined == alike


def test_a_bar_over_a_method_outside_its_group_has_its_members_dotted():
    chart = RankDiagram("Ranks", ("a", "b", "c"), (1.0, 2.0, 3.0), groups=((0, 2),))
    plain = [shape for shape in chart_scene(chart).shapes if isinstance(shape, Dot) and shape.fill == BAR]
    assert len(plain) == 2


def test_the_band_around_the_control_holds_who_does_not_differ_and_ends_with_the_line():
    test = bonferroni_dunn(scores(), "C4.5")
    shapes = chart_scene(rank_diagram(test, "Against C4.5")).shapes
    band = next(shape for shape in shapes if isinstance(shape, Box) and shape.fill == BAND)
    for dot in (shape for shape in shapes if isinstance(shape, Dot)):
        place = METHODS.index(dot.hint.split(":")[0])
        assert (band.x <= dot.x <= band.x + band.width) is not bool(test.different[place])
    ticks = [shape.x for shape in shapes if isinstance(shape, Label) and shape.text in ("1", "5")]
    assert min(ticks) <= band.x and band.x + band.width <= max(ticks)


def test_a_rank_that_cannot_be_is_refused():
    with pytest.raises(DataError, match="the rank 4 of 'b' lies outside 1 to 2"):
        RankDiagram("Ranks", ("a", "b"), (1.0, 4.0))
    with pytest.raises(DataError, match="a rank per method, not 1 for 2"):
        RankDiagram("Ranks", ("a", "b"), (1.0,))


# -- bars -----------------------------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values_and_a_missing_one_is_said():
    values = Scores("m", ("a", "b", "c"), ("d", "e"), [[1.0, 2.0, math.nan], [3.0, 4.0, 0.5]])
    scene = chart_scene(bar_chart(values, "Bars"))
    lengths = {shape.hint: shape.height for shape in scene.shapes if isinstance(shape, Box) and shape.hint}
    assert lengths["d, b: 2"] == pytest.approx(2 * lengths["d, a: 1"])
    assert lengths["e, b: 4"] == pytest.approx(8 * lengths["e, c: 0.5"])
    assert "–" in {label.text for label in labels(scene)} and "–: no result." in {label.text for label in labels(scene)}


def test_error_bars_reach_one_error_to_both_sides():
    values = Scores("m", ("a",), ("d",), [[10.0]], errors=[[2.0]])
    scene = chart_scene(bar_chart(values, "Bars"))
    bar = next(shape for shape in scene.shapes if isinstance(shape, Box) and shape.hint)
    assert bar.hint == "d, a: 10 ± 2"
    error = next(s for s in scene.shapes if isinstance(s, Stroke) and s.points[0][0] == s.points[1][0])
    (_, low), (_, high) = error.points
    assert (bar.y - high, low - bar.y) == pytest.approx((bar.height / 5, bar.height / 5))


def test_bars_on_a_logarithmic_axis_need_a_base_above_0():
    with pytest.raises(DataError, match="need a base above 0, not 0"):
        chart_scene(bar_chart(scores(), "Bars", log=True))


# -- axes -----------------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.floats(-1e9, 1e9) | st.floats(-1e-200, 1e-200), min_size=1, max_size=5))
@example([2.225073858507e-311])
@example([5e-250])
@example([0.0, 3e-7])
def test_ticks_are_round_increasing_and_within_the_scale(values):
    scale = Scale.over(values, 0.0, 100.0)
    ticks = scale.ticks()
    assert len(ticks) >= 2 and len({text for _, text in ticks}) == len(ticks)
    assert all(a < b for (a, _), (b, _) in itertools.pairwise(ticks))
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= value <= scale.high + slack for value, _ in ticks)
    assert all(0 <= scale.at(value) <= 100 for value in values)


@settings(deadline=None)
@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=5))
def test_logarithmic_ticks_are_increasing_and_within_the_scale(values):
    scale = Scale.over(values, 0.0, 100.0, log=True)
    ticks = scale.ticks()
    assert len(ticks) >= 2 and all(a < b for (a, _), (b, _) in itertools.pairwise(ticks))
    assert all(scale.low * (1 - 1e-6) <= value <= scale.high * (1 + 1e-6) for value, _ in ticks)
    for low, high in itertools.pairwise(sorted(set(values))):
        assert scale.at(low) <= scale.at(high)


def test_a_logarithmic_axis_refuses_what_it_cannot_show():
    chart = LineChart("t", [Line("a", (0.0, 1.0), (1.0, 2.0))], Axis("x", log=True), Axis("y"))
    with pytest.raises(DataError, match="shows numbers above 0, not 0"):
        chart_svg(chart)


# -- points and lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("x_up", "y_up"), list(itertools.product((False, True), repeat=2)))
def test_the_staircase_runs_through_the_front_and_everything_else_is_behind_it(x_up, y_up):
    x, y = scores("x", higher=x_up, seed=2), scores("y", higher=y_up, seed=5)
    chart = pareto_chart(x, y, "Trade-off")
    scene = chart_scene(chart)
    places = {dot.hint.split(":")[0]: (dot.x, dot.y) for dot in scene.shapes if isinstance(dot, Dot)}
    stairs = next(shape.points for shape in scene.shapes if isinstance(shape, Stroke) and shape.dashed)
    front = [places[chart.points[i].label] for i in chart.front]
    assert [point for point in stairs if point in front] == front
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in itertools.pairwise(stairs)), "level or upright"
    right, down = (-1 if x_up else 1), (1 if y_up else -1)  # of what is worse, in pixels
    for px, py in places.values():
        assert any((px - fx) * right >= 0 and (py - fy) * down >= 0 for fx, fy in front)
    for cx, cy in stairs:  # a corner is dominated by the points beside it, and dominates none of the front
        assert not any((fx - cx) * right > 0 and (fy - cy) * down > 0 for fx, fy in front)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.floats(20, 500), st.floats(20, 300)), min_size=1, max_size=12))
def test_labels_of_points_touch_neither_each_other_nor_a_mark(places):
    points = [Point(f"method {i}", 0.0, 0.0) for i in range(len(places))]
    placed = place_labels(places, points, [False] * len(places), (0.0, 0.0, 560.0, 330.0))
    if placed is None:
        return  # too crowded: the chart has a legend then, see below
    boxes = [label_box(label) for label, _ in placed]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    assert not any(overlap(box, (x - 4, y - 4, x + 4, y + 4)) for box in boxes for x, y in places)


def test_points_too_close_for_labels_get_a_legend():
    points = [Point(f"method {i}", 1 + i * 1e-4, 1.0, colour=i) for i in range(30)] + [Point("far", 5.0, 5.0, colour=30)]
    scene = chart_scene(PointChart("Crowded", points, Axis("x"), Axis("y")))
    assert_readable(scene)
    assert {point.label for point in points} <= {label.text for label in labels(scene)}
    lonely = chart_scene(PointChart("Two", points[-2:], Axis("x"), Axis("y")))
    assert sum(isinstance(shape, Dot) for shape in lonely.shapes) == 2, "labelled at the points, without a legend"


def test_a_gap_in_a_line_is_a_gap():
    line = Line("a", (1, 2, 3, 4, 5), (1.0, 2.0, math.nan, 2.0, 1.0))
    shapes = chart_scene(LineChart("t", [line], Axis("x"), Axis("y"))).shapes
    pieces = [shape for shape in shapes if isinstance(shape, Stroke) and shape.stroke == series_colour(0)]
    assert [len(piece.points) for piece in pieces] == [2, 2]
    assert sum(isinstance(shape, Dot) for shape in shapes) == 4


def test_the_fitted_slope_stands_in_the_legend():
    n = {"d": 100.0, "e": 1000.0, "f": 10_000.0}
    times = Scores("seconds", ("a", "b"), tuple(n), [[1.0, 1.0], [10.0, 100.0], [100.0, math.nan]], False)
    texts = {label.text for label in labels(chart_scene(growth_chart(times, n, "Growth", axis="objects")))}
    assert {"a: slope 1.00 ± 0.00", "b: slope 2.00"} <= texts
    with pytest.raises(DataError, match="'f' has no size"):
        growth_chart(times, {"d": 1.0, "e": 2.0}, "Growth", axis="objects")


def test_running_times_have_their_geometric_mean():
    times = Scores("seconds", ("a", "b"), ("d", "e"), [[1.0, math.nan], [100.0, math.nan]], False)
    chart = time_chart(times, "Times")
    assert chart.middles[0] == pytest.approx(10.0) and tuple(chart.texts) == ("10", "–")
    assert_readable(chart_scene(chart))
    with pytest.raises(DataError, match="above 0"):
        time_chart(Scores("seconds", ("a",), ("d",), [[0.0]]), "Times")


def test_a_pareto_chart_is_of_the_data_sets_that_are_whole():
    x, y = scores("x", higher=False), scores("y", gap=True)
    chart = pareto_chart(x, y, "Trade-off")
    whole = [d for d in range(10) if d != 3]
    assert chart.points[2].y == pytest.approx(y.values[whole, 2].mean())
    assert chart.notes[0] == "Means over 9 data sets, without data-set-3 (not complete)."
    with pytest.raises(DataError, match="different methods or data sets"):
        pareto_chart(x, y.only(METHODS[:2]), "Trade-off")


def test_panels_share_a_legend_only_if_all_have_the_same():
    sweep = charts()["sweep"]
    other = attrs.evolve(sweep, lines=[attrs.evolve(line, label=line.label + "*") for line in sweep.lines])
    same = [label.text for label in labels(chart_scene(Panels("p", [sweep, sweep])))]
    mixed = [label.text for label in labels(chart_scene(Panels("p", [sweep, other])))]
    assert same.count(DATASETS[0]) == 1
    assert mixed.count(DATASETS[0]) == 1 and mixed.count(DATASETS[0] + "*") == 1


def test_thirty_methods_have_thirty_marks():
    assert len({(series_colour(i), series_form(i)) for i in range(30)}) == 30
