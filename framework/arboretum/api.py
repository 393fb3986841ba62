"""What a plugin may import, together with :mod:`arboretum.kernels` and :mod:`arboretum.testing`:
nothing else.

Importing this module is light: it loads neither numba, mlflow, Hydra nor scikit-learn.
"""

import warnings
from typing import TYPE_CHECKING, Any

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
    sure,
    unknown,
)
from arboretum.interfaces.comparison import Terms
from arboretum.interfaces.complexity import Form, form_of, value_of
from arboretum.interfaces.component import Capability, param
from arboretum.interfaces.constraints import Constraints
from arboretum.interfaces.dataset import InParts
from arboretum.interfaces.hooks import hookimpl
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.monotony import Monotony, monotone_losses
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.predicate import CodedTests
from arboretum.interfaces.reproduction import Piece, Services
from arboretum.interfaces.rows import NodeSplit, NodeTables, NodeTotals, Opened
from arboretum.interfaces.split import Division
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.interfaces.sums import SumsByLeaf, leaf_answers, leaf_costs, moments_of, unit_of
from arboretum.interfaces.tracker import RunInfo
from arboretum.lab import current as current_lab
from arboretum.model.charts import Axis, BarChart, Line, LineChart, Panels, RankDiagram
from arboretum.model.dates import fitting_unit, in_unit, moment, refuse_close
from arboretum.model.digits import digits_shown, legible, legible_tree, spell
from arboretum.model.document import Estimate, Listing, Section
from arboretum.model.encoded import Encoded, Family, Feature, Node, Prices, RawFeature, Tables
from arboretum.model.files import file_for, put_text
from arboretum.model.frame import table_like
from arboretum.model.front import Front, Point as FrontPoint, unbeaten
from arboretum.model.judgement import (
    Cell,
    Chapter,
    Chaptered,
    Claim,
    Judgement,
    Known,
    Verdict,
    csv_text,
    summarise,
)
from arboretum.model.missing import MISSING, by_code, from_bins, is_missing, to_bins
from arboretum.model.plain import Facts, Key, Keyed, Plain
from arboretum.model.real_numbers import real_numbers
from arboretum.model.record import (
    Certificate,
    Certified,
    Checked,
    Record,
    Selection,
    Solution,
    Status,
)
from arboretum.model.roles import (
    COSTS,
    EVENT,
    OUTCOME,
    PROPENSITY,
    check_role,
    check_row_weights,
    cost_role,
    field_of_role,
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
from arboretum.model.scores import AgainstControl, Friedman, Pairwise, Repeats, Scores
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
from arboretum.model.table import (
    Column,
    ColumnKind,
    ColumnSpec,
    Table,
    Target,
    Task,
)
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS, Surrogate, Tree
from arboretum.model.walk import policies
from arboretum.model.whole import (
    WHOLE,
    common_unit,
    decimal,
    exact_weights,
    rational,
    whole_numbers,
)
from arboretum.rows.values import Distinct, adds_exactly, bins_of
from arboretum.solving.additive import (
    AdditiveObjective,
    Price,
    costs_of_groups,
    is_additive,
    shares_of_costs,
    whole_costs,
)
from arboretum.solving.attempt import DEFAULT_BYTES, Attempt, Ended, heard, within_bytes
from arboretum.solving.confusion import ConfusionObjective, TwoClassObjective
from arboretum.solving.leaf_sums import SumsObjective
from arboretum.solving.limits import TreeLimits
from arboretum.solving.two_way import (
    PER_OUTCOME,
    TwoWay,
    columns_of,
    few,
    refuse_prices,
    refuse_unfit,
    spread,
    two_way_order,
    two_way_problem,
    two_way_tree,
)

if TYPE_CHECKING:
    from arboretum.engine.axioms import not_admissible
    from arboretum.engine.choices import Choice, assemble, best_leaf
    from arboretum.engine.label_costs import labelled
    from arboretum.engine.layout import Level, laid_out
    from arboretum.engine.lint import lint
    from arboretum.engine.merged_rows import verify_tree
    from arboretum.engine.search import bulk
    from arboretum.engine.search.assemble import to_tree
    from arboretum.engine.search.contract import Candidate, Cell as GrowthCell, Part as GrowthPart
    from arboretum.engine.search.fractional import FractionalGrowth
    from arboretum.engine.search.grow import grow, grow_by_levels
    from arboretum.engine.search.growth import Growth
    from arboretum.engine.search.raw import gap_of
    from arboretum.engine.search.table_scorer import TableScorer
    from arboretum.engine.search.warmup import sample, warm_up
    from arboretum.measure import ValidationScore, better, comparison, curves, pareto_front
    from arboretum.measure.importance import importances
    from arboretum.measure.metrics import roc_auc
    from arboretum.proof.check import check as check_proof, tree_of as tree_of_proof
    from arboretum.proof.extract import Extraction, Memo
    from arboretum.proof.extract_lines import KnownLine, write_lines
    from arboretum.proof.format import read as read_proof
    from arboretum.proof.sums import ROUNDING as PROOF_ROUNDING
    from arboretum.proof.writing import ProofWriter
    from arboretum.report import charts, outline, palette, picture, scene, sheet, table
    from arboretum.rows.coded import Chunk, CodedRows, rows_of_arrays
    from arboretum.rows.mapped import Folder, open_mapped
    from arboretum.rows.sketch import Sketch, checksum_of

_LATE = {
    name.rpartition(" as ")[2]: (module, name.partition(" as ")[0])
    for module, names in {
        "arboretum.engine.axioms": "not_admissible",
        "arboretum.engine.label_costs": "labelled",
        "arboretum.engine.layout": "laid_out, Level",
        "arboretum.engine.lint": "lint",
        "arboretum.engine.search": "bulk",
        "arboretum.engine.search.assemble": "to_tree",
        "arboretum.engine.search.contract": "Candidate, Cell as GrowthCell, Part as GrowthPart",
        "arboretum.engine.search.grow": "grow, grow_by_levels",
        "arboretum.engine.search.table_scorer": "TableScorer",
        "arboretum.engine.merged_rows": "verify_tree",
        "arboretum.engine.search.growth": "Growth",
        "arboretum.engine.search.raw": "gap_of",
        "arboretum.engine.search.fractional": "FractionalGrowth",
        "arboretum.engine.search.warmup": "sample, warm_up",
        "arboretum.engine.choices": "assemble, best_leaf, Choice",
        "arboretum.measure": "better, comparison, curves, pareto_front, ValidationScore",
        "arboretum.measure.importance": "importances",
        "arboretum.measure.metrics": "roc_auc",
        "arboretum.proof.check": "check as check_proof, tree_of as tree_of_proof",
        "arboretum.proof.extract": "Extraction, Memo",
        "arboretum.proof.extract_lines": "KnownLine, write_lines",
        "arboretum.proof.format": "read as read_proof",
        "arboretum.proof.sums": "ROUNDING as PROOF_ROUNDING",
        "arboretum.proof.writing": "ProofWriter",
        "arboretum.rows.coded": "Chunk, CodedRows, rows_of_arrays",
        "arboretum.rows.mapped": "Folder, open_mapped",
        "arboretum.rows.sketch": "Sketch, checksum_of",
        "arboretum.report": "charts, outline, palette, picture, scene, sheet, table",
    }.items()
    for name in names.split(", ")
}
"""Name → (module, its name there), imported on first use: what grows trees (numba), measures them,
writes and reads proofs, or shows results (``charts``: chart_svg, chart_png; ``table``: text_table,
csv_table, markdown_table).
"""

GROUPS = {
    "every plugin": "hookimpl param Capability unknown",
    "errors": """ArboretumError BudgetError CapabilityError ConfigError ContractError DataError
        OutOfTime PluginError StoreError TrackerError VerificationError""",
    "data sets": """Table Column ColumnKind Target Task EVENT OUTCOME PROPENSITY COSTS cost_role
        check_role check_row_weights field_of_role MISSING by_code is_missing moment
        fitting_unit in_unit refuse_close canonical positions speller spelling refuse_merged EXACT
        TRUTH""",
    "splits": "Division",
    "encoders": """Encoded Feature RawFeature Family to_bins from_bins category_codes numbers
        Distinct bins_of""",
    "tests and predicates": """TestRule Threshold OrdinalThreshold Equals Values Interval Bins
        CodedTests NO_OUTCOME midpoints spell""",
    "impurities, criteria, coverages": "Node Tables lint not_admissible",
    "costs": "Prices",
    "complexities and objectives": """Form form_of value_of Shape shape_of AdditiveObjective
        SumsObjective ConfusionObjective TwoClassObjective Price""",
    "stopping rules": "LeafRule Limits",
    "methods": """Problem Parts Context Solution Status Candidate Growth grow bulk to_tree
        best_leaf Choice assemble warm_up labelled""",
    "row stores": """InParts Opened NodeSplit NodeTotals NodeTables Sketch checksum_of CodedRows
        Chunk rows_of_arrays Folder open_mapped grow_by_levels TableScorer verify_tree
        adds_exactly""",
    "solvers": """Front FrontPoint unbeaten Level laid_out Monotony monotone_losses
        two_way_order two_way_tree refuse_prices refuse_unfit ProofWriter check_proof read_proof
        tree_of_proof Attempt Ended heard within_bytes DEFAULT_BYTES TreeLimits TwoWay
        two_way_problem columns_of PER_OUTCOME few spread decimal rational common_unit whole_numbers
        WHOLE exact_weights whole_costs costs_of_groups is_additive shares_of_costs SumsByLeaf
        moments_of unit_of leaf_costs leaf_answers PROOF_ROUNDING Constraints real_numbers""",
    "pruners and tuners": "Selection ValidationScore better pareto_front roc_auc",
    "trees and exports": """Tree ColumnSpec MISSING_SPLITS MISSING_STOPS policies table_like
        digits_shown legible legible_tree file_for put_text outline palette picture scene sheet""",
    "trackers": "RunInfo Record Checked Certificate Certified masked visible",
    "reproductions": """Services Piece Chapter Chaptered Cell Claim Judgement Known Verdict csv_text
        summarise curves importances table charts Axis BarChart Line LineChart Panels""",
    "comparisons": """comparison Terms Section Listing Estimate Repeats Scores Friedman Pairwise
        AgainstControl RankDiagram""",
    "inside": """FractionalGrowth GrowthCell GrowthPart Surrogate Extraction Memo KnownLine
        write_lines gap_of sample current_lab sure""",
}
"""What an author writes → the names for it.  Those of ``inside`` no plugin outside this repository
needs: they may change in any version.
"""

__all__ = sorted(" ".join(GROUPS.values()).split())

_LEFT = {
    "closest": "arboretum.errors",
    "counterexample_to_monotony": "arboretum.interfaces.monotony",
}
"""A name that left → where it is; it is found here until the next minor version."""
_RENAMED = {"House": "Services", "fared": "summarise"}
"""A name as it was → as it is now; the old one is found until the next minor version."""


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warnings.warn(
            f"{name} is called {_RENAMED[name]} now, and goes with the next minor version",
            DeprecationWarning,
            2,
        )
        return globals()[_RENAMED[name]]
    if name in _LEFT:
        warnings.warn(
            f"{name} left arboretum.api, and goes with the next minor version; it is in "
            f"{_LEFT[name]}",
            DeprecationWarning,
            stacklevel=2,
        )
    elif name not in _LATE:
        raise AttributeError(f"module 'arboretum.api' has no attribute {name!r}")
    module, inside = _LATE.get(name) or (_LEFT[name], name)
    return getattr(__import__(module, fromlist=[inside]), inside)
