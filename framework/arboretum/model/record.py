"""The record of a run: what is printed, written as ``record.json`` and logged."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import attrs

import arboretum
from arboretum.errors import StoreError
from arboretum.model.certificate import Certificate
from arboretum.model.reading import document, refuse_misfits
from arboretum.model.selection import Selection
from arboretum.model.solution import Solution
from arboretum.model.tree import Tree

SCHEMA = "arboretum.record/1"

_FORMS = {
    "config": dict, "seed": int, "versions": dict[str, str], "data": dict,
    "timings": dict[str, float], "metrics": dict[str, float | None],
    "solution": dict | None, "certificate": dict | None, "selections": dict, "verified": bool,
    "checked": dict, "fingerprint": str, "code": dict[str, str], "checksums": dict[str, str], "notes": list[str],
}  # fmt: skip
"""Field → type of what a file may hold, in the file's order."""
_LEFT_OUT = ("certificate", "selections", "checked", "code", "checksums")
"""Fields that a file need not have: what is empty is not written."""


@attrs.frozen(eq=False, repr=False)
class Record:
    """Everything that is known after a run.  In a notebook it shows a small table and the tree.

    config : the composed configuration; ``config["choices"]`` holds the chosen names per group.
    versions : package → version, plugin → owner's distribution and version, git commit where there is one.
    data : name, sha256, n_rows, n_train, n_objects, n_tests, n_classes.
    timings : seconds (wall): load, encode, compile, fit, verify, and certify where it was asked for.
    metrics : flat name → number; NaN where a metric is not defined on the rows at hand.
    solution : what a solver proved (value, lower bound, status); None for a greedy method, which proves nothing.
    verified : the tree was replayed over its rows, and what is named in ``checked`` came out again.
    checked : what verification computed again → how much of it, or "not: " and the reason.
    tree : None where only the numbers were loaded.
    fingerprint : content hash of configuration, data and code version; equal fingerprints mean equal results.
    certificate : how far the tree is from the minimum (``certify=true``); None when not asked for, or not applicable.
    selections : "tuner", "pruner" → the values they kept and all they tried on the validation rows; empty without.
    checksums : "tree.json" → SHA-256 of the file that was written with the record; empty before anything is written.
    code : "arboretum" and each plugin that took part → content hash of its sources; empty where nobody knows.
    """

    config: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    data: Mapping[str, Any]
    timings: Mapping[str, float]
    metrics: Mapping[str, float]
    solution: Solution | None
    verified: bool
    tree: Tree | None
    fingerprint: str = ""
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None
    selections: Mapping[str, Selection] = attrs.field(factory=dict)
    code: Mapping[str, str] = attrs.field(factory=dict)
    checksums: Mapping[str, str] = attrs.field(factory=dict)
    checked: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def method(self) -> str:
        """The chosen method; "" where the configuration does not say."""
        return str(self.config.get("choices", {}).get("method", ""))

    @property
    def title(self) -> str:
        """Headline: "cart on iris"."""
        return " on ".join(filter(None, (self.method, str(self.data.get("name", "")))))

    @property
    def highlights(self) -> dict[str, float]:
        """The few metrics to look at first, in the order to show them: size, errors, cost."""
        quality = "mse" if "train_mse" in self.metrics else "error"
        names = ("n_nodes", "depth", *(f"{part}_{quality}" for part in ("train", "valid", "test")), "expected_cost")
        return {name: self.metrics[name] for name in names if name in self.metrics}

    def __repr__(self) -> str:
        numbers = "".join(f"{name} {value:.4g}, " for name, value in self.highlights.items())
        return f"Record({self.title or 'a run'}, seed {self.seed}: {numbers}{'verified' if self.verified else 'not verified'})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return arboretum.record_html(self)

    def to_json(self) -> str:
        """The record as JSON text, without the tree (``tree.json`` lies beside it)."""
        data: dict[str, Any] = {"schema": SCHEMA}
        for name in _FORMS:
            value = getattr(self, name)
            if name not in _LEFT_OUT or value:
                data[name] = value.to_json() if hasattr(value, "to_json") else dict(value) if isinstance(value, Mapping) else value
        # JSON has no NaN and no infinity: a metric that is not defined is null
        data["metrics"] = {k: v if math.isfinite(v) else None for k, v in self.metrics.items()}
        if self.selections:
            data["selections"] = {who: one.to_json() for who, one in self.selections.items()}
        return json.dumps(data, ensure_ascii=False, indent=2)

    @staticmethod
    def from_json(text: str, tree: Tree | None = None) -> Record:
        """Rebuild a record; raises StoreError when the text is not one."""
        try:
            data = document(text, SCHEMA)
        except ValueError as error:
            msg = f"not a record: {error}; was the file cut short?"
            raise StoreError(msg) from None
        try:
            refuse_misfits(data, _FORMS)
            refuse_misfits(data["config"], {"choices": dict, "plugins": list[str]})
            for name in ("timings", "metrics"):
                if not all(value is None or math.isfinite(value) for value in data[name].values()):
                    msg = f"{name} must be finite"
                    raise ValueError(msg)
            found, certificate = data["solution"], data.get("certificate")
            known = {name: data[name] for name in _FORMS if name in data or name not in _LEFT_OUT} | {
                "metrics": {k: math.nan if v is None else v for k, v in data["metrics"].items()},
                "solution": None if found is None else Solution.from_json(found, tree),
                "certificate": None if certificate is None else Certificate.from_json(certificate),
                "selections": {who: Selection.from_json(one) for who, one in data.get("selections", {}).items()},
                "notes": tuple(data["notes"]),
            }
            return Record(tree=tree, **known)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            msg = f"not a record: {type(error).__name__}: {error}; was the file edited or cut short?"
            raise StoreError(msg) from None
