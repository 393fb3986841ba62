"""The contract of every kind, by name: what a class must have, and what it may have besides."""

from __future__ import annotations

from collections.abc import Mapping

from arboretum.interfaces.complexity import Complexity, ComplexityForm
from arboretum.interfaces.cost import Cost
from arboretum.interfaces.coverage import Coverage, CoverageMany, CoveragePrepared
from arboretum.interfaces.criterion import (
    Criterion,
    CriterionBounds,
    CriterionColumn,
    CriterionColumns,
    CriterionKernel,
    CriterionNotes,
    CriterionPromises,
    CriterionSeed,
    CriterionSettle,
    CriterionTerms,
)
from arboretum.interfaces.dataset import Dataset
from arboretum.interfaces.encoder import Encoder
from arboretum.interfaces.export import Export
from arboretum.interfaces.impurity import Impurity, ImpurityForTask, ImpurityOfValues
from arboretum.interfaces.method import Method, MethodWarmUp
from arboretum.interfaces.missing import Missing, MissingSurrogates
from arboretum.interfaces.objective import Objective
from arboretum.interfaces.predicate import Predicate
from arboretum.interfaces.pruner import Pruner, PrunerChooses
from arboretum.interfaces.reproduction import Reproduction
from arboretum.interfaces.solver import Solver, SolverCertifies, SolverWarmUp
from arboretum.interfaces.split import Split
from arboretum.interfaces.stopping import Stopping, StoppingByObjects, StoppingByRows
from arboretum.interfaces.tracker import Tracker
from arboretum.interfaces.tuner import Tuner

REQUIRED: Mapping[str, type] = {
    "dataset": Dataset,
    "split": Split,
    "encoder": Encoder,
    "predicate": Predicate,
    "impurity": Impurity,
    "coverage": Coverage,
    "criterion": Criterion,
    "stopping": Stopping,
    "missing": Missing,
    "cost": Cost,
    "complexity": Complexity,
    "objective": Objective,
    "solver": Solver,
    "pruner": Pruner,
    "tuner": Tuner,
    "method": Method,
    "tracker": Tracker,
    "reproduction": Reproduction,
    "export": Export,
}
"""Kind → the protocol whose methods a component has."""

INSTEAD: Mapping[str, tuple[type, ...]] = {"impurity": (ImpurityForTask, ImpurityOfValues)}
"""Kind → protocols of which one may stand in for the required one."""

OPTIONAL: Mapping[str, tuple[type, ...]] = {
    "criterion": (
        CriterionTerms,
        CriterionColumns,
        CriterionColumn,
        CriterionSettle,
        CriterionKernel,
        CriterionBounds,
        CriterionSeed,
        CriterionPromises,
        CriterionNotes,
    ),
    "coverage": (CoveragePrepared, CoverageMany),
    "impurity": INSTEAD["impurity"],
    "missing": (MissingSurrogates,),
    "method": (MethodWarmUp,),
    "stopping": (StoppingByRows, StoppingByObjects),
    "complexity": (ComplexityForm,),
    "solver": (SolverCertifies, SolverWarmUp),
    "pruner": (PrunerChooses,),
}
"""Kind → protocols whose methods have the contract's form where a component has them."""

KERNELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "criterion": {
        "score": ("criterion", "score(weights, counts, price, extra, node) -> float"),
        "column": ("column", "column(weight, label, node) -> float"),
    },
    "impurity": {"kernel": ("impurity", "kernel(weights) -> float"), "prefix": ("prefix", "prefix(y, weight, out)")},
    "complexity": {"node": ("complexity", "node(mass, price, children) -> float")},
}
"""Kind → method → (mark, signature) of the static methods that are, or may be, kernels."""
