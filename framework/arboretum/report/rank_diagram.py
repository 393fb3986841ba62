"""The critical-difference diagram, drawn."""

from __future__ import annotations

from arboretum.model.charts import RankDiagram
from arboretum.report import scene, sheet as sheets

STEM, BAND, CONTROL = "#8a929c", "#f7d9c4", "#c2410c"


def draw_ranks(chart: RankDiagram, sheet: sheets.Sheet) -> sheets.Block:
    """Return scikit-posthocs' critical-difference diagram (after Demšar 2006, Figure 1), with the
    interval around a control.
    """
    from pandas import DataFrame
    from scikit_posthocs import critical_difference_diagram

    k = len(chart.methods)
    width = (300.0 if sheet.small else 375.0) + 7.0 * max(0, k - 8)
    axes = sheet.plot(width, 1.0)
    p = DataFrame(0.0, range(k), range(k))
    for group in chart.groups:
        p.loc[list(group), list(group)] = 1.0
    drawn = critical_difference_diagram(
        dict(enumerate(chart.ranks)),
        p,
        ax=axes,
        label_fmt_left="{label}",
        label_fmt_right="{label}",
        text_h_margin=0.02 * k,
        elbow_props={"color": STEM, "lw": 0.9},
        marker_props={"s": 18},
        crossbar_props={
            "color": scene.INK,
            "linewidth": 2.6,
            "marker": "",
            "solid_capstyle": "round",
            "gid": "bar",
        },
    )
    for mark_, elbow, label in zip(drawn["markers"], drawn["elbows"], drawn["labels"], strict=True):
        m = int(label.get_text())
        name, rank = chart.methods[m], f"{chart.ranks[m]:.2f}"
        label.set(
            text=f"{rank}  {name} " if label.get_ha() == "right" else f" {name}  {rank}",
            color=scene.INK,
        )
        sheets.hint(mark_, f"{name}: average rank {chart.ranks[m]:.4g}")
        if m == chart.control:
            label.set(color=CONTROL, weight="bold")
            elbow.set(color=CONTROL, lw=1.4)
            mark_.set_color(CONTROL)
    if chart.interval is not None:
        low, high = (min(max(edge, 1.0), max(k, 2.0)) for edge in chart.interval)
        axes.fill_between([low, high], -0.25, 0.25, color=BAND, zorder=0, lw=0, gid="interval")
    words, level = chart.test, 0.0
    if chart.critical_difference is not None:
        words = f"critical difference {chart.critical_difference:.2f}" + (
            f" ({chart.test})" if chart.test else ""
        )
        if chart.critical_difference <= max(k, 2) - 1:
            level = 1.9
            axes.plot(
                [1, 1 + chart.critical_difference],
                [level, level],
                "|-",
                color=scene.INK,
                lw=1.4,
                ms=7,
                mew=1.1,
            )
    axes.spines.top.set(visible=True, color=scene.INK)
    axes.tick_params("x", color=scene.INK, labelcolor=scene.INK, labelsize=sheets.TEXT)
    axes.grid(False)
    low, high = min(label.get_position()[1] for label in drawn["labels"]) - 0.5, level + 0.5
    axes.set(xlim=(1, max(k, 2)), xticks=range(1, max(k, 2) + 1), ylim=(low, high))
    axes.set_position((0, 0, width / 72, 13.5 * (high - low) / 72))
    return sheet.head(sheets.Block([axes]), chart, (), words)
