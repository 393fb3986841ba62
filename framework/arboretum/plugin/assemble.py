"""From choices to components, without Hydra: what estimators, studies, bulk experiments and the
config resolver share.

``choices`` says which option each group takes; ``values`` says which fields differ from their
defaults.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from arboretum.errors import ConfigError, unknown
from arboretum.interfaces.complexity import Complexity
from arboretum.interfaces.component import KINDS, MANY
from arboretum.interfaces.method import Parts
from arboretum.interfaces.objective import Shape, certified_by_value, minimised, shape_of
from arboretum.interfaces.solver import Solver
from arboretum.interfaces.tracker import Tracker
from arboretum.lab import Lab, current
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import Record
from arboretum.model.tree import Tree
from arboretum.plugin.build import build, fields_of, followers
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE, Entry, Owner, Registry, check_component, plugin_files

DEFAULT_CHOICES: Mapping[str, str | tuple[str, ...]] = {
    "dataset": "",
    "split": "holdout",
    "encoder": "auto",
    "predicate": (),
    "impurity": "auto",
    "coverage": (),
    "criterion": "reduction",
    "stopping": ("standard",),
    "missing": "better_side",
    "cost": "unit",
    "complexity": NONE,
    "objective": NONE,
    "solver": NONE,
    "pruner": NONE,
    "tuner": NONE,
    "rows": "memory",
    "tracker": "mlflow",
    "method": "cart",
}
"""Option of each group when nobody chooses; ``method`` comes last so that its preset can select
the others.
"""


def expand(registry: Registry, choices: Plain) -> Facts:
    """Fill in defaults and presets: group → option (tuple of options for ``stopping``,
    ``coverage``, ``predicate``).

    What is chosen explicitly wins over what a preset selects, which wins over the default.
    Raises ConfigError on an unknown group or option.
    """
    for group in choices:
        if group not in KINDS:
            raise ConfigError(unknown("group", group, KINDS))
    method = choices.get("method", DEFAULT_CHOICES["method"])
    preset = registry.find_preset("method", method) if isinstance(method, str) else None
    result: Facts = {**DEFAULT_CHOICES, **(preset.select if preset else {}), **choices}
    result["method"] = preset.recipe if preset else method
    for group in MANY:
        one = isinstance(value := result[group], str) or not isinstance(value, Sequence)
        result[group] = () if value in (NONE, None, "") else (value,) if one else tuple(value)
    return result


def assemble(
    registry: Registry,
    choices: Plain,
    values: Plain | Sequence[str] = (),
    *,
    without: Sequence[str] = (),
) -> Parts:
    """Build the components of a run.  Raises ConfigError naming field, rule and value.

    choices : group → option, or a component itself.
    values : "criterion.lam" → 10, or a list ["criterion.lam=10"]; a bare group name ("criterion")
        chooses an option.
    without : groups to leave empty.
    """
    choices, fields, shared = split_values(choices, values)
    chosen = expand(registry, choices)
    parts: Facts = {}
    for group in KINDS:
        option = chosen[group]
        wanted = fields.pop(group, {})
        if group in without or option in (NONE, "", None):
            continue
        if group not in MANY:
            parts[group] = _build_component(registry, group, option, wanted, shared)
            continue
        names = [getattr(each, "name", each) for each in option]
        parts[group] = tuple(
            _build_component(registry, group, each, wanted.get(name, {}), shared)
            for each, name in zip(option, names, strict=False)
        )
        if lost := [key for key in wanted if key not in names]:
            own = ", ".join(
                f"{group}__{part.name}__{field}"
                for part in parts[group]
                for field in fields_of(part.__class__)
            )
            raise ConfigError(f"{unknown(f'{group} rule', lost[0], names)}; say {own or group}")
    rows = {
        key: shared[key] for key in ("class_weight", "train_fraction", "honest") if key in shared
    }
    return Parts(**parts, **rows)


def _build_component(
    registry: Registry,
    group: str,
    option: object,
    values: Plain,
    shared: Plain,
) -> Any:
    """Return the component that an option names, with these values of its fields; where the option
    is a component, a copy of it with them, after the checks that a plugin's component passes.

    shared : values of parameters that several components take, by their name.
    Raises ConfigError where the option is neither, or of another kind.
    """
    if isinstance(option, str):
        return build(registry.get(group, option), values, shared)
    cls, owner = type(option), Owner("(given)")
    if not attrs.has(cls) or (kind := getattr(cls, "kind", group)) != group:
        what = f"a {kind}" if attrs.has(cls) else repr(option)
        raise ConfigError(
            f"{group} must be a name (arboretum plugins {group} lists them) or a component "
            f"of that kind; got {what}"
        )
    own = {name: getattr(option, field.name) for name, field in fields_of(cls).items()}
    return build(Entry(*check_component(cls, owner), cls, owner), {**own, **values})


def certifier_of(
    registry: Registry,
    parts: Parts,
    name: str | None = None,
    shared: Plain | None = None,
) -> Solver | None:
    """The solver that certifies a run (one with ``minima``, or ``least`` where an objective or
    limits ask for it); None: there is none.

    name : whom to take; by default the run's own solver if it can, else the first by name that can,
        of those that minimise its kind of objective.
    shared : top-level values that its fields follow.

    Raises ConfigError when the solver of that name is unknown or cannot.
    """
    ways = ("least", "minima") if certified_by_value(parts) else ("minima", "least")
    own = parts.solver
    if (own is not None and any(hasattr(own, way) for way in ways)) and (
        name == own.name or (name is None and _fits(type(own), ways[0], parts))
    ):
        return own
    able = {
        entry.name: entry
        for way in ways
        for entry in registry.entries("solver")
        if hasattr(entry.cls, way)
    }
    if name is None:
        fit = sorted(
            (one for one in able.values() if _fits(one.cls, ways[0], parts)),
            key=lambda one: ways[0] == "least" and _distance(one.cls, parts),
        )
        return build((fit or list(able.values()))[0], {}, shared) if able else None
    if name not in able:
        cannot = f"solver {name} proves no minima; " if name in registry.names("solver") else ""
        raise ConfigError(f"certifier: {cannot}" + unknown("certifier", name, able))
    named: Solver = build(able[name], {}, shared)
    return named


def _fits(cls: type, way: str, parts: Parts) -> bool:
    """Whether a class of solvers knows all that the run's certificate is about, as far as it
    says what it knows.
    """
    if way == "minima":
        return not hasattr(cls, "certifies")
    return _distance(cls, parts) >= 0 and set(parts.limits().certified.given) <= {
        *getattr(cls, "limits", ())
    }


def _distance(cls: type, parts: Parts) -> int:
    """How far a class of solvers is from the run's kind of objective, 0 where it is made for it,
    more where it says nothing; −1 for another kind.
    """
    # without one it is the training error, where that is certified
    shape = shape_of(parts.objective) or Shape.additive
    if not hasattr(cls, "minimises"):
        return len(shape.cases)
    found = minimised(shape, cls)
    return -1 if found is None else shape.cases.index(found)


def certified_complexities(
    registry: Registry, parts: Parts, shared: Plain | None = None
) -> tuple[Complexity, ...]:
    """Every installed complexity, by name; the run's own as the run has it."""
    own = parts.complexity
    built = (build(entry, {}, shared) for entry in registry.entries("complexity"))
    return tuple(own if own is not None and own.name == found.name else found for found in built)


def tracker_of(
    registry: Registry, name: str | None = "", fields: Plain | None = None
) -> Tracker | None:
    """The tracker of a name, by default the lab's, else the usual one; None for none.  Its
    fields: the lab's, then those given.
    """
    lab = current()
    said = json.loads(lab.defaults)
    usual = said.get("tracker", DEFAULT_CHOICES["tracker"])
    chosen = usual if name == "" else name
    if chosen in (NONE, None):
        return None
    entry = registry.get("tracker", str(chosen))
    own = {"uri": lab.store} if lab.store and "uri" in fields_of(entry.cls) else {}
    own |= {
        key.removeprefix("tracker."): value
        for key, value in said.items()
        if key.startswith("tracker.")
    }
    tracker: Tracker = build(entry, {**(own if chosen == usual else {}), **(fields or {})})
    return tracker


def split_values(choices: Plain, values: Plain | Sequence[str]) -> tuple[Facts, Facts, Facts]:
    """Sort overrides into (choices, nested fields per group, shared top-level values such as
    theta), a group's fields by their name, or by rule and name where a run may hold several.

    Raises ConfigError for an unknown group, and for a field that does not name its rule.
    """
    chosen: Facts = dict(choices)
    fields: Facts = {}
    shared: Facts = {}
    for key, value in as_mapping(values).items():
        group, *rest = key.split(".")
        if not rest:
            (chosen if group in KINDS else shared)[group] = value
            continue
        if group not in KINDS:
            raise ConfigError(unknown("group", group, KINDS))
        if group in MANY and len(rest) < 2:
            raise ConfigError(
                f"{key} must name the rule: {group}.RULE.{rest[0]} (for example "
                f"{group}.standard.{rest[0]})"
            )
        where = fields.setdefault(group, {})
        where = where.setdefault(rest.pop(0), {}) if group in MANY else where
        where[".".join(rest)] = value
    return chosen, fields, shared


def read_assignment(text: str) -> tuple[str, object]:
    """Key and value of an override as the command line takes it; raises ConfigError for what is
    none.
    """
    import yaml

    key, sign, value = text.partition("=")
    if not sign:
        raise ConfigError(f"cannot read override {text!r}; expected KEY=VALUE")
    try:
        return key.strip().lstrip("+"), yaml.safe_load(value) if value else ""
    except yaml.YAMLError as error:
        way = "'…'" if value[:1] != "{" else "{name: '…'}"
        raise ConfigError(
            f"cannot read override {text!r}: some of its characters have a meaning of their own; "
            f"quote them: {key}={way}"
        ) from error


class RegistryFactory:
    """The :class:`~arboretum.interfaces.reproduction.Services` of a registry."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def component(self, kind: str, name: str, values: Plain | None = None) -> Any:
        """Build an installed component.  Raises ConfigError."""
        return build(self.registry.get(kind, name), values or {})

    def parts(self, choices: Plain, values: Plain | Sequence[str] = ()) -> Parts:
        """Put together the parts of a run; nobody keeps its record.  Raises ConfigError."""
        return assemble(self.registry, choices, values, without=("tracker",))

    def run(
        self,
        choices: Plain,
        values: Plain | Sequence[str] = (),
        seed: int = 0,
    ) -> Record:
        """Do one run, verified, and return its record with its tree; nobody keeps it.  Raises
        ArboretumError.
        """
        from arboretum.engine.in_parts import run_request
        from arboretum.engine.run import Request

        return run_request(Request(parts=self.parts(choices, values), seed=seed))


def exported(
    tree: Tree, form: str, path: str | PathLike[str] | None = None, **fields: object
) -> str | bytes:
    """A tree in an installed form, written to ``path``, too, if there is one.

    form : name of the export.
    fields : of the form.   Raises ConfigError where no plugin brings it, OSError.
    """
    written: str | bytes = build(_registry((), lab=current()).get("export", form), fields).write(
        tree
    )
    if path is not None:
        Path(path).write_bytes(written if isinstance(written, bytes) else written.encode())
    return written


_ELSEWHERE: Mapping[str, str] = {
    "dataset": "rows are given to fit",
    "split": (
        "fit learns from every row it is given; hold rows out with train_test_split or "
        "cross_val_score"
    ),
    "tracker": "an estimator records nothing; arboretum.run does",
    "seed": "give random_state=…",
    "budget": "give budget.seconds or budget.memory_mb",
    "goal": "say what to optimise by scoring=… of GridSearchCV, or use arboretum.run",
    "class_weight": "give class_weight=… itself",
    "train_fraction": "give fit the rows that teach",
    "honest": "give honest=… itself",
    "certify": "only arboretum.run compares with the proven minimum",
    "certifier": "only arboretum.run compares with the proven minimum",
    "skip_finished": "an estimator records nothing; arboretum.run does",
}
"""Keys of a run that an estimator does not take, and what to do instead."""
UNUSED = ("dataset", "split", "rows", "tracker")
"""Groups an estimator has no use for: rows are given, all of them train, and nothing is
recorded.
"""

_registry = functools.cache(load_registry)
"""The plugins, found once per process and files: an ensemble of a thousand trees must not look a
thousand times.
"""


def assembled(overrides: Plain) -> Parts:
    """The components of an estimator, kept by their JSON text: they are frozen, and an ensemble
    asks for the same ones often.

    overrides : group → option (its name, or a component), "group.field" → value, "plugins" → files.
    """
    try:
        text = json.dumps(overrides)
    except (TypeError, ValueError):
        # a value that JSON does not know, such as a component or an enum
        return _assemble_overrides(overrides, current())
    return _assembled_from(text, current())


_assembled_from = functools.lru_cache(maxsize=64)(
    lambda text, lab: _assemble_overrides(json.loads(text), lab)
)


def _assemble_overrides(overrides: Plain, lab: Lab) -> Parts:
    """Return the parts that an estimator's overrides choose; raises ConfigError for a key that
    would have no effect.
    """
    values = {key: value for key, value in overrides.items() if key != "plugins"}
    files = overrides.get("plugins")
    # a single path is a list of one
    files = () if files is None else [files] if isinstance(files, str | PathLike) else files
    if not isinstance(files, Sequence) or not all(
        isinstance(file, str | PathLike) for file in files
    ):
        raise ConfigError(
            f"plugins must be a list of files such as ['my_criterion.py']; got {files!r}"
        )
    registry = _registry(plugin_files(files), lab=lab)
    shared = {name for entry in registry.entries() for name in followers(entry.cls).values()}
    for key in values:  # one that would have no effect
        first, dot, _ = key.partition(".")
        if first in _ELSEWHERE:
            raise ConfigError(
                f"an estimator takes no {key!r} among its overrides: {_ELSEWHERE[first]}"
            )
        if not dot and first not in {*KINDS, *shared}:
            raise ConfigError(unknown("override", key, [*KINDS, *sorted(shared), "plugins"]))
    return assemble(registry, {}, values, without=UNUSED)


def as_mapping(overrides: Plain | Sequence[str] | None) -> Plain:
    """Facts by key, however they were written, none for None; raises ConfigError for what is
    neither a mapping nor a list of texts.
    """
    if isinstance(overrides, Mapping):
        return overrides
    if isinstance(overrides, str) or not isinstance(overrides, Sequence | None):
        raise ConfigError(
            "overrides must be a mapping such as {'criterion.lam': 10} or a list of "
            f"texts; got {overrides!r}"
        )
    return dict(map(read_assignment, overrides or ()))
