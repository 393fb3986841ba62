"""The command's work as two Python functions: ``arboretum.run`` and ``arboretum.load``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arboretum.blame import place, said
from arboretum.errors import ArboretumError, ConfigError, TrackerError
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.build import build
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import NONE
from arboretum.runs.load import load_run


def run(overrides: Sequence[str], *, plugins: Sequence[str | Path] = ()) -> Record:
    """Do one run and return its verified record.

    overrides : as on the command line, ["dataset=iris", "method=cart", "seed=1"].   plugins : one-file plugins.
    Writes no folder and tracks nothing unless asked (``hydra.run.dir=FOLDER``, ``tracker=mlflow``).  Hydra's global state is
    left alone, so it works inside notebooks, threads and other Hydra applications.
    Raises ArboretumError, also for what goes wrong inside a plugin (the exception itself is its ``__cause__``);
    TrackerError when all is done and kept but for a tracker that was asked for.
    """
    try:
        return _run(overrides, plugins)
    except (ArboretumError, MemoryError):
        raise
    except Exception as error:
        raise ArboretumError(f"unexpected {said(error)}{place(error)}") from error


def _run(overrides: Sequence[str], plugins: Sequence[str | Path]) -> Record:
    from arboretum.config.bridge import Start
    from arboretum.config.compose import compose_and_resolve
    from arboretum.config.execute import Session
    from arboretum.engine.check import check_goal

    if isinstance(overrides, str):
        msg = f'overrides is a list of texts, one per KEY=VALUE; say run(["dataset=iris"]), not run({overrides!r})'
        raise ConfigError(msg)
    files = [*plugins, *named_plugins(overrides)]
    registry = load_registry(files)
    start = Start(choices={**DEFAULT_CHOICES, "tracker": NONE}, values={"plugins": [str(file) for file in files]})
    composed, resolved = compose_and_resolve(overrides, registry, start=start)
    check_goal(resolved.settings.goal)
    asked = any(text.startswith("hydra.run.dir=") for text in overrides)
    folder = Path(composed.config.hydra.run.dir) if asked else None
    outcome = Session(registry).execute(resolved, folder)
    if outcome.tracker_error:
        raise TrackerError(outcome.tracker_error)
    return outcome.record


def load(run: str | Path, *, tracker: str = "", plugins: Sequence[str | Path] = ()) -> Record:
    """The record of a finished run, with its tree.

    run : a run folder, or a run id of the tracker (default: the one that runs use).   plugins : one-file plugins that its tree
    needs; those that the record names are not loaded by themselves.   Raises PluginError, StoreError, TrackerError.
    """
    registry = load_registry(plugins) if plugins else None
    if Path(run).expanduser().exists() or "/" in str(run):
        return load_run(run)
    registry = registry or load_registry()
    name = tracker or str(DEFAULT_CHOICES["tracker"])
    return load_run(run, build(registry.get("tracker", name), {}))


def named_plugins(overrides: Sequence[str]) -> list[str]:
    """The files of ``plugins=[FILE, …]`` among overrides: they must be loaded before anything is composed."""
    import yaml

    files: list[str] = []
    for text in overrides:
        key, sign, value = text.partition("=")
        if key.lstrip("+") == "plugins" and sign:
            try:
                found = yaml.safe_load(value)
            except yaml.YAMLError:
                found = value
            files += found if isinstance(found, list) else [str(found)] if found else []
    return [str(file) for file in files]
