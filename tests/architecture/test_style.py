"""Modules a reader can hold in mind; no hidden state; no reaching into what is private."""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize

from architecture.measure import constants_as_fields

MODULE_LINES = 700
CONTRACT_LINES = 260
FUNCTION_TOKENS = 750
KERNEL_TOKENS = 1200
"""Names, numbers, operators and strings, commas apart: what a reader reads, however wide the
lines are.
"""
COUNTED = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}

LONG_MODULES: dict[str, str] = {}
"""File → why it is one piece although it is longer than MODULE_LINES."""

MOST_FIELDS_BY_CONSTANT = 50
"""Numbers of an array, or entries of a mapping, that are read under a capital constant."""

MOST_PARAMETERS = 12
"""Of a function; the estimators' ``__init__`` has the signature that scikit-learn asks for."""

REFERENCE = re.compile(r":(class|func|meth|attr|data|mod):`([^`]+)`")
"""A reference in a docstring: its kind, and what it names."""

STATE = "the state of a search, an array a line, read from top to bottom"
LONG_FUNCTIONS: dict[str, str] = {
    "plugins/arboretum_gosdt/sparse/search.py:__init__": STATE,
}
""""file:function" → why it is one piece although it is longer than the limit."""

PRIVATE = {
    (
        "framework/arboretum/cli/completion.py",
        "_query",
    ): "Hydra's completion hands its words to its own shells' scripts alone",
    (
        "framework/arboretum/engine/search/kernel_check.py",
        "_nrt_python",
    ): "where numba's count of allocations is switched on",
    (
        "framework/arboretum/kernels/function_pointers.py",
        "_getvalue",
    ): "how numba's documentation builds a struct in an intrinsic",
    (
        "framework/arboretum/kernels/disk_cache.py",
        "",
    ): "numba has no public way to ask what its disk cache has",
    (
        "framework/arboretum/kernels/plain.py",
        "_defn",
    ): "numba has no public name for the function that an intrinsic was made of",
    (
        "framework/arboretum/kernels/stack_arrays.py",
        "_getvalue",
    ): "how numba's documentation builds an array in an intrinsic",
    (
        "framework/arboretum/sklearn/base.py",
        "_check_sample_weight",
    ): "what scikit-learn asks its own estimators to call",
    (
        "plugins/arboretum_mlflow/writer.py",
        "_tracking_client",
    ): "the only way to its store, whose session makes a run one transaction",
    (
        "plugins/arboretum_mlflow/schema.py",
        "",
    ): "MLflow offers its migration as a command only; pinned and tested per version",
}
"""(file, name; "" for any) → why something private of another package is used."""
PUBLIC_IN_SPITE_OF_THE_NAME = {"_exit", "_replace", "_asdict", "_fields", "_make"}

MUTATORS = {
    "append",
    "add",
    "update",
    "setdefault",
    "extend",
    "insert",
    "pop",
    "clear",
    "remove",
    "discard",
    "popitem",
}


def _lines(module) -> int:
    return len(module.path.read_text(encoding="utf-8").splitlines())


def _functions(module):
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_module_is_named_utils_helpers_misc_or_common(house):
    forbidden = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert [m.where for m in house.modules if forbidden & set(m.name.split("."))] == []


def test_no_module_is_longer_than_a_reader_can_hold_unless_a_reason_is_given(house):
    long = {
        module.where: _lines(module) for module in house.modules if _lines(module) > MODULE_LINES
    }
    assert {where: lines for where, lines in long.items() if where not in LONG_MODULES} == {}
    assert [where for where in LONG_MODULES if where not in long] == [], (
        "waivers that nobody needs any more"
    )


def test_every_contract_fits_on_a_few_screens(house):
    contracts = [module for module in house.framework if module.room == "interfaces"]
    assert {m.where: _lines(m) for m in contracts if _lines(m) > CONTRACT_LINES} == {}


def _is_kernel(module) -> bool:
    """Whether it holds kernels: it marks functions, or writes vector code."""
    marks = (
        "arboretum.kernels.jit",
        "arboretum.kernels.kernel_decorators",
        "arboretum_gosdt.simd.lanes",
    )
    return module.room == "kernels" or any(one.target in marks for one in module.imports)


def _token_lines(module) -> list[int]:
    """The line of each token that counts."""
    text = io.StringIO(module.path.read_text(encoding="utf-8"))
    return [
        token.start[0]
        for token in tokenize.generate_tokens(text.readline)
        if token.type in COUNTED and token.string != ","
    ]


def test_no_function_is_longer_than_a_reader_can_hold_unless_a_reason_is_given(house):
    long = {}
    for module in house.modules:
        kernel, lines = _is_kernel(module), _token_lines(module)
        for function in _functions(module):
            size = bisect.bisect_right(lines, function.end_lineno) - bisect.bisect_left(
                lines, function.lineno
            )
            if size > (KERNEL_TOKENS if kernel else FUNCTION_TOKENS):
                long[f"{module.where}:{function.name}"] = size
    assert {where: size for where, size in long.items() if where not in LONG_FUNCTIONS} == {}
    assert [where for where in LONG_FUNCTIONS if where not in long] == [], (
        "waivers that nobody needs any more"
    )


def test_no_function_takes_more_parameters_than_a_reader_can_hold(house):
    wide = set()
    for module in house.modules:
        for function in _functions(module):
            given = function.args
            taken = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
            if taken > MOST_PARAMETERS and (module.name, function.name) != (
                "arboretum.sklearn.estimators",
                "__init__",
            ):
                wide.add(f"{module.where}:{function.name}")
    assert sorted(wide) == [], "group them: a named tuple, a frozen class"


def test_few_numbers_are_read_under_a_constant_where_a_field_has_a_name(house):
    found = {module.where: len([*constants_as_fields(module.tree)]) for module in house.modules}
    assert sum(found.values()) < MOST_FIELDS_BY_CONSTANT, sorted(found.items(), key=lambda e: -e[1])


def test_every_module_says_what_it_is_for(house):
    silent = [
        m.where for m in house.modules if m.path.stat().st_size and not ast.get_docstring(m.tree)
    ]
    assert not silent, "\n".join(silent)


def test_every_file_of_kernels_opens_with_its_algorithm_and_the_invariants_of_its_arrays(house):
    """Pseudo-code is a block that ``::`` begins."""

    def compiled(function):
        marks = (ast.unparse(mark).partition("(")[0] for mark in function.decorator_list)
        return any(mark in ("jit", "inner", "inline", "merged", "intrinsic") for mark in marks)

    silent = []
    for module in house.modules:
        said = ast.get_docstring(module.tree) or ""
        told = "::" in said and "Invariant" in said
        if not told and any(map(compiled, _functions(module))):
            silent.append(module.where)
    assert silent == []


def test_no_module_keeps_a_registry_or_other_state_at_module_level(house):
    """A name bound at module level is never mutated, and ``global`` does not occur: managers and
    registries are passed.
    """
    wrong = []
    for module in house.modules:
        names = {
            target.id
            for node in module.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for function in _functions(module):
            local = _bound_in(function)
            for node in ast.walk(function):
                name = _mutated(node)
                if isinstance(node, ast.Global) or (name in names and name not in local):
                    wrong.append(f"{module.where}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def _bound_in(function: ast.AST) -> set[str]:
    bound = {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return bound | {
        argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)
    }


def _mutated(node: ast.AST) -> str | None:
    """Name of the container that a statement changes, if it changes one."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return getattr(node.value, "id", None)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in MUTATORS
    ):
        return getattr(node.func.value, "id", None)
    return None


def test_nobody_reaches_into_what_is_private_to_another_module(house):
    """``obj._x`` is for the module that defines ``_x``; the others ask for a public name."""
    found = []
    for module in house.modules:
        own = _defined(module.tree) | PUBLIC_IN_SPITE_OF_THE_NAME
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
                if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                    found.append(
                        (
                            module.where,
                            node.attr,
                            f"{module.where}:{node.lineno} {ast.unparse(node)}",
                        )
                    )
            if isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names if _is_private(alias.name)]
                found += [
                    (module.where, name, f"{module.where}:{node.lineno} imports {name}")
                    for name in names
                ]
    wrong = [
        text
        for where, name, text in found
        if (where, name) not in PRIVATE and (where, "") not in PRIVATE
    ]
    assert not wrong, "\n".join(wrong)
    used = {(where, name) for where, name, _ in found} | {(where, "") for where, _, _ in found}
    assert [waiver for waiver in PRIVATE if waiver not in used] == [], (
        "waivers that nobody needs any more"
    )


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _defined(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def test_no_exception_is_swallowed_in_silence(house):
    """A handler that only passes must say why in a comment on one of its lines."""
    wrong = []
    for module in house.modules:
        lines = module.path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(module.tree):
            if (
                isinstance(node, ast.ExceptHandler)
                and all(isinstance(s, ast.Pass | ast.Continue) for s in node.body)
                and not any(
                    "#" in lines[i] for i in range(node.lineno - 1, node.body[-1].end_lineno)
                )
            ):
                wrong.append(f"{module.where}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


def test_nothing_that_matters_is_an_assert_which_python_leaves_out_when_it_optimises(house):
    """The suites of ``arboretum.testing`` are tests, run by pytest."""
    asserts = [
        f"{m.where}:{node.lineno}"
        for m in house.modules
        for node in ast.walk(m.tree)
        if isinstance(node, ast.Assert)
    ]
    assert [
        where for where in asserts if not where.startswith("framework/arboretum/testing/")
    ] == []


def test_what_a_text_refers_to_is_there(house):
    """A module by its file; a full name by the file of its module; a short one, or its class, by
    the file that says it.
    """
    texts = {one.name: one.path.read_text(encoding="utf-8") for one in house.modules}
    plain = {name: REFERENCE.sub("", text) for name, text in texts.items()}
    lost = []
    for module in house.modules:
        for kind, words in REFERENCE.findall(texts[module.name]):
            name = re.sub(r"[~\s]", "", words)
            name = module.name.rpartition(".")[0] + name if name.startswith(".") else name
            if kind == "mod":
                there = name in texts or not name.startswith("arboretum")
            else:
                place, _, last = name.rpartition(".")
                while place and place not in texts:
                    place, _, last = place.rpartition(".")
                there = re.search(rf"\b{last}\b", plain[place or module.name]) is not None
            lost += [] if there else [f"{module.where}: {kind} {name}"]
    assert not lost, "\n".join(lost)
