"""Pictures of a study as data; ``arboretum.report.charts`` draws them.

Every chart has a ``title`` and a ``subtitle`` above and ``notes`` below.  A chart of somebody
else's draws itself: ``drawn(sheet)``.  Numbers are plain floats; NaN stands for none.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import attrs
import numpy as np

from arboretum.errors import DataError

if TYPE_CHECKING:
    from arboretum.report.sheet import Block, Sheet


DARK = 13  # number of a dark colour, for marks that are of no series
Numbers = Sequence[float] | np.ndarray
WIDEST = 760  # points that panels of bars take in a row


@attrs.frozen
class Axis:
    """What a direction of a chart shows.

    label : what it counts, with the unit.

    log : logarithmic; values are above 0.
    higher_is_better : None where neither.
    names : of the values 0, 1, …, which then alone have ticks; upright there is room for each.
    """

    label: str
    log: bool = False
    higher_is_better: bool | None = None
    names: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The label with its direction."""
        return (
            self.label
            if self.higher_is_better is None
            else f"{self.label} ({'higher' if self.higher_is_better else 'lower'} is better)"
        )


@attrs.frozen
class BarChart:
    """A bar per series (method); of several groups (data sets) one chart each, in panels.

    values : float[series].
    errors : the same, half the length of an error bar (such as a standard error), or ().
    base : where bars start.
    beside : further values that the scale holds, so that panels have the same.
    """

    title: str
    series: Sequence[str]
    values: Sequence[float]
    axis: Axis
    errors: Sequence[float] = ()
    base: float = 0.0
    beside: Sequence[float] = ()
    subtitle: str = ""
    notes: Sequence[str] = ()


@attrs.frozen
class Line:
    """One curve, or one cloud of points.

    x, y : of its points; a NaN in y leaves a gap.
    errors : half the lengths of error bars, or ().
    colour : number of its colour and form; None: its place in the chart.
    joined : by straight pieces.
    marked : a mark at every point.
    dashed : for a fitted curve.
    quiet : not in the legend.
    stairs : joined by steps that go down at a point.
    links : what the marks open, "" nothing, None for no mark; or ().
    """

    label: str
    x: Numbers
    y: Numbers
    errors: Sequence[float] = ()
    colour: int | None = None
    joined: bool = True
    marked: bool = True
    dashed: bool = False
    quiet: bool = False
    stairs: bool = False
    links: Sequence[str | None] = ()


@attrs.frozen
class LineChart:
    """Curves over one axis.   unit : both axes are as long, and show 0 to 1."""

    title: str
    lines: Sequence[Line]
    x: Axis
    y: Axis
    subtitle: str = ""
    notes: Sequence[str] = ()
    unit: bool = False

    @staticmethod
    def of_points(
        title: str,
        points: Sequence[tuple[str, float, float]],
        x: Axis,
        y: Axis,
        front: Sequence[int] = (),
        subtitle: str = "",
        notes: Sequence[str] = (),
    ) -> "LineChart":
        """Points of two measures, and a staircase around all that the front dominates.

        points : label, or "" for a dark point without one, x and y.
        front : numbers of those that no other beats, by x from small to large.
        """
        lines = [
            Line(name, [a], [b], colour=k if name else DARK, joined=False, quiet=not name)
            for k, (name, a, b) in enumerate(points)
        ]
        if len(front):
            # steps go on from the best x
            best = [points[i] for i in (front[::-1] if x.higher_is_better else front)]
            line = Line("front", [point[1] for point in best], [point[2] for point in best])
            lines.append(
                attrs.evolve(line, colour=DARK, marked=False, dashed=True, quiet=True, stairs=True)
            )
            notes = [
                "Dashed: the front; no other is as good as one on it in both, and better in one.",
                *notes,
            ]
        return LineChart(title, lines, x, y, subtitle, notes)

    @staticmethod
    def of_rows(
        title: str,
        rows: Sequence[tuple[str, Mapping[str, float], float]],
        axis: Axis,
        mark: str,
        subtitle: str = "",
        notes: Sequence[str] = (),
    ) -> "LineChart":
        """Return a row of dots per method, the first on top.

        rows : its name, its dots by what they are of, its middle.
        mark : what that is.
        """
        places = range(len(rows) - 1, -1, -1)
        lines = [
            Line(f"{name}, {of}", [value], [y], colour=colour, joined=False, quiet=True)
            for colour, (y, (name, dots, _)) in enumerate(zip(places, rows, strict=True))
            for of, value in dots.items()
        ]
        middles = Line(
            mark,
            [middle for _, _, middle in rows],
            list(places),
            colour=DARK,
            joined=False,
            quiet=True,
        )
        names = [name for name, _, _ in reversed(rows)]
        notes = [f"Dark, and beside the name: {mark}.", *notes]
        return LineChart(title, [*lines, middles], axis, Axis("", names=names), subtitle, notes)


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


@attrs.frozen
class Panels:
    """Several charts in one picture, ``columns`` side by side; what their legends have in common
    is shown once.
    """

    title: str
    charts: Sequence["Chart"]
    columns: int = 2
    subtitle: str = ""
    notes: Sequence[str] = ()

    @staticmethod
    def of_bars(
        title: str,
        groups: Sequence[str],
        series: Sequence[str],
        values: Sequence[Sequence[float]],
        axis: Axis,
        *,
        errors: Sequence[Sequence[float]] = (),
        base: float = 0.0,
        own_scales: bool = False,
        subtitle: str = "",
        notes: Sequence[str] = (),
    ) -> "Panels":
        """Return a panel of bars per group (data set).

        axis : of all of them.   base : where bars start.
        values, errors : float[groups][series].
        own_scales : a scale per panel; else one for all.
        """
        errors = errors or [[math.nan] * len(series)] * len(groups)
        cells = [
            (value, error)
            for row in zip(values, errors, strict=True)
            for value, error in zip(*row, strict=True)
        ]
        known = [
            end
            for value, error in cells
            for end in (value, value - error, value + error)
            if math.isfinite(end)
        ]
        beside = [] if own_scales else [end for end in known if end > 0 or not axis.log]
        plain = attrs.evolve(axis, label="", higher_is_better=None)
        bars = [
            BarChart(name, series, row, plain, spread, base, beside)
            for name, row, spread in zip(groups, values, errors, strict=True)
        ]
        missing = ["–: no result."] if not all(math.isfinite(value) for value, _ in cells) else []
        columns = max(1, WIDEST // (10 * len(series) + 57))
        return Panels(
            title,
            bars,
            columns,
            "; ".join(filter(None, (axis.words, subtitle))),
            [*missing, *notes],
        )


class Drawn(Protocol):
    """A chart of a plugin's own."""

    @property
    def title(self) -> str:
        """Its headline."""

    def drawn(self, sheet: "Sheet") -> "Block":
        """Draw it on a sheet (:mod:`arboretum.report.sheet`)."""


Chart = BarChart | LineChart | RankDiagram | Panels | Drawn
