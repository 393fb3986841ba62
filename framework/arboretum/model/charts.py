"""Pictures of a study as data; ``arboretum.report.charts`` draws them.

Every chart has a ``title`` and a ``subtitle`` above and ``notes`` below.  Numbers are plain floats; NaN stands for none.
"""

import math
from collections.abc import Sequence

import attrs

from arboretum.errors import DataError


@attrs.frozen
class RankDiagram:
    """Average ranks on a line, best left: a critical-difference diagram.

    methods, ranks : names and average ranks.   groups : numbers of the methods that a bar joins, because no two of them
    differ.   critical_difference : shown as a length, or None.   test : in words, beside it.   control : number of the method
    the others are held against, or None; then ``interval`` (from, to) holds the ranks that do not differ from its rank.
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
            raise DataError(f"a rank diagram needs a rank per method, not {len(self.ranks)} for {len(self.methods)}")
        for method, rank in zip(self.methods, self.ranks, strict=True):
            if not 1 <= rank <= len(self.methods):
                raise DataError(f"the rank {rank:g} of {method!r} lies outside 1 to {len(self.methods)}")


@attrs.frozen
class Axis:
    """label : what it counts, with the unit.   log : logarithmic; values are above 0.   higher_is_better : None where neither.
    names : of the values 0, 1, …, which then alone have ticks."""

    label: str
    log: bool = False
    higher_is_better: bool | None = None
    names: Sequence[str] = ()


@attrs.frozen
class BarChart:
    """A small panel of bars per group (data set), a bar per series (method).

    values : float[groups][series].   errors : the same, half the length of an error bar (such as a standard error), or ().
    axis : of all panels.   base : where bars start.   own_scales : each panel its own; else one for all.
    """

    title: str
    groups: Sequence[str]
    series: Sequence[str]
    values: Sequence[Sequence[float]]
    axis: Axis
    errors: Sequence[Sequence[float]] = ()
    base: float = 0.0
    own_scales: bool = False
    subtitle: str = ""
    notes: Sequence[str] = ()


@attrs.frozen
class Point:
    """label : beside it.   x_error, y_error : half the lengths of error bars.   colour : number of its colour and form."""

    label: str
    x: float
    y: float
    x_error: float = math.nan
    y_error: float = math.nan
    colour: int = 0


@attrs.frozen
class PointChart:
    """Labelled points of two measures.

    front : numbers of the points that no other beats, by x from small to large; a staircase joins them.
    """

    title: str
    points: Sequence[Point]
    x: Axis
    y: Axis
    front: Sequence[int] = ()
    subtitle: str = ""
    notes: Sequence[str] = ()


@attrs.frozen
class Line:
    """One curve, or one cloud of points.

    x, y : of its points; a NaN in y leaves a gap.   errors : half the lengths of error bars, or ().   colour : number of its
    colour and form; None: its place in the chart.   joined : by straight pieces.   marked : a mark at every point.
    dashed : for a fitted curve.   quiet : not in the legend.   stairs : joined by steps that go down at a point.   links : what the
    marks open, "" nothing, None for no mark; or ().
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
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


@attrs.frozen
class DotChart:
    """A row per method, a dot per result (data set), a mark at the row's middle.

    values : float[rows][any].   hints : str[rows][any], shown where a viewer can point, or ().   middles : float[rows], or ().
    texts : at the right end of a row, or ().   heading : above them.
    """

    title: str
    rows: Sequence[str]
    values: Sequence[Sequence[float]]
    axis: Axis
    hints: Sequence[Sequence[str]] = ()
    middles: Sequence[float] = ()
    texts: Sequence[str] = ()
    heading: str = ""
    subtitle: str = ""
    notes: Sequence[str] = ()


@attrs.frozen
class Panels:
    """Several charts in one picture, ``columns`` side by side; what their legends have in common is shown once."""

    title: str
    charts: Sequence[RankDiagram | BarChart | PointChart | LineChart | DotChart]
    columns: int = 2
    subtitle: str = ""
    notes: Sequence[str] = ()


@attrs.frozen
class Grid:
    """A table that is shown as coloured fields, with the words that stand in each: a heat map.

    title, subtitle : above the fields.   rows, columns : labels.   values : float[rows][columns], what is coloured.
    texts : str[rows][columns], what stands in a field.   small : str[rows][columns], a second, smaller line, or ().
    breaks : numbers of the rows before which a gap is left.   scales : per column the values of the lightest and the
        darkest colour; () for the column's own least and largest.
    framed : (row, column) of fields with a frame around them.   legend : what colours and frames mean.   notes : below.
    column_notes : a second line under a column's label.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    texts: Sequence[Sequence[str]]
    subtitle: str = ""
    small: Sequence[Sequence[str]] = ()
    breaks: Sequence[int] = ()
    scales: Sequence[tuple[float, float]] = ()
    framed: frozenset[tuple[int, int]] = frozenset()
    legend: str = ""
    notes: Sequence[str] = ()
    column_notes: Sequence[str] = ()


Chart = Grid | RankDiagram | BarChart | PointChart | LineChart | DotChart | Panels
