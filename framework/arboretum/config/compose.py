"""Overrides → composed configuration, with Hydra's loader and our errors."""

import copy
import functools
import os
import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import yaml
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import setup_globals
from hydra.errors import (
    HydraException,
    InstantiationException,
    MissingConfigException,
    OverrideParseException,
)
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from arboretum.config.bridge import PRIMARY, Start, hold_nodes
from arboretum.config.guard import chosen_options, conceal, name_keys, normalise, refuse_code
from arboretum.config.inside import ConfigLoaderImpl, create_config_search_path, name_after
from arboretum.config.resolve import SETTINGS, Resolved, resolve
from arboretum.engine.check import check_parts
from arboretum.errors import ArboretumError, ConfigError, closest, sure, unknown
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.component import KINDS, MANY
from arboretum.model.plain import Facts
from arboretum.plugin.assemble import expand
from arboretum.plugin.build import coerce, field_types, fields_of
from arboretum.plugin.registry import NONE, Registry

_VALUE = re.compile(
    r"^(?:hydra\.run\.dir|(?!hydra[./])\+{0,2}(?:[A-Za-z_][\w-]*(?:\.[\w-]+)+|"
    + "|".join(SETTINGS)
    + r"))="
)
"""An override that sets a value; the others choose options, or remove something, and may change
what is composed.
"""

_KEYED = re.compile(r"\+{0,2}([a-z_]+(?:\.[a-z_]+)+)\.([^=]+)=(.*)", re.DOTALL)

OURS = tuple(Path(__file__).parents[above] / "conf" for above in (1, 3))
"""The choices that come with Arboretum: in a wheel, in a checkout."""

# checked jobs kept for the launcher (some KB each); what lies beyond is composed again
KEPT = 10_000
SHAPES = 1024  # compositions kept (50 KB each)


@contextmanager
def translate_errors(overrides: Sequence[str], registry: Registry | None) -> Iterator[None]:
    """Raise Hydra's error said again in one line, with the closest match and the way out; as it
    is where there is no registry.
    """
    try:
        yield
    except ArboretumError:
        raise
    except Exception as error:
        if registry is None:
            raise
        raise ConfigError(_translate_error(error, overrides, registry)) from error


def _translate_error(error: Exception, overrides: Sequence[str], registry: Registry) -> str:
    """Return Hydra's error in the words of the command line, with the way out."""
    if isinstance(error, OverrideParseException):
        lines = [
            line
            for line in str(error.message).split("\n")
            if line and not line.startswith(("Error parsing", "See "))
        ]
        what = (lines or [""])[0]
        if "Exception" in what:  # the parser's own words for a character it does not know
            what = "some of its characters have a meaning of their own"
        hint = "quote text with special characters inside the shell's quotes: 'KEY=\"a, b\"'"
        if found := _KEYED.match(error.override or ""):  # a column's name as a part of the key
            hint = (
                "a name with special characters is a key in quotes: "
                f"'{found[1]}={{\"{_cut(found[2])}\": {_cut(found[3])}}}'"
            )
        elif "{" in error.override:
            hint += ", keys too: 'KEY={\"a, b\": VALUE}'"
        return f"cannot read {_cut(error.override)!r} ({_cut(what)}); expected KEY=VALUE; {hint}"
    if isinstance(error, MissingConfigException):
        return _explain_missing(error, registry)
    text, cause = str(error), error.__cause__
    if found := re.search(r"You must specify '([^']+)'", text):
        return _explain_unspecified(found[1], registry)
    if "Ambiguous value" in text or "requires --multirun" in text:
        given = re.search(r"'([^=']+=[^']*)'", text)
        return (
            f"{given[1] if given else 'KEY=A,B'} names several values; add -m to run each, or "
            "write a list as [A,B]"
        )
    if found := re.search(r"Error merging override \+{0,2}([^=\s]+)=(.*)", text, re.DOTALL):
        return _explain_misfit(found[1], found[2], cause, overrides, registry)
    if found := re.search(
        r"Could not (?:override|append to|delete from) '?(?:config\. ')?([^'\s]+)'", text
    ):
        return _explain_unknown_key(found[1], overrides, registry)
    if "Config group override must be" in text:
        return (
            "a group takes the name of an option (criterion=NAME), or a list of them for "
            "stopping, coverage, predicate"
        )
    return " ".join(text.split()) or " ".join(str(cause or "").split()) or type(error).__name__


def _cut(text: str, most: int = 200) -> str:
    """Return a user's own text as far as a line has room."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def _explain_missing(error: MissingConfigException, registry: Registry) -> str:
    """Return what is to be said of an option or a file of the configuration that is not there."""
    found = re.search(r"Could not (?:load|find) '([^']+)'", str(error))
    path = error.missing_cfg_file or (found[1] if found else "")
    group, _, option = (
        path.partition("/") if path.partition("/")[0] in KINDS else path.rpartition("/")
    )
    if group in KINDS:
        return (
            _explain_unspecified(group, registry)
            if option == NONE
            else registry.unknown_option(group, option)
        )
    if group.startswith("hydra/"):
        kind = group.removeprefix("hydra/")
        listed = [
            line.strip()
            for line in str(error).split("\n")
            if line.startswith("\t") and "provider=" not in line
        ]
        return f"unknown {group} {option!r}; known: {', '.join(listed)}; " + _way_to(kind, option)
    where = "" if group else " (is --config-dir given?)"
    return " ".join(str(error).split("\n")[0].split()).removeprefix(f"In '{path}': ") + where


PACKAGES = {
    "joblib": "arboretum[joblib]",
    **dict.fromkeys(("submitit_local", "submitit_slurm"), "arboretum[submitit]"),
    **dict.fromkeys(("ray", "ray_aws"), "arboretum[ray]"),
    "rq": "hydra-rq-launcher",
}
"""Launcher → the package that brings it."""


def _way_to(kind: str, option: str) -> str:
    """Return how one comes by a launcher or a sweeper that is not installed.

    kind : "launcher" or "sweeper"; of others Hydra's docs tell.
    """
    if kind == "sweeper":
        return "a plugin brings others (arboretum plugins tells which are installed)"
    if kind != "launcher":
        return "see Hydra's docs"
    if option in PACKAGES:
        return f"pip install '{PACKAGES[option]}' brings it"
    near = closest(option, PACKAGES)
    return (
        f"did you mean {near!r}? pip install '{PACKAGES[near]}' brings it"
        if near
        else f"packages bring {', '.join(PACKAGES)}"
    )


@contextmanager
def explain_missing_launcher(option: str) -> Iterator[None]:
    """Raise ConfigError, with the package that brings it, where a launcher is chosen that is not
    installed.

    option : of ``hydra/launcher``.
    """
    try:
        yield
    except (ImportError, HydraException, InstantiationException) as error:
        raise ConfigError(
            f"launcher {option!r} cannot be used ({' '.join(str(error).split())[:200]}); "
            + _way_to("launcher", option)
        ) from error


def _explain_misfit(
    key: str, value: str, cause: object, overrides: Sequence[str], registry: Registry
) -> str:
    """Explain a value of another shape than the field's: say what the field takes.

    cause : Hydra's own reason, None where it has none.
    key, value : of the override that Hydra could not merge.
    overrides : all, which say the component.
    """
    group, *rest = key.split(".")
    if group in KINDS and rest:
        option = _choices_of(overrides, registry).get(group)
        name = rest.pop(0) if group in MANY else option
        if rest and name in registry.names(group) and registry.find_preset(group, name) is None:
            wanted = field_types(registry.get(group, name).cls).get(rest[0], Any)
            try:
                coerce(yaml.safe_load(value), wanted, key)
            except (ConfigError, yaml.YAMLError) as error:
                return " ".join(str(error).split())
    reason = (
        " ".join(str(cause).split("\n")[0].split())
        if cause is not None
        else "its value has another form"
    )
    return f"{key} does not take {_cut(value)} ({_cut(reason)})"


def _explain_unspecified(group: str, registry: Registry) -> str:
    """Return what is to be said where a group has no option and needs one."""
    known = registry.names(group) if group in KINDS else []
    first = "iris" if "iris" in known else "NAME"
    way_out = (
        " (or dataset=file dataset.path=PATH dataset.target=COLUMN)" if group == "dataset" else ""
    )
    return (
        f"a run needs a {group}; say {group}={first}{way_out}; installed: "
        f"{', '.join(known) or 'none'}"
    )


def _choices_of(overrides: Sequence[str], registry: Registry) -> Facts:
    """Return group → option (a tuple for groups that take several): what the overrides choose, else
    what the method's preset selects, else the default.

    For messages only: of a sweep's options the first counts, and a group that is taken away has
    NONE.  Raises ConfigError on an unknown option.
    """
    said = chosen_options(overrides)
    return expand(
        registry,
        {
            group: tuple(names) if group in MANY else (names or [NONE])[0]
            for group, names in said.items()
        },
    )


def _explain_unknown_key(key: str, overrides: Sequence[str], registry: Registry) -> str:
    """Return what is to be said of an override whose key is not there: where the parameter lives,
    or the nearest known keys.
    """
    group, *rest = key.lstrip("+~").split(".")
    if group == "budget":
        return unknown("parameter", key, [f"budget.{field.name}" for field in attrs.fields(Budget)])
    if group.partition("/")[0] == "hydra":
        return f"unknown Hydra setting {key!r}; arboretum run --cfg hydra dataset=NAME lists them"
    if group not in KINDS:
        if owners := [] if rest else _owners_of(group, overrides, registry):
            more = (
                f" (or {', '.join(f'{one}.{group}' for one in owners[1:4])})" if owners[1:] else ""
            )
            return (
                f"unknown key {group!r}: a parameter lives under its component; say "
                f"{owners[0]}.{group}=VALUE{more}"
            )
        near = closest(group, [*KINDS, *SETTINGS])
        hint = f"; did you mean {near!r}?" if near else ";"
        return (
            f"unknown key {key!r}{hint} groups: {', '.join(KINDS)}; settings: {', '.join(SETTINGS)}"
        )
    if not rest:
        return f"{key}: choose an option with {group}=NAME of {', '.join(registry.names(group))}"
    option = _choices_of(overrides, registry).get(group)
    if group in MANY:
        rule, options = rest[0], tuple(option or ())
        if rule in options and len(rest) > 1:
            return _unknown_parameter(group, rule, rest[1], registry)
        if rule in registry.names(group):
            return (
                f"{group}.{'.'.join(rest)}: {rule} is not among "
                f"{group}=[{', '.join(options) or NONE}]; add "
                f"{group}=[{','.join((*options, rule))}]"
            )
        if owners := [one for one in options if rule in fields_of(registry.get(group, one).cls)]:
            return (
                f"{group}.{rule}: a field lives under its rule's name; say "
                f"{group}.{owners[0]}.{rule}=VALUE"
            )
        return unknown(f"{group} rule", rule, options or registry.names(group))
    if option in (NONE, "", None):
        return f"{key} has nothing to belong to: {group}=none; choose {group}=NAME"
    if option not in registry.names(group):  # an option of a configuration folder
        return f"{group} {option!r} has no parameter {rest[0]!r}"
    preset = registry.find_preset(group, option)
    return _unknown_parameter(group, preset.recipe if preset else option, ".".join(rest), registry)


def _unknown_parameter(group: str, name: str, field: str, registry: Registry) -> str:
    """Return what is to be said of a field that the component ``name`` does not have."""
    return f"{group} {name!r}: " + unknown(
        "parameter", field, fields_of(registry.get(group, name).cls)
    )


def _owners_of(field: str, overrides: Sequence[str], registry: Registry) -> list[str]:
    """Return where a parameter of that name lives ("stopping.standard"): in what the run has
    chosen, else in what is installed.
    """
    chosen = _choices_of(overrides, registry)
    found: list[str] = []
    elsewhere: list[str] = []
    for entry in registry.entries():
        if entry.kind in KINDS and field in fields_of(entry.cls):
            option = chosen.get(entry.kind)
            mine = entry.name in option if isinstance(option, tuple) else entry.name == option
            place = f"{entry.kind}.{entry.name}" if entry.kind in MANY else entry.kind
            (found if mine else elsewhere).append(
                place if mine or entry.kind in MANY else f"{entry.kind}={entry.name} {place}"
            )
    return found or elsewhere


class Loader(ConfigLoaderImpl):
    """Hydra's loader, with checks before anything is executed.

    A sweep's configurations are composed once: the launcher is handed what was composed when the
    sweep was checked.
    """

    def __init__(
        self, search_path: ConfigSearchPath, registry: Registry, start: Start | None = None
    ) -> None:
        """``start`` : where :meth:`load_run` starts from; None: the defaults."""
        super().__init__(search_path)
        setup_globals()
        self.registry: Registry | None = registry
        self.start = start
        self._ready: dict[tuple[str, ...], Resolved] = {}
        self._shapes: dict[tuple[str, ...], Callable[[], DictConfig]] = {}
        # on the command line; a file's sweeper may make overrides of its own
        self._said: Sequence[str] = ()
        self.n_jobs = 0
        """Found right so far, or to come, where a sweeper states it that composes one after
        another.
        """
        self.counting = True

    def _words_of(self, overrides: Sequence[str]) -> list[str]:
        """Return the words that messages go by: first what the record chose that is repeated."""
        start, said = self.start or Start(), list[str]()
        for kind in start.recorded:
            option: Any = start.choices[kind]
            names = ",".join(option) if isinstance(option, tuple) else option or NONE
            said.append(f"{kind}=[{names}]" if kind in MANY else f"{kind}={names}")
        return [*said, *overrides]

    def __getstate__(self) -> Facts:  # what a worker process receives
        return {**self.__dict__, "registry": None, "_ready": {}, "_shapes": {}}

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        *how: bool,
        **more: bool,
    ) -> DictConfig:
        """Compose; raises ConfigError in one line with the closest match, also when the result
        names code.

        config_name : of the primary configuration, None as Hydra has it: an empty one.
        how, more : Hydra's own flags, passed on.
        """
        if self.registry is None:
            return super().load_configuration(config_name, overrides, run_mode, *how, **more)
        with translate_errors(self._words_of(overrides), self.registry):
            config = super().load_configuration(
                config_name, normalise(overrides), run_mode, *how, **more
            )
        name_keys(config, normalise(overrides))
        refuse_code(config, overrides)
        return config

    def load_command(self, overrides: list[str], run_mode: RunMode) -> DictConfig:
        """Return what the command line asks for; of a sweep, which Hydra writes down, without its
        secrets.
        """
        self._said = overrides
        config = self.load_configuration(PRIMARY, overrides, run_mode)
        if run_mode == RunMode.MULTIRUN:
            conceal(config)
        return config

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        """Return one job's configuration: resolved at the first call, which is the check; a second
        call is the launcher's.
        """
        config, key = self._compose_job(master_config, sweep_overrides), tuple(sweep_overrides)
        if self.registry is not None and self._ready.pop(key, None) is None:
            resolved = resolve(config, self.registry)
            if len(self._ready) < KEPT:
                self._ready[key] = resolved
            self.n_jobs += self.counting
        return config

    def misfit(self, overrides: Sequence[str]) -> str:
        """Return why the parts of a checked job do not go together; "" where they do, or where the
        job is kept no longer.
        """
        ready = self._ready.get(tuple(overrides))
        try:
            if ready is not None:
                check_parts(ready.parts)
        except ArboretumError as error:
            return str(error)
        return ""

    def resolved(self, master: DictConfig, overrides: Sequence[str]) -> Resolved:
        """Return what a checked job is made of, for a launcher that needs no configuration."""
        ready = self._ready.pop(tuple(overrides), None)
        return ready or resolve(self._compose_job(master, overrides), sure(self.registry))

    def job(
        self, master: DictConfig, overrides: Sequence[str], number: int
    ) -> tuple[DictConfig, Resolved]:
        """Return a job's configuration, which knows its number, and what it is made of."""
        config = self._compose_job(master, overrides)
        with open_dict(config):
            config.hydra.job.num = number
            config.hydra.job.id = f"{config.hydra.job.name}_{number}"
        ready = self._ready.pop(tuple(overrides), None)
        return config, ready or resolve(config, sure(self.registry))

    def load_run(self, overrides: list[str]) -> DictConfig:
        """Return one run's configuration, without touching Hydra's global state; for many runs that
        differ in values.
        """

        def composed(choices: list[str]) -> DictConfig:
            with hold_nodes(sure(self.registry), self.start):
                return self.load_configuration(PRIMARY, choices, RunMode.RUN, from_shell=False)

        # its files may change meanwhile
        if any(text.startswith("hydra.searchpath=") for text in overrides):
            self._shapes.clear()
        self._said = overrides
        return self._with_values(normalise(overrides), (), composed)

    def _compose_job(self, master: DictConfig, overrides: Sequence[str]) -> DictConfig:
        """Compose the configuration of one run of a sweep, with the values that its choices
        bring.
        """
        given: Any = OmegaConf.to_container(master.hydra.overrides.hydra)
        compose = super().load_sweep_config
        config = self._with_values(
            normalise(overrides), given, lambda choices: compose(master, choices)
        )
        OmegaConf.copy_cache(from_config=master, to_config=config)
        return config

    def _with_values(
        self,
        overrides: list[str],
        given: Sequence[str],
        composed: Callable[[list[str]], DictConfig],
    ) -> DictConfig:
        """Hydra's own composition for the choices of options, once per combination; values are set
        on a copy of it.

        A composition takes 0.1 s, a copy with its values some milliseconds, and most runs repeat
        few choices with many values.
        given : overrides that ``composed`` adds itself.
        """
        choices = [text for text in overrides if not _VALUE.match(text)]
        if (key := (*given, *choices)) not in self._shapes:
            if len(self._shapes) >= SHAPES:
                self._shapes.clear()
            # Hydra 1.4 composes a job past load_configuration
            with translate_errors(self._words_of(overrides), self.registry):
                made = composed(choices)
            try:  # copies by pickle take a third of the time
                self._shapes[key] = functools.partial(
                    pickle.loads, pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
                )
            except (pickle.PicklingError, AttributeError, TypeError):
                # a launcher's own class that Hydra's scan imported twice
                self._shapes[key] = functools.partial(copy.deepcopy, made)
        config = self._shapes[key]()
        with translate_errors(self._words_of(overrides), self.registry):
            parsed = OverridesParser.create(config_loader=self).parse_overrides(overrides)
            self.validate_sweep_overrides_legal(parsed, RunMode.RUN, from_shell=False)
            self._apply_overrides_to_config(
                [o for o in parsed if _VALUE.match(o.input_line or "")], config
            )
        name_keys(config, overrides)
        task = [override for override in parsed if not override.is_hydra_override()]
        config.hydra.overrides.task = [override.input_line for override in task]
        name_after(task, config)
        refuse_code(config, self._said)
        return config


def search_path(*config_dirs: str | None) -> ConfigSearchPath:
    """Return where Hydra looks: its own configuration, the folders of choices, the last one first,
    the choices that come with Arboretum, the registry's nodes.  None, "": no folder.

    Raises ConfigError for a folder that is not there, or holds a primary configuration of its own.
    """
    path = create_config_search_path(None)
    for config_dir in filter(None, config_dirs):
        folder = os.path.abspath(config_dir)
        if not os.path.isdir(folder):
            raise ConfigError(f"configuration folder {config_dir!r} does not exist")
        # it would stand for ours, and import what it searches
        if os.path.exists(os.path.join(folder, f"{PRIMARY}.yaml")):
            raise ConfigError(
                f"configuration folder {config_dir!r} holds {PRIMARY}.yaml, the name of the "
                "primary configuration; rename it"
            )
        _search(path, "command-line", folder)
    if ours := next(filter(os.path.isdir, OURS), None):
        _search(path, "arboretum", ours)
    return path


def _search(path: ConfigSearchPath, provider: str, folder: object) -> None:
    """Look into a folder after all others, before the registry's nodes."""
    path.prepend(provider, f"file://{folder}", SearchPathQuery(provider="schema"))


def compose_and_resolve(
    overrides: Sequence[str],
    registry: Registry,
    *,
    start: Start | None = None,
    config_dir: str | None = None,
) -> tuple[DictConfig, Resolved]:
    """Compose one run, without touching Hydra's global state (about 0.1 s), and build its
    components; raises ConfigError.

    start : None: the defaults.   config_dir : a folder of choices besides ours; None: none.
    """
    config = Loader(search_path(config_dir), registry, start).load_run(list(overrides))
    return config, resolve(config, registry)
