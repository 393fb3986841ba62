"""Names are made of words that a reader knows: of the language, or of the field."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

WORDS = Path(__file__).with_name("words.txt")
"""Of the language and its libraries, one a line, sorted; kept by hand."""
FIELD = """
asr auc binoct bonferroni brier cart ccp chi dfep dl dunn ec ecart entropy fpr gini gosdt
greedytree holm huffman id itemset itemsets kmeans laplace lb mdl misclassification multiclass
nemenyi osdt pareto pauc poisson rashomon roc rpart submodular subtable subtables surrogate
surrogates tsallis ub wilcoxon
"""
"""Terms and names of the field."""
PRIVATE = {
    "bill": "path cost",
    "cube": "conjunction",
    "cubes": "conjunctions",
    "dearest": "maximum path cost",
    "fared": "summarise",
    "heaviest": "majority",
    "heavy": "class weight, or majority",
    "house": "services",
    "judging": "verdicts, or evaluate",
    "lesson": "training split",
    "marks": "partial solutions",
    "potential": "impurity bound",
    "settle": "finalise scores",
    "spent": "path cost",
    "staircase": "step function",
    "star": "conflict set",
    "taught": "training rows",
    "teach": "train",
    "tell": "report",
    "told": "reported, or predicted",
    "worth": "significance",
}
"""A word that only this project would use so → the field's."""
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(name, line) of what a module defines: classes, functions, their arguments, attributes.

    Checks of the conformance suites are sentences, and no names.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.name.startswith("test_"):
                yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        if isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield one.target.id, one.lineno


def strange(tree: ast.Module, module: str, known: frozenset[str]) -> Iterator[tuple[str, str, int]]:
    """(word, name, line) of the names whose words are not known."""
    for name, line in [(module.rpartition(".")[2], 1), *names(tree)]:
        for word in WORD.findall(name):
            if word.lower() not in known:
                yield word.lower(), name, line


def test_names_are_made_of_words_that_a_reader_knows(house):
    known = frozenset(WORDS.read_text(encoding="utf-8").split()) | set(FIELD.split())
    found = [
        f"{module.where}:{line}: {name}: "
        + (
            f"{word!r} is a word of ours; the field says {PRIVATE[word]}"
            if word in PRIVATE
            else f"{word!r} is new; take the field's word, or add it to {WORDS.name} here"
        )
        for module in house.modules
        for word, name, line in strange(module.tree, module.name, known)
    ]
    assert not found, "\n".join(dict.fromkeys(found))


def test_the_list_of_words_is_sorted_and_holds_none_of_ours():
    words = WORDS.read_text(encoding="utf-8").split()
    assert words == sorted(set(words))
    assert not set(words) & PRIVATE.keys()


def test_a_word_that_is_in_no_list_is_found_where_it_stands():
    tree = ast.parse(
        "class Twig:\n    size: int = 0\n\n    def grow(self, bill): self.sap = bill\n"
    )
    found = set(strange(tree, "arboretum.model.tree", frozenset({"tree", "size", "self", "grow"})))
    assert found == {("twig", "Twig", 1), ("bill", "bill", 4), ("sap", "sap", 4)}
