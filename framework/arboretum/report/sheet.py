"""The house style of charts: one matplotlib figure of plots with sizes of their own, words
stacked around them.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from arboretum.errors import DataError
from arboretum.model.charts import Axis
from arboretum.report.palette import series_colour, series_form
from arboretum.report.scene import FAINT, FORBIDDEN

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import Bbox

INCH = 72  # points; lengths are in points, as font sizes are
# around the picture, and between panels
MARGIN, GAP = 20.0, 24.0
TITLE, SMALL_TITLE, TEXT, TICK = 13.0, 10.0, 9.0, 8.0
# fonts, colours and axes, as matplotlib reads them
STYLE = Path(__file__).with_name("house.mplstyle")


def save_in_style(
    compose: Callable[[], Figure], path: str | PathLike[str] | None, scale: float = 2.0
) -> str | None:
    """Compose a figure in the house style and save it: as a PNG file at ``path``, or return it as
    an SVG document where that is None.

    scale : pixels of the PNG for a hundredth of an inch.
    Neither matplotlib's backend nor its list of open figures is touched.
    """
    from matplotlib import rc_context

    with rc_context(fname=STYLE), warnings.catch_warnings():
        # a viewer of the SVG may have the letter
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = compose()
        if path is not None:
            figure.savefig(path, format="png", dpi=100 * scale)
            return None
        text = io.StringIO()
        figure.savefig(
            text,
            format="svg",
            metadata={"Date": None, "Creator": None, "Title": figure.get_label()},
        )
    svg = FORBIDDEN.sub("\ufffd", text.getvalue())
    return re.sub(rf'<g id="{HINT}([^"]*)">', r"<g><title>\1</title>", svg[svg.index("<svg") :])


HINT = "hint of "


def hint(artist: Artist, words: str) -> None:
    """What a browser shows at the pointer; matplotlib keeps it as the name of the artist's group
    in the SVG, which becomes its title.
    """
    artist.set_gid(HINT + words)


@attrs.define
class Block:
    """A chart on the sheet: its plots (axes), moved together.

    ends : what is drawn so far, words included, once measured.
    """

    plots: list[Axes]
    ends: Bbox | None = None

    def extent(self, *added: Bbox) -> Bbox:
        """Return the box (matplotlib's Bbox, in points) of all that is drawn, words included.

        added : boxes of what is new.
        """
        from matplotlib.transforms import Bbox

        known = (
            [self.ends] if self.ends is not None else [axes.get_tightbbox() for axes in self.plots]
        )
        self.ends = Bbox.union([*known, *added])
        return self.ends

    def move(self, dx: float, dy: float) -> None:
        """By so many points."""
        self.ends = self.extent().translated(dx, dy)
        for axes in self.plots:
            axes.set_position(axes.get_position().translated(dx / INCH, dy / INCH))

    def above(
        self, text: str, size: float, room: float, *, bold: bool = False, gap: float = 5.0
    ) -> None:
        """Lines above all that is drawn so far, at its left; ``room`` is how long one may be, in
        points, and ``gap`` what is left free below.

        bold : else they are faint.
        """
        if text:
            ends = self.extent()
            look = {"weight": "bold"} if bold else {"color": FAINT}
            self.words(
                wrap_words(text, max(room, ends.width), size),
                ends.x0,
                ends.y1 + gap,
                fontsize=size,
                va="bottom",
                **look,
            )

    def below(self, notes: Iterable[str]) -> None:
        """Sentences under all that is drawn so far."""
        ends = self.extent()
        text = "\n".join(wrap_words(note, max(ends.width, 300.0), TICK) for note in notes)
        if text:
            self.words(text, ends.x0, ends.y0 - 8, fontsize=TICK, va="top", color=FAINT)

    def words(self, text: str, x: float, y: float, **look: Any) -> None:
        """Text at a place of the sheet, which moves with the first plot.

        x, y : in points.   look : of matplotlib's annotation.
        """
        place = (x, y) - INCH * self.plots[0].get_position().p0
        added = self.plots[0].annotate(
            text,
            (0, 0),
            place,
            "axes fraction",
            "offset points",
            linespacing=1.35,
            annotation_clip=False,
            **look,
        )
        self.extent(added.get_window_extent())

    def legend(self, handles: Sequence[Artist], room: float) -> None:
        """Marks with their names above the plot, in as many columns as fit; nothing for fewer
        than two.

        room : points that a line may take.
        """
        if len(handles) < 2:
            return
        axes, ends = self.plots[0], self.extent()
        longest = max(len(str(handle.get_label())) for handle in handles)
        columns = max(
            1, min(len(handles), int(max(room, ends.width) // (0.62 * TEXT * longest + 36)))
        )
        frame = axes.get_position()
        place = ((ends.x0, ends.y1 + 6) - INCH * frame.p0) / (INCH * frame.size)
        drawn = axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=place,
            ncols=columns,
            borderaxespad=0,
            borderpad=0.2,
            columnspacing=1.4,
        )
        self.extent(drawn.get_window_extent())


@attrs.define
class Sheet:
    """A figure of one inch, so that its unit is the inch, until its size is known.

    small : plots are panels.
    legends : in each.
    """

    title: str
    small: bool = False
    legends: bool = True
    figure: Figure = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Make the figure, with a canvas that no window shows."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(1, 1), dpi=INCH, facecolor="white", label=self.title)
        FigureCanvasAgg(self.figure)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a plot."""
        return (266.0, 158.0) if self.small else (403.0, 238.0)

    def plot(self, width: float, height: float, left: float = 0.0, bottom: float = 0.0) -> Axes:
        """Return the axes of a new plot at a place."""
        return self.figure.add_axes(
            (left / INCH, bottom / INCH, width / INCH, height / INCH),
            label=f"{len(self.figure.axes)}",
        )

    def head(
        self, block: Block, chart: Any, handles: Sequence[Artist] = (), words: str = ""
    ) -> Block:
        """Around a plot: what its upright axis shows, the legend, subtitle and title above,
        notes below.
        """
        room = block.extent().width
        block.above(words, TEXT, room)
        if self.legends:
            block.legend(handles, room)
        block.above(chart.subtitle, TEXT, room, gap=8.0)
        block.above(chart.title, SMALL_TITLE if self.small else TITLE, room, bold=True)
        block.below(chart.notes)
        return block

    def finish(self, block: Block) -> Figure:
        """Return the figure, as large as what is on it."""
        ends = block.extent().padded(MARGIN)
        inches = ends.width / INCH, ends.height / INCH
        self.figure.set_size_inches(*inches)
        for axes in block.plots:
            (x, y) = axes.get_position().p0 - ends.p0 / INCH
            (width, height) = axes.get_position().size
            axes.set_position((x / inches[0], y / inches[1], width / inches[0], height / inches[1]))
        return self.figure


def wrap_words(text: str, room: float, size: float) -> str:
    """Return the lines of words of about ``room`` points."""
    return "\n".join(textwrap.wrap(text, max(int(room / (0.56 * size)), 20)))


def mark(
    axes: Axes, x: float, y: float, number: int, words: str, size: float = 6.0, link: str = ""
) -> None:
    """Draw a mark in the colour and form of series ``number``, with ``words`` for a pointer.   link
    : what it opens, "": nothing.
    """
    (drawn,) = axes.plot(
        [x],
        [y],
        series_form(number),
        color=series_colour(number),
        ms=size,
        mec="white",
        mew=0.7,
        zorder=4,
    )
    hint(drawn, words)
    drawn.set_url(link or None)


def sample(label: str, number: int, look: str) -> Line2D | Patch:
    """Return an entry of a legend: "dot", "line", "dashed" or "bar".

    number : of the series, which has its colour and form.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colour = series_colour(number)
    if look == "bar":
        return Patch(color=colour, label=label)
    form = "" if look == "dashed" else series_form(number)
    return Line2D(
        [],
        [],
        color=colour,
        marker=form,
        ms=6,
        mec="white",
        mew=0.7,
        label=label,
        ls={"dot": "", "dashed": "--"}.get(look, "-"),
    )


def scale(axes: Axes, which: str, axis: Axis, values: Iterable[float], ticks: int = 6) -> None:
    """Make an axis linear or logarithmic, with round numbers at its ticks.  Raises DataError for
    values of 0 or less on a logarithmic axis.

    which : "x" or "y".   values : all that it shows.   ticks : about how many.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    known = sorted(value for value in values if math.isfinite(value))
    # counts: no tick lies between two of them
    whole = all(value == round(value) for value in known)
    here = getattr(axes, f"{which}axis")
    round_steps = MaxNLocator(ticks, steps=[1, 2, 2.5, *[4] * whole, 5, 10], integer=whole)
    here.set_major_locator(round_steps)
    if axis.names:
        here.set_ticks(range(len(axis.names)), axis.names)
    if not axis.log:
        return
    if known and known[0] <= 0:
        raise DataError(
            f"a logarithmic axis shows numbers above 0, not {known[0]:g}: leave it out, or "
            "use a linear axis"
        )
    decades = math.log10(known[-1] / known[0]) if known else 0.0
    axes.set(**{f"{which}scale": "log"})
    here.set_minor_locator(LogLocator(subs=()))
    here.set_major_formatter("{x:g}")
    here.set_major_locator(
        LogLocator(subs=(1,) if decades > 1.5 else (1, 2, 5), numticks=ticks + 2)
        if decades > 0.7
        else round_steps
    )
