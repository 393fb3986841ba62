"""What this plugin registers.  Light: no numba, no scikit-learn."""

from __future__ import annotations

from arboretum.api import hookimpl
from arboretum_classic.criteria import GainRatio, RandomChoice, Reduction
from arboretum_classic.impurities import AbsoluteError, Auto, Entropy, Gini, Misclassification, Variance


@hookimpl
def arboretum_components() -> list[type]:
    """The impurities and criteria of the classical methods; the presets cart, id3 and random lie beside."""
    return [Auto, Gini, Entropy, Misclassification, Variance, AbsoluteError, Reduction, GainRatio, RandomChoice]
