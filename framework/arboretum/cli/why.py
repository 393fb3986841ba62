"""``arboretum why RUN NODE``: the candidates of a node as a table, re-created from the run's record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from arboretum.cli import terminal
from arboretum.cli.finding import OVERRIDES_HELP, add_plugin_option, find_run, plugin_files, plugins_of
from arboretum.cli.showing import step_text
from arboretum.cli.terminal import Parser
from arboretum.errors import ConfigError, StoreError
from arboretum.model.record import Record
from arboretum.model.table import Task
from arboretum.model.tree import Tree
from arboretum.report.table import spell_cell, text_table

DESCRIPTION = """\
Why this test at that node?  Grows again along the path and judges every candidate: its contingency table (one bracket
per outcome, one number per class), its score, and the criterion's named terms.  NODE is a number: 0 is the root, the
others are numbered in depth-first order (arboretum show RUN --numbers)."""


def main(argv: list[str]) -> int:
    """Print the node and its candidates."""
    parser = Parser("why", DESCRIPTION)
    parser.add_argument("run", metavar="RUN", help="run folder or tracker run id")
    parser.add_argument("node", metavar="NODE", help="number of a node")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many candidates to list (0: all; default 10)")
    add_plugin_option(parser)
    parser.add_argument("overrides", nargs="*", metavar="tracker.…", help=OVERRIDES_HELP)
    arguments = parser.parse_intermixed_args(argv)
    if not arguments.node.lstrip("-").isdecimal():
        raise ConfigError(f"NODE must be a whole number; got {arguments.node!r}")
    plugins = plugin_files(arguments.plugin)
    record = find_run(arguments.run, arguments.overrides, plugins)
    if record.tree is None:
        raise StoreError(f"run {arguments.run} holds no tree")
    terminal.say(explain(record, int(arguments.node), arguments.top, plugins))
    return 0


def explain(record: Record, node: int, top: int = 10, plugins: Sequence[str] = ()) -> str:
    """The text; raises ArboretumError when the run cannot be re-created.

    plugins : one-file plugins (absolute paths) that stand for those of the record which have moved.
    """
    from arboretum.engine.why import reasons

    tree = record.tree
    found = reasons(problem_of(record, plugins), tree, node, record.seed)
    lines = [_heading(tree, node), _standing(tree, found)]
    shown = found.candidates if top <= 0 else found.candidates[:top]
    rows = [_row(tree, one) for one in shown]
    if rows:
        lines += ["", text_table(rows, width=max(terminal.width(), 120)).rstrip()]
    if len(shown) < len(found.candidates):
        lines.append(f"… and {len(found.candidates) - len(shown)} more (--top 0 lists all)")
    if not found.candidates:
        lines.append("no test divides its rows")
    return "\n".join(lines)


def problem_of(record: Record, plugins: Sequence[str] = ()) -> Any:
    """What the tree was grown from: data loaded, divided and encoded again; refuses other data than the recorded."""
    from arboretum.config.compose import compose_and_resolve
    from arboretum.config.repeat import start_from
    from arboretum.engine import run as engine
    from arboretum.plugin.discovery import load_registry

    registry = load_registry(plugins_of(record, plugins))
    _, resolved = compose_and_resolve([], registry, start=start_from(record, [], registry))
    prepared = engine.prepare(engine.Request(resolved.parts, record.seed, config=resolved.config))
    if prepared.sha256 != record.data["sha256"]:
        msg = f"the data set {record.data['name']} is not what it was (checksum {prepared.sha256[:12]}…); why needs the same"
        raise StoreError(msg)
    return engine.fit(resolved.parts, prepared.table, record.seed).problem


def _heading(tree: Tree, node: int) -> str:
    steps = [step_text(tree.rule(above), outcome) for above, outcome in tree.path(node)]
    return f"node {node}: " + (" and ".join(steps) if steps else "all rows")


def _standing(tree: Tree, found: Any) -> str:
    node = found.node
    words = [f"{node.count} rows", f"mass {spell_cell(node.mass)} of {spell_cell(node.total_mass)}", f"depth {node.depth}"]
    if tree.task is Task.classification:
        words.append(" ".join(f"{name}:{spell_cell(w)}" for name, w in zip(tree.classes, node.weights) if w > 0))
    if math.isfinite(node.impurity):
        words.append(f"impurity {spell_cell(node.impurity)}")
    words.append(f"a leaf: {found.stopped_by}" if found.stopped_by else "divided by the test marked ▸")
    return ", ".join(words)


def _row(tree: Tree, one: Any) -> dict[str, Any]:
    outcomes = [weights for weights, counts in zip(one.weights, one.counts) if counts.sum() > 0]
    brackets = " ".join("[" + " ".join(spell_cell(w) for w in weights) + "]" for weights in outcomes)
    score = one.score if math.isfinite(one.score) else "−inf"
    return {
        "": "▸" if one.chosen else "",
        "test": one.rule.describe(),
        "by outcome" if tree.task is Task.classification else "Σw Σwy Σwy² by outcome": brackets,
        "price": one.price,
        "score": score,
        **one.terms,
    }
