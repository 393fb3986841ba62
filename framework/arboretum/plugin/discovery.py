"""Discovery: entry points and one-file plugins → a filled registry.

A plugin that fails to import is named and left out; the rest keeps working.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import attrs
import pluggy

from arboretum.blame import place, said
from arboretum.engine.component_check import guess_kind
from arboretum.errors import ConfigError, PluginError
from arboretum.interfaces import hooks
from arboretum.plugin.presets import read_presets
from arboretum.plugin.registry import ONE_FILE, Failure, Owner, Registry, check_component

GROUP = "arboretum"
DISABLE = "ARBORETUM_DISABLE"


def load_registry(files: Sequence[str | Path] = (), *, entry_points: Iterable[Any] | None = None) -> Registry:
    """Find every plugin and return a filled registry.

    files : one-file plugins, loaded after the installed ones.   entry_points : for tests; default the installed ones.
    Raises PluginError when two plugins claim one name, or a one-file plugin cannot be used.
    """
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    registry = Registry()
    disabled = set(filter(None, os.environ.get(DISABLE, "").replace(",", " ").split()))
    found = metadata.entry_points(group=GROUP) if entry_points is None else entry_points
    for point in sorted(found, key=lambda point: point.name):
        if point.name not in disabled:
            _load_entry_point(manager, registry, point)
    for file in files:
        _load_file(manager, registry, Path(file))
    return registry


def _load_entry_point(manager: pluggy.PluginManager, registry: Registry, point: Any) -> None:
    distribution = getattr(point, "dist", None)
    try:
        module = point.load()
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit included
        if isinstance(error, KeyboardInterrupt):
            raise
        registry.failures.append(Failure(point.name, f"does not import: {said(error)}{place(error)}"))
        return
    folder = Path(getattr(module, "__file__", "") or "").parent
    name, version = (getattr(distribution, word, "") or "" for word in ("name", "version"))
    owner = Owner(point.name, name, version, str(folder))
    try:
        classes = _register(manager, module, owner)
        presets = read_presets(folder / "presets", owner)
        for cls in classes:
            check_component(cls, owner)
    except PluginError as error:
        registry.failures.append(Failure(point.name, str(error).removeprefix(f"plugin {owner.plugin}: ")))
        return
    _fill(registry, owner, classes, presets, checked=True)


def _load_file(manager: pluggy.PluginManager, registry: Registry, file: Path) -> None:
    path = file.expanduser().resolve()
    if not path.is_file():
        raise ConfigError(f"plugin file {str(file)!r} does not exist; give the path of a .py file")
    owner = Owner(plugin=path.stem, distribution=ONE_FILE, path=str(path))
    try:
        module = import_file(path)
        owner = attrs.evolve(owner, version=module.__loader__.version)
    except (KeyboardInterrupt, PluginError):
        raise
    except BaseException as error:
        raise PluginError(f"plugin file {str(file)!r} does not import: {said(error)}{place(error, str(path))}") from error
    _fill(registry, owner, _register(manager, module, owner) or _classes_of(module, owner), ())


def import_file(path: Path) -> ModuleType:
    """Import a one-file plugin under a name that is the same in every process (numba's cache keys on it)."""
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"arboretum_file_{path.stem}_{digest}"
    if name in sys.modules and sys.modules[name].__spec__.loader.is_current():
        return sys.modules[name]
    if path.suffix != ".py":
        raise PluginError(f"plugin file {path.name!r} is no Python file; its name must end in .py")
    spec = importlib.util.spec_from_file_location(name, path, loader=_FromSource(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before execution, so that pickling and numba find it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


class _FromSource(importlib.machinery.SourceFileLoader):
    """Reads the source each time: byte code beside it counts as fresh when an edit of the same length falls into the same
    second, and a file that was only named on the command line should leave nothing behind.

    version : checksum of the source that was executed.
    """

    version = ""

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path)
        self.version = _version(source)
        return self.source_to_code(source, self.path)

    def is_current(self) -> bool:
        """Whether the file still says what was executed."""
        return _version(self.get_data(self.path)) == self.version


def _version(source: bytes) -> str:
    return f"sha256:{hashlib.sha256(source).hexdigest()}"


def _register(manager: pluggy.PluginManager, module: ModuleType, owner: Owner) -> list[type]:
    """Register one plugin with pluggy and return its classes; raises PluginError on a broken hook."""
    if manager.has_plugin(owner.plugin) or manager.get_name(module) is not None:
        raise PluginError(f"plugin {owner.plugin}: {_twice(manager, module, owner)}")
    try:
        manager.register(module, name=owner.plugin)
        manager.check_pending()
    except (ValueError, pluggy.PluginValidationError) as error:
        if manager.has_plugin(owner.plugin):
            manager.unregister(name=owner.plugin)
        raise PluginError(f"plugin {owner.plugin}: {said(error)}") from None
    hooks_of = {impl.plugin_name: impl.function for impl in manager.hook.arboretum_components.get_hookimpls()}
    if owner.plugin not in hooks_of:
        return []
    try:
        return list(hooks_of[owner.plugin]())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(f"plugin {owner.plugin}: arboretum_components() raised {said(error)}{place(error)}") from error


def _twice(manager: pluggy.PluginManager, module: ModuleType, owner: Owner) -> str:
    """Why a plugin cannot be registered a second time, and the way out."""
    other = manager.get_name(module)
    if other not in (None, owner.plugin):
        return f"its module is registered as plugin {other} already; keep one of the two entry points"
    file = getattr(manager.get_plugin(owner.plugin), "__file__", None) or "another distribution"
    way = f"rename {owner.path}" if owner.distribution == ONE_FILE else "rename one entry point, or uninstall one"
    return f"a plugin of that name is loaded already ({file}); {way}"


def _classes_of(module: ModuleType, owner: Owner) -> list[type]:
    """The component classes a one-file plugin defines, when it has no hook.

    A class that states kind and name is meant as one; raises PluginError where there is none, saying what a class lacks
    that comes near.
    """
    mine = [cls for _, cls in inspect.getmembers(module, inspect.isclass) if cls.__module__ == module.__name__]
    classes = [cls for cls in mine if all(isinstance(getattr(cls, word, None), str) for word in ("kind", "name"))]
    if classes:
        return classes
    for cls in mine:
        if any(isinstance(getattr(cls, word, None), str) for word in ("kind", "name")) or guess_kind(cls):
            check_component(cls, owner)
    raise PluginError(f"plugin file {module.__file__!r} defines no component: no class in it states kind and name")


def _fill(registry: Registry, owner: Owner, classes: Iterable[type], presets: Iterable[Any], *, checked: bool = False) -> None:
    """Register what one plugin brings; raises PluginError when another plugin owns a name."""
    registry.owners.append(owner)
    for cls in classes:
        registry.add(cls, owner, checked=checked)
    for preset in presets:
        registry.add_preset(preset)
