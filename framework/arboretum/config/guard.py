"""What a configuration must not say: arbitrary code, two components in one group, passwords in
addresses of stores.

Those are kept in the environment, so that no configuration, and no file made of one, holds them.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict, read_write
from omegaconf.errors import OmegaConfBaseException

from arboretum.errors import ConfigError
from arboretum.interfaces.component import KINDS, MANY
from arboretum.model.plain import Facts, Plain
from arboretum.model.shown import MASK, masked
from arboretum.plugin.registry import NONE

TARGETS = {
    "hydra.launcher": (
        "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
        "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher",
        "hydra_plugins.hydra_ray_launcher.ray_launcher.RayLauncher",
        "hydra_plugins.hydra_submitit_launcher.submitit_launcher.LocalLauncher",
        "hydra_plugins.hydra_submitit_launcher.submitit_launcher.SlurmLauncher",
    ),
    "hydra.sweeper": ("hydra._internal.core_plugins.basic_sweeper.BasicSweeper",),
}
"""Key → the classes that its ``_target_`` may name; nobody else has a ``_target_``.  Whole names:
what a prefix covers (``hydra.experimental.callbacks.logging.os.symlink``) is all that those modules
import.
"""

INSTANTIATED = (*TARGETS, "hydra.callbacks")  # what Hydra makes objects of
QUIET = frozenset({"version", "root", "disable_existing_loggers"})
"""Keys of Hydra's logging options that make no handler (``none``)."""
COMMANDS = (
    "hydra.job.env_set",
    *(
        f"hydra.launcher.{name}"
        for name in ("setup", "python", "srun_args", "additional_parameters")
    ),
)
"""What runs programs, or decides which (LD_PRELOAD): taken from the command line, not from a
folder of choices.
"""

# under which name, with a number, an address is kept that no variable of the environment holds
VARIABLE = "ARBORETUM_SECRET"
_INTERPOLATION = re.compile(r"\$\{[^{}]*\}")
_LEFT_OUT = re.compile(rf"://.*(?::|//|=){MASK}")
WAY_OUT = "'${oc.env:NAME}' takes it from the environment"

_GROUP = re.compile(r"^[+~]{0,2}(?P<group>[a-z_]+)(?:=(?P<value>.*)|$)", re.DOTALL)
KEY = "%%"
"""Before a key that stood in quotes and is written in per cent signs, as in an address."""
_QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(\s*:)?""", re.DOTALL)
_HOME = re.compile(r"(?<![^,\[])~(?:/[^,\[\]{}]*)?(?=[,\]]|$)")


def contents(config: object, *, resolve: bool = False) -> Facts:
    """Return what a mapping of a configuration holds, plain; {} of what is none."""
    found: Any = OmegaConf.to_container(config, resolve=resolve)
    return found if isinstance(found, dict) else {}


def refuse_code(config: DictConfig, said: Sequence[str] = ()) -> None:
    """Raise ConfigError when a configuration names code, a log file, or a folder of Hydra's own
    notes.

    said : overrides of the command line, which alone may give what :data:`COMMANDS` lists.
    """
    for path, value, why in _list_faults(config, said):
        raise ConfigError(f"{path}={value!r} is refused: {why}")


def _list_faults(config: DictConfig, said: Sequence[str]) -> Iterator[tuple[str, object, str]]:
    """Yield (key, value, why it is refused); ``said`` as of :func:`refuse_code`."""
    raw = contents(config)
    for path, value in _find_targets(raw, ""):
        if str(value) not in TARGETS.get(path, ()):
            what = "a configuration selects registered components and names no code"
            yield (
                f"{path}._target_".lstrip("."),
                value,
                f"{what}; write a plugin (arboretum new NAME) and select it by name",
            )
    for path in INSTANTIATED:
        yield from _hidden_interpolations(config.hydra, path.removeprefix("hydra."), path)
    hydra = raw["hydra"]
    for name in ("job_logging", "hydra_logging"):
        node = hydra[name]
        if node is not None and not (
            isinstance(node, dict) and node.keys() <= QUIET and node.get("root") is None
        ):
            yield f"hydra.{name}", node, f"log handlers write files; leave it at hydra/{name}=none"
    if hydra["output_subdir"] is not None:
        yield (
            "hydra.output_subdir",
            hydra["output_subdir"],
            "record.json holds the configuration; leave it at null",
        )
    for path in COMMANDS:
        _, group, name = path.split(".")
        value = hydra[group].get(name) if isinstance(hydra[group], dict) else None
        if value and not any(
            text.lstrip("+").startswith((f"{path}.", f"{path}=")) for text in said
        ):
            yield (
                path,
                value,
                f"it decides which programs run; if you want it, say {path}=… on the command line",
            )


def _hidden_interpolations(parent: Any, key: Any, path: str) -> Iterator[tuple[str, object, str]]:
    """Interpolations at or below a key that are no plain values: they may hide a ``_target_``."""
    if OmegaConf.is_interpolation(parent, key):
        try:
            value = parent[key]
        except OmegaConfBaseException:
            value = parent
        if not isinstance(value, str | int | float | None):
            written: Any = OmegaConf.to_container(parent, resolve=False)
            yield path, written[key], "it must be written out"
    elif not OmegaConf.is_missing(parent, key) and OmegaConf.is_config(inner := parent[key]):
        for below in inner if OmegaConf.is_dict(inner) else range(len(inner)):
            yield from _hidden_interpolations(inner, below, f"{path}.{below}")


def _find_targets(node: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield where a ``_target_`` stands, and what it says."""
    steps = {f"[{i}]": item for i, item in enumerate(node)} if isinstance(node, list) else {}
    if isinstance(node, dict):
        steps = {f".{key}": item for key, item in node.items()}
        yield from ((path, node[key]) for key in node if key == "_target_")
    for step, item in steps.items():
        yield from _find_targets(item, f"{path}{step}".lstrip("."))


def normalise(overrides: Sequence[str]) -> list[str]:
    """Overrides that Hydra accepts: ``group=null`` means ``group=none``, ``~/file`` needs no
    quotes, and keys may have some.

    Raises ConfigError for a list of options in a group that takes one.
    """
    found = []
    for text in map(readable, overrides):
        group, _, value = text.lstrip("+~").partition("=")
        value = value.strip() if group in KINDS else ""
        if value.startswith("[") and group not in MANY and "],[" not in value:
            raise ConfigError(
                f"{group} takes one option, not a list; got {value} (several values to try: "
                f"-m {group}={value[1:-1]})"
            )
        found.append(f"{group}={NONE}" if value == "null" else text)
    return found


def readable(text: str) -> str:
    """Return an override as Hydra's grammar takes it, which knows no quoted keys, and has a meaning
    of its own for ``~``.
    """
    return _QUOTED.sub(_as_key, quote_home(text)) if "{" in text else quote_home(text)


def _as_key(found: re.Match[str]) -> str:
    """Return a quoted key (``{"Größe": 1}``) by letters, digits and %; any other quoted text as it
    is.
    """
    if not found[2] or not found.string[: found.start()].rstrip().endswith(("{", ",")):
        return found[0]
    return (
        KEY
        + quote(re.sub(r"""\\(["'\\])""", r"\1", found[1][1:-1]), safe="").replace("~", "%7E")
        + found[2]
    )


def name_keys(config: DictConfig, overrides: Sequence[str]) -> None:
    """Put the keys that overrides had in quotes into a configuration made of them, in place."""
    if any(KEY in text for text in overrides):
        with read_write(config), open_dict(config):
            for node, key in _values_within(config):
                if isinstance(key, str) and key.startswith(KEY):
                    node[unquote(key.removeprefix(KEY))] = contents(node)[key]
                    del node[key]


def _values_within(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (mapping or list, key) of every value of a configuration that is written out, those
    inside of one before it; the one that was yielded may be taken away.
    """
    for key in list(node) if OmegaConf.is_dict(node) else range(len(node)):
        if not (OmegaConf.is_missing(node, key) or OmegaConf.is_interpolation(node, key)):
            if OmegaConf.is_config(node[key]):
                yield from _values_within(node[key])
            yield node, key


def quote_home(text: str) -> str:
    """``dataset.path=~/a.csv,~/b.csv`` with the quotes that Hydra's grammar asks for; what has
    quotes stays as it is.
    """
    key, sign, value = text.partition("=")
    if not sign or "~" not in value or "'" in value or '"' in value:
        return text
    return f"{key}=" + _HOME.sub(r"'\g<0>'", value)


def chosen_options(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Group → the options that overrides choose for it: several in a list or a sweep, none where
    they take it away.
    """
    found = (
        match for text in overrides if (match := _GROUP.match(text)) and match["group"] in KINDS
    )
    return {
        m["group"]: [
            n for item in (m["value"] or "").strip(" []").split(",") if (n := item.strip(" '\""))
        ]
        for m in found
    }


def holds_secret(text: str) -> bool:
    """Return whether a text names a secret itself; ``${oc.env:NAME}`` in its place is none."""
    plain = _INTERPOLATION.sub("", text)
    return masked(plain) != plain


def without_secret(override: str) -> str:
    """Return the override with ``${oc.env:NAME}`` for an address that holds a secret.  Raises
    ConfigError where that cannot be done.
    """
    if not holds_secret(override):
        return override
    try:
        found = OverridesParser.create().parse_override(override)
    except HydraException:
        return override  # it will be refused for what it is
    value = None if found.is_sweep_override() else found.value()
    if not isinstance(value, str) or "${" in value:
        raise ConfigError(
            f"{override} holds a secret beside other things; {WAY_OUT}, the whole address"
        )
    return f"{override.partition('=')[0]}={_environment_reference(value)}"


def conceal(config: DictConfig) -> None:
    """The same for every value of a composed configuration (a file of choices may hold
    addresses), in place.
    """
    with read_write(config):
        for node, key in _values_within(config):
            if isinstance(value := node[key], str) and holds_secret(value):
                node[key] = _environment_reference(value)


def _environment_reference(value: str) -> str:
    """Return how a configuration names a text that the environment keeps, "${oc.env:NAME}"; where
    no variable holds it, one is added to this process.
    """
    name = next((name for name, held in os.environ.items() if held == value), None)
    if name is None:
        name = next(
            name
            for i in range(len(os.environ) + 1)
            if (name := f"{VARIABLE}_{i}") not in os.environ
        )
        os.environ[name] = value
    return f"${{oc.env:{name}}}"


def restore(value: object, path: str, given: Collection[str] = ()) -> Any:
    """Return a recorded value for a configuration: its texts as they are, whatever they look like,
    and its secrets found anew.

    given : keys that the command line sets; their recorded values do not matter.

    A secret was left out of the record; any variable of the environment that holds the whole
    address serves.  Raises ConfigError.
    """
    if isinstance(value, Mapping):
        return {key: restore(item, f"{path}.{key}", given) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [restore(item, path, given) for item in value]
    if not isinstance(value, str):
        return value
    if path in given or not _LEFT_OUT.search(value):
        return value.replace("${", r"\${")
    name = next(
        (name for name, held in os.environ.items() if held != value and masked(held) == value), None
    )
    if name is None:
        raise ConfigError(
            f"{path}={value} lacks its secret, which records leave out: put the whole address into "
            f"an environment variable (any name: export STORE=…), or say {path}=… anew"
        )
    return f"${{oc.env:{name}}}"


def found_again(fields: Plain, path: str) -> Facts:
    """Recorded fields with their secrets, from the environment.  Raises ConfigError."""
    return contents(OmegaConf.create(restore(fields, path)), resolve=True)
