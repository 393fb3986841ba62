"""A tree in the terminal."""

import math
import unicodedata
from functools import cache

from arboretum.model.shown import visible
from arboretum.model.tree import Tree
from arboretum.report.outline import (
    Item,
    deviation,
    headline,
    outline,
    prediction,
    share,
    spell_short,
)
from arboretum.report.palette import ANSI_CODES, ANSI_OTHER, class_colours
from arboretum.report.scene import shorten

RESET = "\x1b[0m"
DIM = "\x1b[2m"
# levels that are indented, fewer where lines are short; a line below them names its level
INDENTED = 40
WORDS = 24  # columns of a line that indentation leaves to words
# trees with more classes than this name the three heaviest of a node instead of listing all counts
COUNTS_UP_TO = 6


def tree_text(
    tree: Tree,
    *,
    max_depth: int | None = None,
    max_leaves: int | None = None,
    width: int = 100,
    colour: bool = False,
    numbers: bool = False,
) -> str:
    """Draw the tree with one line per node: the test on the way to it, rows, share and counts of
    the classes.

    max_depth, max_leaves : more is folded, and the line says how much.
    width : columns of the terminal; long tests are cut with "…", and below as many levels as there
        is room to indent (40 at most) a line begins with its level in brackets.
    colour : ANSI colours per class.
    numbers : a line begins with its node's number.  Ends with a newline.
    """
    root = outline(tree, max_depth, max_leaves, empty=True, labels=True)
    tails = [_write_counts(tree, item, max(width // 3, 16)) for item in root.walk()]
    columns = [max((display_width(tail[i]) for tail in tails), default=0) for i in range(3)]
    room = max(width - sum(columns) - 6, 24)
    levels = min(INDENTED, max((room - WORDS) // 3, 4))
    lines = _write_lines(tree, root, levels)
    widest = min(max(display_width(_joined(*line)) for line in lines), room)
    codes = (
        class_colours(tree, ANSI_CODES, ANSI_OTHER) if colour and tree.is_classification else None
    )
    if tree.is_regression:
        figures = "rows, mean ± deviation"
    elif len(tree.classes) > COUNTS_UP_TO:
        figures = "rows, share of the majority class, the three heaviest"
    else:
        figures = f"rows, share, weight of [{' '.join(tree.classes)}]"
    rows = [cut(f"{headline(tree)}: {figures}", max(width, 60))]
    for item, line, tail in zip(root.walk(), lines, tails, strict=True):
        figures = "  ".join(
            padded(cell, size, i < 2)
            for i, (cell, size) in enumerate(zip(tail, columns, strict=True))
        )
        left = _paint_line(*line, widest, codes[tree.label[item.node]] if codes else None)
        number = f"{'' if item.stays else item.node:>5}  " if numbers else ""
        rows.append(number + left + "  " + (f"{DIM}{figures}{RESET}" if colour else figures))
    return "\n".join(row.rstrip() for row in rows) + "\n"


def _joined(prefix: str, *words: str) -> str:
    """The prefix, then the words that are not empty, by spaces."""
    return prefix + " ".join(filter(None, words))


def _write_lines(tree: Tree, root: Item, levels: int) -> list[tuple[str, str, str, str, str]]:
    """Prefix, what is asked, its outcome, answer ("" where branches follow) and note per item, in
    preorder.

    levels : how many are indented; a line below them begins with its level in brackets instead.
    """
    found, stack = [], [("", "", ("", ""), root, 0)]
    while stack:
        prefix, below, sentence, item, level = stack.pop()
        notes = [f"{item.folded} leaves folded"] * bool(item.folded) + [item.note] * bool(item.note)
        predicted = "" if item.children else f"▸ {on_one_line(prediction(tree, item))}"
        subject, edge = map(on_one_line, sentence)
        found.append(
            (
                prefix,
                subject or ("all rows" if item.children and not edge else ""),
                edge,
                predicted,
                f"({'; '.join(notes)})" if notes else "",
            )
        )
        for child in reversed(item.children):
            branch, more = ("└─ ", "   ") if child is item.children[-1] else ("├─ ", "│  ")
            if level >= levels:
                branch, more = f"[{level + 1}] ", ""
            subject = "" if child.edge == "otherwise" else tree.rule(item.node).subject
            stack.append((below + branch, below + more, (subject, child.edge), child, level + 1))
    return found


def _write_counts(tree: Tree, item: Item, room: int) -> tuple[str, str, str]:
    """Return the rows, share and counts of one line, the counts of many classes in at most ``room``
    columns.
    """
    rows = str(item.count)
    if tree.is_regression:
        mass, total, _ = item.weights
        return (
            rows,
            f"{spell_short(math.ldexp(total / mass, tree.exponent))} ± "
            f"{spell_short(deviation(tree, item))}"
            if mass > 0
            else "",
            "",
        )
    percent = percentage(share(tree, item))
    if len(tree.classes) <= COUNTS_UP_TO:
        return rows, percent, "[" + " ".join(spell_short(w) for w in item.weights) + "]"
    heavy = sorted(range(len(tree.classes)), key=lambda c: -item.weights[c])[:3]
    listed = [
        f"{cut(tree.classes[c], 16)} {spell_short(item.weights[c])}"
        for c in heavy
        if item.weights[c] > 0
    ]
    return rows, percent, cut(", ".join(listed), room)


def percentage(part: float) -> str:
    """Return a share in whole percent that says 100 % and 0 % only where it is so; "" for NaN."""
    text = "" if math.isnan(part) else f"{100 * part:.0f}%"
    return (
        ">99%"
        if text == "100%" and part < 1 - 1e-12
        else "<1%"
        if text == "0%" and part > 1e-12
        else text
    )


def _paint_line(
    prefix: str, subject: str, edge: str, predicted: str, note: str, widest: int, code: int | None
) -> str:
    """Return the left part of a line, cut or filled to ``widest`` columns, then the answer
    coloured.

    code : of the 256 colours, None: no colour.

    prefix, subject, edge, predicted, note : as of :func:`_write_lines`.
    """
    kept = display_width(predicted) + display_width(note) + (2 if predicted and note else 1)
    room = max(widest - display_width(prefix) - kept, 12)
    # rather than the bound that it is compared with
    subject = cut(subject, max(room - display_width(edge) - 1, min(room, 12)))
    sentence = cut(_joined("", subject, edge), room)
    if (beyond := display_width(_joined(prefix, sentence, predicted, note)) - widest) > 0:
        predicted = cut(predicted, max(display_width(predicted) - beyond, 8))
    plain = _joined(prefix, sentence, predicted, note)
    # the branches of a deep node leave no room for words: no colours either
    if display_width(plain) > widest:
        return cut(plain, widest)
    coloured = (
        f"\x1b[1;38;5;{code}m{predicted}{RESET}" if code is not None and predicted else predicted
    )
    return _joined(prefix, sentence, coloured, note) + " " * (widest - display_width(plain))


def display_width(text: str) -> int:
    """Terminal columns that a text takes: wide characters count two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_width_in_columns, text))


@cache
def _width_in_columns(character: str) -> int:
    """Return how many columns of a terminal a character takes: 0, 1 or 2."""
    return (
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
    )


def on_one_line(text: str) -> str:
    """Return the text without line breaks, and without characters that a terminal obeys."""
    return visible(" ".join(text.split()) if any(c in text for c in "\n\r\t") else text)


def cut(text: str, width: int) -> str:
    """Return the text in at most ``width`` columns, on one line, "…" where something is cut off."""
    return shorten(on_one_line(text), width, display_width)


def padded(text: str, width: int, right: bool) -> str:
    """Return the text filled with spaces up to ``width`` columns, to the left of it if
    ``right``.
    """
    fill = " " * max(width - display_width(text), 0)
    return fill + text if right else text + fill
