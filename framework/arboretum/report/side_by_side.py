"""Two trees side by side, as one picture."""

from collections.abc import Collection

import attrs

from arboretum.model.tree import Tree
from arboretum.report.picture import SIDEWAYS_ABOVE, tree_scene
from arboretum.report.scene import Curve, Scene, Shape

GAP = 40.0  # pixels between the two trees


def pair_scene(
    trees: tuple[Tree, Tree],
    titles: tuple[str, str],
    marked: tuple[Collection[int], Collection[int]] = ((), ()),
) -> Scene:
    """Draw two trees beside each other, both growing down or both to the right.

    titles : headline of each.   marked : nodes of each that get a ring.
    """
    sideways = max(tree.n_leaves for tree in trees) > SIDEWAYS_ABOVE
    scenes = [
        tree_scene(tree, title=title, sideways=sideways, marked=nodes)
        for tree, title, nodes in zip(trees, titles, marked, strict=True)
    ]
    left, right = scenes
    moved = [_moved(shape, left.width + GAP) for shape in right.shapes]
    return Scene(
        left.width + GAP + right.width,
        max(left.height, right.height),
        [*left.shapes, *moved],
        " and ".join(titles),
    )


def _moved(shape: Shape, by: float) -> Shape:
    """Return a shape ``by`` pixels further to the right."""
    if isinstance(shape, Curve):
        return attrs.evolve(shape, x1=shape.x1 + by, x2=shape.x2 + by)
    return attrs.evolve(shape, x=shape.x + by)
