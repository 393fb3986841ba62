"""What a plugin may import, together with :mod:`arboretum.kernels` and :mod:`arboretum.testing`: nothing else.

Importing this module is light: it loads neither numba, mlflow, Hydra nor scikit-learn.
"""

import pkgutil
from typing import Any

from arboretum.errors import (
    ArboretumError, BudgetError, CapabilityError, ConfigError, ContractError, DataError, PluginError, StoreError, TrackerError,
    VerificationError, closest, unknown,
)  # fmt: skip
from arboretum.interfaces.component import Capability, param
from arboretum.interfaces.split import Division
from arboretum.interfaces.hooks import hookimpl
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.predicate import CodedTests
from arboretum.interfaces.monotony import Monotony, counterexample_to_monotony
from arboretum.interfaces.reproduction import House, Piece
from arboretum.interfaces.tracker import RunInfo
from arboretum.interfaces.complexity import Form, form_of, value_of
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.model.charts import Axis, BarChart, Grid, Line, LineChart, Panels, RankDiagram
from arboretum.model.dates import read_dates
from arboretum.model.encoded import Encoded, Family, Feature, Node, Prices, RawFeature, Tables
from arboretum.model.frame import table_like
from arboretum.model.front import Front, Point as FrontPoint
from arboretum.model.judgement import Cell, Chapter, Chaptered, Claim, Judgement, Known, Verdict, csv_text, fared, standard_error
from arboretum.model.record import Certificate, Certified, Record, Selection, Solution, Status
from arboretum.model.rules import NO_OUTCOME, Bins, Equals, Interval, OrdinalThreshold, TestRule, Threshold, Values
from arboretum.model.rules import category_codes, numbers, spell
from arboretum.model.shown import masked, visible
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec, Surrogate, Tree
from arboretum.model.walk import policies

_LATE = {
    "bulk": "arboretum.engine.search.bulk",
    "ByShares": "arboretum.engine.search.shares:ByShares",
    "Candidate": "arboretum.engine.search.contract:Candidate",
    "Growth": "arboretum.engine.search.growth:Growth",
    "GrowthCell": "arboretum.engine.search.contract:Cell",
    "GrowthPart": "arboretum.engine.search.shares:Part",
    "gap_of": "arboretum.engine.search.raw:gap_of",
    "sample": "arboretum.engine.search.warmup:sample",
    "to_tree": "arboretum.engine.search.assemble:to_tree",
    "Choice": "arboretum.engine.solving:Choice",
    "assemble": "arboretum.engine.solving:assemble",
    "refuse_unfit": "arboretum.engine.solving:refuse_unfit",
    "lint": "arboretum.engine.lint:lint",
    "not_admissible": "arboretum.engine.axioms:not_admissible",
    "grow": "arboretum.engine.search.grow:grow",
    "midpoints": "arboretum.engine.search.raw:midpoints",
    "warm_up": "arboretum.engine.search.warmup:warm_up",
    "Extraction": "arboretum.proof.extract:Extraction",
    "Memo": "arboretum.proof.extract:Memo",
    "check_proof": "arboretum.proof.check:check",
    "tree_of_proof": "arboretum.proof.check:tree_of",
    "ProofWriter": "arboretum.proof.writing:ProofWriter",
    "read_proof": "arboretum.proof.format:read",
    "ValidationScore": "arboretum.measure:ValidationScore",
    "roc_auc": "arboretum.measure:roc_auc",
    "better": "arboretum.measure:better",
    "curves": "arboretum.measure.curves",
    "importances": "arboretum.measure.importance:importances",
    "pareto_front": "arboretum.measure:pareto_front",
    "charts": "arboretum.report.charts",
    "table": "arboretum.report.table",
}
"""Name → module, or module:name, that is loaded on first use: what grows trees (numba), measures them, writes and reads
proofs, or shows results (``charts``: chart_svg, chart_png; ``table``: text_table, csv_table, markdown_table)."""

__all__ = sorted({name for name in globals() if name[0] != "_"} - {"pkgutil", "Any"} | _LATE.keys())  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'arboretum.api' has no attribute {name!r}")
    return pkgutil.resolve_name(_LATE[name])
