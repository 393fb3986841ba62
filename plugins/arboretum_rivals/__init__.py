"""The name that :mod:`arboretum_baselines` had before version 0.2; it goes with 0.3."""

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType

NOW_IN = {
    "binary": "arboretum_baselines.binary",
    "binoct": "arboretum_baselines.binoct",
    "itemsets": "arboretum_baselines.dl8.solver",
    "losses": "arboretum_baselines.osdt.losses",
    "plugin": "arboretum_baselines.plugin",
    "printed": "arboretum_baselines.as_printed.solver",
    "rank": "arboretum_baselines.osdt.solver",
    "reference": "arboretum_baselines.reference",
    "reproduction": "arboretum_gosdt.paper.reproduction",
}
"""Module of this package → where its names are."""

warnings.warn(
    "arboretum_rivals is called arboretum_baselines, and its studies are in arboretum_gosdt.paper; "
    "the old name goes with version 0.3",
    DeprecationWarning,
    stacklevel=2,
)


class _Moved(MetaPathFinder, Loader):
    """Finds the old modules: each holds what its new place holds."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        package, _, module = name.partition(".")
        return spec_from_loader(name, self) if package == __name__ and module in NOW_IN else None

    def exec_module(self, module: ModuleType) -> None:
        there = import_module(NOW_IN[module.__name__.partition(".")[2]])
        vars(module).update({k: v for k, v in vars(there).items() if not k.startswith("__")})


sys.meta_path.append(_Moved())
