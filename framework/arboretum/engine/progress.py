"""What is heard of a run while it works: messages, and what a solver has proven by when."""

import math
import time
from collections.abc import Callable

import attrs

from arboretum.engine.mismatch import fail
from arboretum.interfaces.method import Context
from arboretum.model.record import Solution

Progress = Callable[[float, float | None, str], None]

# points kept of a curve; of more, every second one goes, but for the first and the last
MOST = 1000
SLACK = 1e-9  # relative: a bound and a value are sums of the same terms in other orders


def about(progress: Progress, subject: str) -> Progress:
    """Say what is begun; a listener that passes every message on as "subject: message"."""
    progress(0, None, subject)
    return lambda done, total, message: progress(done, total, f"{subject}: {message}")


class Curve:
    """Hears (lower bound, value) of a search, and keeps what improves, with the seconds since
    the search began.
    """

    def __init__(
        self, context: Context, clock: Callable[[], float] = lambda: time.monotonic()
    ) -> None:
        self._context, self._clock, self._start = context, clock, clock()
        self._points: list[tuple[float, float, float]] = []

    def context(self) -> Context:
        """The same context, heard; what is proven is said with its progress."""
        return attrs.evolve(self._context, proven=self.proven, progress=self._progress)

    def proven(self, lower_bound: float, value: float) -> None:
        """Keep the better of each, where one is better than before; beyond MOST points every
        second one between the first and the last goes.
        """
        low, best = self._points[-1][1:] if self._points else (-math.inf, math.inf)
        if lower_bound > low or value < best or not self._points:
            self._points.append(
                (self._clock() - self._start, max(low, lower_bound), min(best, value))
            )
            if len(self._points) > MOST:
                self._points[1:-1] = self._points[2:-1:2]

    def _progress(self, done: float, total: float | None, message: str) -> None:
        """Pass progress on, with the bound and the best value that are known by now."""
        if self._points:
            _, low, best = self._points[-1]
            message += f"; no tree is below {low:.6g}" + (
                f", the best one has {best:.6g}" if best < math.inf else ""
            )
        self._context.progress(done, total, message)

    def of(self, solution: Solution, solver: str) -> Solution:
        """The solution with its curve, which ends with what it proves.

        Raises VerificationError where a bound that was told is above the value, or a value below
        the proven bound.
        """
        _, low, best = self._points[-1] if self._points else (0.0, -math.inf, math.inf)
        slack = SLACK * max(1.0, abs(solution.value))
        if low > solution.value + slack or best < solution.lower_bound - slack:
            fail(
                f"solver {solver} told a bound of {low:g} and a value of {best:g} on its way, and "
                f"returned {solution.lower_bound:g} and {solution.value:g}"
            )
        self.proven(solution.lower_bound, solution.value)
        return attrs.evolve(solution, curve=tuple(self._points))
