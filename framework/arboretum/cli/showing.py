"""How a record, and a comparison of records, look in the terminal."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from arboretum.cli import terminal
from arboretum.model.record import Record
from arboretum.model.rules import TestRule
from arboretum.model.tree import Tree
from arboretum.report.table import spell_cell, text_table

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
        lines += [f"{name.replace('_', ' ')}: {_detail(value)}" for name, value in found.details.items()]
    if record.certificate is not None:
        lines += ["", *certificate_lines(record), *([""] if record.notes else [])]
    lines += [f"note: {note}" for note in record.notes]
    return "\n".join(lines) + "\n"


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


COMPARED = {
    "method": "method",
    "dataset": "dataset",
    "runs": "runs",
    "quality": "",
    "error": "",
    "cost": "expected cost",
    "depth": "depth",
    "leaves": "leaves",
    "ratio": "",
    "time": "fit s",
}
JUDGES = ("test_accuracy", "valid_accuracy", "train_accuracy", "test_r2", "valid_r2", "train_r2")
ERRORS = ("test_error", "valid_error", "train_error", "test_mse", "valid_mse", "train_mse")


def comparison(records: Iterable[Record]) -> str:
    """The table that ends a sweep: one row per method and data set (and per other choice that varies), seeds averaged."""
    records = list(records)
    varied = varied_keys(records)
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(varied[name](record) for name in varied), []).append(record)
    first = records[0].metrics if records else {}
    judged = next((name for name in JUDGES if name in first), "")
    missed = next((name for name in ERRORS if name in first), "")
    short = [name.rpartition(".")[2] for name in varied]
    headings = {**{n: s if short.count(s) == 1 else n for n, s in zip(varied, short, strict=True)}, **{k: COMPARED[k] or k for k in list(COMPARED)[2:]}}
    proven = certified_name(records)
    headings["ratio"] = f"{proven.replace('_', ' ')} ÷ min"
    if not proven:
        del headings["ratio"]
    headings |= {"quality": judged.replace("_", " "), "error": missed.replace("_", " ")}
    chosen = sorted({name for record in records for name in record.metrics if name.startswith(KEPT)})
    headings = _after("runs", {name: name.replace("_", " ") for name in chosen}, headings)
    rows = []
    for key, group in sorted(groups.items()):
        rows.append(
            {
                **dict(zip(varied, key, strict=True)),
                "runs": len(group),
                **{name: _distinct(group, name) for name in chosen},
                "quality": _mean(group, judged),
                "error": _mean(group, missed),
                "cost": _mean(group, "expected_cost"),
                "depth": _mean(group, "depth"),
                "leaves": _mean(group, "n_leaves"),
                "ratio": mean_ratio(group, proven),
                "time": sum(record.timings.get("fit", math.nan) for record in group) / len(group),
            }
        )
    return text_table(rows, headings, width=terminal.width() if terminal.is_terminal() else None)


KEPT = "kept_"
"""How the metrics begin that tell what a tuner or a pruner kept."""
MOST_KEPT = 4


def _distinct(records: Sequence[Record], name: str) -> str | None:
    """What the runs kept, the most frequent first: "1, 10"; a mean of such values would be none of them."""
    found = Counter(record.metrics[name] for record in records if name in record.metrics)
    shown = [f"{value:g}" for value, _ in sorted(found.items(), key=lambda one: (-one[1], one[0]))]
    return ", ".join(shown[:MOST_KEPT]) + (" …" if len(shown) > MOST_KEPT else "") if shown else None


def _after(key: str, more: Mapping[str, str], headings: Mapping[str, str]) -> dict[str, str]:
    """The headings with more of them after one."""
    place = list(headings).index(key) + 1
    items = list(headings.items())
    return dict([*items[:place], *more.items(), *items[place:]])


SHOWN_RATIOS = ("expected_cost", "average_depth", "depth")
"""The complexities whose ratio a comparison shows, the goal before all; else the first one that is certified."""


def certified_name(records: Sequence[Record]) -> str:
    """The complexity whose ratio to the minimum a comparison shows, "" when no run is certified."""
    known = {name: 0 for record in records if record.certificate for name in record.certificate.complexities}
    wanted = [str(record.config.get("goal", "")) for record in records[:1]] + [*SHOWN_RATIOS, *known]
    return next((name for name in wanted if name in known), "")


def uncertified(records: Sequence[Record]) -> list[str]:
    """Why runs of a sweep have no certificate that was asked for, a line per reason."""
    reasons = [note for record in records if record.certificate is None for note in record.notes if note.startswith("certify: ")]
    return [f"{reasons.count(why)} of {len(records)} runs: {why}" for why in dict.fromkeys(reasons)]


def mean_ratio(records: Sequence[Record], name: str) -> float | str | None:
    """Mean ratio to the minimum; "≤ 1.2" when one of them is only bounded, None unless all runs have one."""
    found = [record.certificate.complexities.get(name) if record.certificate else None for record in records]
    ratios = [one.ratio for one in found if one is not None and one.ratio is not None]
    if not name or len(ratios) < len(found):
        return None
    mean = sum(ratios) / len(ratios)
    return mean if all(one.proven for one in found) else f"≤ {spell_cell(mean)}"


def _mean(records: Sequence[Record], name: str) -> float | None:
    values = [record.metrics[name] for record in records if name in record.metrics]
    return sum(values) / len(values) if values else None


HIDDEN = ("seed", "tracker", "plugins", "goal", "skip_finished")
ANY_TABLE = ("file", "openml")
"""Options of ``dataset`` that say where a table comes from, not which it is."""


def varied_keys(records: Sequence[Record]) -> dict[str, Any]:
    """Column → how to read it: method, data set, and every other choice or parameter that differs, but the seed and folds."""
    flat = [dict(flatten(record.config)) for record in records]
    columns: dict[str, Any] = {
        "method": lambda record: str(record.config.get("choices", {}).get("method", "")),
        "dataset": data_set_of,
    }
    for key in sorted({key for one in flat for key in one}, key=lambda key: (not key.startswith("choices."), key)):
        name = key.removeprefix("choices.")  # which criterion comes before its parameters
        group, _, rest = name.partition(".")
        if name in columns or group in HIDDEN or key == "split.fold" or rest == "name":
            continue  # a component's own name says no more than the choice
        if _varies_within(key, flat, records):
            columns[name] = lambda record, key=key: _spelled(dict(flatten(record.config)).get(key))
    return columns


def _spelled(value: Any) -> str:
    """A choice or a value: "gain_ratio", "pure+mass", "none"."""
    return "+".join(map(str, value)) or "none" if isinstance(value, list | tuple) else spell_cell(value, "none")


def data_set_of(record: Record) -> str:
    """The data set's option, or the table's own name where the option says only where it comes from."""
    chosen = str(record.config.get("choices", {}).get("dataset", ""))
    return str(record.data.get("name", chosen)) if chosen in ANY_TABLE else chosen


def _varies_within(key: str, flat: Sequence[Mapping[str, Any]], records: Sequence[Record]) -> bool:
    """Whether one method (for parameters of a data set: one data set) shows several values.

    What differs only because the method, or the data set, differs needs no column.
    """
    owner = data_set_of if key.startswith("dataset.") else lambda record: str(record.config.get("choices", {}).get("method"))
    seen: dict[str, set[str]] = {}
    for one, record in zip(flat, records, strict=True):
        seen.setdefault(owner(record), set()).add(repr(one.get(key)))
    return any(len(values) > 1 for values in seen.values())


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
    depth = tree.depth_of
    lines = []
    for node in range(tree.n_nodes):
        path = tree.path(node)
        edge = step_text(tree.rule(path[-1][0]), path[-1][1]) if path else "all rows"
        if not tree.is_leaf[node]:
            answer = ""
        elif tree.classes:
            answer = f" ▸ {tree.classes[tree.label[node]]}"
        else:
            answer = f" ▸ {spell_cell(float(tree.value[node]))}"
        lines.append(f"{node:>5}  {'  ' * int(depth[node])}{edge}{answer}  ({tree.counts[node]} rows)")
    return "\n".join(lines)
