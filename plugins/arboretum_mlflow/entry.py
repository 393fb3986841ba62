"""What is written for one run: names, parameters, metrics, tags and files, as plain values under
names that MLflow takes.

Built in the command's process; written by :mod:`.writer` in the process that holds MLflow.
"""

import contextlib
import enum
import getpass
import hashlib
import json
import math
import posixpath
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from arboretum.api import ColumnKind, Facts, Plain, Record, RunInfo, Tree
from arboretum_mlflow.description import FIRST_COLUMNS, RUNNING, describe_failure, describe_run

T = TypeVar("T")

MAX_NAME = 250
MAX_PARAM = 6000
MAX_TAG = 5000  # SQLite takes 8000; 5000 is what MLflow promises for every store
MACHINERY = frozenset({"hydra", "tracker", "choices", "skip_finished"})
"""Keys that describe how a run was started or kept, not what it computed (a tracker's URI may
hold a password).
"""
MAX_DIGEST = 36
"""MLflow's column for a data set's digest is narrower than a SHA-256; the whole one is a tag."""
FINISHED, FAILED = "FINISHED", "FAILED"
METRICS = ("valid_error", "test_error", "n_leaves")
"""What the list of runs shows besides the goal; with four digits, as tags of the same names:
MLflow shows numbers in full, cut.
"""


def finished(run: RunInfo, record: Record, files: Mapping[str, str]) -> Facts:
    """Return the entry of a finished run."""
    params = parameters(record.config or run.config, record.seed)
    metrics, left_out = numbers(record)
    return _make_entry(
        attrs.evolve(
            run,
            name=run.name or default_name(params, record.data),
            fingerprint=run.fingerprint or record.fingerprint,
        ),
        FINISHED,
        params,
        _record_tags(record, left_out, files.get("tree.txt", "")),
        files,
        seconds=sum(record.timings.values()),
        metrics=metrics,
        series=curves(record),
        dataset=_describe_dataset(record),
    )


def failed(run: RunInfo, error: str) -> Facts:
    """Return the entry of a failed run; the error is a tag, the description, and the artifact
    ``error.txt``.
    """
    first_line = next(
        (line for line in error.splitlines() if line.strip()), "failed without a message"
    )
    tags = {"arboretum.error": first_line, "mlflow.note.content": describe_failure(error)}
    return _make_entry(run, FAILED, parameters(run.config), tags, {"error.txt": error})


def _make_entry(
    run: RunInfo,
    status: str,
    params: dict[str, str],
    tags: Mapping[str, str],
    files: Mapping[str, str],
    seconds: float = 0.0,
    **more: object,
) -> Facts:
    """Return one run as it is written.

    key : equal for equal runs in the same folder ("" : never the same); what is stored under it is
        not stored again.
    start, end : milliseconds since 1970.
    series : metric → (milliseconds since the search began, value).
    dataset : fields of an MLflow data set, {} without one.
    """
    end, reproduction = _time_of_end(run.folder), params.get("reproduction", "")
    source = {
        "mlflow.source.name": f"arboretum reproduce {reproduction}"
        if reproduction
        else "arboretum run",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": user(),
        "arboretum.role": "run",
        "arboretum.fingerprint": run.fingerprint,
        "arboretum.folder": str(Path(run.folder).absolute()) if run.folder else "",
        "arboretum.copy_of": run.copy_of,
        "arboretum.sweep": run.sweep_id,
        "mlflow.parentRunId": run.sweep_id,
    }
    return {
        "name": shorten(run.name or default_name(params, {}), MAX_NAME),
        "key": key_of(run.fingerprint, run.folder, status),
        "sweep": run.sweep_id,
        "status": status,
        "start": end - int(1000 * seconds),
        "end": end,
        "params": params,
        "tags": _short(source) | _short(tags),
        "files": dict(files),
        **{"metrics": {}, "series": {}, "dataset": {}, **more},
    }


def sweep(name: str, config: Plain) -> Facts:
    """Return the name, tags and files of a sweep's parent."""
    tags = {
        "mlflow.source.name": f"arboretum {name}"
        if name.startswith("reproduce ")
        else "arboretum run --multirun",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": user(),
        "arboretum.role": "sweep",
        "arboretum.owner": str(config.get("owner", "")),
        "arboretum.folder": str(config.get("folder", "")),
        "mlflow.note.content": RUNNING,
    }
    files = {"sweep.json": json.dumps(config, ensure_ascii=False, indent=2, default=str)}
    return {"name": shorten(name, MAX_NAME), "tags": _short(tags), "files": files}


def key_of(fingerprint: str, folder: Path | None, status: str) -> str:
    """Return what makes two runs one entry: fingerprint, folder and whether it failed; "" when
    either is not known.
    """
    if not fingerprint or folder is None:
        return ""
    return hashlib.sha256(
        f"{fingerprint}\0{Path(folder).absolute()}\0{status}".encode()
    ).hexdigest()


def default_name(params: Mapping[str, str], data: Plain) -> str:
    """Compose "cart iris seed=1"."""
    words = [params.get("method", ""), str(data.get("name") or params.get("dataset", ""))]
    if "seed" in params:
        words.append(f"seed={params['seed']}")
    return " ".join(word for word in words if word) or "run"


def curves(record: Record) -> dict[str, list[tuple[int, float]]]:
    """Return how bound and value of a search have met, by milliseconds; nothing where there was no
    search.
    """
    points = record.solution.curve if record.solution is not None else ()
    found = {
        f"search.{name}": [
            (round(1000 * point[0]), point[k]) for point in points if math.isfinite(point[k])
        ]
        for k, name in ((1, "lower_bound"), (2, "value"))
    }
    return {name: values for name, values in found.items() if values}


def numbers(record: Record) -> tuple[dict[str, float], list[str]]:
    """Metrics, timings ("time_fit", seconds), the numbers of solution and certificate; and the
    names left out as not finite.
    """
    # the UI keeps this order
    first = [
        name for name in (str(record.config.get("goal")), *FIRST_COLUMNS) if name in record.metrics
    ]
    found: Facts = {name: record.metrics[name] for name in (*first, *record.metrics)}
    if record.solution is not None:
        values = record.solution.to_json()
        found |= {
            f"solution.{name}": values[name]
            for name in ("value", "lower_bound", "gap", "subproblems")
        }
        if (front := record.solution.front) is not None:
            found |= {"front.points": len(front.points), "front.gap": front.gap}
    if record.certificate is not None:
        for name, one in record.certificate.complexities.items():
            values = one.to_json()
            # what is only bounded does not appear as what is proven; what is undefined does not
            # appear
            kept = {
                "ratio" if one.proven else "ratio_at_most": values["ratio"],
                "minimum": values["minimum"],
            }
            kept |= {"lower_bound": values["lower_bound"]}
            found |= {
                f"certificate.{name}.{key}": value
                for key, value in kept.items()
                if value is not None
            }
    found |= {f"time_{name}": seconds for name, seconds in record.timings.items()}
    found["time_total"] = math.fsum(record.timings.values())
    return finite_only(found)


def finite_only(values: Plain) -> tuple[dict[str, float], list[str]]:
    """Return the finite numbers under names that MLflow takes, and the names of the others."""
    kept: dict[str, float] = {}
    left_out = []
    for name, value in sanitised(values.items()):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            kept[name] = number
        else:
            left_out.append(name)
    return kept, left_out


def _time_of_end(folder: Path | None) -> int:
    """Milliseconds since 1970 when the record was written: now, unless the run is sent later."""
    now = written = time.time()
    if folder:
        with contextlib.suppress(OSError):
            written = (Path(folder) / "record.json").stat().st_mtime
    return int(1000 * min(now, written))


def _record_tags(record: Record, left_out: list[str], tree_text: str) -> dict[str, str]:
    """Return the tags of a run, by name."""
    tags = {
        "arboretum.verified": str(record.verified).lower(),
        "arboretum.data.sha256": str(record.data.get("sha256", "")),
        "arboretum.left_out": ", ".join(left_out),
        "mlflow.note.content": describe_run(record, tree_text, left_out),
        **listed(record.metrics, str(record.config.get("goal", ""))),
    }
    if record.solution is not None:
        tags["arboretum.solution"] = record.solution.status.value
        tags["arboretum.solution.checked"] = (
            record.solution.checked.value if record.solution.checked else ""
        )
    for name, version in record.versions.items():
        key = (
            "mlflow.source.git.commit"
            if name == "git"
            else f"arboretum.{name.replace(' ', '.', 1)}"
        )
        tags[
            key if name == "git" or name.startswith("plugin ") else f"arboretum.version.{name}"
        ] = str(version)
    return tags


def judged_by(goal: str, metrics: Mapping[str, float]) -> str:
    """Return the metric that a goal means for a run: it, or what stands for it where the run has
    none of that name.
    """
    return next((name for name in (goal, *FIRST_COLUMNS) if name in metrics), METRICS[0])


def listed(metrics: Mapping[str, float], goal: str) -> dict[str, str]:
    """Goal and metrics as the list of runs shows them: whole numbers as they are, others with
    four digits.
    """
    found = {
        name: metrics[name]
        for name in (judged_by(goal, metrics), *METRICS)
        if math.isfinite(metrics.get(name, math.nan))
    }
    return {
        name: f"{value:.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"
        for name, value in found.items()
    }


def _short(tags: Mapping[str, str]) -> dict[str, str]:
    return {name: shorten(value, MAX_TAG) for name, value in sanitised(tags.items()) if value}


def user() -> str:
    """Return the name of the person who runs this, "" where the machine has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""


def _describe_dataset(record: Record) -> dict[str, str]:
    """Return the data set as MLflow's Dataset takes it; nothing without name and checksum."""
    name, digest = record.data.get("name"), record.data.get("sha256")
    if not name or not digest:
        return {}
    profile = {k: v for k, v in record.data.items() if k.startswith("n_")}
    return {
        "name": shorten(str(name), 500),
        "digest": str(digest)[:MAX_DIGEST],
        "source_type": "arboretum",
        "source": json.dumps({"dataset": str(name), "sha256": str(digest)}),
        "schema": _column_schema(record.tree),
        "profile": json.dumps(profile, default=str),
    }


def _column_schema(tree: Tree | None) -> str:
    """Return the columns as MLflow's schema, so that the UI lists them; "" for tables too wide to
    be read there.
    """
    if tree is None or len(tree.columns) > 1000:
        return ""
    kinds = {ColumnKind.continuous: "double"}
    columns = [
        {"name": column.name, "type": kinds.get(column.kind, "string")} for column in tree.columns
    ]
    return json.dumps({"mlflow_colspec": columns})


def parameters(config: Plain, seed: int | None = None) -> dict[str, str]:
    """Flatten a composed configuration.

    Chosen options come first under their group's name ("criterion" → "gain_ratio"), then fields
    ("criterion.lam" → "10"). Groups that are switched off are left out.
    """
    found: dict[str, str] = {}
    for group, option in (config.get("choices") or {}).items():
        if option not in (None, "", "none", [], ()) and group not in MACHINERY:
            found[group] = text_of(option)
    if seed is not None:
        found["seed"] = str(seed)
    for name, value in _flatten_values({k: v for k, v in config.items() if k not in MACHINERY}, ""):
        group, _, field = name.partition(".")
        if field != "name" or found.get(group) != text_of(value):  # the chosen name is said already
            found.setdefault(name, text_of(value))
    return {name: shorten(value, MAX_PARAM) for name, value in sanitised(found.items())}


def _flatten_values(value: object, prefix: str) -> Iterator[tuple[str, object]]:
    """Yield (key with dots, value) of all values of nested mappings."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten_values(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def text_of(value: object) -> str:
    """Return one value as text: "none", "true", "0.1", "standard, pure", JSON for anything
    nested.
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if any(
            isinstance(item, Mapping | Sequence) and not isinstance(item, str | bytes)
            for item in value
        ):
            return json.dumps(value, ensure_ascii=False, default=str)
        return ", ".join(text_of(item) for item in value)
    return str(value)


def sanitised(items: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """Yield the items under names that MLflow takes; names that become equal are numbered
    ("a_b", "a_b-2").
    """
    seen: set[str] = set()
    for name, value in items:
        base = clean_name(name)
        unique, number = base, 1
        while unique in seen:
            number += 1
            unique = f"{base[: MAX_NAME - len(str(number)) - 1]}-{number}"
        seen.add(unique)
        yield unique, value


def clean_name(name: str) -> str:
    """Replace what MLflow refuses in a name: other characters than letters, digits, ``_ - . /`` and
    space, paths that resolve to another path, more than 250 characters (the end becomes a hash).
    """
    clean = re.sub(r"[^/\w.\- ]", "_", name)
    if posixpath.normpath(clean) != clean or clean.startswith(("/", "..")) or clean == ".":
        clean = re.sub(r"/|^\.+", "_", clean) or "_"
    if len(clean) > MAX_NAME:
        clean = f"{clean[: MAX_NAME - 13]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    return clean


def shorten(text: str, limit: int) -> str:
    """Cut a text to ``limit`` characters and say so at its end."""
    if len(text) <= limit:
        return text
    mark = f" … [{len(text)} characters, whole in record.json]"
    return text[: limit - len(mark)] + mark
