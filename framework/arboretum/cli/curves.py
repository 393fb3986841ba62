"""``arboretum curves RUN`` and ``arboretum importances RUN``: how good a tree is for each class,
and which columns it lives on.
"""

from collections.abc import Sequence
from pathlib import Path

from arboretum.cli import terminal
from arboretum.cli.show import AGAIN_HELP, find_tree_and_table, load_again, run_parser
from arboretum.cli.terminal import Parser
from arboretum.engine import run as engine
from arboretum.errors import DataError, unknown
from arboretum.measure.curves import Evaluation
from arboretum.measure.evaluate import PARTS
from arboretum.measure.importance import importances
from arboretum.model.record import Record
from arboretum.model.table import Table
from arboretum.plugin.registry import Registry
from arboretum.report.charts import chart_svg
from arboretum.report.table import csv_table, text_table
from arboretum.runs.folder import write_files

CURVES = """\
Measures per class, each against the rest, on rows of a run.  Its folder (or --out) gets the table,
the points of all curves, and pictures: ROC with convex hull, precision-recall, calibration."""
IMPORTANCES = """\
The columns that a tree reads: their impurity decrease, what their tests cost, and what accuracy (of
numbers r²) loses on rows of the run when the values of the column are shuffled."""
SHORTER = {"average_precision": "avg precision", "calibration_error": "calibration"}


def rows_of(
    record: Record, registry: Registry, moved: Sequence[str], part: str | None
) -> tuple[str, Table]:
    """(part, its rows); the test rows where there are any and no part is named.  Says why they
    may not be the run's.  Raises DataError.

    moved : as of :func:`load_again`.
    """
    resolved, prepared, changes = load_again(record, registry, moved)
    division = engine.pose(resolved.parts, prepared.table, record.seed).division
    there = [name for name in reversed(PARTS) if len(getattr(division, name))]
    if (part := part or there[0]) not in there:
        raise DataError(f"the run's split leaves no such rows: {unknown('part', part, there)}")
    for line in changes:
        terminal.say(line)
    return part, prepared.table.take(getattr(division, part))


def _parser(verb: str, description: str) -> Parser:
    """Return the parser of a verb that looks at a part of the rows of a run."""
    parser = run_parser(verb, description, AGAIN_HELP)
    parser.add_argument(
        "--part", metavar="PART", help="rows: train, valid or test (default: test if there are any)"
    )
    return parser


def main(argv: list[str]) -> int:
    """Print the measures, keep curves and pictures."""
    parser = _parser("curves", CURVES)
    parser.add_argument("--out", metavar="FOLDER", help="write there, not into the run's folder")
    given = parser.parse_intermixed_args(argv)
    record, tree, registry, moved = find_tree_and_table(given)
    part, rows = rows_of(record, registry, moved, given.part)
    evaluation = Evaluation.of(tree, rows)
    charts = evaluation.charts(f"{record.title}: {rows.n_rows} {part} rows")
    files = {f"{part}_{name}.svg": chart_svg(chart) for name, chart in charts.items()}
    files |= {
        f"{part}_classes.csv": csv_table(evaluation.rows()),
        f"{part}_curves.csv": csv_table(evaluation.points()),
    }
    headings = {name: SHORTER.get(name, name) for name in max(evaluation.rows(), key=len)}
    terminal.say(text_table(evaluation.rows(), headings, width=max(terminal.width(), 120)))
    own = Path(given.run).expanduser()
    # a tracker's run has no folder here
    if folder := given.out or (own.parent if own.is_file() else own if own.is_dir() else None):
        write_files(Path(folder).expanduser(), files, "--out FOLDER")
        terminal.say(f"in {folder}: {', '.join(files)}")
    return 0


def importances_main(argv: list[str]) -> int:
    """Print a row per column."""
    given = _parser("importances", IMPORTANCES).parse_intermixed_args(argv)
    record, tree, registry, moved = find_tree_and_table(given)
    part, rows = rows_of(record, registry, moved, given.part)
    headings = {
        "column": "column",
        "decrease": "impurity decrease",
        "price": "price paid",
        "decrease_per_price": "decrease per price",
        "permutation": f"lost when shuffled ({part} rows)",
        "error": "±",
    }
    terminal.say(
        text_table(
            importances(tree, rows, seed=record.seed),
            headings,
            width=max(terminal.width(), 120),
        ).rstrip()
    )
    return 0
