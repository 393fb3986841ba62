"""``arboretum new NAME``: a complete third-party plugin that passes its own tests."""

import keyword
import re
import shlex
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template

from arboretum import __version__
from arboretum.cli import terminal
from arboretum.cli.terminal import Parser
from arboretum.errors import ConfigError, StoreError, unknown
from arboretum.interfaces.component import KINDS
from arboretum.interfaces.contracts import REQUIRED
from arboretum.lab import read
from arboretum.plugin.discovery import load_registry

DESCRIPTION = """\
Write a plugin: pyproject.toml with the entry point, registration, algorithm, slow reference, tests
by the conformance suite, and a page for the paper.  lab NAME writes a folder to work in:
arboretum.yaml, a criterion, an experiment, a test.  NAME is the folder, the distribution and (with
_ for -) the package and the option."""

EXACT = "dataset=monk1-full encoder=multiway split=none method=exact"
EXAMPLES = {
    **{
        kind: f"run dataset=iris {kind}=$option"
        for kind in [
            "criterion",
            "impurity",
            "missing",
            "cost",
            "split",
            "encoder",
            "predicate",
            "pruner",
        ]
    },
    "stopping": "run dataset=iris 'stopping=[$option]'",
    "dataset": "run dataset=$option",
    "coverage": "run dataset=iris method=ec45 'coverage=[$option]'",
    "complexity": f"run {EXACT} solver=subtable_dp objective=zero_error complexity=$option",
    "objective": "run dataset=iris method=gosdt objective=$option",
    "solver": f"run {EXACT} solver=$option",
    "rows": "run dataset=iris split=none rows=$option",
    "tuner": "run dataset=iris method=ec45 tuner=$option",
    "method": "run dataset=iris method=$option criterion=reduction",
    "export": "export RUN --to $option",
    "measure": "compare FOLDER --measure $option",
    "comparison": "compare FOLDER --test $option",
}
"""Kind → the command that uses a new one.  (A tracker and a reproduction begin with a study of
theirs.)
"""
FURTHER = {
    "objective": {
        "sums": "run dataset=lifetimes method=leaf_sums objective=$option "
        "stopping.standard.max_depth=2",
        "errors": "run dataset=monk1-full method=fronts objective=$option",
    }
}
"""Kind → its other templates, and the command that uses what they write."""

VALUES = ("none", "null", "true", "false", "nan", "inf")
"""Words that are no name of an option: a command line reads something else in them."""


def main(argv: list[str]) -> int:
    """Write the folder and say what to do next."""
    parser = Parser("new", DESCRIPTION)
    parser.add_argument(
        "words",
        nargs="+",
        metavar="[lab] NAME",
        help="letters, digits, '-' and '_'; begins with a letter; lab NAME writes a lab",
    )
    parser.add_argument(
        "--kind", default="criterion", help=f"one of {', '.join(EXAMPLES)} (default criterion)"
    )
    parser.add_argument(
        "--template",
        metavar="NAME",
        help="another beginning of the kind: "
        + "; ".join(f"{', '.join(names)} for {kind}" for kind, names in FURTHER.items()),
    )
    parser.add_argument(
        "--into", default=".", metavar="FOLDER", help="where to make the folder NAME (default here)"
    )
    arguments = parser.parse_args(argv)
    *first, arguments.name = arguments.words
    if first == ["lab"]:
        return _write_lab(arguments.name, Path(arguments.into).expanduser().absolute())
    if first:
        raise ConfigError(f"one NAME at a time, or lab NAME; got {' '.join(arguments.words)}")
    if arguments.kind not in EXAMPLES:
        if arguments.kind in KINDS:
            raise ConfigError(
                f"templates are written for {', '.join(EXAMPLES)}; "
                f"there is none for the kind {arguments.kind!r} yet; begin with its contract, "
                f"{REQUIRED[arguments.kind].__module__}"
            )
        raise ConfigError(unknown("kind", arguments.kind, EXAMPLES))
    _check_template(arguments.kind, arguments.template)
    option = checked_name(arguments.name, arguments.kind)
    folder = Path(arguments.into).expanduser() / arguments.name
    template = arguments.template or ""
    _write_folder(folder, plugin_files(arguments.name, option, arguments.kind, template))
    example = _example(arguments.kind, template, option)
    verb, _, words = example.partition(" ")
    file = folder / option / f"{arguments.kind}.py"
    terminal.say(
        f"next:\n  cd {folder}\n  pip install -e '.[test]'\n  pytest\n  arboretum {verb} {words}"
    )
    terminal.say(
        f"or at once, without installing:\n  arboretum {verb} --plugin "
        f"{shlex.quote(str(file))} {words}"
    )
    return 0


def _check_template(kind: str, template: str | None) -> None:
    """Raise ConfigError where a kind has no such template."""
    known = FURTHER.get(kind, {})
    if template is None or template in known:
        return
    if not known:
        having = ", ".join(FURTHER)
        raise ConfigError(
            f"--template={template}: the kind {kind!r} has one template; leave it out, or say "
            f"--kind of {having}"
        )
    raise ConfigError(f"--template: {unknown('template', template, known)}")


def _example(kind: str, template: str, option: str) -> str:
    """The command that uses a new component."""
    found = FURTHER[kind][template] if template else EXAMPLES[kind]
    return found.replace("$option", option)


def _write_folder(folder: Path, written: Mapping[str, str]) -> None:
    """Write the files, and say so.  Raises StoreError where the folder holds anything."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StoreError(
                f"{str(folder)!r} exists already; nothing is overwritten: choose another "
                "NAME or --into FOLDER"
            )
        for path, text in ((folder / name, text) for name, text in written.items()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{str(folder)!r} cannot be written ({error.strerror})") from error
    terminal.say("\n".join([f"{folder}", *(f"  {name}" for name in written), ""]))


def _write_lab(name: str, into: Path) -> int:
    """Write a lab: its file, a criterion with its test, an experiment.  It is trusted as it is
    written.
    """
    option = checked_name(name, "criterion")
    templates = files("arboretum.cli").joinpath("templates")
    words = {
        "option": option,
        "cls": "".join(word.capitalize() for word in option.split("_")),
        "name": name,
    }
    written = {
        "arboretum.yaml": "lab/arboretum.yaml.txt",
        f"{option}.py": "criterion/component.py.txt",
        f"test_{option}.py": "lab/test.py.txt",
        "conf/experiment/first.yaml": "lab/experiment.yaml.txt",
        "README.md": "lab/README.md.txt",
    }
    texts = {
        name: Template(templates.joinpath(*file.split("/")).read_text(encoding="utf-8")).substitute(
            words
        )
        for name, file in written.items()
    }
    _write_folder(into / name, texts)
    read(into / name).trust()
    terminal.say(
        f"next:\n  cd {into / name}\n  arboretum run dataset=iris criterion={option}\n  "
        "arboretum run -m +experiment=first\n  pytest"
    )
    return 0


def checked_name(name: str, kind: str) -> str:
    """The option for a name; raises ConfigError when it cannot be one, or an installed plugin
    has it.
    """
    option = name.replace("-", "_").lower()
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise ConfigError(
            f"NAME must be letters, digits, '-' and '_', and begin with a letter; got {name!r}"
        )
    if keyword.iskeyword(option) or option in VALUES:
        raise ConfigError(
            "NAME is imported, and stands behind KEY=, in small letters: it must be no keyword of "
            f"Python and none of {', '.join(VALUES)}; got {name!r}"
        )
    if option == "arboretum" or option.startswith("arboretum_"):
        raise ConfigError(
            f"NAME must not begin with 'arboretum': that is the framework's own name; got {name!r}"
        )
    if find_spec(option) is not None:
        raise ConfigError(f"a Python package {option!r} is installed already; choose another NAME")
    if option in load_registry().names(kind):
        raise ConfigError(f"{kind} {option!r} is installed already; choose another NAME")
    return option


def plugin_files(name: str, option: str, kind: str, template: str = "") -> dict[str, str]:
    """Path inside the folder → text, of all files of a plugin.

    name : of the folder and the distribution.   option : of the package and the component.
    template : one of :data:`FURTHER`; "": the first of the kind.
    """
    cls = "".join(word.capitalize() for word in option.split("_"))
    words = {
        "package": option,
        "option": option,
        "module": kind,
        "kind": kind,
        "article": "An" if kind[0] in "aeiou" else "A",
        "cls": cls,
        "version": __version__,
    }
    words |= {"distribution": name.lower().replace("_", "-"), "suite": f"{kind.capitalize()}Suite"}
    words["example"] = f"arboretum {_example(kind, template, option)}"

    def text(file: str) -> str:
        """The template "FOLDER/FILE", filled in."""
        return Template(folder.joinpath(*file.split("/")).read_text(encoding="utf-8")).substitute(
            words
        )

    folder = files("arboretum.cli").joinpath("templates")
    own = f"{kind}/{template}" if template else kind
    has = {
        name: folder.joinpath(*own.split("/"), f"{name}.py.txt").is_file()
        for name in ("reference", "test")
    }
    test = f"{own if has['test'] else 'common'}/test.py.txt"
    twin = {f"{option}/reference.py": text(f"{own}/reference.py.txt")} if has["reference"] else {}
    readme = text("common/README.md.txt").splitlines(True)
    return {
        "pyproject.toml": text("common/pyproject.toml.txt"),
        "README.md": "".join(line for line in readme if twin or "reference.py" not in line),
        f"{option}/__init__.py": text("common/__init__.py.txt"),
        f"{option}/plugin.py": text("common/plugin.py.txt"),
        f"{option}/{kind}.py": text(f"{own}/component.py.txt"),
        **twin,
        f"tests/test_{option}.py": text(test) + text("common/registration.py.txt"),
        "docs/paper.md": text("common/paper.md.txt"),
    }
