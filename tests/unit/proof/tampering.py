"""Logs with something changed, and a checksum that fits again."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import attrs
import numpy as np

from arboretum.model.tree import Tree
from arboretum.proof.format import DIGEST, MAGIC, read


def rewritten(
    source: Path,
    target: Path,
    *,
    header=lambda data: data,
    words=lambda words, start: words,
    end=lambda data: data,
    magic=MAGIC,
):
    """Write the log again as the functions change it.

    words : of (int32 words, where each record starts) → int32 words.
    """
    proof = read(source)
    data = magic + json.dumps(header(dict(proof.header))).encode() + b"\n"
    data += words(proof.words.astype(np.int64), proof.start).astype("<i4").tobytes()
    closing = json.dumps(end(json.loads(json.dumps(dict(proof.end))))).encode()
    data += struct.pack("<2i", -1, len(closing)) + closing
    target.write_bytes(data + hashlib.sha256(data).digest())
    return target


def without_leaf(tree: Tree, leaf: int) -> Tree:
    """The leaf is left out, and its parent answers for the rows that come there."""
    kept = np.arange(tree.n_nodes) != leaf
    names = (
        "test",
        "missing_child",
        "weights",
        "counts",
        "label",
        "value",
        "price",
        "impurity",
        "score",
    )
    child, offset = (
        np.where(tree.child == leaf, -1, tree.child - (tree.child > leaf)),
        np.delete(tree.child_offset, leaf + 1),
    )
    return attrs.evolve(
        tree,
        child=child,
        child_offset=offset,
        **{name: getattr(tree, name)[kept] for name in names},
    )


BOUND = 3


def word(number: int, place: int, value: int):
    """A change of one word of one record, of two words where it is the bound."""

    def change(words: np.ndarray, start: np.ndarray) -> np.ndarray:
        at = start[number] + place
        words[at : at + 1 + (place == BOUND)] = (
            [value] if place != BOUND else [np.int64(value) & 0xFFFFFFFF, value >> 32]
        )
        return words

    return change


__all__ = ["BOUND", "DIGEST", "MAGIC", "rewritten", "without_leaf", "word"]
