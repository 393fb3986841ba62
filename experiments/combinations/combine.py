"""Random combinations of all components on tiny tables: every one is verified, or refused by name
before growth.

    python experiments/combinations/combine.py [--number 10000] [--minutes 60] [--seed 0]
        [--only NUMBER …] [--write]

Prints how many combinations ended how, and what reproduces those that should not have ended so;
with ``--write`` also ``counts.csv`` beside itself.  A combination is drawn from the seed and its
number alone, so one can be repeated by itself (``--only``).  The programs of others (``peer_…``)
are left out: they run outside of this process.
"""

from __future__ import annotations

import argparse
import csv
import enum
import signal
import sys
import time
import traceback
import types
import typing
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numba.core.event import register

from arboretum.api import (
    ArboretumError,
    BudgetError,
    CapabilityError,
    Column,
    ColumnKind,
    ConfigError,
    DataError,
    Table,
    Target,
    Task,
    VerificationError,
)
from arboretum.engine.run import Request, run
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.component import KINDS, MANY
from arboretum.kernels.jit import CompileClock
from arboretum.plugin.assemble import assemble, certified_complexities, certifier_of
from arboretum.plugin.build import field_types, fields_of
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry

SECONDS = 2.0  # a solver's budget; what it cuts short is verified all the same
# seconds after which a combination counts as unexpected (kernels may be compiled in them)
PATIENCE = 600
DRAWN = (
    "encoder",
    "predicate",
    "impurity",
    "coverage",
    "criterion",
    "stopping",
    "missing",
    "cost",
    "complexity",
    "objective",
    "solver",
    "pruner",
    "tuner",
    "split",
)
REFUSALS = (CapabilityError, ConfigError, DataError)
AFTERWARDS = {"Growth.run", "prune", "verify", "measure", "_certified", "_legible"}
COUNTS = Path(__file__).with_name("counts.csv")
NUMBERS = (0, 1, 2, 3, 5, 0.0, 0.05, 0.5, 1.5)


@attrs.frozen(eq=False)
class Given:
    """A table as a data set."""

    table: Table
    kind = "dataset"
    name = "given"
    paper = ""
    capabilities = ()

    def load(self, seed: int) -> Table:
        return self.table


def tables() -> dict[str, Table]:
    """Tables of 12 to 30 rows: numbers, a mixture with gaps, two values per column, weights,
    regression, one column alone.
    """
    draw = np.random.Generator(np.random.PCG64(2022))

    def numbers(name: str, n: int, gaps: float = 0.0, most: int = 8) -> Column:
        values = draw.integers(0, most, n).astype(np.float64)
        values[draw.random(n) < gaps] = np.nan
        return Column(name, ColumnKind.continuous, values)

    def words(
        name: str, n: int, levels: str, gaps: float = 0.0, kind: ColumnKind = ColumnKind.categorical
    ) -> Column:
        codes = draw.integers(0, len(levels), n)
        codes[draw.random(n) < gaps] = -1
        return Column(name, kind, codes, tuple(levels))

    def classes(n: int, k: int) -> Target:
        codes = np.concatenate([np.arange(k), draw.integers(0, k, n - k)]).astype(np.int32)
        return Target("y", Task.classification, codes, tuple("pqr"[:k]))

    def values(n: int) -> Target:
        return Target("y", Task.regression, values=draw.integers(0, 9, n).astype(np.float64))

    def mixed(gaps: float) -> tuple[Column, ...]:
        ordered = ColumnKind.ordinal
        return (
            numbers("m", 24, gaps),
            words("c", 24, "abcd", gaps),
            words("o", 24, "xyz", gaps, ordered),
        )

    n = 24
    weights = lambda: draw.integers(1, 4, n).astype(np.float64)
    flags = lambda: tuple(words(name, 16, "01") for name in "tuv")
    return {
        table.name: table
        for table in (
            Table("numbers", (numbers("m", 30), numbers("z", 30)), classes(30, 3)),
            Table("mixed", mixed(0.0), classes(n, 2)),
            Table("gaps", mixed(0.2), classes(n, 3)),
            Table("flags", flags(), classes(16, 2)),
            Table("words", (words("c", n, "abcd"), words("d", n, "ef")), classes(n, 3)),
            Table("weighted", mixed(0.0), classes(n, 2), weights() / 2),
            Table("weighted gaps", mixed(0.2), classes(n, 3), weights()),
            Table("real", mixed(0.0), values(n)),
            Table("real gaps", mixed(0.2), values(n), weights()),
            Table("narrow", (numbers("m", 12),), classes(12, 2)),
        )
    }


def prices(draw: np.random.Generator, table: Table) -> dict[str, dict[str, Any]]:
    """Cost → values of its fields, for the columns of a table."""
    names = [column.name for column in table.columns]
    by_name = {name: float(draw.choice([0.0, 0.5, 1.0, 2.5, 4.0])) for name in names}
    named = [column for column in table.columns if draw.random() < 0.7]
    outcome = {c.name: {str(c.categories[0]) if c.categories else "above": 3.0} for c in named}
    groups = {name: "g" for name in names if draw.random() < 0.7}
    return {
        **{key: {"prices": by_name} for key in ("table", "per_column")},
        "by_outcome": {"prices": outcome},
        "set_up": {"prices": by_name, "groups": groups, "set_up": {"g": 2.0}},
        "discount": {"prices": by_name, "groups": groups},
    }


@attrs.frozen
class Combination:
    """table : its name.

    values : as on the command line.
    settings : "group.field" → value.
    certify : beside the minimum, too.
    """

    table: str
    choices: Mapping[str, Any]
    settings: Mapping[str, Any]
    certify: bool
    seed: int

    def __str__(self) -> str:
        said = {
            **self.choices,
            **self.settings,
            **({"certify": True} if self.certify else {}),
            "seed": self.seed,
        }
        return f"{self.table}: " + " ".join(f"{key}={value!r}" for key, value in said.items())


def drawn(registry: Registry, known: Mapping[str, Table], seed: int, number: int) -> Combination:
    """A method with what its preset selects, a few groups chosen anew, a few fields set."""
    draw = np.random.Generator(np.random.PCG64([seed, number]))

    def one_of(options: Any) -> Any:
        return options[int(draw.integers(len(options)))]

    def option(group: str) -> Any:
        names = [name for name in registry.names(group) if not name.startswith("peer_")]
        if group in MANY:
            return tuple(dict.fromkeys(one_of(names) for _ in range(int(draw.integers(1, 3)))))
        return one_of(
            names if group in ("encoder", "missing", "cost", "split") else [*names, "none"]
        )

    table = one_of(list(known.values()))
    choices = {
        "method": one_of(registry.names("method")),
        "split": "none" if draw.random() < 0.7 else "holdout",
    }
    if draw.random() < 0.4:
        choices["encoder"] = option("encoder")
    if draw.random() < 0.35:
        choices["cost"] = option("cost")
    for group in draw.permutation(DRAWN)[: int(draw.integers(0, 4))].tolist():
        choices[group] = option(group)
    settings = {
        f"cost.{k}": v for k, v in prices(draw, table).get(choices.get("cost", ""), {}).items()
    }
    settings |= fields(registry, choices, draw)
    return Combination(
        table.name, choices, settings, bool(draw.random() < 0.15), int(draw.integers(3))
    )


def fields(
    registry: Registry, choices: Mapping[str, Any], draw: np.random.Generator
) -> dict[str, Any]:
    """Values for some fields of what is chosen, of the fields' types; those that a component
    refuses are left out.
    """
    found: dict[str, Any] = {}
    try:
        parts = assemble(registry, choices, without=("dataset", "tracker"))
    except ArboretumError:
        return found
    for group in KINDS:
        members = getattr(parts, group)
        for part in members if group in MANY else () if members is None else (members,):
            where = f"{group}.{part.name}" if group in MANY else group
            for name in fields_of(type(part)):
                asked = draw.random() < 0.12 and name not in ("threads", "page")
                if not asked or (value := any_value(field_types(type(part))[name], draw)) is None:
                    continue
                try:
                    assemble(
                        registry,
                        choices,
                        {**found, f"{where}.{name}": value},
                        without=("dataset", "tracker"),
                    )
                except ArboretumError:
                    continue
                found[f"{where}.{name}"] = value
    return found


def any_value(wanted: Any, draw: np.random.Generator) -> Any:
    """A value of a type; None where it is none of a few."""
    if isinstance(wanted, types.UnionType):
        wanted = next(one for one in typing.get_args(wanted) if one is not type(None))
    if wanted is bool:
        return bool(draw.random() < 0.5)
    if wanted in (int, float):
        number = NUMBERS[int(draw.integers(len(NUMBERS)))]
        return wanted(number) if number == wanted(number) else None
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return list(wanted)[int(draw.integers(len(wanted)))].name
    return None


def late(error: Exception) -> bool:
    """Whether something grew before it was raised, or was done with what had grown; a solver
    looks at its problem itself, first.
    """
    found = {frame.f_code.co_qualname for frame, _ in traceback.walk_tb(error.__traceback__)}
    return bool(found & AFTERWARDS)


def outcome(registry: Registry, known: Mapping[str, Table], asked: Combination) -> tuple[str, str]:
    """How a combination ended, and what was said."""
    said: list[str] = ["composing"]

    def listen(done: float, total: float | None, message: str) -> None:
        said[0] = message

    def too_long(number: int, frame: Any) -> None:
        raise TimeoutError(f"{PATIENCE} s have passed: {said[0]}")

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(PATIENCE)
    try:
        parts = assemble(registry, asked.choices, asked.settings, without=("dataset", "tracker"))
        parts = attrs.evolve(parts, dataset=Given(known[asked.table]))
        request = Request(parts=parts, seed=asked.seed, budget=Budget(seconds=SECONDS))
        if asked.certify:
            more = {
                "certifier": certifier_of(registry, parts),
                "complexities": certified_complexities(registry, parts),
            }
            request = attrs.evolve(request, certify=True, **more)
        record = run(request, progress=listen)
    except REFUSALS as error:
        return f"refused {'late' if late(error) else 'before growth'}: {type(error).__name__}", str(
            error
        )
    except BudgetError as error:
        return "no tree within the budget", str(error)
    except VerificationError as error:
        return "failed verification", str(error)
    except Exception as error:
        where = (
            ""
            if isinstance(error, ArboretumError)
            else "".join(traceback.format_exception(error)[-3:])
        )
        return f"unexpected: {type(error).__name__}", f"{error} ({said[0]}) {where}"
    finally:
        signal.alarm(0)
    return (
        "verified"
        if "unfinished" not in record.fingerprint
        else "verified, cut short by the budget",
        "",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop then, with the counts so far"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="+")
    parser.add_argument(
        "--slow", type=float, default=0.0, help="print what takes longer, in seconds"
    )
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--refusals", action="store_true", help="print every refusal, too")
    given = parser.parse_args()
    registry, known, counts = load_registry(()), tables(), Counter()
    began, until = time.monotonic(), time.monotonic() + 60 * given.minutes
    compiling = CompileClock()
    register("numba:compile", compiling)
    for number in given.only or range(given.first, given.first + given.number):
        asked = drawn(registry, known, given.seed, number)
        if (start := time.monotonic()) > until:
            break
        ended, said = outcome(registry, known, asked)
        counts[ended] += 1
        if number % 100 == 99:
            took = f"{time.monotonic() - began:.0f} s, {compiling.seconds:.0f} of them compiling"
            print(f"{number + 1} after {took}: {dict(counts)}", file=sys.stderr, flush=True)
        if given.slow and time.monotonic() - start > given.slow:
            print(
                f"{number} took {time.monotonic() - start:.0f} s ({ended})\n    {asked}", flush=True
            )
        if (
            given.only
            or given.refusals
            or not ended.startswith(("verified", "refused before", "no tree"))
        ):
            print(f"{number} {ended}: {said}\n    {asked}", flush=True)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = max(len(name) for name, _ in rows)
    print(
        "\n".join(f"{name:{width}}  {n:>6}" for name, n in [*rows, ("all", sum(counts.values()))])
    )
    if given.write:
        with COUNTS.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("ended", "combinations"), *rows])
    return any(not name.startswith(("verified", "refused before", "no tree")) for name in counts)


if __name__ == "__main__":
    sys.exit(main())
