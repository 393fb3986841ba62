"""From a tree to a picture: boxes with the question, a bar of class shares, counts; branches as
thick as their rows.

As a scene, which is written as SVG; exports of plugins paint it, or say the same lines in another
language.
"""

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

import attrs
import numpy as np

from arboretum.model.plain import Facts
from arboretum.model.tree import Tree
from arboretum.report.outline import (
    Item,
    deviation,
    headline,
    mass_of,
    outline,
    prediction,
    question,
    share,
    spell_short,
)
from arboretum.report.palette import (
    HIGH,
    LOW,
    OTHER,
    class_colours,
    mix,
    node_colour,
    place_between,
    ranked_classes,
    value_range,
)
from arboretum.report.scene import FAINT, INK, LINE, Box, Curve, Label, Scene, fit_text, text_width
from arboretum.report.text import percentage

T = TypeVar("T")
MARGIN = 24.0
BOX_WIDTH = (84.0, 300.0)
SEVERAL_BOX = 440.0  # for a test of several columns
# of a column's name so much stays readable; the rest gives way to what it is compared with
COLUMN_ROOM = 64.0
BOX_HEIGHT = 52.0
MARK_WIDTH = 190.0
# font sizes of a box's upper line, and of its lower one and of words on branches; of the legend
LARGE, SMALL, LEGEND = 12, 10.5, 11
PADDING = 9.0
LEVEL_GAP = 58.0
SIBLING_GAP = 16.0
# pictures with more leaves than this grow to the right: sixty rows of text are readable, sixty
# columns are not
SIDEWAYS_ABOVE = 12
LEAF_BUDGET = 60
RING, RING_GAP = "#c8102e", 4.0  # colour of the ring about a marked box, and pixels between


def tree_scene(
    tree: Tree,
    *,
    title: str | None = None,
    max_depth: int | None = None,
    max_leaves: int | None = LEAF_BUDGET,
    sideways: bool | None = None,
    marked: Collection[int] = (),
) -> Scene:
    """Draw the tree: tests, rows, class shares as bars, branches as thick as their rows, a legend.

    title : headline of the picture.
    max_depth, max_leaves : what lies beyond is folded into dashed boxes, and the line under the
        title says how much (None: show all).
    sideways : grow to the right instead of down (None: by size).
    marked : nodes whose boxes get a ring.
    """
    root = outline(tree, max_depth, max_leaves)
    shown = [item for item in root.walk() if not item.children]
    sideways = len(shown) > SIDEWAYS_ABOVE if sideways is None else sideways
    places = _place_boxes(tree, root, sideways)
    right = max(box.x + box.width for box in places.values()) + MARGIN
    header, top = _draw_header(tree, root, title, max(right, 420.0))
    places = {key: attrs.evolve(place, y=place.y + top) for key, place in places.items()}
    nodes = [shape for item in root.walk() for shape in _draw_node(tree, item, places[item])]
    bottom = max(place.y + BOX_HEIGHT for place in places.values()) + MARGIN
    wide = (
        max(
            label.x + text_width(label.text, label.size, label.bold)
            for label in header
            if isinstance(label, Label)
        )
        + MARGIN
    )
    rings = [_draw_ring(places[item]) for item in root.walk() if item.node in marked]
    shapes = [*header, *_draw_branches(tree, root, places, sideways), *rings, *nodes]
    return Scene(round(max(right, wide)), round(bottom), shapes, title or headline(tree))


@attrs.frozen
class _Place:
    """The upper left corner and the width of a node's box."""

    x: float
    y: float
    width: float


def lines_of(tree: Tree, item: Item) -> tuple[str, str]:
    """Return the two lines of a node's box: question or answer, and what is known of its rows."""
    upper = question(tree.rule(item.node)) if item.children else prediction(tree, item)
    rows = f"{item.count} row" + ("" if item.count == 1 else "s")
    if tree.is_regression:
        spread = spell_short(deviation(tree, item)) if item.count else "0"
        mean = f"{spell_short(tree.value[item.node])} " if item.children else ""
        lower = f"{rows} · {mean}± {spread}"
    elif item.children or item.count == 0:
        lower = rows
    else:
        lower = f"{rows} · {percentage(share(tree, item))}"
    if item.note:
        lower = f"{lower} · missing → all"
    if item.folded:
        lower = f"{rows} · {item.folded} leaves folded"
    return upper, lower


def _place_boxes(tree: Tree, root: Item, sideways: bool) -> dict[Item, _Place]:
    """Return the box of each item: growing down each level is a row of boxes, to the right
    (``sideways``) a column, as wide as its widest box.
    """
    width: dict[Item, float] = {}
    levels: list[list[Item]] = [[] for _ in range(int(tree.depth_of.max()) + 2)]
    for item in root.walk():
        upper, lower = lines_of(tree, item)
        wanted = max(text_width(upper, LARGE, bold=True), text_width(lower, SMALL)) + 2 * PADDING
        several = item.children and len(tree.rule(item.node).columns) > 1
        width[item] = min(max(wanted, BOX_WIDTH[0]), SEVERAL_BOX if several else BOX_WIDTH[1])
        levels[int(tree.depth_of[item.node]) + item.stays].append(item)
    if not sideways:  # a box takes at least the width of the mark on its branch
        breadth = {
            item: max(wide, min(text_width(item.edge, SMALL), BOX_WIDTH[1]) + 4)
            for item, wide in width.items()
        }
        centre = tidy(root, lambda item: item.children, breadth.__getitem__, SIBLING_GAP)
        rows = (
            (item, depth * (BOX_HEIGHT + LEVEL_GAP))
            for depth, here in enumerate(levels)
            for item in here
        )
        return {
            item: _Place(MARGIN + centre[item] - width[item] / 2, y, width[item])
            for item, y in rows
        }
    centre = tidy(root, lambda item: item.children, lambda item: BOX_HEIGHT, 8.0)
    places: dict[Item, _Place] = {}
    x = MARGIN
    for here in filter(None, levels):
        x += (
            44.0 + min(max(text_width(item.edge, SMALL) for item in here), MARK_WIDTH)
            if places
            else 0.0
        )
        places |= {item: _Place(x, centre[item] - BOX_HEIGHT / 2, width[item]) for item in here}
        x += max(width[item] for item in here)
    return places


def tidy(
    root: T, children: Callable[[T], Sequence[T]], breadth: Callable[[T], float], gap: float
) -> dict[T, float]:
    """Return item → centre across the direction of growth, the smallest edge at 0.

    breadth : size of an item across the direction of growth.
    gap : between neighbours on one level.

    Parents stand over the middle of their children, subtrees are pushed together until their
    outlines touch, and a subtree looks the same wherever it stands.  Reingold & Tilford (1981),
    "Tidier drawings of trees"; outlines kept per level, which costs O(nodes · depth), here at most
    a few hundred.
    """
    order = [root]
    for item in order:
        order.extend(children(item))
    offset: dict[T, float] = {}  # relative to the parent
    # of a subtree: per level its (low, high) around its root
    outlines: dict[T, list[tuple[float, float]]] = {}
    for item in reversed(order):
        merged: list[tuple[float, float]] = []
        kids = children(item)
        for kid in kids:
            shape = outlines.pop(kid)
            shift = max(
                (high + gap - low for (_, high), (low, _) in zip(merged, shape, strict=False)),
                default=0.0,
            )
            offset[kid] = shift
            moved = [(low + shift, high + shift) for low, high in shape]
            shared = [(a[0], b[1]) for a, b in zip(merged, moved, strict=False)]
            merged = shared + merged[len(shared) :] + moved[len(shared) :]
        middle = (offset[kids[0]] + offset[kids[-1]]) / 2 if kids else 0.0
        for kid in kids:
            offset[kid] -= middle
        outlines[item] = [
            (-breadth(item) / 2, breadth(item) / 2),
            *((low - middle, high - middle) for low, high in merged),
        ]
    centre = {root: 0.0}
    for item in order:  # parents before their children
        centre |= {kid: centre[item] + offset[kid] for kid in children(item)}
    left = min(at - breadth(item) / 2 for item, at in centre.items())
    return {item: at - left for item, at in centre.items()}


def _draw_branches(
    tree: Tree, root: Item, places: dict[Item, _Place], sideways: bool
) -> list[Curve | Label]:
    """Return the curves first, then their marks, so that no curve crosses a word.

    sideways : the tree grows to the right.
    """
    curves, marks = [], []
    rows = max(float(tree.mass[0]), 1e-300)
    for item, child in ((above, child) for above in root.walk() for child in above.children):
        parent, place = places[item], places[child]
        ends = (
            parent.x + parent.width / 2,
            parent.y + BOX_HEIGHT,
            place.x + place.width / 2,
            place.y,
        )
        if sideways:
            ends = (
                parent.x + parent.width,
                parent.y + BOX_HEIGHT / 2,
                place.x,
                place.y + BOX_HEIGHT / 2,
            )
        curves.append(
            Curve(*ends, round(1.0 + 7.0 * mass_of(tree, child.weights) / rows, 2), level=sideways)
        )
        marks.append(_draw_word_on_branch(child.edge, curves[-1]))
    return [*curves, *marks]


def _draw_word_on_branch(edge: str, curve: Curve) -> Label:
    """Return the word on a branch, over its end."""
    if curve.level:
        room = min(max(curve.x2 - curve.x1 - 24, 30.0), MARK_WIDTH)
        y = (
            curve.y2 + 12 + curve.width / 2
            if curve.y2 > curve.y1 + 1
            else curve.y2 - 4 - curve.width / 2
        )
        return Label(curve.x2 - 6, y, fit_text(edge, room, SMALL), SMALL, anchor="end", halo=True)
    return Label(
        curve.x2,
        curve.y2 - 11,
        fit_text(edge, BOX_WIDTH[1], SMALL),
        SMALL,
        anchor="middle",
        halo=True,
    )


def _draw_node(tree: Tree, item: Item, place: _Place) -> list[Box | Label]:
    """Return the box of a node with its two lines of words and the bar of its classes."""
    upper, lower = lines_of(tree, item)
    colour = node_colour(tree, item.node)
    ground = mix(colour, "#ffffff", 0.62 if tree.is_regression else 0.82)
    inside = place.width - 2 * PADDING
    subject = tree.rule(item.node).subject if item.children else ""
    # what a column is compared with: " ≤ 2.45"
    rest = upper.removeprefix(subject) if subject and upper.startswith(subject) else ""
    left = inside - text_width(rest, LARGE, bold=True)
    if (
        not rest
        or text_width(upper, LARGE, bold=True) <= inside + 0.01
        or left < COLUMN_ROOM - 0.01
    ):
        rest, left = "", inside
    # never cut what a column is compared with
    upper = fit_text(upper.removesuffix(rest), left, LARGE, bold=True) + rest
    fill, stroke, ink = ("#ffffff", LINE, FAINT) if item.children else (ground, colour, INK)
    look: Facts = {
        "stroke": stroke,
        "radius": 7,
        "dashed": bool(item.folded) or item.stays,
        "hint": _write_hint(tree, item),
    }
    middle = place.x + place.width / 2
    return [
        Box(place.x, place.y, place.width, BOX_HEIGHT, fill, **look),
        Label(middle, place.y + 18, upper, LARGE, bold=True, anchor="middle"),
        *_draw_bar(tree, item, place.x + PADDING, place.y + 25, inside),
        Label(
            middle, place.y + 45, fit_text(lower, inside, SMALL), SMALL, fill=ink, anchor="middle"
        ),
    ]


def _draw_ring(place: _Place) -> Box:
    """Return the ring about the box of a marked node."""
    return Box(
        place.x - RING_GAP,
        place.y - RING_GAP,
        place.width + 2 * RING_GAP,
        BOX_HEIGHT + 2 * RING_GAP,
        "#ffffff",
        stroke=RING,
        radius=7 + RING_GAP,
    )


def _draw_bar(tree: Tree, item: Item, x: float, y: float, width: float) -> list[Box]:
    """Return the class shares side by side; for numbers the place of the mean between the smallest
    and the largest prediction.

    x, y, width : of the bar: its upper left corner, in pixels.
    """
    if tree.is_regression:
        place = x + place_between(float(tree.value[item.node]), *value_range(tree)) * (width - 4)
        return [
            Box(x, y + 2, width, 3, mix(LOW, HIGH, 0.25), radius=1.5),
            Box(place, y - 1, 4, 9, HIGH, radius=1.5),
        ]
    mass = item.weights.sum()
    if mass <= 0:
        return [Box(x, y, width, 7, "#e6e8eb")]
    colours, bars, start = class_colours(tree), [], x
    for colour, classes in itertools.groupby(
        np.flatnonzero(item.weights > 0), lambda c: colours[c]
    ):
        part = sum(width * item.weights[c] / mass for c in classes)
        bars.append(Box(start, y, part, 7, colour))
        start += part
    return bars


def _write_hint(tree: Tree, item: Item) -> str:
    """Return the whole story of a node, nothing cut."""
    asks = question(tree.rule(item.node)) if item.children else prediction(tree, item)
    if tree.is_regression:
        facts = [
            f"mean {spell_short(tree.value[item.node])}, deviation "
            f"{spell_short(deviation(tree, item))}"
        ]
    else:
        heavy = [c for c in np.argsort(-item.weights, kind="stable")[:12] if item.weights[c] > 0]
        facts = [f"{tree.classes[c]}: {spell_short(item.weights[c])}" for c in heavy]
    impurity = tree.impurity[item.node]
    known = "" if np.isnan(impurity) else f"impurity {spell_short(impurity)}"
    edge = item.edge and f"branch: {item.edge}"
    return "\n".join(
        filter(None, (edge, asks, item.note, *facts, f"{item.count} rows, node {item.node}", known))
    )


def _draw_header(
    tree: Tree, root: Item, title: str | None, width: float
) -> tuple[list[Box | Label], float]:
    """Title, what is shown, legend; returns the shapes and the height they take.

    title : None: "Decision tree".   width : pixels that there are.
    """
    name = fit_text(title or "Decision tree", max(width - 2 * MARGIN, 300), 17, bold=True)
    folded = [item.folded for item in root.walk() if item.folded]
    summary = headline(tree)
    summary += (
        f"; {sum(folded)} of the leaves are folded into {len(folded)} dashed boxes"
        if folded
        else ""
    )
    legend, bottom = _draw_legend(tree, MARGIN + 46, width)
    words = [
        Label(MARGIN, MARGIN + 12, name, 17, bold=True),
        Label(MARGIN, MARGIN + 31, summary, 11.5, fill=FAINT),
    ]
    return [*words, *legend], bottom + 22


def _draw_legend(tree: Tree, y: float, width: float) -> tuple[list[Box | Label], float]:
    """Return a swatch, the name and the weight per class, those without a colour of their own as
    one; of numbers a light-to-dark scale.

    y : where it begins.   width : pixels that there are.   Returns the shapes and where they end.
    """
    if tree.is_regression:
        low, high = map(spell_short, value_range(tree))
        steps = [Box(MARGIN + 8 * k, y, 8.5, 10, mix(LOW, HIGH, k / 19)) for k in range(20)]
        return [*steps, Label(MARGIN + 170, y + 9, f"{low} … {high} predicted", LEGEND)], y + 12
    colours, ranked = class_colours(tree), ranked_classes(tree)
    entries = [
        (colours[c], f"{fit_text(tree.classes[c], 220, LEGEND)} {spell_short(tree.weights[0, c])}")
        for c in ranked
    ]
    if others := len(tree.classes) - len(ranked):
        rest = tree.weights[0].sum() - tree.weights[0, ranked].sum()
        entries.append((OTHER, f"{others} other classes {spell_short(rest)}"))
    shapes: list[Box | Label] = []
    x = MARGIN
    for colour, text in entries:
        taken = 16 + text_width(text, LEGEND) + 16
        if x > MARGIN and x + taken > width - MARGIN:
            x, y = MARGIN, y + 19
        shapes += [
            Box(x, y, 11, 11, colour, radius=2),
            Label(x + 16, y + 9.5, text, LEGEND, fill=INK),
        ]
        x += taken
    return shapes, y + 12
