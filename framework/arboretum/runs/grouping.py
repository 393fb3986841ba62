"""Runs as a table of methods × data sets × blocks: what is compared, what repeats it, what else
varies and is averaged or in the way.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
import numpy as np

from arboretum.errors import ConfigError, DataError, unknown
from arboretum.model.record import Record
from arboretum.model.scores import Repeats
from arboretum.runs.gather import Failed
from arboretum.runs.listing import ANY_TABLE
from arboretum.runs.sweeps import flatten, short_names, spell_choice

METHOD, DATASET = "method", "dataset"
BLOCKED = ("seed", "split.fold")
"""Keys that repeat a run."""
UNASKED = frozenset(
    {
        "seed",
        "study",
        "tracker",
        "plugins",
        "goal",
        "skip_finished",
        "certify",
        "certifier",
        "rows",
    }
)
"""Keys, or groups, that do not say what a run computes: where rows lie changes no tree."""
CHOICES = "choices."
SHOWN = 4  # names that a sentence lists

Block = tuple[int, object, str]
"""Seed, fold, and how the rows were split, on which methods are paired."""


def data_set_of(record: Record) -> str:
    """The data set's option, or the table's own name where the option says only where it comes
    from.
    """
    if named := (record.config.get("study") or {}).get("dataset"):
        return str(named)
    chosen = str(record.config.get("choices", {}).get("dataset", ""))
    name = str(record.data.get("name", chosen))
    return name if chosen in ANY_TABLE else chosen or name


def asked_of(record: Record) -> dict[str, object]:
    """Return key → value of all that a run was asked for, as on the command line: choices of
    groups by the group's name, fields with dots.
    """
    # a record that is older than these settings learned everything from all training rows
    flat = {"train_fraction": 1.0, "honest": 0.0, **dict(flatten(record.config))}
    chosen = {key.removeprefix(CHOICES): flat.pop(key) for key in list(flat) if key[:8] == CHOICES}
    named = record.config.get("study") or {}
    return {
        key: value
        for key, value in {**flat, **chosen, **named}.items()
        if key.partition(".")[0] not in UNASKED and key.partition(".")[2] != "name"
    }


@attrs.frozen(eq=False)
class Grouping:
    """Runs by method, data set and block.

    by : the keys whose values name the methods.
    cells : (data set, method) → block → what else was averaged over, as text → run.
    averaged : keys that vary besides, with the values that every method has; runs of others are
        left out.
    shares : data set → rows that judge ÷ all rows; NaN where the runs do not say.
    notes : sentences on what a reader must know of the runs.
    """

    by: tuple[str, ...]
    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    cells: Mapping[tuple[str, str], Mapping[Block, Mapping[str, Record]]]
    averaged: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(records: Sequence[Record], by: Sequence[str] = (METHOD,)) -> Grouping:
        """Group runs.

        by : keys, such as ``method`` or ``stopping.standard.max_depth``.
        Raises ConfigError for a key that no run has, that is a block, or where something else
        varies that not every method has alike: the way out is to name it in ``by``.
        """
        asked = [asked_of(record) for record in records]
        _refuse_keys(by, asked)
        labels = _labels(asked, by)
        datasets, notes = _name_data_sets(records)
        places = list(zip(datasets, labels, strict=True))
        others = _varying_within(places, asked, by)
        averaged = _shared_values(others, labels, asked, by)
        left_out: Counter[str] = Counter()
        cells: dict[tuple[str, str], dict[Block, dict[str, Record]]] = {}
        twice = 0
        for place, record, one in zip(places, records, asked, strict=True):
            if alone := [k for k in others if spell_choice(one.get(k)) not in averaged[k]]:
                left_out[alone[0]] += 1
                continue
            kept = cells.setdefault(place, {}).setdefault(_block_of(record, one, others), {})
            also = ", ".join(spell_choice(one.get(key)) for key in others)
            twice += also in kept
            kept[also] = record
        if twice:
            notes.append(
                f"{twice} {'run is' if twice == 1 else 'runs are'} there more than once (the same "
                "method, data set, seed and fold): the last one counts."
            )
        notes += [
            f"{key} varies, and not every method has all of its values: means are over those that "
            f"all have ({', '.join(averaged[key])}), {n} {'run is' if n == 1 else 'runs are'} left "
            f"out; --by {','.join((*by, key))} tells them apart."
            for key, n in sorted(left_out.items())
        ]
        return Grouping(
            tuple(by),
            tuple(dict.fromkeys(sorted(labels, key=_order_of))),
            tuple(sorted(set(datasets), key=_order_of)),
            cells,
            averaged,
            _test_shares(records, datasets),
            tuple(notes),
        )

    @property
    def records(self) -> list[Record]:
        """The runs that count."""
        return [
            record
            for cell in self.cells.values()
            for one in cell.values()
            for record in one.values()
        ]

    def runs(self, dataset: str, method: str) -> list[tuple[Block, Record]]:
        """The runs of a method on a data set, with their blocks."""
        cell = self.cells.get((dataset, method), {})
        return [(block, record) for block, one in cell.items() for record in one.values()]

    def repeats(
        self,
        words: str,
        value: Callable[[Record], float | None],
        *,
        higher_is_better: bool = False,
    ) -> Repeats:
        """Return the values of a measure, those of a block averaged over what else varies.

        words : the measure's name as shown.
        value : of a run; None or NaN where it has none.

        A block that lacks one of what is averaged has none.

        Data sets without any value are left out.
        Raises DataError where no run has a value.
        """
        wanted = math.prod(len(values) for values in self.averaged.values())
        names, blocks, values, shares = [], [], [], []
        for dataset in self.datasets:
            here = sorted(
                {
                    block
                    for method in self.methods
                    for block in self.cells.get((dataset, method), {})
                },
                key=repr,
            )
            found = np.full((len(here), len(self.methods)), np.nan)
            for m, method in enumerate(self.methods):
                cell = self.cells.get((dataset, method), {})
                for b, block in enumerate(here):
                    known = [value(record) for record in cell.get(block, {}).values()]
                    numbers = [math.nan if one is None else one for one in known]
                    if numbers and len(numbers) >= wanted:
                        found[b, m] = math.fsum(numbers) / len(numbers)
            if np.isnan(found).all():
                continue
            names.append(dataset)
            blocks.append(_name_blocks(here))
            values.append(found)
            shares.append(self.shares[dataset])
        if not names:
            raise DataError(f"no run has {words}")
        with_any = [
            m for m in range(len(self.methods)) if not all(np.isnan(v[:, m]).all() for v in values)
        ]
        return Repeats(
            words,
            [self.methods[m] for m in with_any],
            names,
            blocks,
            [one[:, with_any] for one in values],
            higher_is_better,
            shares,
        )

    def missing(self, failed: Iterable[Failed] = ()) -> list[dict[str, str]]:
        """Return data set, method and reason of what has no run, and of what lacks blocks that
        others of the data set have.

        failed : jobs that may explain it.
        """
        failed = list(failed)
        rows = []
        for dataset in self.datasets:
            present = {m: self.cells.get((dataset, m), {}) for m in self.methods}
            every = set().union(*present.values())
            for method, cell in present.items():
                lacking = len(every) - len(cell)
                if not lacking:
                    continue
                what = "no run" if not cell else f"{lacking} of {len(every)} blocks have no run"
                why = [one for one in failed if self._may_be(one, dataset, method)]
                reason = f"{what}: {why[0].reason} ({why[0].where})" if why else what
                rows.append({"data set": dataset, "method": method, "reason": reason})
        return rows

    def _may_be(self, failed: Failed, dataset: str, method: str) -> bool:
        """Whether a failed job was a run of a method on a data set, by all that it says."""
        wanted = dict(zip(self.by, method.split(" "), strict=False)) | {DATASET: dataset}
        said = {key: value for key, value in failed.asked.items() if key in wanted}
        if not said.keys() >= {DATASET} or not set(self.by) & said.keys():
            return False
        return all(wanted[key].rpartition("=")[2] == value for key, value in said.items())


def _refuse_keys(by: Sequence[str], asked: Sequence[Mapping[str, object]]) -> None:
    """Raise ConfigError for a key that cannot name methods."""
    known = {key for one in asked for key in one}
    for key in by:
        if key == DATASET or key in BLOCKED:
            raise ConfigError(
                f"--by {key}: methods are compared on data sets, and repeated over seeds and "
                "folds; name what is compared, such as method or criterion"
            )
        if key not in known:
            raise ConfigError(f"--by {key}: {unknown('key of these runs', key, known)}")


def _labels(asked: Sequence[Mapping[str, object]], by: Sequence[str]) -> list[str]:
    """Return the method of each run: "cart", or "cart max_depth=4" of several keys."""
    short = short_names(by)
    return [
        " ".join(
            spell_choice(one.get(key))
            if key == METHOD or len(by) == 1
            else f"{short[key]}={spell_choice(one.get(key))}"
            for key in by
        )
        for one in asked
    ]


def _order_of(label: str) -> tuple[object, ...]:
    """What names are ordered by: numbers by their size, those within words, too."""
    parts: list[tuple[object, ...]] = []
    for word in label.replace("=", " ").split():
        try:
            parts.append((0, float(word)))
        except ValueError:
            pieces = re.split(r"(\d+)", word)
            parts.append((1, *(int(p) if p.isdecimal() else p for p in pieces)))
    return tuple(parts)


def _name_data_sets(records: Sequence[Record]) -> tuple[list[str], list[str]]:
    """Return the data set of each run, and notes: one name for one content, unless every seed
    draws another.
    """
    names = [data_set_of(record) for record in records]
    contents: dict[str, set[str]] = {}
    seeds: dict[str, set[int]] = {}
    drawn: dict[str, set[tuple[int, str]]] = {}
    for name, record in zip(names, records, strict=True):
        content = str(record.data.get("sha256", ""))
        contents.setdefault(name, set()).add(content)
        seeds.setdefault(name, set()).add(record.seed)
        drawn.setdefault(name, set()).add((record.seed, content))
    several = sorted(name for name, found in contents.items() if len(found) > 1)
    anew = [n for n in several if len(contents[n]) == len(seeds[n]) == len(drawn[n])]
    mixed = [name for name in several if name not in anew]
    notes = [f"{name} is drawn anew from every seed: its blocks are other rows." for name in anew]
    notes += [
        f"{name} has {len(contents[name])} contents: each counts as a data set, by the first "
        "digits of its checksum."
        for name in mixed
    ]
    return [
        f"{name}@{str(record.data.get('sha256', ''))[:6]}" if name in mixed else name
        for name, record in zip(names, records, strict=True)
    ], notes


def _varying_within(
    places: Sequence[tuple[str, str]],
    asked: Sequence[Mapping[str, object]],
    by: Sequence[str],
) -> tuple[str, ...]:
    """Return the keys that differ between runs of one method on one data set, besides blocks; not
    the fields of a component that differs.
    """
    seen: dict[tuple[tuple[str, str], str], str] = {}
    varying: set[str] = set()
    keys = {key for one in asked for key in one} - {*by, DATASET, *BLOCKED}
    for place, one in zip(places, asked, strict=True):
        for key in keys & one.keys() - varying:  # older records lack keys that came later
            said = repr(one[key])
            if seen.setdefault((place, key), said) != said:
                varying.add(key)
    return tuple(
        sorted(
            key for key in varying if (head := key.partition(".")[0]) == key or head not in varying
        )
    )


def _shared_values(
    others: Sequence[str],
    labels: Sequence[str],
    asked: Sequence[Mapping[str, object]],
    by: Sequence[str],
) -> dict[str, tuple[str, ...]]:
    """Return of each key that varies besides the values that every method has.  Raises ConfigError
    where there is none.
    """
    shared = {}
    for key in others:
        found: dict[str, set[str]] = {}
        for label, one in zip(labels, asked, strict=True):
            found.setdefault(label, set()).add(spell_choice(one.get(key)))
        common = set.intersection(*found.values())
        if not common:
            first, second = next((a, b) for a in found for b in found if found[a] != found[b])
            shown = "; ".join(
                f"{name}: {', '.join(sorted(found[name])[:SHOWN])}" for name in (first, second)
            )
            raise ConfigError(
                f"{key} varies, and the methods have no value in common ({shown}), so no mean over "
                f"it is fair; say --by {','.join((*by, key))}, or name runs that have one value"
            )
        shared[key] = tuple(sorted(common, key=_order_of))
    return shared


def _block_of(record: Record, asked: Mapping[str, object], others: Sequence[str]) -> Block:
    """Return seed, fold, and how the rows were split, but for what is averaged over."""
    split = {
        key: value
        for key, value in asked.items()
        if key.partition(".")[0] == "split" and key not in (*BLOCKED, *others)
    }
    return record.seed, asked.get("split.fold"), repr(sorted(split.items(), key=repr))


def _name_blocks(blocks: Sequence[Block]) -> list[str]:
    """Return "seed 1, fold 2" for each; where rows were split in several ways, the way's number."""
    ways = list(dict.fromkeys(split for _, _, split in blocks))
    return [
        f"seed {seed}"
        + ("" if fold is None else f", fold {fold}")
        + (f", split {ways.index(split) + 1}" if len(ways) > 1 else "")
        for seed, fold, split in blocks
    ]


def _test_shares(records: Sequence[Record], datasets: Sequence[str]) -> dict[str, float]:
    """Return the mean share of rows that judge of each data set; NaN where a run does not say."""
    found: dict[str, list[float]] = {}
    for record, dataset in zip(records, datasets, strict=True):
        found.setdefault(dataset, []).append(share_that_judges(record))
    return {dataset: math.fsum(shares) / len(shares) for dataset, shares in found.items()}


def share_that_judges(record: Record) -> float:
    """Return rows that judge ÷ all rows of a run: as counted, in older records as its split was
    asked for; NaN where it does not say.
    """
    n_test, n_rows = record.data.get("n_test"), record.data.get("n_rows")
    if isinstance(n_test, int) and isinstance(n_rows, int) and n_rows > 0:
        return n_test / n_rows
    split = record.config.get("split") or {}
    if isinstance(folds := split.get("folds"), int) and folds > 1:
        return 1 / folds
    share = split.get("test")
    return float(share) if isinstance(share, int | float) else math.nan
