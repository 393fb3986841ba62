"""``arboretum show RUN``: a finished run in the terminal."""

from __future__ import annotations

from pathlib import Path

from arboretum.cli import terminal
from arboretum.cli.finding import OVERRIDES_HELP, find_run, run_parser
from arboretum.cli.showing import flatten, node_list, numbers_of, tree_of
from arboretum.runs.folder import RECORD
from arboretum.runs.sweeps import RUNNING, read_sweep, records_of

DESCRIPTION = """\
A finished run: its numbers and its tree.  RUN is a run folder or a tracker's run id.  Of a sweep's folder, the table that
compares its settings."""


def main(argv: list[str]) -> int:
    """Print the record."""
    parser = run_parser("show", DESCRIPTION)
    parser.add_argument("--max-depth", type=int, metavar="N", help="fold what lies deeper")
    parser.add_argument("--max-leaves", type=int, metavar="N", help="fold the smallest parts of a larger tree")
    parser.add_argument("--numbers", action="store_true", help="list the nodes with their numbers, for arboretum why")
    parser.add_argument("--config", action="store_true", help="print the configuration, too")
    parser.add_argument("overrides", nargs="*", metavar="tracker.…", help=OVERRIDES_HELP)
    arguments = parser.parse_intermixed_args(argv)
    folder = Path(arguments.run).expanduser()
    if not (folder / RECORD).exists() and any(folder.glob(f"*/{RECORD}")):
        return _show_sweep(folder)
    record, _ = find_run(arguments.run, arguments.overrides, arguments.plugin)
    terminal.say(numbers_of(record))
    if arguments.config:
        terminal.say(terminal.columns([(key, "null" if v is None else v) for key, v in flatten(record.config)]) + "\n")
    if record.tree is None:
        terminal.say("no tree is kept")
    elif arguments.numbers:
        terminal.say(node_list(record.tree))
    else:
        terminal.say(tree_of(record.tree, max_depth=arguments.max_depth, max_leaves=arguments.max_leaves), painted=True)
    return 0


def _show_sweep(folder: Path) -> int:
    from arboretum.cli.comparison import DEFAULT, Comparison

    sweep = read_sweep(folder)
    if sweep is not None:
        state = "killed" if sweep.status == RUNNING and not sweep.is_running else sweep.status.lower()
        terminal.say(f"{sweep.name}: {state}\n")
    compared = Comparison.of(records_of(folder), sweep.goal if sweep and sweep.goal else DEFAULT)
    terminal.say(compared.text(terminal.width() if terminal.is_terminal() else None))
    return 0
