"""A tree in the form of an MLflow model without pickle: ``MLmodel`` with signature and input
example, ``tree.json``, requirements.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import logging
import math
import os
import tempfile
import warnings
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs

from arboretum.api import CapabilityError, ColumnSpec, Facts, Tree
from arboretum_mlflow.environment import ENVIRONMENT
from arboretum_mlflow.model import NODES, PROBABILITIES, TREE

LOADER = "arboretum_mlflow.model"
MLMODEL = "MLmodel"
MOST_COLUMNS = 1000
"""Columns up to which a signature names those that no test reads, too."""


@attrs.frozen
class MLflowModel:
    """A model that ``mlflow.pyfunc.load_model`` loads and ``mlflow models serve`` serves, without
    pickle: the tree as JSON, read by the installed package.  A folder, or (.zip) an archive.
    """

    kind = "export"
    name = "mlflow_model"
    paper = ""
    capabilities = ("classification", "regression", "multiclass", "missing")
    suffix = ".zip"

    def write(self, tree: Tree) -> bytes:
        """Return the files as a ZIP archive.  Raises CapabilityError as :meth:`files`."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.files(tree).items():
                archive.writestr(zipfile.ZipInfo(name), content)  # without a date: always the same
        return packed.getvalue()

    def files(self, tree: Tree) -> dict[str, str]:
        """Return file name → text, of a folder.  Raises CapabilityError for tests of a plugin that
        is not installed (a single file), which nobody could load again.
        """
        return model_files(tree)


def model_files(tree: Tree) -> dict[str, str]:
    """Return file name → text of the model, the same for equal trees.

    Raises CapabilityError for tests of a plugin that is not installed.
    """
    wanted = requirements(tree)
    os.environ.update({**ENVIRONMENT, **os.environ})  # no telemetry
    import yaml
    from mlflow import pyfunc
    from mlflow.models import Model

    logging.getLogger("mlflow").setLevel(logging.ERROR)
    text = tree.to_json()
    # equal trees make one model: its number is that of the content, and it has no date
    number = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with tempfile.TemporaryDirectory() as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that columns of any type are not checked
        data, folder = Path(made, TREE), Path(made, "model")
        data.write_text(text, encoding="utf-8")
        pyfunc.save_model(
            path=str(folder),
            loader_module=LOADER,
            data_path=str(data),
            mlflow_model=Model(model_uuid=number),
            signature=signature(tree),
            input_example=example(tree),
            pip_requirements=wanted,
        )
        files = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    described = yaml.safe_load(files[MLMODEL])
    described.pop("utc_time_created", None)
    return {**files, MLMODEL: yaml.safe_dump(described, sort_keys=True)}


def requirements(tree: Tree) -> list[str]:
    """Return the distributions by which the tree is read, with their versions: this one first.

    Raises CapabilityError for a test of no installed distribution.
    """
    owners = {
        point.module.partition(".")[0]: point.dist.name
        for point in metadata.entry_points(group="arboretum")
        if point.dist is not None
    }
    owners["arboretum"] = "arboretum"
    found = ["arboretum"]
    for rule in tree.rules:
        package = type(rule).__module__.partition(".")[0]
        if package not in owners:
            raise CapabilityError(
                f"the test {rule.describe()!r} is of a plugin in a file ({package}), which a model "
                "without code of its own cannot load again; make it a package: arboretum new"
            )
        found.append(owners[package])
    return [f"{name}=={metadata.version(name)}" for name in dict.fromkeys(found)]


def _columns(tree: Tree) -> list[ColumnSpec]:
    """Return the columns that a signature names: all, of wide tables those that tests read."""
    read = {name for rule in tree.rules for name in rule.columns}
    few = len(tree.columns) <= MOST_COLUMNS
    return [spec for spec in tree.columns if few or spec.name in read]


def signature(tree: Tree) -> Any:
    """Return MLflow's signature: columns (those that no test reads may be absent), the prediction,
    the parameters.

    Columns take values of any type, as the tree reads them itself: MLflow's ``double`` refuses
    whole numbers, its ``string`` truth values and categoricals.
    """
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType

    read = {name for rule in tree.rules for name in rule.columns}
    columns = [
        ColSpec(AnyType(), name=spec.name, required=spec.name in read) for spec in _columns(tree)
    ]
    names = (PROBABILITIES, NODES) if tree.classes else (NODES,)
    return ModelSignature(
        Schema([*columns]) if columns else None,
        Schema([ColSpec("string" if tree.classes else "double")]),
        ParamSchema([ParamSpec(name, "boolean", default=False) for name in names]),
    )


def example(tree: Tree) -> Any:
    """Return a frame with one row that the tree can read: a threshold of each column, its first
    category, 0.
    """
    import pandas as pd

    cuts: dict[str, float] = {}
    for rule in tree.rules:
        for cut in (rule.cuts or ())[:1]:
            cuts.setdefault(rule.columns[0], cut)
    row: Facts = {}
    for spec in _columns(tree):
        if not spec.is_continuous:
            row[spec.name] = spec.categories[0] if spec.categories else None
        elif spec.unit:
            row[spec.name] = _date(cuts.get(spec.name, 0.0), spec.unit)
        else:
            row[spec.name] = float(cuts.get(spec.name, 0.0))
    return pd.DataFrame([row]) if row else None


SECONDS = {"days": 86_400.0, "seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6}


def _date(number: float, unit: str) -> str:
    """Return the day in which a number of dates lies."""
    days = math.floor(number * SECONDS[unit] / SECONDS["days"])
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=days))
