"""A page on a Rashomon set: how many trees there are, what they need, where they differ, and the
best of them.
"""

from collections.abc import Mapping, Sequence
from html import escape
from string import Template

from arboretum.api import (
    Axis,
    Line,
    LineChart,
    Plain,
    Problem,
    Tree,
    charts,
    sure,
)

IMPORTANCE = """<p>Importance: by how much the loss grows, on the mean over all pairs of rows,
where a row has another row's value in that column. The bars go from the least to the most among the
best {:,} trees: a column that some of them do without begins at 0 at most, and what is below 0 are
trees that another row's value serves better.</p>"""
LEAVES = 40
"""Leaves that a tree on the page shows."""
PAGE = Template("""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>$title</title>
<style>
body { font: 15px/1.45 system-ui, sans-serif; color: #24292f }
body { margin: 1.5rem auto; max-width: 1000px; padding: 0 1rem }
svg { max-width: 100%; height: auto } table { border-collapse: collapse; margin: .7rem 0 }
td, th { padding: .1rem .8rem .1rem 0; text-align: left }
td.n, th.n { text-align: right } td > span { white-space: nowrap }
details { margin: .5rem 0 } summary { cursor: pointer }
.scale { display: block; width: 22rem; background: #f0f2f4 }
.scale span { display: block; height: .8rem; min-width: 2px; background: #14508c }
</style>
<h1>$title</h1>
<p>$summary</p>
<h2>How many trees, up to which value</h2>$counts
<h2>What good trees need</h2>$columns
<h2>Rows on which good trees disagree</h2>$rows
<h2>The best trees</h2>$trees
</html>
""")


def page_of(
    details: Plain,
    values: Sequence[tuple[float, int]],
    doubts: Sequence[tuple[int, Mapping[str, float], Sequence[str]]],
    trees: Sequence[Tree],
    problem: Problem,
) -> str:
    """Return the page, as HTML that needs no other file.

    details : of the solution.
    values : (value, trees as good or better).
    doubts : rows, shares of what trees say, and what holds, of groups of equal rows.
    trees : best first.
    """
    total, name = int(details["trees"]), problem.objects.table.name
    needed = [column for column, one in details["columns"].items() if one["by_all"]]
    summary = (
        f"{total:,} tree{'s' * (total != 1)} of a value from {details['least']:g} to "
        f"{details['most']:g}. "
    )
    summary += (
        f"All of them ask {', '.join(needed)}." if needed else "No column is asked by all of them."
    )
    title = f"Good trees for {name}"
    return PAGE.substitute(
        title=escape(title),
        summary=escape(summary),
        counts=_chart_of_counts(values, name),
        columns=_table_of_columns(details),
        rows=_table_of_disputed_rows(doubts),
        trees="".join(_draw_tree(number, tree, problem) for number, tree in enumerate(trees, 1)),
    )


def _chart_of_counts(values: Sequence[tuple[float, int]], name: str) -> str:
    """Return a chart, as SVG, of how many trees are as good or better by value, on a logarithmic
    axis for more than 100; a sentence where all have one value.

    values : (value, number of trees as good or better), ascending.
    name : of the data.
    """
    if len(values) == 1:
        return f"<p>All have the value {values[0][0]:g}.</p>"
    line = Line(
        "trees",
        [value for value, _ in values],
        [float(trees) for _, trees in values],
        marked=len(values) < 30,
    )
    axis = Axis("trees", log=values[-1][1] > 100)
    return charts.chart_svg(
        LineChart(f"Trees for {name}, by what they are worth", [line], Axis("value at most"), axis)
    )


def _table_of_columns(details: Plain) -> str:
    """Return an HTML table of the columns that some tree asks, those of most trees first, and a
    sentence on the others; with the span of each one's importance where trees were compared.

    details : of the solution; ``columns`` has for each column ``asked`` and, if trees were
        ``compared``, both ends of its importance.
    """
    used = {column: one for column, one in details["columns"].items() if one["asked"] > 0}
    spans = {
        column: (one["importance_from"], one["importance_to"])
        for column, one in used.items()
        if details["compared"]
    }
    low = min((least for least, _ in spans.values()), default=0.0)
    width = max((most for _, most in spans.values()), default=0.0) - low or 1.0
    lines = []
    for column, one in sorted(
        used.items(), key=lambda pair: (-pair[1]["asked"], -spans.get(pair[0], (0.0, 0.0))[1])
    ):
        cells = f"<td>{escape(column)}</td><td class=n>{one['asked']:.1%}</td>"
        if spans:
            least, most = spans[column]
            start, length = (least - low) / width, (most - least) / width
            bar = f'<span style="margin-left:{start:.1%};width:{length:.1%}"></span>'
            cells += (
                f"<td class=n>{least:.4f}</td><td class=n>{most:.4f}</td><td><span "
                f"class=scale>{bar}</span></td>"
            )
        lines.append(f"<tr>{cells}</tr>")
    reported, more = (
        (
            IMPORTANCE.format(details["compared"]),
            "<th class=n>importance from</th><th class=n>to</th><th></th>",
        )
        if spans
        else ("", "")
    )
    head = f"<tr><th>column</th><th class=n>trees that ask it</th>{more}</tr>"
    unused = [column for column in details["columns"] if column not in used]
    return f"{reported}<table>{head}{''.join(lines)}</table>" + (
        f"<p>Asked by none: {escape(', '.join(unused))}.</p>" if unused else ""
    )


def _table_of_disputed_rows(
    disputed: Sequence[tuple[int, Mapping[str, float], Sequence[str]]],
) -> str:
    """Return an HTML table with a line for each group of equal rows on which the trees disagree:
    how many rows, which share of the trees gives each answer, and what holds for them; a sentence
    where they agree everywhere.

    disputed : as ``TreeSet.disputed_rows`` returns them.
    """
    if not disputed:
        return "<p>They agree on every row.</p>"
    lines = []
    for rows, shares, held in disputed:
        answers = ", ".join(
            f"<span>{escape(answer)}: {_percentage(share)}</span>"
            for answer, share in sorted(shares.items(), key=lambda pair: -pair[1])
        )
        lines.append(
            f"<tr><td class=n>{rows}</td><td>{answers}</td><td>{escape(', '.join(held))}</td></tr>"
        )
    return (
        "<table><tr><th class=n>rows</th><th>share of trees that say</th><th>what holds for "
        "them</th></tr>" + "".join(lines) + "</table>"
    )


def _percentage(share: float) -> str:
    """Return a share in per cent, as HTML, with no 0 or 100 of what is neither."""
    return "&lt; 1%" if share < 0.005 else "&gt; 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _draw_tree(number: int, tree: Tree, problem: Problem) -> str:
    """Return a tree as SVG below its number, value and leaves, folded up unless it is the first."""
    value = sure(problem.parts.objective).value(tree, problem)
    title = (
        f"Tree {number}: value {value:g}, {tree.n_leaves} lea{'f' if tree.n_leaves == 1 else 'ves'}"
    )
    opened = " open" if number == 1 else ""
    return f"<details{opened}><summary>{title}</summary>{tree.to_svg(max_leaves=LEAVES)}</details>"
