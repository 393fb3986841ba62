"""What a judgement says, in short."""

from __future__ import annotations

from arboretum.api import Judgement, Verdict


def verdicts(found: Judgement) -> dict[str, Verdict]:
    return {claim.sentence: claim.verdict for claim in found.claims}


def failing(found: Judgement) -> list[str]:
    return [f"{cell.row}, {cell.column}" for cell in found.cells if cell.verdict is Verdict.FAIL]
