"""Proofs in which something is changed, for the checker to refuse."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.proof.format import Proof


def with_bound(proof: Proof, number: int, bound: float) -> Proof:
    """The proof with another bound in one record: an integer, or a float where its log has such."""
    words, at = proof.words.copy(), proof.start[number]
    words[at + 3 : at + 5] = np.array([bound]).view(np.int32)
    return attrs.evolve(proof, words=words)
