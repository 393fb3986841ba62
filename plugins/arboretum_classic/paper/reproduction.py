"""``arboretum reproduce lecture``: the numbers, sentences and figures of a lecture on decision
trees.
"""

import attrs

from arboretum.api import Chaptered, Services, param
from arboretum_classic.paper.study import SMALL

CHAPTERS = ("impurity", "play_tennis", "depth", "noise", "pruning", "choices", "figures")
DATASETS = (*SMALL, "digits", "diabetes")


@attrs.frozen
class Lecture(Chaptered):
    """What a lecture says of decision trees, tried on data that need no file.

    The worked impurity example; play-tennis and attributes of many values; training and test error
    by depth; instability under resampling and noise; pruning before and after growth; predicates,
    missing values, cost complexity and importance by level; every figure drawn from computed data.
    Every tree is verified.  Seconds, where asked for, decide one sentence; they are the one part of
    a result that differs from run to run.
    """

    name = "lecture"
    modules = (("play_tennis", "tennis"),)
    paper = (
        "Kartysheva & Alenicheva 2022: Decision trees (lecture, Introduction to machine learning)"
    )
    chapters: tuple[str, ...] = param(
        CHAPTERS, "what to do: " + ", ".join(CHAPTERS), converter=Chaptered.listed
    )
    datasets: tuple[str, ...] = param(
        DATASETS, "what trees grow on: " + ", ".join(DATASETS), converter=Chaptered.listed
    )
    seeds: int = param(
        10, "divisions of each data set into rows that train and rows that test", ge=2
    )
    draws: int = param(100, "random tables per number of values", ge=2)
    times: bool = param(True, "measure the seconds of growth with pruning, too")

    @property
    def small(self) -> list[str]:
        """The data sets of :data:`SMALL` that are asked for."""
        return [name for name in self.datasets if name in SMALL]

    def __attrs_post_init__(self) -> None:
        self.refuse_unknown(chapters=CHAPTERS, datasets=DATASETS)

    def warm_up(self, services: Services) -> None:
        """Compile and load, on the smallest tables."""
        Lecture().work({"chapter": "impurity"}, 0, services)
