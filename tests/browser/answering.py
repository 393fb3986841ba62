"""Trees of one question, and what a person at the page of a tree chooses and is told."""

from __future__ import annotations

from typing import Any

import numpy as np

from arboretum.model.rules import TestRule
from arboretum.model.table import ColumnKind, Task
from arboretum.model.tree import ColumnSpec, Tree


def pick(page: Any, answer: str) -> None:
    page.get_by_label(answer, exact=True).check()
    page.get_by_role("button", name="Next").click()


def told(page: Any) -> tuple[str, str, list[str]]:
    """What is asked or answered, the costs, the conditions of the path."""
    asked = page.locator("#form").is_visible()
    heading = page.locator("#question" if asked else "#answer").text_content()
    return (
        heading,
        " | ".join(page.locator("#costs dd").all_text_contents()),
        page.locator("#path strong").all_text_contents(),
    )


def stump(rule: TestRule, *columns: ColumnSpec, **changes: Any) -> Tree:
    """One test; its leaf k has k + 1 rows, of class k % 2."""
    n, weights = rule.arity, np.zeros((rule.arity + 1, 2))
    weights[np.arange(1, n + 1), np.arange(n) % 2] = np.arange(n) + 1
    weights[0] = weights.sum(axis=0)
    parts = {
        "task": Task.classification,
        "columns": columns,
        "classes": ("no", "yes"),
        "rules": (rule,),
        "test": [0] + [-1] * n,
        "child_offset": [0, n] + [n] * n,
        "child": range(1, n + 1),
        "missing_child": [-1] * (n + 1),
        "weights": weights,
        "counts": weights.sum(axis=1),
        "label": weights.argmax(axis=1),
        "value": [np.nan] * (n + 1),
        "price": [1.0] + [0.0] * n,
        "impurity": [np.nan] * (n + 1),
        "score": [np.nan] * (n + 1),
    }
    return Tree(**{**parts, **changes})


AGE = ColumnSpec("age", ColumnKind.continuous, question="How old are you?")
