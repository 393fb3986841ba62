"""A tree in the DOT language, for Graphviz and the tools around it."""

from arboretum.api import Tree, outline, palette, picture

COUNTS = 10  # of so many classes all weights are written into a node


def tree_dot(
    tree: Tree, *, max_depth: int | None = None, max_leaves: int | None = None, name: str = "tree"
) -> str:
    """Write the tree as a digraph, growing down; what lies beyond ``max_depth`` and
    ``max_leaves`` is folded.
    """
    root = outline.outline(tree, max_depth, max_leaves, labels=True)
    lines = [
        f"digraph {_quoted(name)} {{",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=10, color="#8b949e"];',
    ]
    number = {item: i for i, item in enumerate(root.walk())}
    for item in root.walk():
        lines.append(f"  n{number[item]} [{_node_line(tree, item)}];")
        lines += [
            f"  n{number[item]} -> n{number[child]} [label={_quoted(child.edge)}];"
            for child in item.children
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _node_line(tree: Tree, item: outline.Item) -> str:
    """Return the attributes of a node in Graphviz's words: what it says, its colour, dashed where
    it is folded.
    """
    listed = tree.is_classification and len(tree.classes) <= COUNTS
    weights = ["[" + ", ".join(map(outline.spell_short, item.weights)) + "]"] if listed else []
    text = "\n".join([*picture.lines_of(tree, item), *weights, *([item.note] if item.note else [])])
    fill = (
        "#ffffff"
        if item.children
        else palette.mix(palette.node_colour(tree, item.node), "#ffffff", 0.7)
    )
    dashed = ', style="rounded,filled,dashed"' if item.folded else ""
    return f'label={_quoted(text)}, fillcolor="{fill}"{dashed}'


def _quoted(text: str) -> str:
    """Return a DOT string: quotes and backslashes escaped, line ends as ``\\n`` (centred lines)."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
