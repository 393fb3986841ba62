"""What a plugin may import, together with :mod:`arboretum.kernels` and :mod:`arboretum.testing`: nothing else.

Importing this module is light: it loads neither numba, mlflow, Hydra nor scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arboretum.errors import (
    ArboretumError,
    BudgetError,
    CapabilityError,
    ConfigError,
    ContractError,
    DataError,
    PluginError,
    StoreError,
    TrackerError,
    VerificationError,
    closest,
    unknown,
)
from arboretum.interfaces.capability import Capability
from arboretum.interfaces.complexity import Form, form_of, value_of
from arboretum.interfaces.component import param
from arboretum.interfaces.hooks import hookimpl
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.monotony import Monotony, counterexample_to_monotony
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.reproduction import House, Piece
from arboretum.interfaces.split import Division
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.interfaces.tracker import RunInfo
from arboretum.model.certificate import Certificate, Certified
from arboretum.model.chapters import Chaptered
from arboretum.model.charts import Axis, BarChart, DotChart, Line, LineChart, Panels, Point, PointChart, RankDiagram
from arboretum.model.dates import read_dates
from arboretum.model.encoded import Encoded, Family, Feature, Node, Prices, RawFeature, Tables
from arboretum.model.grid import Grid
from arboretum.model.judgement import Cell, Chapter, Claim, Judgement, Known, Verdict, csv_text, fared, standard_error
from arboretum.model.observed import Observed
from arboretum.model.record import Record
from arboretum.model.rules import Bins, Equals, Interval, OrdinalThreshold, TestRule, Threshold, Values
from arboretum.model.scores import AgainstControl, Friedman, Pairwise, Scores
from arboretum.model.selection import Selection
from arboretum.model.shown import masked
from arboretum.model.solution import Solution, Status
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec, Surrogate, Tree

if TYPE_CHECKING:
    from arboretum.engine.search import bulk
    from arboretum.engine.search.grow import grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum.measure import ValidationScore, roc_auc, study
    from arboretum.report import charts, table

__all__ = [
    "AgainstControl",
    "ArboretumError",
    "Axis",
    "BarChart",
    "Bins",
    "BudgetError",
    "Capability",
    "CapabilityError",
    "Certificate",
    "Certified",
    "Cell",
    "Chapter",
    "Chaptered",
    "Claim",
    "Column",
    "ColumnKind",
    "ColumnSpec",
    "ConfigError",
    "Context",
    "ContractError",
    "DataError",
    "Division",
    "DotChart",
    "Encoded",
    "Equals",
    "Family",
    "Feature",
    "Form",
    "Friedman",
    "Grid",
    "House",
    "Interval",
    "Judgement",
    "Known",
    "LeafRule",
    "Limits",
    "Line",
    "LineChart",
    "MISSING_SPLITS",
    "MISSING_STOPS",
    "Monotony",
    "Node",
    "Observed",
    "OrdinalThreshold",
    "Pairwise",
    "Panels",
    "Parts",
    "Piece",
    "PluginError",
    "Point",
    "PointChart",
    "Prices",
    "Problem",
    "RankDiagram",
    "RawFeature",
    "Record",
    "RunInfo",
    "Scores",
    "Selection",
    "Shape",
    "Solution",
    "Status",
    "StoreError",
    "Surrogate",
    "Table",
    "Tables",
    "Target",
    "Task",
    "TestRule",
    "Threshold",
    "TrackerError",
    "Tree",
    "ValidationScore",
    "Values",
    "Verdict",
    "VerificationError",
    "closest",
    "counterexample_to_monotony",
    "csv_text",
    "fared",
    "form_of",
    "grow",
    "hookimpl",
    "masked",
    "param",
    "read_dates",
    "roc_auc",
    "shape_of",
    "standard_error",
    "unknown",
    "value_of",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name == "grow":  # loads numba: only when a method is run
        from arboretum.engine.search.grow import grow

        return grow
    if name == "bulk":  # many trees per table, for studies
        from arboretum.engine.search import bulk

        return bulk
    if name == "study":  # ranks, tests and figures of studies
        from arboretum.measure import study

        return study
    if name == "charts":  # chart_svg and chart_png
        from arboretum.report import charts

        return charts
    if name == "table":  # text_table, csv_table and markdown_table
        from arboretum.report import table

        return table
    if name == "warm_up":
        from arboretum.engine.search.warmup import warm_up

        return warm_up
    if name in ("ValidationScore", "roc_auc"):  # what measures trees: only when something is measured
        from arboretum import measure

        return getattr(measure, name)
    msg = f"module 'arboretum.api' has no attribute {name!r}"
    raise AttributeError(msg)
