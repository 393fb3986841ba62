"""An attempt at a problem: a search begins, goes on with every call, and is ended by itself, by a
budget or by somebody; what is said of that stands here once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import attrs

from arboretum.errors import BudgetError, OutOfTime, sure
from arboretum.interfaces.method import Context, Problem
from arboretum.model.record import Solution, Status
from arboretum.model.tree import Tree

T = TypeVar("T")

DEFAULT_BYTES = 4_000_000_000
"""Bytes that a search may take where the run sets no budget.memory_mb."""


def within_bytes(context: Context, most: int = DEFAULT_BYTES) -> Context:
    """Return the context with a budget of bytes, the run's or ``most``."""
    return context if context.memory_bytes is not None else attrs.evolve(context, memory_bytes=most)


@attrs.frozen
class Ended:
    """How a search ended.

    by : "" where it came to its end, else what ran out ("seconds", "bytes") or "interrupt" (Ctrl-C,
        a signal).
    error : what was raised, if anything was.
    """

    by: str = ""
    error: BaseException | None = None

    @staticmethod
    def of(work: Callable[[], str | None]) -> Ended:
        """Return how work ends that returns what ran out, or nothing."""
        return heard(lambda: Ended(work() or ""), lambda ended: ended)

    @property
    def details(self) -> Mapping[str, object]:
        """What the details of a solution say of Ctrl-C or a signal."""
        stopped = self.error if self.by == "interrupt" else None
        return {} if stopped is None else {"interrupted": (*stopped.args, True)[0]}

    @property
    def why(self) -> str:
        """The same in words, with what did not fit the budget of bytes, if that is known."""
        if self.by == "interrupt":
            return "the search was interrupted"
        what = f" ({self.error})" if self.by == "bytes" and self.error else ""
        return f"the budget of {self.by} ran out{what}"

    def solution(
        self,
        tree: Tree,
        value: float,
        lower: float,
        subproblems: int,
        after: str,
        *,
        slack: float = 0.0,
        none: str = "no tree",
        rounded: str = "",
        notes: tuple[str, ...] = (),
        details: Mapping[str, object] | None = None,
    ) -> Solution:
        """Return the best tree known with what is proven, and one sentence on what ended the
        search.

        lower : no tree has a lower value; counts where something ended the search, or it rounds.
        after : which the sentence goes on with ("after 12 sets of objects").
        slack : relative; a gap that rounding leaves counts as none.
        none : of which trees the bound is.
        rounded : why the bound is below the truth though the search came to its end; "": it is not.
        subproblems : how many were looked into.   notes, details : of the solver's own.
        """
        bound = min(value, lower) if self.by or rounded else value
        proven = value - bound <= slack * max(1.0, abs(value))
        ending = f"{self.why} {after}".rstrip() if self.by else rounded
        if not proven or (rounded and bound < value):
            ending += (
                f": the value is that of the best tree found, and {none} is below {bound:g}"
                if self.by
                else f"; proven up to {value - bound:g}"
            )
        return Solution(
            tree,
            value,
            bound,
            Status.optimal if proven else Status.feasible,
            subproblems,
            finished=not self.by or proven,
            notes=(*((ending,) if self.by or bound < value else ()), *notes),
            details={**(details or {}), **self.details},
        )


def heard(work: Callable[[], T], kept: Callable[[Ended], T]) -> T:
    """Return what work returns, or what is kept of it where Ctrl-C, a signal or a budget ends
    it.
    """
    try:
        return work()
    except BudgetError as error:
        return kept(Ended("seconds" if isinstance(error, OutOfTime) else "bytes", error))
    except KeyboardInterrupt as error:
        return kept(Ended("interrupt", error))


class Search(Protocol):
    """What a solver brings to an attempt; values are in the objective's unit.

    rounded : (optional) why ``lower`` is below the truth though the search came to its end.
    """

    @property
    def lower(self) -> float:
        """No tree has a lower value."""

    @property
    def upper(self) -> float:
        """The value of the best tree known."""

    @property
    def subproblems(self) -> int:
        """How many were looked into."""

    def run(self, context: Context, report: Callable[..., None]) -> str | None:
        """Go on until it is finished, "" or None, or "seconds" or "bytes" run out; call ``report``
        whenever more may be known.  What interrupts it is let through.
        """

    def tree(self) -> Tree:
        """The best tree known, at any time."""


@attrs.define(eq=False)
class Attempt:
    """A problem on its way to be solved: its search goes on with every call.

    steps : what its subproblems are called.
    slack : relative; a gap that rounding leaves counts as none.
    none : of which trees the bound is.
    details : of a solution.
    """

    problem: Problem
    search: Search
    steps: str = "sets of objects"
    slack: float = 0.0
    none: str = "no tree"
    details: Callable[[], Mapping[str, object]] = dict

    def go_on(self, context: Context) -> Solution:
        """Search within the budget, from where the call before ended; what is proven is streamed
        to the context.
        """
        search, context = self.search, within_bytes(context)

        def report(*_: object) -> None:
            context.proven(search.lower, search.upper)
            context.progress(0, None, f"{search.subproblems:,} {self.steps}")

        return self.solution(Ended.of(lambda: search.run(context, report)))

    def solution(self, ended: Ended) -> Solution:
        """Return the best tree known and what is proven."""
        search, objective = self.search, self.problem.parts.objective
        tree = search.tree()
        return ended.solution(
            tree,
            float(sure(objective).value(tree, self.problem)),
            search.lower,
            search.subproblems,
            f"after {search.subproblems:,} {self.steps}",
            slack=self.slack,
            none=self.none,
            rounded=getattr(search, "rounded", ""),
            details=self.details(),
        )
