"""RUN on the command line, a run folder or a tracker's run id: found, shown (``arboretum show``)
and explained (``why``).
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arboretum.cli import terminal
from arboretum.cli.progress import say_waiting
from arboretum.cli.terminal import Parser, at_least, warn
from arboretum.engine.code import version_of
from arboretum.errors import ConfigError, DataError, StoreError, sure
from arboretum.interfaces.tracker import Tracker
from arboretum.model.plain import Facts
from arboretum.model.record import Checked, Record, Solution
from arboretum.model.tree import Tree
from arboretum.plugin.assemble import split_values, tracker_of
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import ONE_FILE, Owner, Registry, plugin_files
from arboretum.report.front import front_rows
from arboretum.report.table import spell_cell, text_table
from arboretum.runs.folder import RECORD, read_json, write_files
from arboretum.runs.sweeps import SWEEP, Sweep, flatten, read_sweep, records_of, runs_of
from arboretum.runs.tracking import load_run

if TYPE_CHECKING:
    from argparse import Namespace

    from arboretum.config.resolve import Resolved
    from arboretum.engine.progress import Progress
    from arboretum.engine.run import Prepared, Request
    from arboretum.engine.why import Reasons, ScoredTest

DESCRIPTION = """\
A finished run: its numbers and its tree.  RUN is a run folder or a tracker's run id.  Of a sweep's
folder, the table that compares its settings; of a folder of sweeps, a row for each."""
WHY = """\
Why this test at that node?  Grows again along the path and judges every candidate: its contingency
table (one bracket per outcome, one number per class), its score, and the criterion's named terms.
NODE is a number: 0 is the root, the others are numbered in depth-first order (arboretum show RUN
--numbers)."""
OVERRIDES_HELP = (
    "tracker=NAME or tracker.FIELD=VALUE, for a run id of another store "
    "(tracker.uri=sqlite:///FILE)"
)
AGAIN_HELP = f"where the table is now, dataset.path=FILE; {OVERRIDES_HELP}"
PLUGIN_HELP = (
    "a one-file plugin that the run used: a run's folder names its plugins, but only what is "
    "named here is loaded"
)


def run_parser(
    verb: str,
    description: str,
    overrides: str = OVERRIDES_HELP,
    more: Mapping[str, str] | None = None,
) -> Parser:
    """A parser for a verb that reads RUN.

    overrides : what KEY=VALUE may say.
    more : further words → what they mean.
    """
    parser = Parser(verb, description, plugin=PLUGIN_HELP)
    parser.add_argument("run", metavar="RUN", help="run folder or tracker run id")
    for word, meaning in (more or {}).items():
        parser.add_argument(word, metavar=word.upper(), help=meaning)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=overrides)
    return parser


def require_plugins(record: Record, owners: Iterable[Owner]) -> None:
    """Raise ConfigError, saying what to type, when a one-file plugin of the run is not among those
    loaded.

    owners : of the registry.

    A record names files, and a record that was found somewhere must not decide what is run here.
    """
    loaded = [Path(owner.path).name for owner in owners if owner.distribution == ONE_FILE]
    recorded = [Path(file) for file in record.config.get("plugins") or ()]
    if len(loaded) >= len(recorded):
        return
    file = next((file for file in recorded if file.name not in loaded), recorded[-1])
    where = (
        ", which is not there any more; say where it is now: --plugin "
        f"FOLDER/{shlex.quote(file.name)}"
    )
    if file.is_file():
        where = (
            ", and a run's folder is not trusted to run code; look at it, then say --plugin "
            f"{shlex.quote(str(file))}"
        )
    raise ConfigError(f"the run used the plugin file {str(file)!r}{where}")


def _changed_files(versions: Mapping[str, str], registry: Registry) -> list[str]:
    """Names of the one-file plugins of a run, by its ``versions``, that are not loaded as they
    were.
    """
    loaded = {version_of(owner) for owner in registry.owners}
    return [
        name
        for name, version in versions.items()
        if version.startswith(ONE_FILE) and version not in loaded
    ]


def find_run(
    run: str, overrides: Sequence[str] = (), plugins: Sequence[str] = ()
) -> tuple[Record, Registry]:
    """The record of RUN, and the registry with the installed plugins and the given ones, which its
    tree may need.

    Warns of a given file that is not what the run used.   Raises ConfigError, PluginError,
    StoreError, TrackerError.
    """
    if more := [word for word in overrides if "=" not in word]:
        raise ConfigError(
            f"{more[0]!r} is a word too many (one RUN at a time, {run!r}); {OVERRIDES_HELP}"
        )
    registry = load_registry(plugin_files(plugins))
    if (folder := Path(run).expanduser()).exists() or "/" in run:
        tracker_words(overrides)
        try:
            record = load_run(run)
        except StoreError as error:
            versions = read_json(folder / RECORD).get("versions") or {}
            if plugins and (changed := _changed_files(versions, registry)):
                raise StoreError(
                    f"{error}; not given with the content that the run used: {', '.join(changed)}"
                ) from error
            raise
    else:
        tracker = tracker_from(overrides, registry)
        with say_waiting(f"asking tracker {tracker.name}" if tracker is not None else ""):
            record = load_run(run, tracker)
    for name in _changed_files(record.versions, registry) if plugins else ():
        warn(f"the file of {name} is not what the run used: its content differs")
    return record, registry


def find_tree(
    run: str, overrides: Sequence[str], plugins: Sequence[str]
) -> tuple[Record, Tree, Registry]:
    """The same for a run that has a tree, and its tree; raises StoreError where it has none.

    overrides, plugins : as of :func:`find_run`.
    """
    record, registry = find_run(run, overrides, plugins)
    if record.tree is None:
        raise StoreError(f"run {run} holds no tree")
    return record, record.tree, registry


def find_tree_and_table(arguments: Namespace) -> tuple[Record, Tree, Registry, list[str]]:
    """The same of a verb that reads the run's table again, and ``dataset.FIELD=VALUE``, where that
    is now.

    arguments : of a parser that :func:`run_parser` makes.
    """
    moved, others = split_overrides(arguments.overrides, DATASET)
    return *find_tree(arguments.run, others, arguments.plugin), moved


def tracker_from(overrides: Sequence[str], registry: Registry) -> Tracker | None:
    """The tracker that overrides choose, else the lab's or the default one; None for
    ``tracker=none``.

    Raises ConfigError for an override of anything else.
    """
    choices, fields = tracker_words(overrides)
    return tracker_of(registry, choices.get("tracker", ""), fields.get("tracker", {}))


def tracker_words(overrides: Sequence[str]) -> tuple[Facts, Facts]:
    """The choices and the fields of overrides that name a tracker; raises ConfigError for an
    override of anything else.
    """
    choices, fields, shared = split_values({}, list(overrides))
    for key in (*choices, *fields, *shared):
        if key != "tracker":
            raise ConfigError(f"{key!r} has no place here; {OVERRIDES_HELP}")
    return choices, fields


def write_out(file: str, content: str | bytes) -> None:
    """Write a file that the command line names, whole or not at all: behind a link where that
    leads, into a device or a pipe.

    Raises StoreError.
    """
    path = Path(file).expanduser()
    if path.exists() and not path.is_file() and not path.is_dir():
        try:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise StoreError(
                f"{file!r} cannot be written ({error.strerror}); choose another FILE"
            ) from error
        return
    path = path.resolve()
    if path.is_dir():
        raise StoreError(f"{file!r} is a folder, and this is one file; name a FILE in it")
    write_files(path.parent, {path.name: content}, "another FILE")


def main(argv: list[str]) -> int:
    """Print the record."""
    parser = run_parser("show", DESCRIPTION, f"of --outliers {AGAIN_HELP}")
    parser.add_argument("--max-depth", type=at_least(0), metavar="N", help="fold what lies deeper")
    parser.add_argument(
        "--max-leaves",
        type=at_least(1),
        metavar="N",
        help="fold the smallest parts of a larger tree",
    )
    parser.add_argument(
        "--numbers",
        action="store_true",
        help="begin a line with its node's number, for arboretum why",
    )
    parser.add_argument("--config", action="store_true", help="print the configuration, too")
    parser.add_argument(
        "--outliers",
        action="store_true",
        help="the rows that the tree errs on, and what classifying each would cost",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="with --outliers: draw them (.svg), or list all of them (.csv)",
    )
    arguments = parser.parse_intermixed_args(argv)
    folder = Path(arguments.run).expanduser()
    if folder.is_dir() and not (folder / RECORD).exists():
        tracker_words(arguments.overrides)
        if not (folder / SWEEP).exists() and show_sweeps(folder):
            return 0
        if runs_of(folder):
            show_sweep(folder)
            return 0
    if arguments.outliers:
        record, _, registry, moved = find_tree_and_table(arguments)
        return show_outliers(record, registry, arguments.out, moved)
    record, registry = find_run(arguments.run, arguments.overrides, arguments.plugin)
    if arguments.out is not None:
        raise ConfigError("--out goes with --outliers; arboretum export writes the tree")
    terminal.say(numbers_of(record))
    if arguments.config:
        terminal.say(
            terminal.aligned(
                [(key, "null" if v is None else v) for key, v in flatten(record.config)]
            )
            + "\n"
        )
    if record.tree is None:
        terminal.say("no tree is kept")
    else:
        shown = {
            "max_depth": arguments.max_depth,
            "max_leaves": arguments.max_leaves,
            "numbers": arguments.numbers,
        }
        terminal.say(tree_of(record.tree, **shown), painted=True)
    return 0


def show_sweeps(folder: Path) -> bool:
    """Print a row per sweep of a folder that holds some; returns whether it does."""
    from arboretum.cli.overview import overview, sweeps_below

    if sweeps := sweeps_below(folder):
        wide = terminal.width() if terminal.is_terminal() else None
        terminal.say(overview(folder, sweeps, wide).rstrip("\n"))
    return bool(sweeps)


def show_sweep(folder: Path) -> None:
    """Print how a sweep ended, where its folder says so, and the table of its settings."""
    from arboretum.cli.comparison import DEFAULT, Comparison
    from arboretum.cli.overview import state_of

    if (sweep := read_sweep(folder)) is not None:
        terminal.say(f"{sweep.name}: {state_of(sweep)}\n")
    sweep = sweep or Sweep()
    damaged: list[str] = []
    compared = Comparison.of(records_of(folder, damaged), sweep.goal or DEFAULT, sweep.traded)
    terminal.say(compared.text(terminal.width() if terminal.is_terminal() else None))
    terminal.warn_left_out(damaged, f"arboretum list {shlex.quote(str(folder))} shows them")


def show_outliers(record: Record, registry: Registry, out: str | None, moved: Sequence[str]) -> int:
    """Print the rows that the tree gives up, and write them where ``out`` names a file; returns the
    exit status.

    moved : as of :func:`load_again`.
    """
    from arboretum.cli.outliers import WRITTEN, Outliers

    if (suffix := Path(out or "all.csv").suffix.lower()) not in WRITTEN:
        raise ConfigError(f"--out names a picture (.svg) or a table (.csv); got {out!r}")
    resolved, prepared, changes = load_again(record, registry, moved)
    found = Outliers.of(record, resolved.parts, prepared.table)
    terminal.say("\n".join([*changes, found.text(terminal.width())]))
    if out is not None:
        write_out(out, WRITTEN[suffix](found))
    return 0


DATASET = "dataset."  # overrides that say where a table is, and how it is read
MEMORY = "memory"  # the row store by which growing again is explained
FRONT_ROWS = 24
OWN = ("mean_cost", "mean_cost_error", "concordance", "integrated_brier")
"""Before the quality, where the objective measures them."""
CLASSIFICATION = (
    "accuracy",
    "error",
    "balanced_accuracy",
    "f1",
    "roc_auc",
    "log_loss",
    "expected_cost",
)
REGRESSION = ("mse", "mae", "r2", "expected_cost")
SHAPE = (
    "depth",
    "average_depth",
    "n_leaves",
    "n_nodes",
    "expected_cost",
    "covering_cost",
    "max_cost",
)


def numbers_of(record: Record) -> str:
    """A headline, the quality per part of the rows, the shape of the tree, and what is proven."""
    choices, data, metrics = record.config.get("choices", {}), record.data, record.metrics
    rows = f"{data.get('n_rows')} rows" + (
        f", {data['n_train']} to learn from" if "n_train" in data else ""
    )
    seconds = sum(record.timings.values())
    head = f"{choices.get('method', 'run')} on {data.get('name')} ({rows}), seed {record.seed}"
    lines = [
        f"{head}: {'verified' if record.verified else 'not verified'}, "
        f"{terminal.duration(seconds)}",
        "",
    ]
    names = REGRESSION if any(name.endswith("_mse") for name in metrics) else CLASSIFICATION
    own = [one for one in OWN if any(name.endswith(one) for name in metrics)]
    # of hazard ratios the error in the times says nothing
    names = (*own, *(names[-1:] if "concordance" in own else names))
    found = {
        part: {name: metrics.get(f"{part}_{name}") for name in names}
        for part in ("train", "valid", "test")
    }
    if quality := [
        {"rows": part, **values}
        for part, values in found.items()
        if any(value is not None for value in values.values())
    ]:
        lines.append(text_table(quality, width=terminal.width()))
    if alone := [
        part
        for part, values in found.items()
        if (area := values.get("roc_auc")) is not None and math.isnan(area)
    ]:
        lines += [
            f"roc_auc is undefined of the {' and '.join(alone)} rows, which show one class",
            "",
        ]
    shape = [
        f"{name.removeprefix('n_').replace('_', ' ')} {spell_cell(metrics[name])}"
        for name in SHAPE
        if name in metrics
    ]
    lines.append("tree: " + ", ".join(shape))
    if record.solution is not None:
        lines += _solution_lines(record.solution)
    if record.certificate is not None:
        lines += ["", *certificate_lines(record), *([""] if record.notes else [])]
    lines += [f"note: {note}" for note in record.notes]
    return "\n".join(lines) + "\n"


def _solution_lines(solved: Solution) -> list[str]:
    """What a solver has proven: value and bound, when they were found, its details, its front."""
    how = "claimed" if solved.checked is Checked.claimed else "proven"
    lines = [
        f"{solved.word}: value {solved.value:.6g}, {how} bound {solved.lower_bound:.6g}, "
        f"gap {solved.gap:.3g}"
    ]
    if len(solved.curve) > 1:
        _, low, best = solved.curve[-1]
        tree = next(seconds for seconds, _, value in solved.curve if value == best)
        bound = next(seconds for seconds, lower, _ in solved.curve if lower == low)
        lines.append(f"best tree after {tree:.3g} s, bound after {bound:.3g} s")
    lines += [
        f"{name.replace('_', ' ')}: {_spell_detail(value)}"
        for name, value in solved.details.items()
    ]
    if (front := solved.front) is not None:
        head = f"front of {len(front.points)} trees, gap {front.gap:.3g}"
        lines += [
            "",
            f"{head}{f', of which {FRONT_ROWS}' * (len(front.points) > FRONT_ROWS)}:",
            text_table(front_rows(front, most=FRONT_ROWS)).rstrip(),
        ]
    return lines


def _spell_detail(value: object) -> str:
    """A detail that a solver proved, in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_spell_detail(item)}" for name, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def certificate_lines(record: Record) -> list[str]:
    """What is proven of the tree: the trees it is compared with, then a table with a row per
    complexity.
    """
    certificate, data = record.certificate, record.data
    if certificate is None:
        return []
    n_objects = data.get("n_objects")
    tests = certificate.certifier.get("tests", f"{data.get('n_tests')} tests")
    head = (
        f"certified by {certificate.certifier['name']} against all trees on the same {n_objects} "
        f"objects and {tests}"
    )
    rule = [
        f"{key} {value:g}"
        for key, value in certificate.leaf_rule.items()
        if value and math.isfinite(value)
    ]
    head += f" ({', '.join(rule)}):" if rule else ":"
    table = text_table(certificate.rows(), width=terminal.width()).rstrip("\n")
    return [*textwrap.wrap(head, terminal.width(), break_on_hyphens=False), "", table]


def tree_of(tree: Tree, **options: object) -> str:
    """The tree as text, in colour on a terminal."""
    return tree.to_text(width=terminal.width(), colour=terminal.colour(), **options)


def why_main(argv: list[str]) -> int:
    """Print the node and its candidates."""
    parser = run_parser("why", WHY, AGAIN_HELP, more={"node": "number of a node"})
    parser.add_argument(
        "--top",
        type=at_least(0),
        default=10,
        metavar="N",
        help="how many candidates to list (0: all; default 10)",
    )
    arguments = parser.parse_intermixed_args(argv)
    if not arguments.node.lstrip("-").isdecimal():
        raise ConfigError(f"NODE must be a whole number; got {arguments.node!r}")
    record, _, registry, moved = find_tree_and_table(arguments)
    terminal.say(explain(record, int(arguments.node), arguments.top, registry, moved))
    return 0


def explain(
    record: Record, node: int, top: int, registry: Registry, moved: Sequence[str] = ()
) -> str:
    """The text; raises ArboretumError when the run cannot be re-created.

    top : candidates that are listed; 0: all.
    registry : with the one-file plugins of the run.
    moved : as of :func:`load_again`.

    The chosen test is listed in any case, however many are better.
    """
    tree = sure(record.tree)
    changes, (found,) = reasons_at(record, [node], registry, moved)
    asked = ((tree.rule(above), outcome) for above, outcome in tree.path(node))
    steps = " and ".join(
        f"{r.columns[0] if len(r.columns) == 1 else f'{r.describe()}:'} {r.outcome_label(outcome)}"
        for r, outcome in asked
    )
    lines = [f"node {node}: {steps or 'all rows'}", _describe_node(tree, found), *changes]
    rows = [
        _row_of_candidate(tree, rank, one)
        for rank, one in enumerate(found.candidates, 1)
        if top <= 0 or rank <= top or one.chosen
    ]
    lines += (
        ["", text_table(rows, width=max(terminal.width(), 120)).rstrip()]
        if rows
        else ["no test that may be asked divides its rows"]
    )
    if len(rows) < len(found.candidates):
        lines.append(f"… and {len(found.candidates) - len(rows)} more (--top 0 lists all)")
    return "\n".join([*lines, "", *found.plan])


def reasons_at(
    record: Record, nodes: Sequence[int], registry: Registry, moved: Sequence[str] = ()
) -> tuple[list[str], list[Reasons]]:
    """Grow again, and return why it may differ, a line per reason, and what competed at each node.

    moved : as of :func:`load_again`.
    Raises ArboretumError when the run cannot be re-created.
    """
    from arboretum.engine import run as engine
    from arboretum.engine.interpreting import interpret_small, or_compiled
    from arboretum.engine.scale import Scale
    from arboretum.engine.why import reasons

    tree = sure(record.tree)
    resolved, prepared, changes = load_again(record, registry, moved)
    rows = (record.config.get("choices") or {}).get("rows", MEMORY)
    if rows != MEMORY:
        changes.append(f"explained with rows in memory: the run had {rows}, whose cuts may differ")
    scale = Scale.of(prepared.table, resolved.parts)
    problem = engine.fit(
        resolved.parts, scale.table(prepared.table), record.seed, scale=scale
    ).problem
    with interpret_small(problem):
        return changes, or_compiled(
            lambda: [reasons(problem, tree, node, record.seed) for node in nodes]
        )


def load_again(
    record: Record, registry: Registry, moved: Sequence[str] | None = None
) -> tuple[Resolved, Prepared, list[str]]:
    """The components and the data of a run, and a line per reason why growing again may differ.

    moved : ``dataset.FIELD=VALUE``, where the table is now; None: the verb cannot be told.
    Data are loaded, divided and encoded again; refuses other data than the recorded, and missing
    one-file plugins.
    """
    from arboretum.config.bridge import start_from
    from arboretum.config.compose import compose_and_resolve
    from arboretum.config.execute import Session
    from arboretum.engine import run as engine

    require_plugins(record, registry.owners)
    said = ["tracker=none", *(moved or ())]  # growing again tells nobody
    _, resolved = compose_and_resolve(said, registry, start=start_from(record, said, registry))
    request = engine.Request(resolved.parts, record.seed, config=resolved.config)
    prepared = engine.prepare(request) if moved is None else prepare_again(request)
    if prepared.sha256 != record.data["sha256"]:
        raise StoreError(
            f"the data set {record.data['name']} is not what it was (checksum "
            f"{prepared.sha256[:12]}…); growing again needs the same"
        )
    code, known = Session(registry).code(resolved.parts), set(record.code.values())
    # a plugin file may have another name today
    changed = [name for name, checksum in code.items() if checksum not in known]
    notes = (
        [f"explained with today's code: that of {' and '.join(changed)} differs from the run's"]
        if changed
        else []
    )
    return resolved, prepared, notes


def prepare_again(request: Request, progress: Progress | None = None) -> Prepared:
    """Load the data of a run or of a proof again; where their file is gone, the error says how to
    tell where it is now.
    """
    from arboretum.engine.run import prepare

    try:
        return prepare(request, progress)
    except DataError as error:
        file = getattr(request.parts.dataset, "path", None)
        if not isinstance(file, str) or Path(file).expanduser().exists():
            raise
        raise DataError(f"{error}; say where it is now, {DATASET}path=FILE") from error


def split_overrides(overrides: Sequence[str], prefix: str) -> tuple[list[str], list[str]]:
    """Those that begin with the prefix, and the others."""
    return [text for text in overrides if text.startswith(prefix)], [
        text for text in overrides if not text.startswith(prefix)
    ]


def _describe_node(tree: Tree, found: Reasons) -> str:
    """Return a line on a node: rows, mass, depth, classes, impurity, and why it is a leaf or by
    which test it is divided.
    """
    node = found.node
    words = [
        f"{node.count} rows",
        f"mass {spell_cell(node.mass)} of {spell_cell(node.total_mass)}",
        f"depth {node.depth}",
    ]
    if tree.is_classification:
        words.append(
            " ".join(
                f"{name}:{spell_cell(w)}"
                for name, w in zip(tree.classes, node.weights, strict=True)
                if w > 0
            )
        )
    if math.isfinite(node.impurity):
        words.append(f"impurity {spell_cell(node.impurity)}")
    rank = next((rank for rank, one in enumerate(found.candidates, 1) if one.chosen), 0)
    if found.reason_to_stop:
        return ", ".join([*words, f"a leaf: {found.reason_to_stop}"])
    taken = (
        f"the test marked ▸, number {rank} of {len(found.candidates)}"
        if rank
        else "a test that is not among today's candidates"
    )
    return ", ".join([*words, f"divided by {taken}"])


def _row_of_candidate(tree: Tree, rank: int, one: ScoredTest) -> Facts:
    """Return a row of the table of candidates, by its heading."""
    outcomes = [
        weights for weights, counts in zip(one.weights, one.counts, strict=True) if counts.sum() > 0
    ]
    brackets = " ".join(
        "[" + " ".join(spell_cell(w) for w in weights) + "]" for weights in outcomes
    )
    return {
        "": "▸" if one.chosen else "",
        "rank": rank,
        "test": one.rule.describe(),
        "by outcome" if tree.is_classification else "Σw Σwy Σwy² by outcome": brackets,
        "price": one.price,
        "score": one.score if math.isfinite(one.score) else "−inf",
        **one.terms,
    }
