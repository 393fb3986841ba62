"""``arboretum list``: the runs of folders or of the tracker that meet a condition, as a table."""

import json
from collections.abc import Sequence
from pathlib import Path

from arboretum.cli import terminal
from arboretum.cli.progress import say_waiting
from arboretum.cli.show import OVERRIDES_HELP, tracker_from
from arboretum.cli.terminal import Parser, at_least
from arboretum.errors import ConfigError, unknown
from arboretum.model.plain import Facts, Plain
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import plugin_files
from arboretum.report.table import csv_table, text_table
from arboretum.runs.folder import default_root
from arboretum.runs.listing import runs_in, runs_of_tracker
from arboretum.runs.sweeps import short_names, spell_choice
from arboretum.runs.where import read_where, select

DESCRIPTION = """\
The runs at or below FOLDERs (default: outputs and multirun here, and what ARBORETUM_RUNS names), or
those of the tracker (--store, --experiment NAME).  Keys are chosen options (dataset, method,
criterion …), fields (stopping.standard.max_depth), metrics (test_error, n_leaves …), status, seed,
when, n_rows, time_fit …"""
WHERE = (
    'which: "dataset=iris and test_error<.1", with = != < <= > >=, and, or, not, brackets, '
    '"method in [cart,id3]"; a run without the key meets no comparison'
)
FOLDERS = ("outputs", "multirun")
FORMATS = ("table", "csv", "json")
FIRST = ("method", "dataset", "seed", "split.fold")
NUMBERS = ("valid_error", "test_error", "valid_mse", "test_mse", "n_leaves", "depth")
LAST = ("expected_cost", "status", "when")
"""Columns that are shown where nobody chooses, before and after what varies."""
MOST_VARIED = 4  # keys of the configuration that are shown because they vary
UNTOLD = ("run", "name", "when", "error", "goal", "certify", "skip_finished", "plugins", "tracker")
UNTOLD_OF = ("encoder.", "tracker.", "budget.", "time_", "solution.", "dataset.")


def main(argv: list[str]) -> int:
    """Print a row per run."""
    parser = Parser("list", DESCRIPTION, plugin="a one-file plugin, of a tracker say")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="folders of runs")
    parser.add_argument("--where", metavar="EXPR", help=WHERE)
    parser.add_argument("--sort", metavar="KEY", help="order by this key, the smallest first")
    parser.add_argument("--reverse", action="store_true", help="the largest first")
    parser.add_argument("--columns", metavar="KEY,…", help="which to show")
    parser.add_argument("--most", type=at_least(0), metavar="N", help="no more rows than these")
    parser.add_argument("--format", default=FORMATS[0], choices=FORMATS, help="of what is printed")
    parser.add_argument("--store", action="store_true", help="ask the tracker, not folders")
    parser.add_argument("--experiment", metavar="NAME", help="of the tracker; implies --store")
    given = parser.parse_intermixed_args(argv)
    where = None if given.where is None else read_where(given.where)
    overrides = [word for word in given.folders if word.startswith("tracker")]
    folders = [word for word in given.folders if word not in overrides]
    if given.store or given.experiment:
        if folders:
            raise ConfigError(f"the tracker or folders, not both: got the folder {folders[0]!r}")
        runs = _of_store(overrides, given.experiment, given.plugin)
    elif overrides:
        raise ConfigError(f"{overrides[0]!r} is for --store; {OVERRIDES_HELP}")
    else:
        runs = runs_in(_folders(folders))
    shown: list[Plain] = list(runs) if where is None else select(runs, where)
    known = list(dict.fromkeys(key for facts in runs for key in facts))
    if given.sort:
        shown = _in_order(shown, _known(given.sort, known), reverse=given.reverse)
    elif given.reverse:
        shown.reverse()
    columns = (
        [_known(key.strip(), known) for key in given.columns.split(",")]
        if given.columns
        else default_columns(shown)
    )
    terminal.say(_written(shown[: given.most], columns, given.format, chosen=bool(given.columns)))
    if given.format == FORMATS[0]:
        cut = f", {given.most} shown" if given.most is not None and given.most < len(shown) else ""
        terminal.say(f"{len(shown)} of {len(runs)} runs{cut}")
    return 0


def _folders(given: Sequence[str]) -> list[Path]:
    """Return the folders that are looked through."""
    if given:
        return [Path(name).expanduser() for name in given]
    found = [path for path in (*map(Path, FOLDERS), default_root()) if path.is_dir()]
    if not found:
        raise ConfigError(
            f"there are no runs here ({' or '.join(FOLDERS)}); name a FOLDER, or --store"
        )
    return found


def _of_store(
    overrides: Sequence[str], experiment: str | None, plugins: Sequence[str]
) -> list[Facts]:
    """Return the runs of a tracker.   experiment : None: that of the overrides, or the lab's."""
    asked = [*overrides, *([f"tracker.experiment={experiment}"] if experiment else [])]
    tracker = tracker_from(asked, load_registry(plugin_files(plugins)))
    if tracker is None:
        raise ConfigError("tracker=none keeps nothing; name a FOLDER")
    with say_waiting(f"asking tracker {tracker.name}"):
        return runs_of_tracker(tracker)


def _known(key: str, known: Sequence[str]) -> str:
    if known and key not in known:
        raise ConfigError(unknown("key", key, sorted(known)))
    return key


def _in_order(runs: Sequence[Plain], key: str, *, reverse: bool) -> list[Plain]:
    """Return the runs in the order of a key: numbers before texts, runs without it last."""

    def place(facts: Plain) -> tuple[bool, float, str]:
        value = facts[key]
        number = isinstance(value, int | float)
        return not number, float(value) if number else 0.0, "" if number else spell_choice(value)

    has = [facts for facts in runs if facts.get(key) is not None]
    lacks = [facts for facts in runs if facts.get(key) is None]
    return [*sorted(has, key=place, reverse=reverse), *lacks]


def default_columns(runs: Sequence[Plain]) -> list[str]:
    """Return the columns that tell these runs apart: what they are, what varies, how good."""
    values: dict[str, set[str]] = {}
    numbers: set[str] = set()
    for facts in runs:
        for key, value in facts.items():
            values.setdefault(key, set()).add(spell_choice(value))
            if isinstance(value, float):
                numbers.add(key)
    usual = {*FIRST, *NUMBERS, *LAST, *UNTOLD}
    varied = [
        key
        for key, found in values.items()
        if len(found) > 1
        and key not in usual
        and key not in numbers
        and not key.startswith(UNTOLD_OF)
    ]
    wanted = ("run", *FIRST, *varied[:MOST_VARIED], *NUMBERS, *LAST)
    return [key for key in wanted if key in values]


def _written(runs: Sequence[Plain], columns: Sequence[str], form: str, *, chosen: bool) -> str:
    """Return the runs in a form; JSON holds all that is known unless columns are chosen."""
    if form == "json":
        kept = [{k: f[k] for k in columns if k in f} if chosen else dict(f) for f in runs]
        return json.dumps(kept, ensure_ascii=False, indent=2, default=str)
    rows = [
        {
            key: value if isinstance(value, int | float) else spell_choice(value)
            for key in columns
            if (value := facts.get(key)) is not None
        }
        for facts in runs
    ]
    if form == "csv":
        return csv_table(rows, list(columns)).rstrip("\n")
    headings = short_names(columns)
    width = terminal.width() if terminal.is_terminal() else None
    return text_table(rows, headings, width=width).rstrip("\n")
