"""An oblivious tree as a decision table."""

import itertools

import attrs
import numpy as np

from arboretum.api import CapabilityError, Facts, TestRule, Tree, param


def tests_of_levels(tree: Tree) -> list[TestRule]:
    """Return the test of each level; raises CapabilityError for a tree that asks several tests at
    one depth, or gives degrees.
    """
    levels: list[TestRule] = []
    if vague := next((rule for rule in tree.rules if rule.fuzzy), None):
        raise CapabilityError(
            f"a decision table has one answer per level, but {vague.describe()!r} sends a "
            "row both ways by degrees; use --to text"
        )
    for depth in range(int(tree.depth_of.max())):
        rules = [
            tree.rule(node)
            for node in np.flatnonzero((tree.depth_of == depth) & ~tree.is_leaf).tolist()
        ]
        if other := next((rule for rule in rules if rule != rules[0]), None):
            both = f"{rules[0].describe()!r} and {other.describe()!r}"
            raise CapabilityError(
                f"a decision table needs one test per level, and level {depth + 1} asks "
                f"{both}; use method=oblivious"
            )
        levels.append(rules[0])
    return levels


def importances(tree: Tree) -> list[float]:
    """Return what the test of each level takes from gini or variance
    (:meth:`arboretum.api.Tree.plain_impurity`), weighted by mass, as share of the whole.
    """
    left = tree.mass * tree.plain_impurity() / tree.mass[0]
    gain = left.copy()
    np.subtract.at(gain, tree.parent[1:], left[1:])
    found: list[float] = np.bincount(
        tree.depth_of[~tree.is_leaf], gain[~tree.is_leaf], int(tree.depth_of.max())
    ).tolist()
    return found


@attrs.frozen
class DecisionTable:
    """A row per combination of the answers of an oblivious tree's levels, with prediction, training
    rows and weights; text, Markdown or CSV.

    A combination that no training row has is predicted by the last node on its way.
    """

    kind = "export"
    name = "decision_table"
    paper = "Kohavi 1995"
    capabilities = ("classification", "regression")
    suffix = ".txt"

    form: str = param("text", "how it is written", choices=("text", "markdown", "csv"))
    most: int = param(4096, "combinations, at most", ge=1)

    def write(self, tree: Tree) -> str:
        """Return the table.  Raises CapabilityError for a tree that is not oblivious, or too
        large.
        """
        from arboretum.api import table as tables

        levels = tests_of_levels(tree)
        size = int(np.prod([rule.arity for rule in levels], dtype=float))
        if size > self.most:
            raise CapabilityError(
                f"the table would have {size:,} rows, more than most={self.most:,}; grow "
                "fewer levels, or raise it"
            )
        heads = [f"{k}: {', '.join(rule.columns)}" for k, rule in enumerate(levels, 1)]
        rows = [
            self._row(tree, levels, heads, outcomes)
            for outcomes in itertools.product(*(range(rule.arity) for rule in levels))
        ]
        if self.form == "csv":
            return tables.csv_table(rows)
        written = (
            tables.markdown_table(rows)
            if self.form == "markdown"
            else tables.text_table(rows, width=None)
        )
        shares = ", ".join(
            f"{head} {share:.3g}" for head, share in zip(heads, importances(tree), strict=True)
        )
        return f"{written}\nImportance of the levels: {shares or 'none'}\n"

    @staticmethod
    def _row(
        tree: Tree, levels: list[TestRule], heads: list[str], outcomes: tuple[int, ...]
    ) -> Facts:
        """Return the row of one combination of outcomes: head → value.

        levels : the test of each level; heads : how they are written; outcomes : one of each.
        A combination that no branch has is predicted by the last node on its way; None stands where
        a leaf above its level has the rows of several combinations.
        """
        node, lost = 0, False
        for outcome in outcomes:
            if lost or tree.is_leaf[node]:
                break
            child = int(tree.children(node)[outcome])
            node, lost = (node, True) if child < 0 else (child, False)
        reported: Facts = {
            head: rule.outcome_label(outcome)
            for head, rule, outcome in zip(heads, levels, outcomes, strict=True)
        }
        classes = tree.is_classification
        reported["prediction"] = (
            tree.classes[tree.label[node]] if classes else float(tree.value[node])
        )
        # its rows are those of several combinations
        early = not lost and tree.is_leaf[node] and tree.depth_of[node] < len(levels)
        reported["rows"] = None if early else 0.0 if lost else float(tree.counts[node])
        for k, name in enumerate(tree.classes):
            reported[f"weight of {name}"] = (
                None if early else 0.0 if lost else float(tree.weights[node, k])
            )
        return reported
