"""``arboretum reproduce maxcost``: Figure 1 by numbers, the 1024 objects and their kin, nine
data sets and their trade-off curves.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace

import attrs

from arboretum.api import Chaptered, ConfigError, Plain, Services, param, unknown

CHAPTERS = ("figure1", "lemmas", "synthetic", "datasets", "figure4")


def _chosen(values: str | Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


@attrs.frozen
class MaxCostStudy(Chaptered):
    """Greedy trees whose costliest path is bounded: what the functions F choose, and what error
    they leave at which max cost.

    Figure 1 (two tests, seven functions); Lemmas 4.3 to 4.5 and Theorem 4.6 on drawn leaves and
    small tables; the 1024 objects with four outliers, and 2^k objects of that kind, with proven
    least max costs; the nine data sets of the appendix, quantised, equal objects merged; Figure 4:
    Powers(2) to (5) stopped at every δ, hinged Pairs with every α, and the lowest error per budget
    over all of them.  Every tree that is shown is replayed over its objects.
    """

    name = "maxcost"
    paper = (
        "Nan, Wang & Saligrama 2015: Max-cost discrete function evaluation problem under a budget"
    )
    chapters: tuple[str, ...] = param(
        CHAPTERS, "what to do: " + ", ".join(CHAPTERS), converter=_chosen
    )
    datasets: tuple[str, ...] = param(
        (), "of the nine, those to study; none named: all", converter=_chosen
    )

    def __attrs_post_init__(self) -> None:
        from arboretum_maxcost.paper.study import published

        for field, known in (("chapters", CHAPTERS), ("datasets", tuple(published()["datasets"]))):
            for value in getattr(self, field):
                if value not in known:
                    raise ConfigError(
                        f"reproduction.{field}: "
                        + unknown(field.removesuffix("s"), str(value), known)
                    )
        if not self.chapters:
            raise ConfigError(
                f"reproduction.chapters must name at least one of {', '.join(CHAPTERS)}"
            )

    def wants(self, dataset: str) -> bool:
        """Whether it is one of those to study."""
        return not self.datasets or dataset in self.datasets

    def parts(self) -> Plain:
        """Chapter → what has its ``pieces``, ``work`` and ``judge``, of the chapters chosen, in the
        order of CHAPTERS.
        """
        from arboretum_maxcost.paper import datasets, figure1, figure4, lemmas, synthetic, verdicts

        curves = SimpleNamespace(pieces=figure4.pieces, work=figure4.work, judge=verdicts.judge)
        parts = dict(zip(CHAPTERS, (figure1, lemmas, synthetic, datasets, curves), strict=True))
        return {name: part for name, part in parts.items() if name in self.chapters}

    def warm_up(self, services: Services) -> None:
        """Compile and load, on sixteen objects and a data set that needs no file."""
        for key in (
            {"chapter": "synthetic", "bits": 4},
            {"chapter": "figure4", "dataset": "wdbc", "function": "Powers(3)"},
        ):
            if key["chapter"] in self.chapters:
                self.work(key, 0, services)
