"""Why a published number cannot come out here: reasons that were looked into, not excuses for what fails."""

from __future__ import annotations


def known(dataset: str, algorithm: str, measure: str) -> str:
    """The reason for a difference in this cell, "" where none is known."""
    del algorithm, measure
    return DATA.get(dataset, "")


DATA: dict[str, str] = {}
"""Data set → what is not as the authors had it."""

CLAIMS: dict[tuple[str, str, str], str] = {}
"""(price setting, base, question) → why a sentence of the paper does not hold here."""
