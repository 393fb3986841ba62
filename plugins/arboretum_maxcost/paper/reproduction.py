"""``arboretum reproduce maxcost``: Figure 1 by numbers, the 1024 objects and their kin, nine
data sets and their trade-off curves.
"""

import attrs

from arboretum.api import Chaptered, Services, param

CHAPTERS = ("figure1", "lemmas", "synthetic", "datasets", "figure4")


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
    modules = (("figure4", "verdicts"),)
    paper = (
        "Nan, Wang & Saligrama 2015: Max-cost discrete function evaluation problem under a budget"
    )
    chapters: tuple[str, ...] = param(
        CHAPTERS, "what to do: " + ", ".join(CHAPTERS), converter=Chaptered.listed
    )
    datasets: tuple[str, ...] = param(
        (), "of the nine, those to study; none named: all", converter=Chaptered.listed
    )

    def __attrs_post_init__(self) -> None:
        from arboretum_maxcost.paper.study import published

        self.refuse_unknown(chapters=CHAPTERS, datasets=published()["datasets"])

    def warm_up(self, services: Services) -> None:
        """Compile and load, on sixteen objects and a data set that needs no file."""
        for key in (
            {"chapter": "synthetic", "bits": 4},
            {"chapter": "figure4", "dataset": "wdbc", "function": "Powers(3)"},
        ):
            if key["chapter"] in self.chapters:
                self.work(key, 0, services)
