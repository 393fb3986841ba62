"""The critical-difference diagram, as data and as a picture."""

from collections.abc import Sequence

import attrs

from arboretum.api import DataError, scene, sheet as sheets

STEM, BAND, CONTROL = "#8a929c", "#f7d9c4", "#c2410c"


@attrs.frozen
class RankDiagram:
    """Average ranks on a line, best left: a critical-difference diagram.

    methods, ranks : names and average ranks.
    groups : numbers of the methods that a bar joins, because no two of them differ.
    critical_difference : shown as a length, or None.
    test : in words, beside it.
    control : number of the method the others are held against, or None; then ``interval`` (from,
        to) holds the ranks that do not differ from its rank.
    Raises DataError for a rank outside 1 to k.
    """

    title: str
    methods: Sequence[str]
    ranks: Sequence[float]
    subtitle: str = ""
    groups: Sequence[Sequence[int]] = ()
    critical_difference: float | None = None
    test: str = ""
    control: int | None = None
    interval: tuple[float, float] | None = None
    notes: Sequence[str] = ()

    def __attrs_post_init__(self) -> None:
        if len(self.methods) != len(self.ranks) or not self.methods:
            raise DataError(
                f"a rank diagram needs a rank per method, not {len(self.ranks)} for "
                f"{len(self.methods)}"
            )
        for method, rank in zip(self.methods, self.ranks, strict=True):
            if not 1 <= rank <= len(self.methods):
                raise DataError(
                    f"the rank {rank:g} of {method!r} lies outside 1 to {len(self.methods)}"
                )

    def drawn(self, sheet: sheets.Sheet) -> sheets.Block:
        """scikit-posthocs' critical-difference diagram (after Demšar 2006, Figure 1), with the
        interval around a control.
        """
        from pandas import DataFrame
        from scikit_posthocs import critical_difference_diagram

        k = len(self.methods)
        width = (300.0 if sheet.small else 375.0) + 7.0 * max(0, k - 8)
        axes = sheet.plot(width, 1.0)
        p = DataFrame(0.0, range(k), range(k))
        for group in self.groups:
            p.loc[list(group), list(group)] = 1.0
        drawn = critical_difference_diagram(
            dict(enumerate(self.ranks)),
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
        for mark_, elbow, label in zip(
            drawn["markers"], drawn["elbows"], drawn["labels"], strict=True
        ):
            m = int(label.get_text())
            name, rank = self.methods[m], f"{self.ranks[m]:.2f}"
            label.set(
                text=f"{rank}  {name} " if label.get_ha() == "right" else f" {name}  {rank}",
                color=scene.INK,
            )
            sheets.hint(mark_, f"{name}: average rank {self.ranks[m]:.4g}")
            if m == self.control:
                label.set(color=CONTROL, weight="bold")
                elbow.set(color=CONTROL, lw=1.4)
                mark_.set_color(CONTROL)
        if self.interval is not None:
            low, high = (min(max(edge, 1.0), max(k, 2.0)) for edge in self.interval)
            axes.fill_between([low, high], -0.25, 0.25, color=BAND, zorder=0, lw=0, gid="interval")
        words, level = self.test, 0.0
        if self.critical_difference is not None:
            words = f"critical difference {self.critical_difference:.2f}" + (
                f" ({self.test})" if self.test else ""
            )
            if self.critical_difference <= max(k, 2) - 1:
                level = 1.9
                axes.plot(
                    [1, 1 + self.critical_difference],
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
        return sheet.head(sheets.Block([axes]), self, (), words)
