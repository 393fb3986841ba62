"""The dependency graph of a small problem with its bounds (Figure 10 of the paper), as DOT or
SVG.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arboretum.api import ConfigError, file_for, put_text

if TYPE_CHECKING:
    from arboretum_baselines.as_printed.solver import PrintedSearch

MOST = 400
"""Sets that are drawn; of more a picture shows nothing."""
WIDTH, HEIGHT, GAP, LEVEL = 124.0, 38.0, 10.0, 420.0
KEY, TITLE = "solver.graph", "dependency graph: rows and [lower, upper] of each set"
MARKS = {".dot": "digraph gosdt {", ".svg": TITLE}
"""Ending of a file → what such a file of ours holds near its beginning."""
OPEN, CLOSED, ASKED = "#fff4d6", "#e6f0e4", "#b45309"


def check_file(path: str) -> None:
    """Known before the search, whose results would be lost.  Raises ConfigError or StoreError."""
    if Path(path).suffix not in MARKS:
        raise ConfigError(f"solver.graph={path!r} must end in .dot or .svg")
    file_for(path, KEY, MARKS[Path(path).suffix])


def write_graph(path: str, search: PrintedSearch) -> tuple[str, ...]:
    """Draw the graph of a search into a file, ".svg" or for Graphviz; return a note where it is too
    large to be drawn, else nothing.  Raises StoreError.
    """
    if search.known > MOST:
        return (
            f"the dependency graph has {search.known:,} sets, of which at most {MOST} are "
            f"drawn: {path} was not written",
        )
    suffix = Path(path).suffix
    put_text(path, as_svg(search) if suffix == ".svg" else as_dot(search), KEY, MARKS[suffix])
    return ()


def lines_of(search: PrintedSearch, number: int) -> tuple[str, str, str]:
    """Return what is said of a set by its number: its training rows, its bounds in the objective's
    unit, what has become of it.
    """
    found, graph = search.found, search.arrays()
    held = np.unpackbits(graph.rows[number].view(np.uint8), bitorder="little")[
        : len(found.rows)
    ].astype(bool)
    low, high = (found.value(int(one)) for one in (graph.lower[number], graph.upper[number]))
    state = (
        "solved"
        if low == high
        else "expanded"
        if graph.start[number] >= 0
        else "waits"
        if graph.place[number] >= 0
        else "open"
    )
    rows = int(found.rows[held].sum())
    return f"{rows} row{'s' * (rows != 1)}", f"[{low:.4g}, {high:.4g}]", state


def edges_of(search: PrintedSearch) -> list[tuple[int, int, int, int]]:
    """Return (set, test, outcome, set below) of all edges of a search's graph."""
    return [
        (number, test, side, int(child))
        for number in range(search.known)
        for test, pair in enumerate(search.children(number).tolist())
        for side, child in enumerate(pair)
        if child >= 0
    ]


def chosen_of(search: PrintedSearch) -> set[tuple[int, int]]:
    """Return (set, test) of the nodes of the tree that a search has extracted."""
    nodes, found, waiting = search.tree(), set(), [(0, 0)]
    while waiting:
        at, number = waiting.pop()
        test = int(nodes[at, 0])
        if test >= 0:
            found.add((number, test))
            waiting += zip(
                nodes[at, 1:].tolist(), search.children(number)[test].tolist(), strict=True
            )
    return found


def as_dot(search: PrintedSearch) -> str:
    """Return a search's graph for Graphviz; edges of the best tree are thick."""
    best = chosen_of(search)
    lines = [
        "digraph gosdt {",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=9];',
    ]
    for number in range(search.known):
        said = lines_of(search, number)
        lines.append(
            f'  s{number} [label="{said[0]}\\n{said[1]}", tooltip="{said[2]}", '
            f'fillcolor="{CLOSED if said[2] == "solved" else OPEN}"];'
        )
    for number, test, side, child in edges_of(search):
        label = _outcome(search, test, side).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(
            f"  s{number} -> s{child} "
            f'[label="{label}"{", penwidth=3" if (number, test) in best else ""}];'
        )
    return "\n".join([*lines, "}"]) + "\n"


def as_svg(search: PrintedSearch) -> str:
    """Return a search's graph as a picture: sets by the fewest tests that lead to them, a column
    per number of tests; edges of the best tree are thick and say their outcome.
    """
    from arboretum.api import scene

    edges, best, level, above, order = edges_of(search), chosen_of(search), {0: 0}, {0: [0.0]}, [0]
    for number in order:  # breadth first
        for child in search.children(number).ravel().tolist():
            if child >= 0 and child not in level:
                level[child] = level[number] + 1
                order.append(child)
    columns: dict[int, list[int]] = {}
    for number, depth in level.items():
        columns.setdefault(depth, []).append(number)
    tall, places = max(map(len, columns.values())) * (HEIGHT + GAP) + GAP, {}
    for depth, column in sorted(columns.items()):
        # beside those that they come from
        column.sort(key=lambda number: (np.mean(above[number]), number))
        for k, number in enumerate(column):
            places[number] = (
                GAP + depth * LEVEL,
                (tall - len(column) * (HEIGHT + GAP) + GAP) / 2 + k * (HEIGHT + GAP),
            )
        for number, _, _, child in edges:
            if level[number] == depth < level[child]:
                above.setdefault(child, []).append(places[number][1])
    lines, labels = [], []
    boxes: list[scene.Box | scene.Label] = []
    for number, test, side, child in sorted(edges, key=lambda edge: edge[:2] in best):
        (x, y), (to, across), thick = places[number], places[child], (number, test) in best
        ends = (x + WIDTH, y + HEIGHT / 2, to, across + HEIGHT / 2)
        lines.append(
            scene.Curve(*ends, 2.5, ASKED, level=True)
            if thick
            else scene.Curve(*ends, 0.5, level=True)
        )
        if thick:
            labels.append(
                scene.Label(
                    to - 6,
                    ends[3] - 6,
                    _outcome(search, test, side),
                    11.0,
                    True,
                    ASKED,
                    anchor="end",
                    halo=True,
                )
            )
    for number, (x, y) in places.items():
        said = lines_of(search, number)
        boxes.append(
            scene.Box(
                x,
                y,
                WIDTH,
                HEIGHT,
                CLOSED if said[2] == "solved" else OPEN,
                scene.LINE,
                radius=6.0,
                hint=said[2],
            )
        )
        boxes += [
            scene.Label(x + WIDTH / 2, y + 15 + 15 * k, text, 11.0, k == 1, anchor="middle")
            for k, text in enumerate(said[:2])
        ]
    return scene.Scene(
        max(columns) * LEVEL + WIDTH + 2 * GAP, tall, [*lines, *boxes, *labels], TITLE
    ).svg()


def _outcome(search: PrintedSearch, test: int, side: int) -> str:
    rule = search.found.problem.objects.rule(int(search.found.tests[test]))
    return f"{rule.columns[0]} {rule.outcome_label(side)}"
