"""Axes of charts: round numbers along a length, linear or logarithmic, and the lines and labels that show them."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from arboretum.errors import DataError
from arboretum.report.scene import FAINT, LINE, Label, Shape, Stroke, text_width

GRID_LINE = "#e6e9ed"
TICK = 11.0
"""Size of a tick's label."""
SMALLEST = 1e-250
"""What is nearer to 0 lies at 0 on a linear axis: floats that small have no digits left to divide into ticks."""
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@attrs.frozen
class Scale:
    """Values ``low`` to ``high`` on the pixels ``start`` to ``end`` (``end`` < ``start`` for a scale that goes up)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    count: int = 5

    @staticmethod
    def over(
        values: Iterable[float], start: float, end: float, *, log: bool = False, count: int = 5, keep: float | None = None, room: float = 0.04
    ) -> Scale:
        """A scale that holds all finite ``values`` with a little room; about ``count`` ticks.  Linear: what is below SMALLEST in size counts as 0.

        keep : a value where the scale may end exactly, such as the base of bars.   room : share of the scale.   Raises DataError for values of 0 or less
        on a logarithmic scale.
        """
        known = [float(value) if abs(value) > SMALLEST else 0.0 for value in values if math.isfinite(value)]
        if keep is not None:
            known.append(keep)
        if log:
            wrong = [value for value in known if value <= 0]
            if wrong:
                raise DataError(f"a logarithmic axis shows numbers above 0, not {wrong[0]:g}: leave it out, or use a linear axis")
            known = [math.log10(value) for value in known]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if high - low < 1e-9 * max(abs(low), abs(high), 1e-300):
            half = 0.3 if log else 0.05 * abs(low) or 0.5
            low, high = low - half, high + half
        room *= high - low
        base = None if keep is None else math.log10(keep) if log else keep
        low, high = (edge if edge == base else edge + side * room for edge, side in ((low, -1), (high, 1)))
        if log:
            return Scale(10**low, 10**high, start, end, True, count)
        return Scale(low, high, start, end, False, count)

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high, value = (math.log10(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values within the scale and their spelling, at least two."""
        return self._decades() if self.log else self._even()

    def _even(self) -> list[tuple[float, str]]:
        for count in range(self.count, self.count + 12):  # two ticks at least, however the scale lies
            step = _round_step((self.high - self.low) / count)
            first = math.ceil(self.low / step - 1e-9)
            values = [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
            if len(values) > 1:
                break
        largest, order = max(map(abs, values)), math.floor(math.log10(step) + 1e-9)
        if not 1e-4 <= largest < 1e6:
            digits = math.floor(math.log10(largest)) - order + 2
            return [(value, _minus(f"{value + 0.0:.{digits}g}")) for value in values]
        places = max(0, -order)
        places += round(step * 10**places, 9) % 1 > 0  # 2.5 and its like
        return [(value, _minus(f"{value + 0.0:.{places}f}")) for value in values]

    def _decades(self) -> list[tuple[float, str]]:
        low, high = math.log10(self.low) - 1e-9, math.log10(self.high) + 1e-9
        powers = list(range(math.ceil(low), math.floor(high) + 1))
        if len(powers) > 2 or (len(powers) == 2 and high - low > 1.6):
            each = math.ceil(len(powers) / (self.count + 2))
            return [(10.0**k, spell_power(k)) for k in powers if (k - powers[0]) % each == 0]
        for parts in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
            values = [part * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for part in parts]
            inside = [value for value in values if low <= math.log10(value) <= high]
            if len(inside) > 1:
                return [(value, f"{value:g}") for value in inside]
        return attrs.evolve(self, log=False)._even()


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 2.5 and 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((part * power for part in (1, 2, 2.5, 5) if part * power >= least * (1 - 1e-9)), 10 * power)


def spell_power(k: int) -> str:
    """10^k for a reader: 0.01, 1, 1000, 10⁵."""
    return f"{10.0**k:g}" if -3 <= k <= 4 else "10" + str(k).translate(SUPERSCRIPTS)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def room_of(scale: Scale) -> float:
    """Pixels that the labels of an upright axis take to its left."""
    return max(text_width(text, TICK) for _, text in scale.ticks()) + 8


def upright_axis(scale: Scale, left: float, right: float, *, labels: bool = True) -> list[Shape]:
    """Level grid lines from ``left`` to ``right``, labels to their left."""
    shapes: list[Shape] = []
    for value, text in scale.ticks():
        y = scale.at(value)
        shapes.append(Stroke([(left, y), (right, y)], 1, GRID_LINE))
        if labels:
            shapes.append(Label(left - 6, y + 4, text, TICK, fill=FAINT, anchor="end"))
    return shapes


def level_axis(scale: Scale, top: float, bottom: float, *, grid: bool = True) -> list[Shape]:
    """The line at ``bottom`` with ticks and labels under it; grid lines up to ``top``.  Labels that would touch are left out."""
    shapes: list[Shape] = []
    free = -math.inf
    for value, text in scale.ticks():
        x, half = scale.at(value), text_width(text, TICK) / 2
        if grid:
            shapes.append(Stroke([(x, top), (x, bottom)], 1, GRID_LINE))
        shapes.append(Stroke([(x, bottom), (x, bottom + 4)], 1, LINE))
        if x - half >= free:
            shapes.append(Label(x, bottom + 16, text, TICK, fill=FAINT, anchor="middle"))
            free = x + half + 6
    shapes.append(Stroke([(scale.start, bottom), (scale.end, bottom)], 1, LINE))
    return shapes
