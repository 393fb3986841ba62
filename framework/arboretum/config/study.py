"""A study: methods × data sets × encoders × prices × fractions × seeds × folds, in one YAML file.

Each axis names its values; a value is a mapping of overrides, or the name of an option.  The runs
are every combination; families of methods may be mixed, since each method brings its own keys.

    about: one line
    methods: {cart: {}, shallow: {method: cart, stopping.standard.max_depth: 3}, id3: {}}
    datasets: [iris, wine]
    prices: {unit: {}, drawn: {cost: random, cost.high: 5}}
    seeds: [1, 2]
    folds: 5
    all: {certify: true}
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from arboretum.errors import ConfigError, unknown
from arboretum.lab import Lab
from arboretum.model.plain import Facts, Plain

SUFFIX = ".yaml"
FOLDER = "study"
AXES = {
    "datasets": "dataset",
    "encoders": "encoder",
    "prices": "cost",
    "fractions": "train_fraction",
    "methods": "method",
    "seeds": "seed",
    "folds": "split.fold",
}
"""Axis → the key that an option's name stands for, in the order in which runs are done: those of a
data set one after another, the methods of one division side by side.
"""
OPTIONS = ("datasets", "encoders", "prices", "methods")
"""Axes whose values are overrides with a name of their own."""
TEXTS = ("about", "goal")
MAPPINGS = ("all", "compare", "budget", "tune")
INNER = "inner"
KEYS = (*TEXTS, *AXES, *MAPPINGS, INNER)
COMPARED = ("by", "measure", "control", "rope", "alpha", "test")
"""What ``compare`` may say: options of ``arboretum compare``."""


@attrs.frozen
class Lines:
    """Where things stand in a file.

    of : path of keys and places → line.
    """

    path: Path
    of: Mapping[tuple[object, ...], int]

    def fault(self, at: tuple[object, ...], rule: str) -> ConfigError:
        """Return the error of a place: with its line, or that of what it is in."""
        line = next((self.of[at[:n]] for n in range(len(at), 0, -1) if at[:n] in self.of), 1)
        return ConfigError(f"{self.path}, line {line}: {rule}")


@attrs.frozen
class Job:
    """One run of a study.

    names : axis → name of its value, of the axes with names.
    overrides : as on the command line.
    """

    names: Mapping[str, str]
    overrides: tuple[str, ...]


@attrs.frozen(eq=False)
class Study:
    """A study, as its file has it.

    name : of the file.
    axes : axis → (name of the value, its overrides), of those that the file has.
    every : overrides of every run.
    compare : option → value of ``arboretum compare``.
    """

    name: str
    about: str
    axes: Mapping[str, Sequence[tuple[str, Plain]]]
    every: Plain
    compare: Plain
    lines: Lines

    def explain(self, job: Job, error: ConfigError) -> ConfigError:
        """Return the error of a job's composition with the line of the file that brought it, as far
        as the words of the error tell.
        """
        said = str(error)
        fault = said.partition("known: ")[0]  # what else there is, is no fault

        def named(key: str, value: object) -> bool:
            """Whether the error speaks of an override."""
            quoted = (f"{part!r}" for part in (*key.split("."), str(value)))
            whole = re.search(rf"(?<![\w.]){re.escape(key)}(?![\w.])", fault)
            return whole is not None or any(word in fault for word in quoted)

        places: list[tuple[object, ...]] = []
        for axis, values in self.axes.items():
            for name, overrides in values:
                if job.names.get(AXES[axis], name) == name:
                    found = [key for key, value in overrides.items() if named(key, value)]
                    places += [
                        place for key in found for place in ((axis, name, key), (axis, name))
                    ]
        places += [place_of(key) for key, value in self.every.items() if named(key, value)]
        known = [place for place in places if place in self.lines.of]
        if not known:
            where = ", ".join(f"{axis} {name}" for axis, name in job.names.items())
            return ConfigError(f"{self.lines.path}: {said} ({where})")
        return self.lines.fault(max(known, key=len), said)

    def jobs(self) -> list[Job]:
        """Return every run, in the order of :data:`AXES`."""
        return list(self._list_jobs())

    def _list_jobs(self) -> Iterator[Job]:
        """Yield every run."""
        for chosen in itertools.product(*self.axes.values()):
            names = {
                AXES[axis]: name
                for axis, (name, _) in zip(self.axes, chosen, strict=True)
                if axis in OPTIONS
            }
            said = dict(self.every)
            for _, overrides in chosen:
                said |= overrides
            words = [spell_override(key, value) for key, value in said.items()]
            words += [spell_override("study", names)]
            yield Job(names, tuple(words))


def place_of(key: str) -> tuple[str, ...]:
    """Return the place in a file of what every run is told."""
    first, _, rest = key.partition(".")
    own = {"goal": ("goal",), "split.folds": ("folds",), "tuner.values": ("tune",)}
    return own.get(key) or ((first, rest) if first == "budget" else ("all", key))


def find_study(word: str, lab: Lab, ours: Sequence[Path]) -> Path:
    """Return the file of a study: one that is named, or of that name in the lab's ``study`` folder
    or in ours.  Raises ConfigError with the studies that are there.

    ours : folders of choices that come with Arboretum.
    """
    if word.endswith((SUFFIX, ".yml")) or "/" in word:
        path = Path(word).expanduser()
        if not path.is_file():
            raise ConfigError(f"there is no study file {word!r}")
        return path
    homes = [Path(home) / FOLDER for home in (*([lab.conf] if lab.conf else ()), *ours)]
    for home in homes:
        if (path := home / f"{word}{SUFFIX}").is_file():
            return path
    known = sorted({path.stem for home in homes for path in home.glob(f"*{SUFFIX}")})
    raise ConfigError(unknown("study", word, known) + "; or name a file: FILE.yaml")


def read_study(path: Path) -> Study:
    """Read a study's file.  Raises ConfigError naming file, line, rule and value, with the closest
    word where one is misspelt.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        lines = Lines(path, _lines_of(yaml.compose(text, yaml.SafeLoader), (), path))
        data = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error})") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from None
    return _Reader(lines).study(data)


def _lines_of(node: Any, at: tuple[object, ...], path: Path) -> dict[tuple[object, ...], int]:
    """Return the line of each key and item of a YAML node, by its path.  Raises ConfigError for a
    key that stands twice, of which YAML would take the last.
    """
    from yaml import MappingNode, ScalarNode, SequenceNode

    def line_of(part: Any) -> int:
        """Return the line that a part begins on, counted from 1."""
        return int(part.start_mark.line) + 1

    found: dict[tuple[object, ...], int] = {}
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if (before := found.get((*at, key.value))) is not None:
                raise ConfigError(
                    f"{path}, line {line_of(key)}: {key.value} stands in line {before}, too; say "
                    "each once"
                )
            found[(*at, key.value)] = line_of(key)
            found |= _lines_of(value, (*at, key.value), path)
    elif isinstance(node, SequenceNode):
        for i, value in enumerate(node.value):
            named = [value.value] if isinstance(value, ScalarNode) else []
            found |= dict.fromkeys([(*at, i), *((*at, name) for name in named)], line_of(value))
            found |= _lines_of(value, (*at, i), path)
    return found


@attrs.frozen
class _Reader:
    """Reads one file; every error names the line."""

    lines: Lines

    def fault(self, at: tuple[object, ...], rule: str) -> ConfigError:
        """Return the error of a place."""
        return self.lines.fault(at, rule)

    def study(self, data: object) -> Study:
        """Return the study that the file's content describes."""
        if not isinstance(data, dict):
            raise self.fault((), f"a study has the keys {', '.join(KEYS)}; got {data!r}")
        for key in data:
            if key not in KEYS:
                raise self.fault((key,), unknown("key of a study", str(key), KEYS))
        for key in ("methods", "datasets"):
            if key not in data:
                raise self.fault((), f"a study names its {key}: {key}: [NAME, NAME]")
        axes = {axis: self._axis(axis, data[axis]) for axis in AXES if axis in data}
        budget = {f"budget.{key}": value for key, value in self._mapping("budget", data).items()}
        parts: dict[str, Facts] = {
            "budget": budget,
            "goal": {"goal": str(data["goal"])} if "goal" in data else {},
            "folds": {"split.folds": len(axes["folds"])} if "folds" in data else {},
            "tune": self._tuning(data),
            **{axis: {AXES[axis]: values} for axis, values in axes.items() if axis != "folds"},
        }
        every = self._mapping("all", data)
        for part, said in parts.items():
            for key in every.keys() & said.keys():
                raise self.fault(
                    ("all", key), f"{key} is set by all and by {part}; one of them may"
                )
        for part in ("budget", "goal", "tune"):
            every |= parts[part]
        if "folds" in data:  # another split of that many folds may be said
            every = {"split": "kfold", **parts["folds"], **every}
        compare = self._mapping("compare", data)
        for key in compare:
            if key not in COMPARED:
                raise self.fault(("compare", key), unknown("option of compare", key, COMPARED))
        self._refuse_conflicts(axes, every)
        return Study(
            self.lines.path.stem,
            str(data.get("about", "")),
            axes,
            every,
            compare,
            self.lines,
        )

    def _mapping(self, key: str, data: Plain) -> Facts:
        """Return KEY → value of a part of the file, {} where it has none."""
        found = data.get(key) or {}
        if not isinstance(found, dict):
            raise self.fault((key,), f"{key} is KEY: VALUE, KEY: VALUE; got {found!r}")
        return {str(name): value for name, value in found.items()}

    def _axis(self, axis: str, value: object) -> list[tuple[str, Plain]]:
        """Return the values of an axis: name, overrides."""
        key = AXES[axis]
        for name in value if isinstance(value, dict | list) else ():
            if isinstance(name, bool) or name is None:
                raise self.fault(
                    (axis,), f"{axis}: YAML reads a name here as {name}; put it into quotes"
                )
        if axis in OPTIONS:
            items = value if isinstance(value, dict) else None
            if items is None and isinstance(value, list):
                items = {str(name): {} for name in value}
                self._refuse_twice(axis, [str(name) for name in value])
            if not items:
                raise self.fault(
                    (axis,), f"{axis} are names, or NAME: {{KEY: VALUE}}; got {value!r}"
                )
            return [
                (str(name), self._option(axis, key, name, said)) for name, said in items.items()
            ]
        numbers = self._numbers(axis, value)
        self._refuse_twice(axis, [str(number) for number in numbers])
        return [(str(number), {key: number}) for number in numbers]

    def _option(self, axis: str, kind: str, name: object, said: object) -> Facts:
        """Return the overrides of a value with a name; the name is an option's, unless they choose
        one.
        """
        if said is not None and not isinstance(said, dict):
            raise self.fault((axis, name), f"{name}: what it sets is KEY: VALUE; got {said!r}")
        found = {str(key): value for key, value in (said or {}).items()}
        return {kind: found.pop(kind, name), **found}

    def _numbers(self, axis: str, value: object) -> list[Any]:
        """Return the numbers of an axis: a list, or how many there are, counted from 0 (folds) or
        1 (seeds).
        """
        first = 0 if axis == "folds" else 1
        if type(value) is int and value > 0 and axis != "fractions":
            return list(range(first, first + value))
        kinds = (int, float) if axis == "fractions" else (int,)
        numbers = value if isinstance(value, list) else [value]
        none = type(value) is int and axis == "seeds"  # 0, or fewer
        if axis == "folds" or none or not numbers or any(type(one) not in kinds for one in numbers):
            words = {
                "folds": "how many there are",
                "fractions": "a list of shares, [.1, .3, 1]",
                "seeds": "how many there are (1 and more), or a list of them",
            }
            raise self.fault((axis,), f"{axis} must be {words[axis]}; got {value!r}")
        return numbers

    def _refuse_twice(self, axis: str, names: Sequence[str]) -> None:
        """Raise ConfigError where a name stands twice: its runs would weigh double."""
        for i, name in enumerate(names):
            if name in names[:i]:
                raise self.fault((axis, i), f"{axis} name {name} twice; say each once")

    def _tuning(self, data: Plain) -> Facts:
        """Return the overrides of tuning within training folds."""
        tune, inner = self._mapping("tune", data), data.get(INNER)
        if inner is None and not tune:
            return {}
        found = re.fullmatch(r"(?:kfold )?(\d+)", str(inner))
        if found is None or int(found[1]) < 2:
            raise self.fault(
                (INNER,), f"{INNER} is how many folds a tuner judges on, kfold 3; got {inner!r}"
            )
        if not tune:
            raise self.fault(
                (INNER,), f"{INNER} says on what tuning is judged; say tune: {{KEY: [A, B]}}, too"
            )
        return {"tuner": "grid", "tuner.inner": int(found[1]), "tuner.values": tune}

    def _refuse_conflicts(
        self, axes: Mapping[str, Sequence[tuple[str, Plain]]], every: Plain
    ) -> None:
        """Raise ConfigError where two axes set one key, or two values of one do the same."""
        owners: dict[str, str] = {}
        for axis, values in axes.items():
            for name, overrides in values:
                for key in overrides:
                    if owners.setdefault(key, axis) != axis:
                        raise self.fault(
                            (axis, name, key),
                            f"{key} is set by {owners[key]} and by {axis}; one of them may",
                        )
            for i, (name, overrides) in enumerate(values):
                same = next((other for other, more in values[:i] if more == overrides), None)
                if same is not None:
                    raise self.fault(
                        (axis, name), f"{axis} {same} and {name} are the same runs; say each once"
                    )


def spell_override(key: str, value: object) -> str:
    """Return an override as Hydra reads it."""
    return f"{key}={_spell(value)}"


def _spell(value: object) -> str:
    """Return a value in Hydra's language."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_spell_text(str(k))}:{_spell(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_spell, value)) + "]"
    return _spell_text(value) if isinstance(value, str) else str(value)


def _spell_text(text: str) -> str:
    """Return a text, in quotes where its characters ask for them."""
    if re.fullmatch(r"[A-Za-z_][\w.-]*", text) and text not in ("null", "true", "false"):
        return text
    if "${" in text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
