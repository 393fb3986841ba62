"""Forms in which a tree leaves, each with the options of the method of :class:`arboretum.api.Tree` that it is named after."""

from __future__ import annotations

import pickle

import attrs

from arboretum.api import Tree, param

DEPTH = "levels shown; what lies deeper is folded, and the picture says so"
LEAVES = "leaves shown; the smallest parts of a larger tree are folded, and the picture says so"


@attrs.frozen
class Text:
    """Indented text, a line per node."""

    kind, name, paper, capabilities, suffix = "export", "text", "", ("classification", "regression"), ".txt"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(None, LEAVES, ge=1)
    width: int = param(100, "of a line", ge=40, unit="columns")

    def write(self, tree: Tree) -> str:
        """The text."""
        return tree.to_text(max_depth=self.max_depth, max_leaves=self.max_leaves, width=self.width)


@attrs.frozen
class Svg:
    """A picture for browsers and papers."""

    kind, name, paper, capabilities, suffix = "export", "svg", "", ("classification", "regression"), ".svg"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(60, LEAVES, ge=1)

    def write(self, tree: Tree) -> str:
        """The document."""
        return tree.to_svg(max_depth=self.max_depth, max_leaves=self.max_leaves)


@attrs.frozen
class Png:
    """The same picture, in pixels."""

    kind, name, paper, capabilities, suffix = "export", "png", "", ("classification", "regression"), ".png"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(60, LEAVES, ge=1)
    scale: float = param(2.0, "pixels per pixel of the SVG", gt=0.0)

    def write(self, tree: Tree) -> bytes:
        """The file."""
        return tree.to_png(max_depth=self.max_depth, max_leaves=self.max_leaves, scale=self.scale)


@attrs.frozen
class Graphviz:
    """The DOT language, for Graphviz and the tools around it."""

    kind, name, paper, capabilities, suffix = "export", "graphviz", "", ("classification", "regression"), ".dot"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(None, LEAVES, ge=1)

    def write(self, tree: Tree) -> str:
        """The digraph."""
        return tree.to_graphviz(max_depth=self.max_depth, max_leaves=self.max_leaves)


@attrs.frozen
class Sql:
    """The prediction as a CASE expression, to predict where the rows are."""

    kind, name, paper, capabilities, suffix = "export", "sql", "", ("classification", "regression"), ".sql"

    def write(self, tree: Tree) -> str:
        """The expression."""
        return tree.to_sql()


@attrs.frozen
class Json:
    """The whole tree, which ``Tree.from_json`` reads again."""

    kind, name, paper, capabilities, suffix = "export", "json", "", ("classification", "regression"), ".json"

    def write(self, tree: Tree) -> str:
        """The document."""
        return tree.to_json()


@attrs.frozen
class Sklearn:
    """A fitted scikit-learn tree with the same predictions, pickled."""

    kind, name, paper, capabilities, suffix = "export", "sklearn", "", ("classification", "regression"), ".pkl"

    def write(self, tree: Tree) -> bytes:
        """The pickle.  Raises CapabilityError for tests that scikit-learn does not have."""
        return pickle.dumps(tree.to_sklearn())
