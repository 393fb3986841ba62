"""What a tuner or a pruner tried on validation rows, and what it kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from arboretum.model.reading import refuse_misfits

SHOWN = 12
"""Tried values that a sentence names; the record holds all."""


@attrs.frozen(eq=False)
class Selection:
    """One choice of values.

    kept : field → the value kept; keys as on the command line ("criterion.lam").
    measure : by which the trials are compared on the validation rows ("roc_auc"), "" where nobody says.
    tried : what was tried, in order: (values, score), more being better, NaN where there was no tree to judge.
    notes : what the user should know of the choice, a sentence each.
    """

    kept: Mapping[str, Any]
    measure: str = ""
    tried: Sequence[tuple[Mapping[str, Any], float]] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(kept: Mapping[str, Any] | Selection) -> Selection:
        """A selection, made of the kept values where nothing else is told."""
        return kept if isinstance(kept, Selection) else Selection(dict(kept))

    def sentence(self, who: str) -> str:
        """ "tuner descending keeps criterion.lam=1 (validation roc auc: 0.9500 at 10, 1.0000 at 1)"."""
        kept = ", ".join(f"{key}={_spelled(value)}" for key, value in self.kept.items()) or "the values as given"
        if not self.tried:
            return f"{who} keeps {kept}"
        trials = [f"{score:.4f} at {', '.join(map(_spelled, values.values()))}" for values, score in self.tried[:SHOWN]]
        more = f", and {len(self.tried) - SHOWN} more" if len(self.tried) > SHOWN else ""
        return f"{who} keeps {kept} (validation {self.measure.replace('_', ' ')}: {', '.join(trials)}{more})"

    def numbers(self) -> dict[str, float]:
        """Kept numbers as metrics: "criterion.lam" → ``kept_lam`` (``kept_criterion_lam`` where two fields end alike)."""
        ends = [key.rpartition(".")[2] for key in self.kept]
        names = {key: end if ends.count(end) == 1 else key.replace(".", "_") for key, end in zip(self.kept, ends, strict=True)}
        return {
            f"kept_{names[key]}": float(value)
            for key, value in self.kept.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }

    def to_json(self) -> dict[str, Any]:
        """The choice in words of JSON; a score that is not defined is None."""
        trials = [{"values": dict(values), "score": score if math.isfinite(score) else None} for values, score in self.tried]
        return {"kept": dict(self.kept), "measure": self.measure, "tried": trials}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Selection:
        """Rebuild a choice (its notes are the record's); raises KeyError or TypeError when the mapping is none."""
        refuse_misfits(data, {"kept": dict, "measure": str, "tried": list[dict]})
        for one in data["tried"]:
            refuse_misfits(one, {"values": dict, "score": float | None})
        tried = [(one["values"], math.nan if one["score"] is None else one["score"]) for one in data["tried"]]
        return Selection(data["kept"], data["measure"], tried)


def _spelled(value: Any) -> str:
    """A value as one types it: 100 for 100.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)
