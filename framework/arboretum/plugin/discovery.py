"""Discovery: entry points and one-file plugins → a filled registry.

A plugin that fails to import is named and left out; the rest keeps working.  Its presets are YAML
files in Hydra's defaults-list form, read here without Hydra: comments tell meaning and paper,
``greedy@method`` names the recipe, ``override /criterion: reduction`` selects an option.
"""

import hashlib
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType

import attrs
import pluggy

from arboretum.engine.check import guess_kind
from arboretum.errors import ConfigError, PluginError, raised_at, said
from arboretum.interfaces import hooks
from arboretum.interfaces.component import KINDS, MANY
from arboretum.lab import Lab, current
from arboretum.model.plain import Facts
from arboretum.plugin.registry import (
    ONE_FILE,
    Entry,
    Failure,
    Owner,
    Preset,
    Registry,
    check_component,
    plugin_files,
)


@cache
def read_preset(path: Path, owner: Owner) -> Preset:
    """Read one preset file, ``presets/<kind>/*.yaml``, once, as modules are.  Raises PluginError
    naming the file and the rule.
    """
    import yaml

    text, kind = path.read_text(encoding="utf-8"), path.parent.name
    try:
        # the C form, where built: a tenth of the time
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        recipe, select = _read_selection(data, kind)
    except (yaml.YAMLError, ValueError) as error:
        raise PluginError(
            f"plugin {owner.plugin}: preset {kind}/{path.name}: {' '.join(str(error).split())}"
        ) from None
    summary = " ".join(
        line[1:].strip()
        for line in text.splitlines()
        if line.startswith("#") and "@package" not in line
    )
    summary, *paper = re.split(r";?\s*paper:\s*", summary, maxsplit=1)
    return Preset(
        kind=kind,
        name=path.stem,
        recipe=recipe,
        select=select,
        owner=owner,
        summary=summary.strip(),
        paper="".join(paper).strip(),
    )


def _read_selection(data: object, kind: str) -> tuple[str, dict[str, str | tuple[str, ...]]]:
    """The recipe of a preset and what it selects, group → option or options; raises ValueError
    naming the rule.

    data : what its file holds.   kind : of its folder.
    """
    if kind not in KINDS:
        raise ValueError(f"folder {kind!r} is not a kind")
    if (
        not isinstance(data, dict)
        or set(data) != {"defaults"}
        or not isinstance(data["defaults"], list)
    ):
        raise ValueError("a preset holds a list 'defaults' and no values")
    recipe, select = "", {}
    for item in data["defaults"]:
        if isinstance(item, str) and item.endswith(f"@{kind}"):
            recipe = item.removesuffix(f"@{kind}")
            continue
        ((key, value),) = (
            item.items() if isinstance(item, dict) and len(item) == 1 else ((item, None),)
        )
        found = re.fullmatch(r"override\s+/(\w+)", str(key).strip())
        if value is None or found is None or found[1] not in KINDS:
            raise ValueError(f"cannot read {key!r}; expected 'override /GROUP: OPTION'")
        group = found[1]
        if isinstance(value, list) and group not in MANY:
            raise ValueError(f"{group} takes one option, not a list")
        select[group] = (
            tuple(map(str, value if isinstance(value, list) else [value]))
            if group in MANY
            else str(value)
        )
    if not recipe:
        raise ValueError(f"no recipe; expected a line '- NAME@{kind}'")
    return recipe, select


@attrs.frozen
class PluginFile:
    """A one-file plugin as it travels: to a machine where its file is not, or is another.

    path : absolute, where the command was given.
    source : what the file held there.
    """

    path: str
    source: bytes

    @staticmethod
    def read(path: str) -> "PluginFile":
        """Read a file.  Raises ConfigError where there is none."""
        try:
            return PluginFile(path, Path(path).read_bytes())
        except OSError as error:
            raise ConfigError(f"plugin file {path!r} cannot be read ({error.strerror})") from error

    def place(self) -> Path:
        """Return where its code lies on this machine: the file, or else a copy of it, which numba's
        cache and tracebacks can name.  What is executed is ``source`` in any case.
        """
        with suppress(OSError):
            if Path(self.path).read_bytes() == self.source:
                return Path(self.path)
        mark = hashlib.sha256(self.source + self.path.encode()).hexdigest()[:16]
        copy = Path(tempfile.gettempdir()) / f"arboretum-plugin-{mark}" / Path(self.path).name
        with suppress(OSError):
            copy.parent.mkdir(exist_ok=True)
            if not copy.exists():
                beside = copy.with_name(f".{os.getpid()}")
                beside.write_bytes(self.source)
                beside.replace(copy)
        return copy


GROUP = "arboretum"
DISABLE = "ARBORETUM_DISABLE"


def load_registry(
    files: Sequence[str | Path | PluginFile] = (),
    *,
    entry_points: Iterable[metadata.EntryPoint] | None = None,
    lab: Lab | None = None,
) -> Registry:
    """Find every plugin and return a filled registry.

    files : one-file plugins, loaded after the installed ones and those of the lab.
    entry_points : for tests; default the installed ones.
    lab : default the one that holds here.

    Raises PluginError when two plugins claim one name, or a one-file plugin cannot be used;
    ConfigError where the lab is not trusted.
    """
    named = plugin_files(file.path if isinstance(file, PluginFile) else file for file in files)
    trusted = (current() if lab is None else lab).plugins
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    registry = Registry()
    disabled = set(filter(None, os.environ.get(DISABLE, "").replace(",", " ").split()))
    found = metadata.entry_points(group=GROUP) if entry_points is None else entry_points
    for point in sorted(found, key=lambda point: point.name):
        if point.name not in disabled:
            _load_entry_point(manager, registry, point)
    for file in (*(one for one in trusted if one not in named), *files):
        _load_file(manager, registry, file if isinstance(file, PluginFile) else Path(file))
    return registry


def _load_entry_point(
    manager: pluggy.PluginManager, registry: Registry, point: metadata.EntryPoint
) -> None:
    """Register an installed plugin with its presets; one that cannot be used becomes a Failure."""
    try:
        module = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may raise anything
        registry.failures.append(
            Failure(point.name, f"does not import: {said(error)}{raised_at(error)}")
        )
        return
    folder = Path(getattr(module, "__file__", "") or "").parent
    name, version = (
        getattr(getattr(point, "dist", None), word, "") or "" for word in ("name", "version")
    )
    owner = Owner(point.name, name, version, str(folder))
    try:
        classes = _register(manager, module, owner)
        presets = [read_preset(path, owner) for path in sorted(folder.glob("presets/*/*.yaml"))]
        entries = [Entry(*check_component(cls, owner), cls, owner) for cls in classes]
    except PluginError as error:
        registry.failures.append(
            Failure(point.name, str(error).removeprefix(f"plugin {owner.plugin}: "))
        )
        return
    registry.owners.append(owner)
    for entry in entries:
        registry.put(entry)
    for preset in presets:
        registry.put(preset)


def _load_file(manager: pluggy.PluginManager, registry: Registry, file: Path | PluginFile) -> None:
    """Register a one-file plugin; raises ConfigError where there is no file, PluginError where it
    cannot be used.
    """
    sent = file if isinstance(file, PluginFile) else None
    path = Path(file.path) if isinstance(file, PluginFile) else file.expanduser().resolve()
    if sent is None and not path.is_file():
        raise ConfigError(f"plugin file {str(file)!r} does not exist; give the path of a .py file")
    owner = Owner(plugin=path.stem, distribution=ONE_FILE, path=str(path))
    try:
        module = import_file(path, sent)
    except PluginError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(
            f"plugin file {str(path if sent else file)!r} does not import: {said(error)}"
            f"{raised_at(error, str(path))}"
        ) from error
    registry.owners.append(owner := attrs.evolve(owner, version=vars(module)["__checksum__"]))
    for cls in _register(manager, module, owner) or _classes_of(module, owner):
        registry.add(cls, owner)


def import_file(path: Path, sent: PluginFile | None = None) -> ModuleType:
    """Import a one-file plugin under a name that is the same in every process (numba's cache keys
    on it).

    The source is read each time: byte code beside it counts as fresh when an edit of the same
    length falls into the same second, and a file that was only named on the command line should
    leave nothing behind.  The module's ``__checksum__`` is that of its source.

    sent : the file as another machine has it, whose path is ``path``; None: it is here.

    Raises PluginError for a file that is no .py, and what its code raises.
    """
    name = f"arboretum_file_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    source = path.read_bytes() if sent is None else sent.source
    version = f"sha256:{hashlib.sha256(source).hexdigest()}"
    if getattr(sys.modules.get(name), "__checksum__", "") == version:
        return sys.modules[name]
    if path.suffix != ".py":
        raise PluginError(f"plugin file {path.name!r} is no Python file; its name must end in .py")
    place = path if sent is None else sent.place()
    module = ModuleType(name)
    module.__file__ = str(place)
    sys.modules[name] = module  # before execution, so that pickling and numba find it
    try:
        exec(compile(source, str(place), "exec", dont_inherit=True), vars(module))
    except BaseException:
        del sys.modules[name]
        raise
    vars(module)["__checksum__"] = version
    return module


def _register(manager: pluggy.PluginManager, module: ModuleType, owner: Owner) -> list[type]:
    """Register one plugin with pluggy and return its classes; raises PluginError on a broken
    hook.
    """
    if (other := manager.get_name(module)) not in (None, owner.plugin):
        raise PluginError(
            f"plugin {owner.plugin}: "
            f"its module is registered as plugin {other} already; keep one of the two entry points"
        )
    if manager.has_plugin(owner.plugin):
        file = getattr(manager.get_plugin(owner.plugin), "__file__", None) or "another distribution"
        way = (
            f"rename {owner.path}"
            if owner.distribution == ONE_FILE
            else "rename one entry point, or uninstall one"
        )
        raise PluginError(
            f"plugin {owner.plugin}: a plugin of that name is loaded already ({file}); {way}"
        )
    try:
        manager.register(module, name=owner.plugin)
        manager.check_pending()
    except (ValueError, pluggy.PluginValidationError) as error:
        if manager.has_plugin(owner.plugin):
            manager.unregister(name=owner.plugin)
        raise PluginError(f"plugin {owner.plugin}: {said(error)}") from None
    hooks_of: Facts = {
        impl.plugin_name: impl.function
        for impl in manager.hook.arboretum_components.get_hookimpls()
    }
    if owner.plugin not in hooks_of:
        return []
    try:
        classes: list[type] = list(hooks_of[owner.plugin]())
        return classes
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise PluginError(
            f"plugin {owner.plugin}: arboretum_components() raised {said(error)}{raised_at(error)}"
        ) from error


def _classes_of(module: ModuleType, owner: Owner) -> list[type]:
    """The component classes (that state kind and name) of a one-file plugin without a hook.

    Raises PluginError where there is none, saying what a class lacks that comes near.
    """
    mine = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__
    ]
    stated = {
        cls: sum(isinstance(getattr(cls, word, None), str) for word in ("kind", "name"))
        for cls in mine
    }
    if classes := [cls for cls in mine if stated[cls] == 2]:
        return classes
    for cls in mine:
        if stated[cls] or guess_kind(cls):
            check_component(cls, owner)
    raise PluginError(
        f"plugin file {module.__file__!r} defines no component: no class in it states kind and name"
    )
