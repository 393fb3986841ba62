"""How a record, and a comparison of records, look in the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from arboretum.cli import terminal
from arboretum.model.record import Record, Solution
from arboretum.model.rules import TestRule
from arboretum.model.tree import Tree
from arboretum.report.table import spell_cell, text_table
from arboretum.report.text import INDENTED

PARTS = ("train", "valid", "test")
CLASSIFICATION = ("accuracy", "error", "balanced_accuracy", "roc_auc", "log_loss", "expected_cost")
REGRESSION = ("mse", "mae", "r2", "expected_cost")
SHAPE = ("depth", "average_depth", "n_leaves", "n_nodes", "expected_cost", "covering_cost", "max_cost")


def numbers_of(record: Record) -> str:
    """A headline, the quality per part of the rows, the shape of the tree, and what is proven."""
    choices, data, metrics = record.config.get("choices", {}), record.data, record.metrics
    rows = f"{data.get('n_rows')} rows" + (f", {data['n_train']} to learn from" if "n_train" in data else "")
    seconds = sum(record.timings.values())
    head = f"{choices.get('method', 'run')} on {data.get('name')} ({rows}), seed {record.seed}"
    lines = [f"{head}: {'verified' if record.verified else 'not verified'}, {terminal.duration(seconds)}", ""]
    names = REGRESSION if any(name.endswith("_mse") for name in metrics) else CLASSIFICATION
    quality = [
        {"rows": part, **{name: metrics.get(f"{part}_{name}") for name in names}}
        for part in PARTS
        if any(f"{part}_{name}" in metrics for name in names)
    ]
    if quality:
        lines.append(text_table(quality, width=terminal.width()))
    shape = [f"{name.removeprefix('n_').replace('_', ' ')} {spell_cell(metrics[name])}" for name in SHAPE if name in metrics]
    lines.append("tree: " + ", ".join(shape))
    if record.solution is not None:
        found = record.solution
        lines.append(f"{found.status.value}: value {found.value:.6g}, proven bound {found.lower_bound:.6g}, gap {found.gap:.3g}")
        lines += [_first_seen(found)] if len(found.curve) > 1 else []
        lines += [f"{name.replace('_', ' ')}: {_detail(value)}" for name, value in found.details.items()]
    if record.certificate is not None:
        lines += ["", *certificate_lines(record), *([""] if record.notes else [])]
    lines += [f"note: {note}" for note in record.notes]
    return "\n".join(lines) + "\n"


def _first_seen(found: Solution) -> str:
    """When the best tree was found, and when the bound was proven, in seconds of the search."""
    _, low, best = found.curve[-1]
    tree, bound = (next(point[0] for point in found.curve if point[k] == end) for k, end in ((2, best), (1, low)))
    return f"best tree after {tree:.3g} s, bound after {bound:.3g} s"


def _detail(value: Any) -> str:
    """A detail that a solver proved, in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_detail(item)}" for name, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def certificate_lines(record: Record) -> list[str]:
    """What is proven of the tree: the trees it is compared with, then a table with a row per complexity."""
    certificate, data = record.certificate, record.data
    n_objects, n_tests = data.get("n_objects"), data.get("n_tests")
    head = f"certified by {certificate.certifier['name']} against all trees on the same {n_objects} objects and {n_tests} tests "
    head += f"whose leaves have {rule_in_words(certificate.leaf_rule)}:"
    table = text_table(certificate.rows(), width=terminal.width()).rstrip("\n")
    return [*textwrap.wrap(head, terminal.width(), break_on_hyphens=False), "", table]


def rule_in_words(rule: Mapping[str, Any]) -> str:
    """A leaf rule as a reader says it: "one class, or fewer than 5 rows"."""
    words = ["one class"]
    if rule.get("min_split", 0) > 2:  # a single row has one class
        words.append(f"fewer than {rule['min_split']} rows")
    if rule.get("min_objects", 0) > 2:  # a single object has one class
        words.append(f"fewer than {rule['min_objects']} distinct objects")
    if rule.get("theta"):
        words.append(f"at most {rule['theta']:g} of the weight")
    if rule.get("delta") is not None:
        words.append(f"an impurity of at most {rule['delta']:g}")
    return ", or ".join(words)


def tree_of(tree: Tree, **options: Any) -> str:
    """The tree as text, in colour on a terminal."""
    return tree.to_text(width=terminal.width(), colour=terminal.colour(), **options)


def flatten(config: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """("stopping.standard.max_depth", 4), …; a list is one value."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def step_text(rule: TestRule, outcome: int) -> str:
    """One branch as a sentence: "petal_length ≤ 2.45"."""
    subject = rule.columns[0] if len(rule.columns) == 1 else f"{rule.describe()}:"
    return f"{subject} {rule.outcome_label(outcome)}"


def node_list(tree: Tree) -> str:
    """Every node on a line of its own: its number, the branch that leads to it, what it predicts or asks."""
    depth, parent = tree.depth_of.tolist(), tree.parent.tolist()
    lines = []
    for node, up in enumerate(parent):
        edge = step_text(tree.rule(up), tree.children(up).tolist().index(node)) if node else "all rows"
        if not tree.is_leaf[node]:
            answer = ""
        elif tree.classes:
            answer = f" ▸ {tree.classes[tree.label[node]]}"
        else:
            answer = f" ▸ {spell_cell(float(tree.value[node]))}"
        indent = "  " * depth[node] if depth[node] <= INDENTED else "  " * INDENTED + f"[{depth[node]}] "
        lines.append(f"{node:>5}  {indent}{edge}{answer}  ({spell_cell(float(tree.counts[node]))} rows)")
    return "\n".join(lines)
