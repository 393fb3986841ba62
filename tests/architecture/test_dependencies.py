"""Dependencies point one way."""

from __future__ import annotations

import ast
import sys

EVERYONE_MAY = {"errors"}
MAY_IMPORT = {
    "errors": set(),
    "lab": set(),
    # of the package its lazy names: Tree.to_text and its siblings ask it for what draws
    "model": {""},
    "kernels": set(),
    "measure": {"model"},
    "report": {"model"},
    "interfaces": {"model"},
    "solving": {"interfaces", "model", "kernels"},
    "rows": {"interfaces", "model", "kernels"},
    "engine": {"solving", "rows", "interfaces", "model", "kernels", "measure"},
    "api": {"lab", "interfaces", "model", "solving", "rows", "engine", "measure", "report"},
    "plugin": {"lab", "engine", "interfaces", "model"},
    "proof": {"plugin", "interfaces", "model", "kernels"},
    "runs": {"plugin", "engine", "interfaces", "model"},
    "config": {"lab", "runs", "plugin", "engine", "interfaces", "model", "measure"},
    "cli": {
        "lab",
        "config",
        "runs",
        "proof",
        "plugin",
        "engine",
        "interfaces",
        "model",
        "report",
        "measure",
    },
    "sklearn": {"plugin", "engine", "interfaces", "model"},
    "testing": {"api", "plugin", "engine", "rows", "interfaces", "model", "kernels"},
}
"""Room → rooms it may import; a new room needs a line here, so that its place is decided and not
drifted into.
"""

FLOORS = {
    "arboretum_gosdt": (
        {"problem", "simd"},
        {"sparse", "depth", "continuous"},
        {"all_trees", "regression", "sums"},
        {"general"},
        {"solvers"},
        {"paper"},
        {"plugin"},
    ),
}
"""Plugin → its rooms, floor by floor: a room imports itself and what lies on floors below."""

OUTSIDE = {
    "hydra": {"config", "cli"},
    "omegaconf": {"config", "cli"},
    "mlflow": {"arboretum_mlflow"},
    "sklearn": {
        "sklearn",
        "arboretum_basics",
        "arboretum_data",
        "arboretum_classic",
        "arboretum_policy",
    },
    "pluggy": {"plugin", "interfaces"},
    "numba": {"kernels", "testing", "arboretum_classic", "arboretum_gosdt"},
    "onnx": {"arboretum_basics"},
    "onnxruntime": {"arboretum_basics"},
    "optuna": {"arboretum_optuna"},
    "ray": {"arboretum_ray"},
}
"""Third-party package → rooms and plugins that may import it at all."""

OUTSIDE_WAIVERS = {
    (
        "framework/arboretum/engine/search/kernel_check.py",
        "numba",
    ): "its count of allocations, to find a kernel that takes memory",
    (
        "framework/arboretum/engine/search/compiled_criterion.py",
        "numba",
    ): "its error class, to say in one line why a kernel does not compile",
}
"""(file, package) → reason; only for imports inside functions."""

HEAVY = (
    "numba",
    "mlflow",
    "sklearn",
    "pandas",
    "scipy",
    "scikit_posthocs",
    "matplotlib",
    "pyarrow",
    "hydra",
    "omegaconf",
    "onnx",
    "onnxruntime",
    "optuna",
    "playwright",
    "ray",
)
FOR_PLUGINS = ("arboretum.api", "arboretum.kernels", "arboretum.testing")


def test_every_room_of_the_framework_imports_only_what_lies_below_it(house):
    wrong = []
    for module in house.framework:
        if not module.room:
            continue
        assert module.room in MAY_IMPORT, (
            f"{module.where}: the room {module.room!r} has no line in MAY_IMPORT"
        )
        allowed = MAY_IMPORT[module.room] | EVERYONE_MAY | {module.room}
        for found in module.imports:
            top, _, rest = found.target.partition(".")
            room = rest.split(".")[0]
            # the package itself is a place only for its version: "from arboretum import
            # __version__"
            if top == "arboretum" and room not in allowed | {"__version__"}:
                wrong.append(f"{module.where}:{found.line} imports {found.target}")
    assert not wrong, "\n".join(wrong)


def test_kernels_import_numpy_and_numba_only(house):
    allowed = {"numpy", "numba", "llvmlite", "arboretum", *sys.stdlib_module_names}
    wrong = [
        f"{module.where}:{found.line} imports {found.target}"
        for module in house.framework
        if module.room == "kernels"
        for found in module.imports
        if found.target.split(".")[0] not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_plugins_import_the_api_the_kernels_and_the_suites_and_never_each_other(house):
    packages = {module.package for module in house.plugins}
    wrong = []
    for module in house.plugins:
        for found in module.imports:
            top = found.target.split(".")[0]
            foreign = top in packages - {module.package}
            inside = top == "arboretum" and not found.target.startswith(FOR_PLUGINS)
            if foreign or inside:
                wrong.append(f"{module.where}:{found.line} imports {found.target}")
    assert not wrong, "\n".join(wrong)


def test_rooms_of_a_plugin_import_only_what_lies_on_floors_below(house):
    wrong = []
    for module in house.plugins:
        floors = FLOORS.get(module.package)
        if floors is None or not module.room or module.room == "reference":
            continue
        level = next(i for i, rooms in enumerate(floors) if module.room in rooms)
        allowed = set().union(*floors[:level]) | {module.room}
        for found in module.imports:
            package, _, rest = found.target.partition(".")
            if package == module.package and rest.split(".")[0] not in allowed:
                wrong.append(f"{module.where}:{found.line} imports {found.target}")
    assert not wrong, "\n".join(wrong)


def test_no_method_imports_the_study_of_its_paper(house):
    wrong = [
        f"{module.where}:{found.line} imports {found.target}"
        for module in house.plugins
        if module.room not in ("paper", "plugin", "")
        for found in module.imports
        if found.target.startswith(f"{module.package}.paper")
    ]
    assert not wrong, "\n".join(wrong)


def test_the_framework_knows_no_plugin(house):
    packages = {module.package for module in house.plugins}
    wrong = [
        f"{module.where}:{found.line} imports {found.target}"
        for module in house.framework
        for found in module.imports
        if found.target.split(".")[0] in packages
    ]
    assert not wrong, "\n".join(wrong)


def test_each_third_party_package_has_its_room(house):
    wrong = []
    for module in house.modules:
        place = module.room if module.package == "arboretum" else module.package
        for found in module.imports:
            top = found.target.split(".")[0]
            waived = (module.where, top) in OUTSIDE_WAIVERS and not found.at_import
            if top in OUTSIDE and place not in OUTSIDE[top] and not waived:
                wrong.append(f"{module.where}:{found.line} imports {found.target}")
    assert not wrong, "\n".join(wrong)


def test_what_hydra_calls_its_own_is_imported_in_one_place(house):
    found = {
        module.where
        for module in house.modules
        for one in module.imports
        if one.target.startswith("hydra._internal")
    }
    assert found == {"framework/arboretum/config/inside.py"}, (
        "what a new Hydra moves is mended there"
    )


MLFLOW_LATE = ("writer.py", "tables.py", "schema.py", "page.py")
LOADED_BY_SWEEPS = {
    f"arboretum.cli.{name}" for name in ("sweep", "jobs", "collector", "worker", "pieces")
}
LOADED_LATE = {
    "numba": lambda m: (
        m.room == "kernels"
        or m.path.stem in ("kernels", "lanes", "pair_counts", "masked_counts", "packing")
    ),
    "sklearn": lambda m: m.room == "sklearn",
    "hydra": lambda m: m.room == "config" or m.name in LOADED_BY_SWEEPS,
    "omegaconf": lambda m: m.room == "config" or m.name in LOADED_BY_SWEEPS,
    "mlflow": lambda m: m.package == "arboretum_mlflow" and m.path.name in MLFLOW_LATE,
    "hypothesis": lambda m: m.room == "testing",
}
"""Package → modules that need it throughout, and are themselves imported only when they are
needed (test_start holds it).
"""


def test_heavy_packages_are_imported_inside_functions_or_by_modules_that_are_loaded_late(house):
    wrong = []
    for module in house.modules:
        for found in module.imports:
            top = found.target.split(".")[0]
            late = LOADED_LATE.get(top, lambda m: False)
            if found.at_import and top in HEAVY and not late(module):
                wrong.append(f"{module.where}:{found.line} imports {found.target} at module level")
    assert not wrong, "\n".join(wrong)


def test_what_is_for_testing_is_the_only_room_that_imports_pytest_or_hypothesis(house):
    wrong = [
        f"{module.where}:{found.line}"
        for module in house.modules
        for found in module.imports
        if found.target.split(".")[0] in ("pytest", "hypothesis") and module.room != "testing"
    ]
    assert not wrong, "\n".join(wrong)


def _imports_of(house) -> dict[str, set[str]]:
    """Module → modules of the house that it imports, at whatever time; what is imported for type
    checking only left out.
    """
    names = {module.name for module in house.modules}
    found: dict[str, set[str]] = {}
    for module in house.modules:
        counted, targets = {(found.target, found.line) for found in module.imports}, set()
        for node in ast.walk(module.tree):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                base = getattr(node, "module", None) or alias.name
                inside = f"{base}.{alias.name}"  # "from package import module" names the module
                if (base, node.lineno) in counted or (inside, node.lineno) in counted:
                    targets.add(inside if inside in names else base)
        found[module.name] = (targets & names) - {module.name}
    return found


def test_no_modules_import_each_other_in_a_circle(house):
    left = _imports_of(house)
    while free := {name for name, targets in left.items() if not targets & left.keys()}:
        left = {name: targets for name, targets in left.items() if name not in free}
    assert sorted(left) == [], "these modules, or those that they import, lie in a circle"
