"""Contract: do the numbers that a paper reports come out?"""

from collections.abc import Sequence
from typing import Any, Protocol

import attrs

from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Parts
from arboretum.model.judgement import Judgement
from arboretum.model.plain import Key, Keyed, Plain
from arboretum.model.record import Record


@attrs.frozen
class Piece:
    """One independent piece of work.

    key : plain values (JSON) that say, with the seed, everything the result depends on: it names
        the result that is kept.
    cost : how long it is expected to take, in any unit; the estimate of the time left goes by it.
    """

    key: Key
    cost: float = 1.0


class Services(Protocol):
    """What the laboratory lends a piece of work: components of any plugin, by name."""

    def __hash__(self) -> int:
        """By identity."""

    def component(self, kind: str, name: str, values: Plain | None = None) -> Any:
        """Build an installed component.  Raises ConfigError with the closest match."""

    def parts(self, choices: Plain, values: Plain | Sequence[str] = ()) -> Parts:
        """Put together the parts of a run, presets included.  Raises ConfigError.

        choices : group → option.
        values : "group.field" → value, or a list of "group.field=value".
        """

    def run(
        self,
        choices: Plain,
        values: Plain | Sequence[str] = (),
        seed: int = 0,
    ) -> Record:
        """Do one run, verified, and return its record with its tree; nobody keeps it.  Raises
        ArboretumError.

        choices, values : as of :meth:`parts`.
        seed : of all random choices.
        """


class Reproduction(Component, Protocol):
    """A paper's study: independent pieces of work, and a judgement of their results.

    It starts no process, writes no file and prints nothing.  ``arboretum reproduce NAME`` does
    that: it hands the pieces to worker processes, cheapest first, keeps each result, repeats
    nothing that is finished, and shows and records what ``judge`` says.  The fields of the class
    are options of the command (``--tables 500``).  It may have ``warm_up(services)``: called once
    per process before its first piece, to compile and load.
    """

    def pieces(self, fraction: float) -> Sequence[Piece]:
        """Return the work, cheapest first; ``0 < fraction ≤ 1``: of random tables where the paper
        draws tables, else of the cells of each chapter.

        Never empty.  The same call returns the same pieces, and no two keys are equal.
        """

    def work(self, key: Key, seed: int, services: Services) -> Any:
        """Do one piece and return plain values (JSON, finite numbers).

        The result follows from ``key`` and ``seed`` alone: not from the process, the order, or what
        was done before.
        Raises ArboretumError when it cannot be done; the other pieces go on.
        """

    def judge(self, results: Keyed) -> Judgement:
        """Judge (key, result) pairs, in the order of ``pieces``; some may be missing (failed, or
        not asked for).

        What cannot be judged for lack of results has no cell; with no results at all the judgement
        is empty.
        """
