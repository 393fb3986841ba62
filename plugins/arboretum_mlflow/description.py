"""The text on a run's page in the MLflow UI (Markdown)."""

import math
from collections.abc import Iterable, Mapping, Sequence

from arboretum.api import Checked, Plain, Record

SHOWN_LINES = 40
"""Longer trees are pictures, not text; they lie beside as ``tree.txt`` and ``tree.svg``."""
SHOWN_CHARACTERS = 3500
PARTS = ("train", "valid", "test")
SHOWN_CHILDREN = 30
RUNNING = "This sweep is running, or was ended before it could say how it went."
FIRST_COLUMNS = (
    *("valid_error", "valid_mse", "test_error", "test_mse", "train_error", "train_mse"),
    *("n_leaves", "depth", "expected_cost", "time_fit"),
)
"""What the summary of a sweep shows where the runs have it; all are better when smaller."""
MOST_COLUMNS = 6


def describe_run(record: Record, tree_text: str = "", left_out: Sequence[str] = ()) -> str:
    """Quality per part of the data, the certificate, what the tree is like, its text when it is
    short, and the notes of the run.
    """
    pieces = [
        _write_headline(record),
        _quality_table(record.metrics),
        _certificate_table(record),
        _write_tree(tree_text),
    ]
    if left_out:
        pieces.append(f"Not finite, so not among the metrics: {', '.join(left_out)}.")
    pieces += [f"- {note}" for note in record.notes]
    return "\n\n".join(piece for piece in pieces if piece)


def describe_failure(error: str) -> str:
    """Return the error, as it was printed."""
    return f"**Failed**\n\n```\n{error.strip()[:SHOWN_CHARACTERS]}\n```"


def describe_sweep(
    best: Mapping[str, float],
    children: Sequence[Plain],
    varied: Mapping[str, int],
    listed: bool = True,
) -> str:
    """Return the best results and what was varied.

    listed : a table of the runs, too.

    children : {"name", "status", "metrics", "dataset"} of each run, oldest first; listed best first
        per data set, since errors on two data sets say nothing about which is better.
    varied : parameter → number of values.
    """
    failures = sum(child["status"] == "FAILED" for child in children)
    pieces = [
        f"**{len(children)} run{'s' * (len(children) != 1)}**"
        + (f", {failures} failed" if failures else "")
    ]
    reported = {name: varied[name] for name in chosen(varied)}
    if reported:
        pieces.append(
            "Varied: " + ", ".join(f"{name} ({count} values)" for name, count in reported.items())
        )
    known = {name for child in children for name in child["metrics"]}
    columns = [
        name
        for name in (*FIRST_COLUMNS, *(n for n in best if n not in FIRST_COLUMNS))
        if name in known
    ]
    columns = columns[:MOST_COLUMNS] + sorted(
        name for name in known if name.startswith("kept_") and name not in columns[:MOST_COLUMNS]
    )
    if columns and listed:
        if columns[0] in FIRST_COLUMNS:
            children = sorted(
                children,
                key=lambda c: (c.get("dataset", ""), c["metrics"].get(columns[0], math.inf)),
            )
        rows = [["run", *columns]]
        for child in children[:SHOWN_CHILDREN]:
            rows.append(
                [
                    child["name"],
                    *(_number(child["metrics"].get(name, math.nan)) for name in columns),
                ]
            )
        pieces.append(_write_table(rows))
        if len(children) > SHOWN_CHILDREN:
            pieces.append(
                f"The first {SHOWN_CHILDREN} of {len(children)}; all are listed under this run."
            )
    return "\n\n".join(pieces)


def chosen(varied: Iterable[str]) -> list[str]:
    """Return what was varied, without the fields that differ only because their component does."""
    return [
        name
        for name in varied
        if name.partition(".")[0] == name or name.partition(".")[0] not in varied
    ]


def _write_headline(record: Record) -> str:
    """Return the first line of a run's note: name, whether it is verified, its tree and errors."""
    name = record.data.get("name", "")
    verdict = "verified" if record.verified else "not verified"
    words = [f"**{name}**, {verdict}" if name else f"**{verdict.capitalize()}**"]
    if record.tree is not None:
        leaves, depth = record.tree.n_leaves, int(record.tree.depth_of.max())
        words.append(f"tree with {leaves} {'leaf' if leaves == 1 else 'leaves'}, depth {depth}")
    errors = [
        f"{part} {_number(record.metrics[name])}"
        for part in PARTS
        if (name := f"{part}_error") in record.metrics
    ]
    if errors:
        words.append(f"error: {', '.join(errors)}")
    if record.solution is not None:
        words.append(f"{record.solution.word}: value {_number(record.solution.value)}")
        words.append(
            f"{'claimed' if record.solution.checked is Checked.claimed else 'proven'} gap "
            f"{_number(record.solution.gap)}"
        )
    return ", ".join(words)


def _quality_table(metrics: Mapping[str, float]) -> str:
    """Return the metrics that exist per part of the data, one row per part."""
    names = list(
        dict.fromkeys(
            n.split("_", 1)[1] for n in metrics if n.startswith(tuple(f"{part}_" for part in PARTS))
        )
    )
    present = [part for part in PARTS if any(f"{part}_{name}" in metrics for name in names)]
    names = names[:MOST_COLUMNS]
    if not present:
        return ""
    return _write_table(
        [
            ["", *names],
            *(
                [part, *(_number(metrics.get(f"{part}_{n}", math.nan)) for n in names)]
                for part in present
            ),
        ]
    )


def _certificate_table(record: Record) -> str:
    """Return, per complexity, the tree's value, the proven minimum and the ratio."""
    if record.certificate is None:
        return ""
    rows = record.certificate.rows()
    head = f"How far from the minimum, proven by {record.certificate.certifier['name']}:"
    return f"{head}\n\n" + _write_table([list(rows[0]), *(list(row.values()) for row in rows)])


def _write_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the cells under each other (the UI sets Markdown tables without any space between the
    columns).
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]
    return "```\n" + "\n".join(lines) + "\n```"


def _write_tree(text: str) -> str:
    """Return the tree as a block of text, or where a large one is to be found."""
    if not text.strip():
        return ""
    if text.count("\n") > SHOWN_LINES or len(text) > SHOWN_CHARACTERS:
        return "The tree is too large for this page: see the artifacts tree.svg and tree.txt."
    return f"```\n{text.strip()}\n```"


def _number(value: float) -> str:
    return f"{value + 0.0:.4g}" if math.isfinite(value) else "–"  # + 0.0: no "-0"
