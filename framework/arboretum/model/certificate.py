"""How far a tree is from the minimum: per complexity its value, the proven minimum or bound, and the ratio."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from arboretum.model.reading import refuse_misfits


@attrs.frozen
class Certified:
    """One complexity of a tree, beside what is proven of all trees on the same objects and tests with the same leaf rule.

    value : of the run's tree.   lower_bound : no such tree is below it (proven); ≥ 0 and ≤ ``best_known``.
    promised : factor of the minimum that the method's theorem says ``value`` does not exceed; None without one.
    best_known : the smallest value of such a tree that was found, the run's own included; the minimum when it equals
        ``lower_bound``.
    """

    value: float
    lower_bound: float
    best_known: float
    promised: float | None = None

    @property
    def proven(self) -> bool:
        """Whether the minimum itself is known."""
        return self.lower_bound >= self.best_known

    @property
    def minimum(self) -> float | None:
        """The minimum, None where only a bound is proven."""
        return self.best_known if self.proven else None

    @property
    def ratio(self) -> float | None:
        """Value ÷ lower bound: the exact ratio to the minimum where that is known, else one that the ratio cannot exceed.

        None where the bound is 0: no ratio is defined (minimum 0: a single leaf is such a tree), or none is bounded yet.
        """
        return self.value / self.lower_bound if self.lower_bound > 0 else None

    @property
    def ratio_is(self) -> str:
        """What ``ratio`` says: "exact", "at most", "undefined" (the minimum is 0), "unknown" (nothing above 0 is proven)."""
        if self.lower_bound > 0:
            return "exact" if self.proven else "at most"
        return "undefined" if self.proven else "unknown"

    def cells(self) -> dict[str, str]:
        """How it reads in a table, aligned by hand: a bound is "≥ 3.2", a ratio that is one at most "≤ 1.4"."""
        # three places: 1.000 is above 1, and only 1 is 1
        ratio = "–" if self.ratio is None else "1" if self.ratio == 1 else f"{self.ratio:.3f}"
        return {
            "this tree": _spell(self.value),
            "minimum": _spell(self.lower_bound) if self.proven else f"≥ {_spell(self.lower_bound)}",
            "ratio": f"≤ {ratio}" if self.ratio_is == "at most" else ratio,
            "promised": "" if self.promised is None else f"≤ {self.promised:,.0f}" if self.promised >= 100 else f"≤ {self.promised:.3f}",
        }

    def to_json(self) -> dict[str, Any]:
        """All numbers; ``minimum`` and ``ratio`` are None where they are not known."""
        names = ("value", "minimum", "lower_bound", "best_known", "ratio", "ratio_is")
        promised = {} if self.promised is None else {"promised": self.promised}
        return {**{name: getattr(self, name) for name in names}, "status": "optimal" if self.proven else "feasible", **promised}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Certified:
        """Rebuild it; raises KeyError, TypeError or ValueError when the mapping is none."""
        numbers = [float(data[name]) for name in ("value", "lower_bound", "best_known")]
        promised = None if data.get("promised") is None else float(data["promised"])
        if not all(map(math.isfinite, [*numbers, promised or 0.0])):
            msg = f"a certificate's numbers are finite; got {numbers}"
            raise ValueError(msg)
        return Certified(*numbers, promised)


@attrs.frozen(eq=False)
class Certificate:
    """What is proven of a run's tree.

    certifier : name and fields of the solver that proved it.   leaf_rule : the rule that all trees compared obey
    (min_split, theta, delta, min_objects, as in :class:`~arboretum.interfaces.stopping.LeafRule`).
    complexities : name → :class:`Certified`, in the order in which they are shown.
    """

    certifier: Mapping[str, Any]
    leaf_rule: Mapping[str, Any]
    complexities: Mapping[str, Certified]

    def rows(self) -> list[dict[str, str]]:
        """A table for readers: complexity, this tree, minimum, ratio, and what is promised of it, if anything is; every
        column but the first flush right.
        """
        table = [{"complexity": name, **found.cells()} for name, found in self.complexities.items()]
        if all(found.promised is None for found in self.complexities.values()):
            table = [{name: cell for name, cell in row.items() if name != "promised"} for row in table]
        for column in list(table[0])[1:] if table else []:
            widest = max((len(row[column]) for row in table), default=0)
            table = [{**row, column: row[column].rjust(max(widest, len(column)))} for row in table]
        return table

    def to_json(self) -> dict[str, Any]:
        """Words of JSON, for ``record.json``."""
        return {
            "certifier": dict(self.certifier),
            "leaf_rule": dict(self.leaf_rule),
            "complexities": {name: found.to_json() for name, found in self.complexities.items()},
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Certificate:
        """Rebuild it; raises KeyError, TypeError, ValueError or AttributeError when the mapping is none."""
        rule = {"min_split": int, "min_objects": int, "theta": float, "delta": float | None}
        refuse_misfits(data, {"certifier": dict, "leaf_rule": dict, "complexities": dict[str, dict]})
        refuse_misfits(data["leaf_rule"], rule)
        data["certifier"]["name"]  # noqa: B018 - every reader names it
        found = {name: Certified.from_json(one) for name, one in data["complexities"].items()}
        return Certificate(dict(data["certifier"]), dict(data["leaf_rule"]), found)


def _spell(number: float) -> str:
    """Whole numbers in full, others to four places (six digits where they are large)."""
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.4f}" if 1e-3 <= abs(number) < 1e4 else f"{number:.6g}"
