"""``arboretum why RUN NODE``: the candidates of a node as a table, re-created from the run's record."""

from __future__ import annotations

import math
from typing import Any

from arboretum.cli import terminal
from arboretum.cli.finding import OVERRIDES_HELP, find_tree, require_plugins, run_parser
from arboretum.cli.showing import step_text
from arboretum.errors import ConfigError, StoreError
from arboretum.model.record import Record
from arboretum.model.table import Task
from arboretum.model.tree import Tree
from arboretum.plugin.registry import Registry
from arboretum.report.table import spell_cell, text_table

DESCRIPTION = """\
Why this test at that node?  Grows again along the path and judges every candidate: its contingency table (one bracket
per outcome, one number per class), its score, and the criterion's named terms.  NODE is a number: 0 is the root, the
others are numbered in depth-first order (arboretum show RUN --numbers)."""


def main(argv: list[str]) -> int:
    """Print the node and its candidates."""
    parser = run_parser("why", DESCRIPTION)
    parser.add_argument("node", metavar="NODE", help="number of a node")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many candidates to list (0: all; default 10)")
    parser.add_argument("overrides", nargs="*", metavar="tracker.…", help=OVERRIDES_HELP)
    arguments = parser.parse_intermixed_args(argv)
    if not arguments.node.lstrip("-").isdecimal():
        raise ConfigError(f"NODE must be a whole number; got {arguments.node!r}")
    record, registry = find_tree(arguments.run, arguments.overrides, arguments.plugin)
    terminal.say(explain(record, int(arguments.node), arguments.top, registry))
    return 0


def explain(record: Record, node: int, top: int, registry: Registry) -> str:
    """The text; raises ArboretumError when the run cannot be re-created.

    registry : with the one-file plugins of the run.   The chosen test is listed in any case, however many are better.
    """
    from arboretum.engine.why import reasons

    tree = record.tree
    problem, changes = problem_of(record, registry)
    found = reasons(problem, tree, node, record.seed)
    steps = " and ".join(step_text(tree.rule(above), outcome) for above, outcome in tree.path(node))
    lines = [f"node {node}: {steps or 'all rows'}", _standing(tree, found), *changes]
    most = len(found.candidates) if top <= 0 else top
    rows = [_row(tree, rank, one) for rank, one in enumerate(found.candidates, 1) if rank <= most or one.chosen]
    if rows:
        lines += ["", text_table(rows, width=max(terminal.width(), 120)).rstrip()]
    if len(rows) < len(found.candidates):
        lines.append(f"… and {len(found.candidates) - len(rows)} more (--top 0 lists all)")
    if not found.candidates:
        lines.append("no test divides its rows")
    lines += ["", *found.plan]
    return "\n".join(lines)


def problem_of(record: Record, registry: Registry) -> tuple[Any, list[str]]:
    """What the tree was grown from, and a line per reason why growing again may differ.

    Data are loaded, divided and encoded again; refuses other data than the recorded, and missing one-file plugins.
    """
    from arboretum.config.compose import compose_and_resolve
    from arboretum.config.execute import Session
    from arboretum.config.repeat import start_from
    from arboretum.engine import run as engine

    require_plugins(record, registry.owners)
    nobody = ["tracker=none"]  # growing again tells nobody
    _, resolved = compose_and_resolve(nobody, registry, start=start_from(record, nobody, registry))
    prepared = engine.prepare(engine.Request(resolved.parts, record.seed, config=resolved.config))
    if prepared.sha256 != record.data["sha256"]:
        data = f"the data set {record.data['name']} is not what it was (checksum {prepared.sha256[:12]}…)"
        raise StoreError(f"{data}; why needs the same")
    code, known = Session(registry).code(resolved.parts), set(record.code.values())
    changed = [name for name, checksum in code.items() if checksum not in known]  # a plugin file may have another name today
    notes = [f"explained with today's code: that of {' and '.join(changed)} differs from the run's"] if changed else []
    if not record.code:
        notes = ["explained with today's code: whether it is that of the run cannot be told, its record keeps no checksums"]
    return engine.fit(resolved.parts, prepared.table, record.seed).problem, notes


def _standing(tree: Tree, found: Any) -> str:
    node = found.node
    words = [f"{node.count} rows", f"mass {spell_cell(node.mass)} of {spell_cell(node.total_mass)}", f"depth {node.depth}"]
    if tree.task is Task.classification:
        words.append(" ".join(f"{name}:{spell_cell(w)}" for name, w in zip(tree.classes, node.weights) if w > 0))
    if math.isfinite(node.impurity):
        words.append(f"impurity {spell_cell(node.impurity)}")
    words.append(f"a leaf: {found.stopped_by}" if found.stopped_by else _taken(found))
    return ", ".join(words)


def _taken(found: Any) -> str:
    """Which test divided the node, by its place among today's candidates."""
    rank = next((rank for rank, one in enumerate(found.candidates, 1) if one.chosen), 0)
    if not rank:
        return "divided by a test that is not among today's candidates"
    return f"divided by the test marked ▸, number {rank} of {len(found.candidates)}"


def _row(tree: Tree, rank: int, one: Any) -> dict[str, Any]:
    outcomes = [weights for weights, counts in zip(one.weights, one.counts) if counts.sum() > 0]
    brackets = " ".join("[" + " ".join(spell_cell(w) for w in weights) + "]" for weights in outcomes)
    return {
        "": "▸" if one.chosen else "",
        "rank": rank,
        "test": one.rule.describe(),
        "by outcome" if tree.task is Task.classification else "Σw Σwy Σwy² by outcome": brackets,
        "price": one.price,
        "score": one.score if math.isfinite(one.score) else "−inf",
        **one.terms,
    }
