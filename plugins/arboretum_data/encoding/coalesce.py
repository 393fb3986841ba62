"""Identical objects become one."""

from __future__ import annotations

import enum

import numpy as np


class Coalesce(enum.Enum):
    """What happens to objects with equal codes."""

    none = "none"
    sum = "sum"
    """They become one object with the sum of their weights."""
    one = "one"
    """They become one object of weight 1."""


def identical_rows(codes: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(first, member): the first row of each distinct object, in order of appearance; the object of each row.

    codes : integers[n, f].   raw : floats[n, r]; two NaN are equal, and so are 0.0 and −0.0.
    """
    values = raw + 0.0
    values[np.isnan(values)] = np.nan
    bytes_of_row = np.hstack([_as_bytes(codes), _as_bytes(values)])
    if not bytes_of_row.shape[1]:
        return np.zeros(1, np.int64), np.zeros(len(codes), np.int64)
    keys = bytes_of_row.view(np.dtype((np.void, bytes_of_row.shape[1]))).ravel()
    _, first, member = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[member.ravel()]


def _as_bytes(matrix: np.ndarray) -> np.ndarray:
    """uint8[n, bytes per row]."""
    rows = np.ascontiguousarray(matrix)
    return rows.view(np.uint8).reshape(len(rows), -1) if rows.size else np.zeros((len(rows), 0), np.uint8)


def majority(member: np.ndarray, label: np.ndarray, weight: np.ndarray, n_objects: int, n_classes: int) -> np.ndarray:
    """int32[n_objects]: the class with the largest weight among each object's rows; ties: the smallest."""
    votes = np.bincount(member * n_classes + label, weights=weight, minlength=n_objects * n_classes)
    return votes.reshape(n_objects, n_classes).argmax(axis=1).astype(np.int32)
