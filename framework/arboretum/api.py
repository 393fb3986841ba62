"""What a plugin may import, together with :mod:`arboretum.kernels` and :mod:`arboretum.testing`:
nothing else.

Importing this module is light: it loads neither numba, mlflow, Hydra nor scikit-learn.
"""

from typing import Any

from arboretum.errors import (
    ArboretumError,
    BudgetError,
    CapabilityError,
    ConfigError,
    ContractError,
    DataError,
    OutOfTime,
    PluginError,
    StoreError,
    TrackerError,
    VerificationError,
    closest,
    unknown,
)
from arboretum.interfaces.complexity import Form, form_of, value_of
from arboretum.interfaces.component import Capability, param
from arboretum.interfaces.hooks import hookimpl
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.monotony import Monotony, counterexample_to_monotony, monotone_losses
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.predicate import CodedTests
from arboretum.interfaces.reproduction import House, Piece
from arboretum.interfaces.split import Division
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.interfaces.tracker import RunInfo
from arboretum.lab import current as current_lab
from arboretum.model.charts import Axis, BarChart, Line, LineChart, Panels
from arboretum.model.dates import fitting_unit, in_unit, moment, refuse_close
from arboretum.model.digits import digits_shown, legible, legible_tree, spell
from arboretum.model.encoded import Encoded, Family, Feature, Node, Prices, RawFeature, Tables
from arboretum.model.files import file_for, put_text
from arboretum.model.frame import table_like
from arboretum.model.front import Front, Point as FrontPoint
from arboretum.model.judgement import (
    Cell,
    Chapter,
    Chaptered,
    Claim,
    Judgement,
    Known,
    Verdict,
    csv_text,
    fared,
)
from arboretum.model.record import (
    Certificate,
    Certified,
    Checked,
    Record,
    Selection,
    Solution,
    Status,
)
from arboretum.model.rules import (
    NO_OUTCOME,
    Bins,
    Equals,
    Interval,
    OrdinalThreshold,
    TestRule,
    Threshold,
    Values,
    category_codes,
    midpoints,
    numbers,
)
from arboretum.model.shown import masked, visible
from arboretum.model.spelling import (
    EXACT,
    TRUTH,
    canonical,
    positions,
    refuse_merged,
    speller,
    spelling,
)
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, ColumnSpec, Surrogate, Tree
from arboretum.model.walk import policies

_LATE = {
    name.rpartition(" as ")[2]: (module, name.partition(" as ")[0])
    for module, names in {
        "arboretum.engine.axioms": "not_admissible",
        "arboretum.engine.layout": "laid_out, Level",
        "arboretum.engine.lint": "lint",
        "arboretum.engine.search": "bulk",
        "arboretum.engine.search.assemble": "to_tree",
        "arboretum.engine.search.contract": "Candidate, Cell as GrowthCell",
        "arboretum.engine.search.grow": "grow",
        "arboretum.engine.search.growth": "Growth",
        "arboretum.engine.search.raw": "gap_of",
        "arboretum.engine.search.shares": "ByShares, Part as GrowthPart",
        "arboretum.engine.search.warmup": "sample, warm_up",
        "arboretum.engine.solving": (
            "assemble, best_leaf, Choice, refuse_prices, refuse_unfit, two_way_order, two_way_tree"
        ),
        "arboretum.measure": "better, curves, pareto_front, ValidationScore",
        "arboretum.measure.importance": "importances",
        "arboretum.measure.metrics": "roc_auc",
        "arboretum.proof.check": "check as check_proof, tree_of as tree_of_proof",
        "arboretum.proof.extract": "Extraction, Memo",
        "arboretum.proof.format": "read as read_proof",
        "arboretum.proof.writing": "ProofWriter",
        "arboretum.report": "charts, outline, palette, picture, scene, sheet, table",
    }.items()
    for name in names.split(", ")
}
"""Name → (module, its name there), imported on first use: what grows trees (numba), measures them,
writes and reads proofs, or shows results (``charts``: chart_svg, chart_png; ``table``: text_table,
csv_table, markdown_table).
"""

__all__ = sorted({name for name in globals() if name[0] != "_"} - {"Any"} | _LATE.keys())


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'arboretum.api' has no attribute {name!r}")
    module, inside = _LATE[name]
    return getattr(__import__(module, fromlist=[inside]), inside)
