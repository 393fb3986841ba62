"""A tree as one HTML page that asks its tests, offline; the page itself is
``questionnaire.html``.
"""

import math
from collections.abc import Sequence

import attrs

from arboretum.api import (
    Bins,
    CapabilityError,
    ColumnSpec,
    ConfigError,
    Equals,
    Facts,
    Interval,
    TestRule,
    Threshold,
    Tree,
    param,
    unknown,
    visible,
)
from arboretum_basics.pages import filled_page, node_arrays

INPUTS: dict[str, Facts] = {
    "": {"input": "number"},
    "days": {"input": "date"},
    "seconds": {"input": "datetime-local"},
}
INPUTS |= {
    "milliseconds": {"input": "datetime-local", "scale": 1},
    "microseconds": {"input": "datetime-local", "scale": 0.001},
}
"""Unit of a column of numbers → type of the field that asks for one, milliseconds of a unit
finer than the field's.
"""


@attrs.frozen
class Questionnaire:
    """One HTML page that asks the tests of the tree one after the other and tells what they
    cost; needs no network.
    """

    kind = "export"
    name = "questionnaire"
    paper = ""
    capabilities = ("classification", "regression", "multiclass", "missing", "prices")
    suffix = ".html"

    title: str = param("A few questions", "heading of the page")
    questions: dict[str, str] = param(
        attrs.Factory(dict),
        "column → how a person is asked for its value, instead of the data set's words",
        converter=dict,
    )
    unit: str = param("", "of the prices, as in €; without one, prices of 1 are counted as tests")

    def write(self, tree: Tree) -> str:
        """Return the page.  Raises CapabilityError for tests that give degrees, ConfigError for a
        question about no column of the tree.
        """
        names = [column.name for column in tree.columns]
        if wrong := next((name for name in self.questions if name not in names), None):
            raise ConfigError(f"export.questions: {unknown('column', wrong, names)}")
        if vague := next((rule for rule in tree.rules if rule.fuzzy), None):
            raise CapabilityError(
                f"the test {vague.describe()!r} sends a row down several branches by "
                "degrees, which no answer decides"
            )
        data = {
            "title": visible(self.title),
            "unit": visible(self.unit),
            **_questions(tree, self.questions),
            **node_arrays(tree),
        }
        return filled_page("questionnaire.html", data)


def _questions(tree: Tree, words: dict[str, str]) -> Facts:
    """Return what is asked, and per test how an answer decides it.

    words : column → its question, before the column's own.

    A column is asked for once, for all tests that read it alone; a test that is no function of one
    column's value is asked itself.
    """
    specs = {column.name: column for column in tree.columns}
    asked: dict[str | int, tuple[int, Facts]] = {}
    rules: list[Facts] = []
    for number, rule in enumerate(tree.rules):
        spec, edges = specs[rule.columns[0]], _edges_of_test(rule)
        alone = len(rule.columns) == 1
        labels = [visible(rule.outcome_label(k)) for k in range(rule.arity)]
        about = {
            "name": visible(rule.subject),
            "labels": labels,
            "lost": rule.outcome_of(dict.fromkeys(rule.columns)),
        }
        if alone and not spec.is_continuous:
            about["outcomes"] = [
                rule.outcome_of({spec.name: category}) for category in spec.categories
            ]
        elif alone and edges is not None:
            # a number of each cell
            inside = [*edges, math.nextafter(edges[-1], math.inf) if edges else 0.0]
            cells = Bins(spec.name, edges, unit=spec.unit, digits=getattr(rule, "digits", 6))
            about |= {
                "edges": edges,
                "outcomes": [rule.outcome_of({spec.name: float(value)}) for value in inside],
            }
            about["cells"] = [visible(cells.outcome_label(k)) for k in range(cells.arity)]
        else:
            about["outcomes"], alone = list(range(rule.arity)), False
        key = spec.name if alone else number
        if key not in asked:
            asked[key] = (
                len(asked),
                _of_column(spec, words)
                if alone
                else _of_test(rule, [specs[name] for name in rule.columns], words),
            )
        rules.append({"asks": asked[key][0], **about})
    return {"rules": rules, "questions": [question for _, question in asked.values()]}


def _edges_of_test(rule: TestRule) -> list[float] | None:
    """Return the numbers between which the outcome of a test on one number can change, ascending;
    None: not known of such tests.
    """
    match rule:
        case Threshold():
            return [rule.threshold]
        case Bins():
            return list(rule.edges)
        case Interval():
            return sorted({bound for bound in (rule.low, rule.high) if bound is not None})
        case Equals(category=None):
            return []
    return None


def _of_column(spec: ColumnSpec, words: dict[str, str]) -> Facts:
    """Return the question for the value of a column.   words : column → its question."""
    said = words.get(spec.name) or spec.question
    answer = (
        {"options": [*map(visible, spec.categories)]}
        if not spec.is_continuous
        else INPUTS[spec.unit]
    )
    return {"name": visible(spec.name), "words": visible(said), **answer}


def _of_test(rule: TestRule, specs: Sequence[ColumnSpec], words: dict[str, str]) -> Facts:
    """Return the question for a test as it stands; its columns' own questions explain it.

    specs : of its columns; words : column → its question.
    """
    options = (
        ["Yes", "No"] if rule.arity == 2 else [rule.outcome_label(k) for k in range(rule.arity)]
    )
    notes = {spec.name: words.get(spec.name) or spec.question for spec in specs}
    reported = [f"{name}: {note}" for name, note in notes.items() if note]
    described = rule.describe() + (f" {rule.outcome_label(0)}" if rule.arity == 1 else "")
    return {
        "name": visible(described),
        "test": True,
        "options": [*map(visible, options)],
        "notes": [*map(visible, reported)],
    }
