"""A tree in the terminal."""

from __future__ import annotations

import math
import unicodedata
from functools import cache

import attrs

from arboretum.model.shown import visible
from arboretum.model.table import Task
from arboretum.model.tree import Tree
from arboretum.report.outline import Item, deviation, headline, outline, prediction, share, spell_short
from arboretum.report.palette import ansi_codes

RESET = "\x1b[0m"
DIM = "\x1b[2m"
INDENTED = 40
"""Levels that are indented, fewer where lines are short; a line below them names its level."""
WORDS = 24
"""Columns of a line that indentation leaves to words."""
COUNTS_UP_TO = 6
"""Trees with more classes than this name the three heaviest of a node instead of listing all counts."""


def tree_text(
    tree: Tree,
    *,
    max_depth: int | None = None,
    max_leaves: int | None = None,
    width: int = 100,
    colour: bool = False,
) -> str:
    """Draw the tree with one line per node: the test on the way to it, rows, share and counts of the classes.

    max_depth, max_leaves : more is folded, and the line says how much.   width : columns of the terminal; long tests
    are cut with "…", and below as many levels as there is room to indent (40 at most) a line begins with its level in
    brackets.   colour : ANSI colours per class.  Ends with a newline.
    """
    root = outline(tree, max_depth, max_leaves, empty=True, labels=True)
    tails = [_tail(tree, item, max(width // 3, 16)) for item in root.walk()]
    columns = [max((display_width(tail[i]) for tail in tails), default=0) for i in range(3)]
    room = max(width - sum(columns) - 6, 24)
    levels = min(INDENTED, max((room - WORDS) // 3, 4))
    lines = [_Line(*pair) for pair in _branches(tree, root, levels)]
    widest = min(max(display_width(line.head(tree)) for line in lines), room)
    codes = ansi_codes(tree) if colour and tree.task is Task.classification else None
    rows = [_header(tree, width)]
    for line, tail in zip(lines, tails, strict=True):
        figures = "  ".join(_pad(cell, size, i < 2) for i, (cell, size) in enumerate(zip(tail, columns, strict=True)))
        rows.append(_paint(line, tree, widest, codes) + "  " + (f"{DIM}{figures}{RESET}" if colour else figures))
    return "\n".join(row.rstrip() for row in rows) + "\n"


@attrs.frozen
class _Line:
    prefix: str
    sentence: str
    item: Item

    def predicted(self, tree: Tree) -> str:
        """The answer at a leaf; nothing at a node whose branches follow."""
        if self.item.children:
            return ""
        return f"▸ {on_one_line(prediction(tree, self.item))}"

    def note(self) -> str:
        folded = self.item.folded
        said = [f"{folded} leaves folded"] if folded else []
        said += [self.item.note] if self.item.note else []
        return f"({'; '.join(said)})" if said else ""

    def head(self, tree: Tree) -> str:
        return self.prefix + " ".join(part for part in (self.sentence, self.predicted(tree), self.note()) if part)


def _branches(tree: Tree, root: Item, levels: int) -> list[tuple[str, str, Item]]:
    """(prefix of box-drawing characters, sentence of the branch, item) per line, in preorder.

    levels : that are indented; a line below them begins with its level in brackets instead.
    """
    found = []
    stack = [("", "", "", root, 0)]
    while stack:
        prefix, below, sentence, item, level = stack.pop()
        found.append((prefix, on_one_line(sentence) or ("all rows" if item.children else ""), item))
        for k, child in reversed(list(enumerate(item.children))):
            last = k == len(item.children) - 1
            branch, more = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if level >= levels:
                branch, more = f"[{level + 1}] ", ""
            column = "" if child.edge == "otherwise" else ", ".join(tree.rule(item.node).columns) + " "
            stack.append((below + branch, below + more, column + child.edge, child, level + 1))
    return found


def _header(tree: Tree, width: int) -> str:
    if tree.task is Task.regression:
        figures = "rows, mean ± deviation"
    elif len(tree.classes) > COUNTS_UP_TO:
        figures = "rows, share of the heaviest class, the three heaviest"
    else:
        figures = f"rows, share, weight of [{' '.join(tree.classes)}]"
    return cut(f"{headline(tree)}: {figures}", max(width, 60))


def _tail(tree: Tree, item: Item, room: int) -> tuple[str, str, str]:
    """Rows, share and counts of one line, the counts of many classes in at most ``room`` columns."""
    rows = str(item.count)
    if tree.task is Task.regression:
        mass, total, _ = item.weights
        return (rows, f"{spell_short(total / mass)} ± {spell_short(deviation(tree, item))}" if mass > 0 else "", "")
    part = share(tree, item)
    percent = "" if math.isnan(part) else f"{percentage(part)}"
    if len(tree.classes) <= COUNTS_UP_TO:
        return rows, percent, "[" + " ".join(spell_short(w) for w in item.weights) + "]"
    heavy = sorted(range(len(tree.classes)), key=lambda c: -item.weights[c])[:3]
    listed = [f"{cut(tree.classes[c], 16)} {spell_short(item.weights[c])}" for c in heavy if item.weights[c] > 0]
    return rows, percent, cut(", ".join(listed), room)


def percentage(part: float) -> str:
    """A share in whole percent that says 100 % and 0 % only where it is so."""
    whole = round(100 * part)
    if whole == 100 and part < 1 - 1e-12:
        return ">99%"
    if whole == 0 and part > 1e-12:
        return "<1%"
    return f"{whole}%"


def _paint(line: _Line, tree: Tree, widest: int, codes: list[int] | None) -> str:
    """The left part of a line, cut or filled to ``widest`` columns, then coloured."""
    predicted, note = line.predicted(tree), line.note()
    kept = display_width(predicted) + display_width(note) + (2 if predicted and note else 1)
    sentence = cut(line.sentence, max(widest - display_width(line.prefix) - kept, 12))
    parts = [part for part in (sentence, predicted, note) if part]
    plain = line.prefix + " ".join(parts)
    if display_width(plain) > widest:
        predicted = cut(predicted, max(display_width(predicted) - (display_width(plain) - widest), 8))
        parts = [part for part in (sentence, predicted, note) if part]
        plain = line.prefix + " ".join(parts)
    if display_width(plain) > widest:  # the branches of a deep node leave no room for words: no colours either
        return cut(plain, widest)
    fill = " " * max(widest - display_width(plain), 0)
    if codes is None:
        return plain + fill
    painted = f"\x1b[1;38;5;{codes[tree.label[line.item.node]]}m{predicted}{RESET}"
    return line.prefix + " ".join(painted if part is predicted else part for part in parts) + fill


def display_width(text: str) -> int:
    """Terminal columns that a text takes: wide characters count two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


@cache
def _columns(character: str) -> int:
    return 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1


def on_one_line(text: str) -> str:
    """The text without line breaks, and without characters that a terminal obeys."""
    return visible(" ".join(text.split()) if any(c in text for c in "\n\r\t") else text)


def cut(text: str, width: int) -> str:
    """The text in at most ``width`` columns, on one line, "…" where something is cut off."""
    text = on_one_line(text)
    if display_width(text) <= width:
        return text
    while text and display_width(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def _pad(text: str, width: int, right: bool) -> str:
    fill = " " * max(width - display_width(text), 0)
    return fill + text if right else text + fill
