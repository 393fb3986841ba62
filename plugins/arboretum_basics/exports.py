"""Forms in which a tree leaves, most with the options of the method of
:class:`arboretum.api.Tree` that it is named after.
"""

import pickle
from typing import ClassVar

import attrs

from arboretum.api import Tree, param
from arboretum_basics.logic import tree_rules
from arboretum_basics.sql import tree_sql
from arboretum_basics.to_onnx import tree_onnx
from arboretum_basics.to_sklearn import tree_sklearn

DEPTH = "levels shown; what lies deeper is folded, and the picture says so"
LEAVES = "leaves shown; the smallest parts of a larger tree are folded, and the picture says so"


@attrs.frozen
class Form:
    """What most forms here share: ``Tree.to_NAME`` with the fields as its options."""

    name: ClassVar[str]
    kind, paper = "export", ""
    capabilities: ClassVar[tuple[str, ...]] = ("classification", "regression")

    def write(self, tree: Tree) -> str | bytes:
        """Return the text, or the bytes.  Raises CapabilityError for a tree that this form cannot
        hold.
        """
        form: str | bytes = getattr(tree, f"to_{self.name}")(**attrs.asdict(self))
        return form


@attrs.frozen
class Text(Form):
    """Indented text, a line per node."""

    name, suffix = "text", ".txt"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(None, LEAVES, ge=1)
    width: int = param(100, "of a line", ge=40, unit="columns")


@attrs.frozen
class Svg(Form):
    """A picture for browsers and papers."""

    name, suffix = "svg", ".svg"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(60, LEAVES, ge=1)
    title: str | None = param(None, "headline of the picture")
    sideways: bool | None = param(None, "grow to the right instead of down; null: by size")


@attrs.frozen
class Png(Svg):
    """The same picture, in pixels."""

    name, suffix = "png", ".png"

    scale: float = param(2.0, "pixels per pixel of the SVG", gt=0.0)

    def write(self, tree: Tree) -> bytes:
        """Return the bytes of a PNG file; needs matplotlib."""
        from arboretum_basics.painting import tree_png

        return tree_png(tree, **attrs.asdict(self))


@attrs.frozen
class Graphviz(Form):
    """The DOT language, for Graphviz and the tools around it."""

    name, suffix = "graphviz", ".dot"

    max_depth: int | None = param(None, DEPTH, ge=0)
    max_leaves: int | None = param(None, LEAVES, ge=1)
    graph: str = param("tree", "name of the graph", alias="name")

    def write(self, tree: Tree) -> str:
        """Return the tree as a digraph, a text in the DOT language."""
        from arboretum_basics.dot import tree_dot

        return tree_dot(tree, max_depth=self.max_depth, max_leaves=self.max_leaves, name=self.graph)


@attrs.frozen
class Sql(Form):
    """The prediction as a CASE expression, to predict where the rows are."""

    name, suffix = "sql", ".sql"

    def write(self, tree: Tree) -> str:
        """Return a CASE expression for ``SELECT <it> FROM rows``.

        Raises CapabilityError for a tree that splits rows or has surrogates, and for a test that
        SQL cannot ask.
        """
        return tree_sql(tree)


@attrs.frozen
class Rules(Form):
    """Each class as simplified logical rules: conjunctions that cannot be shortened, none of
    them needless.
    """

    name, suffix, capabilities = "rules", ".txt", ("classification",)

    def write(self, tree: Tree) -> str:
        """Return a paragraph of rules per class.

        Raises CapabilityError for a tree of numbers, one that splits rows, and one with surrogates.
        """
        return tree_rules(tree)


@attrs.frozen
class Json(Form):
    """The whole tree, which ``Tree.from_json`` reads again."""

    name, suffix = "json", ".json"


@attrs.frozen
class Sklearn(Form):
    """A fitted scikit-learn tree with the same predictions, pickled; refuses tests that
    scikit-learn does not have.
    """

    name, suffix = "sklearn", ".pkl"

    def write(self, tree: Tree) -> bytes:
        """Return the pickled bytes of a DecisionTreeClassifier or DecisionTreeRegressor; needs
        scikit-learn.

        Raises CapabilityError for what scikit-learn's trees cannot hold, such as multiway tests.
        """
        return pickle.dumps(tree_sklearn(tree))


@attrs.frozen
class Onnx(Form):
    """A graph for ONNX runtimes: thresholds and probabilities in double precision, categories as
    text; compared with the tree before it is handed out, at neighbouring numbers too.
    """

    name, suffix = "onnx", ".onnx"

    def write(self, tree: Tree) -> bytes:
        """Return the bytes of the graph; needs onnx and onnxruntime (the extra ``onnx``).

        Raises CapabilityError without them, for tests of several columns or by degrees, for rows
        that missing values split, and where the runtime answers a row otherwise.
        """
        return tree_onnx(tree)
