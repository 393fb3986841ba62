"""A tree in the DOT language, for Graphviz and the tools around it."""

from __future__ import annotations

from arboretum.model.table import Task
from arboretum.model.tree import Tree
from arboretum.report.outline import Item, deviation, outline, prediction, question, share, spell_short
from arboretum.report.palette import mix, node_colour
from arboretum.report.text import percentage

COUNTS_UP_TO = 10


def tree_dot(tree: Tree, *, max_depth: int | None = None, max_leaves: int | None = None, name: str = "tree") -> str:
    """Write the tree as a digraph, growing down; options as in :func:`arboretum.report.text.tree_text`."""
    root = outline(tree, max_depth, max_leaves, merge=False, labels=True)
    lines = [
        f"digraph {_quoted(name)} {{",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=10, color="#8b949e"];',
    ]
    number = {id(item): i for i, item in enumerate(root.walk())}
    for item in root.walk():
        lines.append(f"  n{number[id(item)]} [{_node(tree, item)}];")
        lines += [
            f"  n{number[id(item)]} -> n{number[id(child)]} [label={_quoted(child.edge)}];" for child in item.children
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _node(tree: Tree, item: Item) -> str:
    text = [question(tree.rule(item.node)) if item.children else prediction(tree, item), f"{item.count} rows"]
    if tree.task is Task.regression:
        text.append(f"mean {spell_short(tree.value[item.node])} ± {spell_short(deviation(tree, item))}")
    elif len(tree.classes) <= COUNTS_UP_TO:
        text.append("[" + ", ".join(spell_short(weight) for weight in item.weights) + "]")
    elif item.count:
        text.append(f"{percentage(share(tree, item))} {tree.classes[tree.label[item.node]]}")
    if item.note:
        text.append(item.note)
    if item.folded:
        text.append(f"{item.folded} leaves folded")
    fill = "#ffffff" if item.children else mix(node_colour(tree, item.node), "#ffffff", 0.7)
    dashed = ', style="rounded,filled,dashed"' if item.folded else ""
    return f'label={_quoted(chr(10).join(text))}, fillcolor="{fill}"{dashed}'


def _quoted(text: str) -> str:
    """A DOT string: quotes and backslashes escaped, line ends as ``\\n`` (centred lines)."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
