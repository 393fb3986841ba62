"""Charts of studies: whole, readable, nothing over anything else, and true to the numbers."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET

import attrs
import matplotlib
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.cbook import pts_to_poststep
from matplotlib.lines import Line2D
from matplotlib.text import Text

from arboretum.errors import DataError
from arboretum.measure.comparison import (
    bar_chart,
    bonferroni_dunn,
    growth_chart,
    nemenyi,
    pareto_chart,
    rank_diagram,
    sweep_chart,
    time_chart,
    wilcoxon_holm,
)
from arboretum.model.charts import Axis, Line, LineChart, Panels, RankDiagram
from arboretum.model.scores import Scores
from arboretum.report.charts import chart_figure, chart_png, chart_svg
from arboretum.report.palette import series_colour, series_form
from arboretum.report.sheet import HINT, STYLE
from arboretum.testing.effort import examples

METHODS = ("C4.5", "EC4.5", "a method with a long name", "ASR & <IP>", "BAL")
DATASETS = (*tuple(f"data-set-{i}" for i in range(9)), "one-with-quite-a-long-name")


def scores(
    measure: str = "ROC AUC", *, seed: int = 0, higher: bool = True, gap: bool = False
) -> Scores:
    values = (
        np.random.default_rng(seed).uniform(0.5, 0.99, (10, 5, 4)) + 0.02 * np.arange(5)[:, None]
    )
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
        "panels": Panels(
            "Six panels",
            [attrs.evolve(sweep, title=f"panel {i}") for i in range(5)],
            2,
            "together",
            ["A note."],
        ),
        "mixed panels": Panels("Two", [cd, sweep, dunn], 2),
    }


def drawn(chart):
    """The figure, in the house style, laid out."""
    with matplotlib.rc_context(fname=STYLE):
        figure = chart_figure(chart)
        figure.canvas.draw()
    return figure


def texts(figure) -> list[Text]:
    """All that is shown as words."""
    hidden = not_drawn(figure)
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]


def hinted(figure) -> dict:
    """Hint → what has it."""
    found = figure.findobj(lambda artist: str(artist.get_gid() or "").startswith(HINT))
    return {artist.get_gid().removeprefix(HINT): artist for artist in found}


def place(line) -> tuple[float, float]:
    """Where a mark lies, in pixels."""
    return tuple(
        line.axes.transData.transform(
            np.ravel(line.get_offsets() if hasattr(line, "get_offsets") else line.get_xydata())
        )
    )


def assert_readable(figure) -> None:
    """Words lie within the picture and over no other words; marks within it."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    for words, box in boxes:
        assert (
            box.x0 >= 0
            and box.y0 >= 0
            and box.x1 <= figure.bbox.width
            and box.y1 <= figure.bbox.height
        ), words
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not a.padded(-0.75).overlaps(b.padded(-0.75)), f"{one!r} over {other!r}"
    for mark in hinted(figure).values():
        box = mark.get_window_extent()
        assert (
            figure.bbox.x0 <= box.x0
            and box.x1 <= figure.bbox.x1
            and figure.bbox.y0 <= box.y0
            and box.y1 <= figure.bbox.y1
        )


def not_drawn(figure) -> set[int]:
    """Words of ticks that an axis keeps and does not draw: beyond its ends, or left over."""
    found = set()
    for axes, which in itertools.product(figure.axes, "xy"):
        axis, (low, high) = (
            getattr(axes, f"{which}axis"),
            sorted(getattr(axes, f"get_{which}lim")()),
        )
        for tick in (*axis.majorTicks, *axis.minorTicks):
            if tick not in axis.get_major_ticks() or not low <= tick.get_loc() <= high:
                found |= {id(tick.label1), id(tick.label2)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", list(charts()))
def test_every_chart_is_a_well_formed_picture_with_all_words_and_nothing_over_anything(name):
    chart = charts()[name]
    picture = chart_svg(chart)
    root = ET.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = " ".join(element.text or "" for element in root.iter())
    assert all(
        word in text
        for words in (chart.title, chart.subtitle, *chart.notes)
        for word in words.split()
    )
    assert chart_svg(chart) == picture, "the same picture is the same file"
    assert_readable(drawn(chart))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Nemenyi", "Pareto", "bars", "growth", "times", "panels"])
def test_charts_are_painted_as_png_files(name, tmp_path):
    chart_png(charts()[name], tmp_path / "chart.png", scale=0.5)
    assert (tmp_path / "chart.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(OSError):
        chart_png(charts()[name], tmp_path / "missing" / "chart.png", scale=0.5)


# -- rank diagrams ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=12)
@given(
    st.integers(2, 18).flatmap(
        lambda k: arrays(np.float64, k, elements=st.floats(1, 1.5) | st.floats(1, k) | st.just(2.0))
    )
)
def test_names_touch_nothing_however_close_the_ranks_are(ranks):
    ranks = np.minimum(ranks, len(ranks)).tolist()
    names = [f"method number {i}" for i in range(len(ranks))]
    figure = drawn(
        RankDiagram(
            "Ranks", names, ranks, groups=[range(len(ranks))], critical_difference=0.7, test="any"
        )
    )
    assert_readable(figure)
    words = [text for text in texts(figure) if "method number" in text.get_text()]
    assert sorted(
        name for text in words for name in names if re.search(rf"{name}\b", text.get_text())
    ) == sorted(names)
    boxes = [text.get_window_extent().padded(-1.5) for text in words]
    for line in figure.findobj(Line2D):
        if line.axes is not None and len(line.get_xdata()) > 1:
            path = line.get_transform().transform_path(line.get_path())
            assert not any(path.intersects_bbox(box, filled=False) for box in boxes)


def test_stems_stand_at_their_ranks_and_bars_span_their_groups():
    chart = RankDiagram(
        "Ranks", ("a", "b", "c", "d"), (1.5, 2.0, 2.5, 4.0), groups=((0, 1, 2), (2, 3))
    )
    figure = drawn(chart)
    dots = {hint[0]: mark.get_offsets()[0][0] for hint, mark in hinted(figure).items()}
    assert dots == {"a": 1.5, "b": 2.0, "c": 2.5, "d": 4.0}
    bars = figure.findobj(lambda artist: artist.get_gid() == "bar")
    assert [(min(bar.get_xdata()), max(bar.get_xdata())) for bar in bars] == [
        (1.5, 2.5),
        (2.5, 4.0),
    ]
    assert bars[0].get_ydata()[0] != bars[1].get_ydata()[0], (
        "bars that share a method lie in rows of their own"
    )


@examples(40)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(2, 6)),
        elements=st.integers(0, 5).map(float),
    )
)
def test_the_bars_of_a_diagram_say_what_the_pairwise_test_says(values):
    test = nemenyi(
        Scores(
            "m",
            [f"m{i}" for i in range(values.shape[1])],
            [f"d{i}" for i in range(len(values))],
            values,
        )
    )
    chart = rank_diagram(test, "Ranks")
    joined = {pair for group in chart.groups for pair in itertools.combinations(sorted(group), 2)}
    alike = {
        (i, j)
        for i, j in itertools.combinations(range(len(test.methods)), 2)
        if not test.different[i, j]
    }
    assert joined == alike


def test_the_band_around_the_control_holds_who_does_not_differ_and_ends_with_the_line():
    test = bonferroni_dunn(scores(), "C4.5")
    figure = drawn(rank_diagram(test, "Against C4.5"))
    (band,) = figure.findobj(lambda artist: artist.get_gid() == "interval")
    low, high = band.get_datalim(band.axes.transData).intervalx
    for hint, dot in hinted(figure).items():
        method = METHODS.index(hint.split(":")[0])
        assert (low <= dot.get_offsets()[0][0] <= high) is not bool(test.different[method])
    assert 1 <= low < high <= 5


def test_a_rank_that_cannot_be_is_refused():
    with pytest.raises(DataError, match="the rank 4 of 'b' lies outside 1 to 2"):
        RankDiagram("Ranks", ("a", "b"), (1.0, 4.0))
    with pytest.raises(DataError, match="a rank per method, not 1 for 2"):
        RankDiagram("Ranks", ("a", "b"), (1.0,))


# -- bars ------------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values_and_a_missing_one_is_said():
    values = Scores("m", ("a", "b", "c"), ("d", "e"), [[1.0, 2.0, math.nan], [3.0, 4.0, 0.5]])
    figure = drawn(bar_chart(values, "Bars"))
    lengths = {hint: bar.get_window_extent().height for hint, bar in hinted(figure).items()}
    assert lengths["d, b: 2"] == pytest.approx(2 * lengths["d, a: 1"])
    assert (
        lengths["e, b: 4"]
        == pytest.approx(8 * lengths["e, c: 0.5"])
        == pytest.approx(4 * lengths["d, a: 1"])
    )
    assert {"–", "–: no result."} <= {text.get_text() for text in texts(figure)}


def test_error_bars_reach_one_error_to_both_sides():
    values = Scores("m", ("a",), ("d",), [[10.0]], errors=[[2.0]])
    figure = drawn(bar_chart(values, "Bars"))
    assert list(hinted(figure)) == ["d, a: 10 ± 2"]
    (error,) = figure.axes[0].collections
    assert (
        np.ravel(error.get_segments()).tolist() == [0, 8, 0, 12]
        and figure.axes[0].get_ylim()[1] > 12
    )


def test_bars_on_a_logarithmic_axis_need_a_base_above_0():
    with pytest.raises(DataError, match="need a base above 0, not 0"):
        drawn(bar_chart(scores(), "Bars", log=True))


# -- axes ------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.floats(-1e9, 1e9) | st.floats(-1e-200, 1e-200), min_size=1, max_size=5),
    st.just(False),
)
@example([2.225073858507e-311], False)
@example([0.0, 3e-7], False)
@example([1e-6, 1e9], True)
@example([3.0], True)
@example([0.71, 0.88], True)
def test_ticks_are_different_round_numbers_and_all_values_lie_within_the_scale(values, log):
    axes = drawn(
        LineChart("t", [Line("a", range(len(values)), values)], Axis("x"), Axis("y", log))
    ).axes[0]
    low, high = axes.get_ylim()
    shown = [
        label.get_text()
        for at, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
        if low <= at <= high
    ]
    assert len(shown) >= 2 and len(set(shown)) == len(shown)
    assert all(low <= value <= high for value in values)


def test_a_logarithmic_axis_refuses_what_it_cannot_show():
    chart = LineChart("t", [Line("a", (0.0, 1.0), (1.0, 2.0))], Axis("x", log=True), Axis("y"))
    with pytest.raises(DataError, match="shows numbers above 0, not 0"):
        chart_svg(chart)


# -- points and lines ------------------------------------------------------------------------------


@pytest.mark.parametrize(("x_up", "y_up"), list(itertools.product((False, True), repeat=2)))
def test_the_staircase_runs_through_the_front_and_everything_else_is_behind_it(x_up, y_up):
    x, y = scores("x", higher=x_up, seed=2), scores("y", higher=y_up, seed=5)
    chart = pareto_chart(x, y, "Trade-off")
    figure = drawn(chart)
    places = {hint.split(":")[0]: place(mark) for hint, mark in hinted(figure).items()}
    (line,) = [one for one in figure.findobj(Line2D) if one.get_drawstyle() == "steps-post"]
    stairs = line.axes.transData.transform(
        np.column_stack(pts_to_poststep(line.get_xdata(), line.get_ydata()))
    )
    front = line.axes.transData.transform(line.get_xydata())
    assert {tuple(point) for point in front} <= set(places.values())
    assert all(np.isclose(stairs, point).all(axis=1).any() for point in front)
    assert all(np.isclose(a, b).any() for a, b in itertools.pairwise(stairs)), "level or upright"
    right, down = (-1 if x_up else 1), (-1 if y_up else 1)  # of what is worse
    for px, py in places.values():
        assert any((px - fx) * right >= -1e-9 and (py - fy) * down >= -1e-9 for fx, fy in front)
    # a corner is dominated by the points beside it, and dominates none of the front
    for cx, cy in stairs:
        assert not any((fx - cx) * right > 1e-9 and (fy - cy) * down > 1e-9 for fx, fy in front)


def test_a_gap_in_a_line_is_a_gap():
    line = Line("a", (1, 2, 3, 4, 5), (1.0, 2.0, math.nan, 2.0, 1.0))
    figure = drawn(LineChart("t", [line], Axis("x"), Axis("y")))
    assert len(hinted(figure)) == 4
    (curve,) = [found for found in figure.axes[0].lines if len(found.get_xdata()) == 5]
    assert np.isnan(curve.get_ydata()[2])


def test_the_fitted_slope_stands_in_the_legend():
    n = {"d": 100.0, "e": 1000.0, "f": 10_000.0}
    times = Scores(
        "seconds", ("a", "b"), tuple(n), [[1.0, 1.0], [10.0, 100.0], [100.0, math.nan]], False
    )
    found = {
        text.get_text() for text in texts(drawn(growth_chart(times, n, "Growth", axis="objects")))
    }
    assert {"a: slope 1.00 ± 0.00", "b: slope 2.00"} <= found
    with pytest.raises(DataError, match="'f' has no size"):
        growth_chart(times, {"d": 1.0, "e": 2.0}, "Growth", axis="objects")


def test_running_times_have_their_geometric_mean():
    times = Scores("seconds", ("a", "b"), ("d", "e"), [[1.0, math.nan], [100.0, math.nan]], False)
    chart = time_chart(times, "Times")
    assert chart.lines[-1].x[0] == pytest.approx(10.0) and tuple(chart.y.names) == ("b –", "a 10")
    assert_readable(drawn(chart))
    with pytest.raises(DataError, match="above 0"):
        time_chart(Scores("seconds", ("a",), ("d",), [[0.0]]), "Times")


def test_a_pareto_chart_is_of_the_data_sets_that_are_whole():
    x, y = scores("x", higher=False), scores("y", gap=True)
    chart = pareto_chart(x, y, "Trade-off")
    whole = [d for d in range(10) if d != 3]
    assert chart.lines[2].y[0] == pytest.approx(y.values[whole, 2].mean())
    assert chart.notes[-1] == "Means over 9 data sets, without data-set-3 (not complete)."
    with pytest.raises(DataError, match="different methods or data sets"):
        pareto_chart(
            x,
            attrs.evolve(y, methods=METHODS[:2], values=y.values[:, :2], errors=None),
            "Trade-off",
        )


def test_panels_share_a_legend_only_if_all_have_the_same():
    sweep = charts()["sweep"]
    other = attrs.evolve(
        sweep, lines=[attrs.evolve(line, label=line.label + "*") for line in sweep.lines]
    )
    same = [text.get_text() for text in texts(drawn(Panels("p", [sweep, sweep])))]
    mixed = [text.get_text() for text in texts(drawn(Panels("p", [sweep, other])))]
    assert same.count(DATASETS[0]) == 1
    assert mixed.count(DATASETS[0]) == 1 and mixed.count(DATASETS[0] + "*") == 1


def test_thirty_methods_have_thirty_marks():
    assert len({(series_colour(i), series_form(i)) for i in range(30)}) == 30
