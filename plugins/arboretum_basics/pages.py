"""What the pages of a tree share: its arrays, and that they run their own script and no other."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import numpy as np

from arboretum.api import Facts, Plain, Tree, policies, sure, visible


def filled_page(name: str, data: Plain) -> str:
    """Return a page of this package with the data in the place of the word TREE.

    name : of its file, which holds one ``style`` and one ``script``; their hashes take the place
        of ``style-hash`` and ``script-hash`` in its policy, and what all pages share that of
        ``// WORDS``.
    """
    page, shared = (
        files("arboretum_basics").joinpath(one).read_text(encoding="utf-8")
        for one in (name, "page_words.js")
    )
    page = page.replace("// WORDS\n", shared, 1)
    for kind in ("style", "script"):  # the browser runs these two texts and nothing else
        text = sure(re.search(f"<{kind}>(.*?)</{kind}>", page, re.DOTALL))[1]
        page = page.replace(
            f"{kind}-hash",
            "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode(),
        )
    # ASCII, and no "<" that could end the element or open a comment
    return page.replace(
        "TREE",
        json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
        1,
    )


def node_arrays(tree: Tree) -> Facts:
    """Arrays per node, per branch (``child``, ``edgePrice``), and surrogates by node: (rule,
    outcome → outcome).
    """
    if tree.is_classification:
        answers = {
            "classes": [*map(visible, tree.classes)],
            "label": tree.label.tolist(),
            "weights": [*map(short, tree.weights)],
        }
        if not np.isnan(tree.value).any():  # shares that are held to bounds
            answers["held"] = short(tree.value)
    else:
        answers = {"value": short(tree.value), "spread": short(tree.deviation())}
    surrogates: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for one in tree.surrogates:
        surrogates.setdefault(one.node, []).append((one.rule, one.to))
    return {
        "test": tree.test.tolist(),
        "offset": tree.child_offset.tolist(),
        "child": tree.child.tolist(),
        "policy": policies(tree).tolist(),
        "price": short(tree.price),
        "edgePrice": short(tree.edge_price),
        "mass": short(tree.mass),
        "rows": short(tree.counts),
        "surrogates": surrogates,
        **answers,
    }


def short(values: np.ndarray) -> list[float]:
    """Numbers for JSON, whole ones without a point."""
    return [int(value) if value.is_integer() else value for value in values.tolist()]
