"""``arboretum reproduce lecture``: the numbers, sentences and figures of a lecture on decision
trees.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from arboretum.api import Chaptered, ConfigError, Plain, Services, param, unknown
from arboretum_classic.paper.study import SMALL

CHAPTERS = ("impurity", "play_tennis", "depth", "noise", "pruning", "choices", "figures")
DATASETS = (*SMALL, "digits", "diabetes")


def _chosen(values: str | Iterable[str]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else tuple(values)


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
    paper = (
        "Kartysheva & Alenicheva 2022: Decision trees (lecture, Introduction to machine learning)"
    )
    chapters: tuple[str, ...] = param(
        CHAPTERS, "what to do: " + ", ".join(CHAPTERS), converter=_chosen
    )
    datasets: tuple[str, ...] = param(
        DATASETS, "what trees grow on: " + ", ".join(DATASETS), converter=_chosen
    )
    seeds: int = param(
        10, "divisions of each data set into rows that train and rows that test", ge=2
    )
    draws: int = param(100, "random tables per number of values", ge=2)
    times: bool = param(True, "measure the seconds of growth with pruning, too")

    def __attrs_post_init__(self) -> None:
        for field, known in (("chapters", CHAPTERS), ("datasets", DATASETS)):
            for value in getattr(self, field):
                if value not in known:
                    raise ConfigError(
                        f"reproduction.{field}: "
                        + unknown(field.removesuffix("s"), str(value), known)
                    )
            if not getattr(self, field):
                raise ConfigError(
                    f"reproduction.{field} must name at least one of {', '.join(known)}"
                )

    def parts(self) -> Plain:
        """Chapter → its module, of the ``chapters`` asked for, in the order of :data:`CHAPTERS`."""
        from arboretum_classic.paper import (
            choices as lecture_choices,
            depth as lecture_depth,
            figures as lecture_figures,
            impurity as lecture_impurity,
            noise as lecture_noise,
            pruning as lecture_pruning,
            tennis as lecture_tennis,
        )

        modules = (
            lecture_impurity,
            lecture_tennis,
            lecture_depth,
            lecture_noise,
            lecture_pruning,
            lecture_choices,
            lecture_figures,
        )
        return {
            name: part
            for name, part in zip(CHAPTERS, modules, strict=True)
            if name in self.chapters
        }

    def warm_up(self, services: Services) -> None:
        """Compile and load, on the smallest tables."""
        from arboretum_classic.paper import impurity as lecture_impurity

        lecture_impurity.work({"chapter": "impurity"}, 0, services)
