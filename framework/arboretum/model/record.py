"""What is known after a run: a tree and its value, values that were chosen, what is proven, and the
record of it all.

The record is what is printed, written as ``record.json`` and logged.
"""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping, Sequence

import attrs

from arboretum.errors import ArboretumError, StoreError
from arboretum.model.front import Front
from arboretum.model.plain import Facts, Plain
from arboretum.model.reading import OBJECTS, document, plain, refuse_misfits
from arboretum.model.tree import Tree

SCHEMA = "arboretum.record/1"
UNFINISHED = "unfinished-"
"""What the fingerprint of a run begins with that somebody ended: it is not what its request stands
for, and no later run may take it for finished.
"""

_FORMS = {
    "config": dict,
    "seed": int,
    "versions": dict[str, str],
    "data": dict,
    "timings": dict[str, float],
    "metrics": dict[str, float | None],
    "solution": dict | None,
    "certificate": dict | None,
    "selections": dict,
    "verified": bool,
    "checked": dict,
    "fingerprint": str,
    "code": dict[str, str],
    "checksums": dict[str, str],
    "notes": list[str],
}
"""Field → type of what a file may hold, in the file's order."""
_LEFT_OUT = ("certificate", "selections", "checked", "code", "checksums")
"""Fields that a file need not have: what is empty is not written."""


RECOMPUTED = "by the objective"
"""In ``checked``: how a solution's value was computed again."""


class Status(enum.Enum):
    """What is proven about a solution's value."""

    optimal = "optimal"
    feasible = "feasible"
    infeasible = "infeasible"


class Checked(enum.Enum):
    """What is known about the value that a solution states: it was computed again from the tree,
    or it is the solver's word alone.
    """

    verified = "verified"
    claimed = "claimed"


@attrs.frozen(eq=False)
class Solution:
    """A tree with its value and a proven bound.

    value : the objective's value of ``tree``.
    lower_bound : no feasible tree is below it (proven).
    subproblems : number of subproblems looked at.
    finished : False when a budget cut the work short; the same request may give another tree next
        time.
    notes : what the user should know of it, a sentence each.
    details : more that was proven, in words of JSON (number of optimal trees as a decimal string,
        minima of further stages).
    others : further optimal trees, where they were asked for.
    curve : (seconds, lower bound, value) as they improved, for a solver that says so while it
        works; the value is ∞ before there is a tree.
    front : the trees between which a budget chooses, for a solver that was asked for them all;
        ``tree`` is the one of least error.
    checked : what verification says of the value; None before it, and in records of old that do not
        tell.  A solver leaves it alone.
    """

    tree: Tree | None
    value: float
    lower_bound: float
    status: Status
    subproblems: int = 0
    finished: bool = True
    notes: tuple[str, ...] = ()
    details: Plain = attrs.field(factory=dict)
    others: tuple[Tree, ...] = ()
    curve: tuple[tuple[float, float, float], ...] = ()
    front: Front | None = None
    checked: Checked | None = None

    @property
    def word(self) -> str:
        """The status, with " (claimed)" where nothing but the solver's word says so."""
        return f"{self.status.value}{' (claimed)' * (self.checked is Checked.claimed)}"

    @property
    def interrupted(self) -> KeyboardInterrupt | None:
        """What ended the search, Ctrl-C or (with its number) a signal: a solver returns its best
        tree then, and says ``interrupted`` among the details.  Who has more to do than to keep that
        tree raises it.
        """
        found = self.details.get("interrupted")
        return KeyboardInterrupt(*(found,) * (found is not True)) if found else None

    def unless_signalled(self) -> Solution:
        """Return itself; raises what ended its search where that was a signal, for whoever sends
        one leaves no time for more.
        """
        if (ended := self.interrupted) and ended.args:
            raise ended
        return self

    @property
    def gap(self) -> float:
        """``value − lower_bound`` (same unit as the objective), 0 when optimal."""
        return self.value - self.lower_bound

    def to_json(self) -> Facts:
        """Return the numbers, without the tree; one that is not known or not finite is None."""
        found = [name for name in ("checked", "details", "curve", "front") if getattr(self, name)]
        return {
            name: plain(getattr(self, name))
            for name in ("value", "lower_bound", "gap", "status", "subproblems", *found)
        }

    @staticmethod
    def from_json(data: Plain, tree: Tree | None = None) -> Solution:
        """Rebuild a solution around a tree; raises KeyError or ValueError when the mapping is not
        one.

        tree : None where only the numbers are loaded.
        """
        refuse_misfits(
            data,
            {
                "value": float | None,
                "lower_bound": float | None,
                "subproblems": int,
                "details": dict,
                "curve": list,
            },
        )
        value, bound = (_number_or(data[name], math.nan) for name in ("value", "lower_bound"))
        curve = tuple(
            (at, _number_or(low, -math.inf), _number_or(best, math.inf))
            for at, low, best in data.get("curve", ())
        )
        front = Front.from_json(data["front"]) if "front" in data else None
        status = Status(data["status"])
        checked = Checked(data["checked"]) if data.get("checked") else None
        return Solution(
            tree,
            value,
            bound,
            status,
            data["subproblems"],
            details=data.get("details", {}),
            curve=curve,
            front=front,
            checked=checked,
        )


REPORTED = 12  # tried values that a sentence names; the record holds all


@attrs.frozen(eq=False)
class Selection:
    """One choice of values.

    kept : field → the value kept; keys as on the command line ("criterion.lam").
    measure : by which the trials are compared on the validation rows ("roc_auc"), "" where nobody
        says.
    tried : what was tried, in order: (values, score), more being better, NaN where there was no
        tree to judge.
    notes : what the user should know of the choice, a sentence each.
    standard_errors : of the scores in ``tried``, where they are means; else empty.
    """

    kept: Plain
    measure: str = ""
    tried: Sequence[tuple[Plain, float]] = ()
    notes: tuple[str, ...] = ()
    standard_errors: Sequence[float] = ()

    @staticmethod
    def of(kept: Plain | Selection) -> Selection:
        """Return a selection, made of the kept values where nothing else is told."""
        return kept if isinstance(kept, Selection) else Selection(dict(kept))

    def sentence(self, who: str) -> str:
        """ "tuner descending keeps criterion.lam=1 (validation roc auc: 0.9500 at 10, 1.0000 at
        1)".
        """
        kept = (
            ", ".join(f"{key}={_typed(value)}" for key, value in self.kept.items())
            or "the values as given"
        )
        if not self.tried:
            return f"{who} keeps {kept}"
        trials = [
            f"{score:.4f} at {', '.join(map(_typed, values.values()))}"
            for values, score in self.tried[:REPORTED]
        ]
        more = f", and {len(self.tried) - REPORTED} more" if len(self.tried) > REPORTED else ""
        return (
            f"{who} keeps {kept} (validation {self.measure.replace('_', ' ')}: "
            f"{', '.join(trials)}{more})"
        )

    def numbers(self) -> dict[str, float]:
        """Kept numbers as metrics: "criterion.lam" → ``kept_lam`` (``kept_criterion_lam`` where
        two fields end alike).
        """
        ends = [key.rpartition(".")[2] for key in self.kept]
        names = {
            key: end if ends.count(end) == 1 else key.replace(".", "_")
            for key, end in zip(self.kept, ends, strict=True)
        }
        numbers = {
            key: value
            for key, value in self.kept.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        return {f"kept_{names[key]}": float(value) for key, value in numbers.items()}

    def to_json(self) -> Facts:
        """Return the choice in words of JSON; a score that is not defined is None."""
        trials: list[Facts] = [
            {"values": dict(values), "score": plain(score)} for values, score in self.tried
        ]
        for trial, error in zip(trials, self.standard_errors, strict=False):
            trial["standard_error"] = plain(error)
        return {"kept": dict(self.kept), "measure": self.measure, "tried": trials}

    @staticmethod
    def from_json(data: Plain) -> Selection:
        """Rebuild a choice (its notes are the record's); raises KeyError or TypeError when the
        mapping is none.
        """
        refuse_misfits(data, {"kept": dict, "measure": str, "tried": OBJECTS})
        for one in data["tried"]:
            number = float | None
            refuse_misfits(one, {"values": dict, "score": number, "standard_error": number})
        tried = [(one["values"], _number_or(one["score"], math.nan)) for one in data["tried"]]
        errors = [
            _number_or(one["standard_error"], math.nan)
            for one in data["tried"]
            if "standard_error" in one
        ]
        return Selection(data["kept"], data["measure"], tried, standard_errors=errors)


@attrs.frozen
class Certified:
    """One complexity of a tree, beside what is proven of all trees on the same objects and tests
    with the same leaf rule.

    value : of the run's tree.
    lower_bound : no such tree is below it (proven); ≥ 0 and ≤ ``best_known``.
    promised : factor of the minimum that the method's theorem says ``value`` does not exceed; None
        without one.
    best_known : the smallest value of such a tree that was found, the run's own included; the
        minimum when it equals ``lower_bound``.
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
        """Value ÷ lower bound: the exact ratio to the minimum where that is known, else one that
        the ratio cannot exceed.

        None where the bound is 0: no ratio is defined (minimum 0: a single leaf is such a tree), or
        none is bounded yet.
        """
        return self.value / self.lower_bound if self.lower_bound > 0 else None

    @property
    def ratio_is(self) -> str:
        """What ``ratio`` says: "exact", "at most", "undefined" (the minimum is 0), "unknown"
        (nothing above 0 is proven).
        """
        if self.lower_bound > 0:
            return "exact" if self.proven else "at most"
        return "undefined" if self.proven else "unknown"

    def cells(self) -> dict[str, str]:
        """Return how it reads in a table, aligned by hand: a bound is "≥ 3.2", a ratio that is one
        at most "≤ 1.4".
        """
        # three places: 1.000 is above 1, and only 1 is 1
        ratio = "–" if self.ratio is None else "1" if self.ratio == 1 else f"{self.ratio:.3f}"
        return {
            "this tree": _spell(self.value),
            "minimum": _spell(self.lower_bound) if self.proven else f"≥ {_spell(self.lower_bound)}",
            "ratio": f"≤ {ratio}" if self.ratio_is == "at most" else ratio,
            "promised": ""
            if self.promised is None
            else f"≤ {self.promised:,.0f}"
            if self.promised >= 100
            else f"≤ {self.promised:.3f}",
        }

    def to_json(self) -> Facts:
        """Return all numbers; ``minimum`` and ``ratio`` are None where they are not known."""
        names = ("value", "minimum", "lower_bound", "best_known", "ratio", "ratio_is")
        promised = {} if self.promised is None else {"promised": self.promised}
        return {
            **{name: getattr(self, name) for name in names},
            "status": "optimal" if self.proven else "feasible",
            **promised,
        }

    @staticmethod
    def from_json(data: Plain) -> Certified:
        """Rebuild it; raises KeyError, TypeError or ValueError when the mapping is none."""
        names = (
            "value",
            "lower_bound",
            "best_known",
            *["promised"] * (data.get("promised") is not None),
        )
        numbers = [float(data[name]) for name in names]
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"a certificate's numbers are finite; got {numbers}")
        return Certified(*numbers)


@attrs.frozen(eq=False)
class Certificate:
    """What is proven of a run's tree.

    certifier : name and fields of the solver that proved it.
    leaf_rule : the rule that all trees compared obey (min_split, theta, delta, min_objects, as in
        :class:`~arboretum.interfaces.stopping.LeafRule`).
    complexities : name → :class:`Certified`, in the order in which they are shown.
    """

    certifier: Plain
    leaf_rule: Plain
    complexities: Mapping[str, Certified]

    def rows(self) -> list[dict[str, str]]:
        """Return a table for readers: complexity, this tree, minimum, ratio, and what is promised
        of it, if anything is; every column but the first flush right.
        """
        table = [{"complexity": name, **found.cells()} for name, found in self.complexities.items()]
        kept = (
            [name for name in table[0] if name != "promised" or any(row[name] for row in table)]
            if table
            else []
        )
        width = {name: max(len(name), *(len(row[name]) for row in table)) for name in kept}
        return [
            {
                name: row[name] if name == "complexity" else row[name].rjust(width[name])
                for name in kept
            }
            for row in table
        ]

    def to_json(self) -> Facts:
        """Words of JSON, for ``record.json``."""
        return {
            name: plain(getattr(self, name)) for name in ("certifier", "leaf_rule", "complexities")
        }

    @staticmethod
    def from_json(data: Plain) -> Certificate:
        """Rebuild it; raises KeyError, TypeError, ValueError or AttributeError when the mapping
        is none.
        """
        rule = {"min_split": int, "min_objects": int, "theta": float, "delta": float | None}
        refuse_misfits(
            data,
            {
                "certifier": dict,
                "leaf_rule": dict,
                "complexities": dict[str, dict],  # type: ignore[type-arg]  # as messages show it
            },
        )
        refuse_misfits(data["leaf_rule"], rule)
        data["certifier"]["name"]  # every reader names it
        found = {name: Certified.from_json(one) for name, one in data["complexities"].items()}
        return Certificate(dict(data["certifier"]), dict(data["leaf_rule"]), found)


@attrs.frozen(eq=False, repr=False)
class Record:
    """Everything that is known after a run.  In a notebook it shows a small table and the tree.

    config : the composed configuration; ``config["choices"]`` holds the chosen names per group.
    versions : package → version, plugin → owner's distribution and version, git commit where there
        is one.
    data : name, sha256, n_rows, n_train, n_test (rows that judge), n_objects, n_tests, n_classes.
    timings : seconds (wall): load, encode, compile, fit, verify, and certify where it was asked
        for.
    metrics : flat name → number; NaN where a metric is not defined on the rows at hand.
    solution : what a solver proved (value, lower bound, status); None for a greedy method, which
        proves nothing.
    verified : the tree was replayed over its rows, and what is named in ``checked`` came out again.
    checked : what verification computed again → how much of it, or "not: " and the reason.
    tree : None where only the numbers were loaded.
    fingerprint : content hash of configuration, data and code version; equal fingerprints mean
        equal results.
    certificate : how far the tree is from the minimum (``certify=true``); None when not asked for,
        or not applicable.
    selections : "tuner", "pruner" → the values they kept and all they tried on the validation rows;
        empty without.
    checksums : "tree.json" → SHA-256 of the file that was written with the record; empty before
        anything is written.
    code : "arboretum" and each plugin that took part → content hash of its sources; empty where
        nobody knows.
    """

    config: Plain
    seed: int
    versions: Mapping[str, str]
    data: Plain
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
        names = (
            "n_nodes",
            "depth",
            *(f"{part}_{quality}" for part in ("train", "valid", "test")),
            "expected_cost",
        )
        return {name: self.metrics[name] for name in names if name in self.metrics}

    def __repr__(self) -> str:
        numbers = "".join(f"{name} {value:.4g}, " for name, value in self.highlights.items())
        return (
            f"Record({self.title or 'a run'}, seed {self.seed}: "
            f"{numbers}{'verified' if self.verified else 'not verified'})"
        )

    def to_json(self) -> str:
        """Return the record as JSON text, without the tree (``tree.json`` lies beside it)."""
        kept = [name for name in _FORMS if name not in _LEFT_OUT or getattr(self, name)]
        # a configuration keeps its infinities: Python reads them again
        data = {
            name: dict(self.config) if name == "config" else plain(getattr(self, name))
            for name in kept
        }
        return json.dumps({"schema": SCHEMA, **data}, ensure_ascii=False, indent=2)

    @staticmethod
    def from_json(text: str, tree: Tree | None = None) -> Record:
        """Rebuild a record; raises StoreError when the text is not one.

        tree : that lies beside it, None where only the numbers are loaded.
        """
        try:
            data = document(text, SCHEMA)
        except ValueError as error:
            raise StoreError(f"not a record: {error}; was the file cut short?") from None
        try:
            refuse_misfits(data, _FORMS)
            refuse_misfits(data["config"], {"choices": dict, "plugins": list[str]})
            for name in ("timings", "metrics"):
                if not all(value is None or math.isfinite(value) for value in data[name].values()):
                    raise ValueError(f"{name} must be finite")
            known = {name: data[name] for name in _FORMS if name in data or name not in _LEFT_OUT}
            known["metrics"] = {
                name: _number_or(value, math.nan) for name, value in data["metrics"].items()
            }
            known["selections"] = {
                who: Selection.from_json(one) for who, one in data.get("selections", {}).items()
            }
            if data["solution"] is not None:
                reported = data.get("checked", {}).get("value")  # all that older records say
                checked = reported and ("verified" if reported == RECOMPUTED else "claimed")
                known["solution"] = Solution.from_json(
                    {"checked": checked, **data["solution"]}, tree
                )
            if data.get("certificate") is not None:
                known["certificate"] = Certificate.from_json(data["certificate"])
            return Record(tree=tree, **{**known, "notes": tuple(data["notes"])})
        except (
            ArboretumError,
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
        ) as error:
            raise StoreError(
                f"not a record: {type(error).__name__}: {error}; was the file edited or cut short?"
            ) from None


def _number_or(number: float | None, unknown: float) -> float:
    """The number that JSON holds, ``unknown`` where it holds none."""
    return unknown if number is None else number


def _spell(number: float) -> str:
    """Whole numbers in full, others to four places (six digits where they are large)."""
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.4f}" if 1e-3 <= abs(number) < 1e4 else f"{number:.6g}"


def _typed(value: object) -> str:
    """Return a value as one types it: 100 for 100.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)
