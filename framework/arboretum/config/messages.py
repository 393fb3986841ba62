"""Hydra's composition errors, said again in one line with the closest match and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import yaml
from hydra.errors import CompactHydraException, MissingConfigException, OverrideParseException

from arboretum.config.guard import chosen_options
from arboretum.config.search import NAME as SEARCH
from arboretum.config.settings import SETTINGS, Limits
from arboretum.errors import ArboretumError, ConfigError, closest, unknown
from arboretum.interfaces.component import KINDS, MANY
from arboretum.plugin.assemble import expand
from arboretum.plugin.build import coerce, field_types, fields_of
from arboretum.plugin.registry import NONE, Registry

_KEY = re.compile(r"Could not (?:override|append to|delete from) '?(?:config\. ')?(?P<key>[^'\s]+)'")
_MERGING = re.compile(r"Error merging override \+{0,2}(?P<key>[^=\s]+)=(?P<value>.*)", re.DOTALL)
_SPECIFY = re.compile(r"You must specify '(?P<group>[^']+)'")


@contextmanager
def translated(overrides: Sequence[str], registry: Registry | None) -> Iterator[None]:
    """Raise the error to show for a failed composition; Hydra's own where there is no registry to know better."""
    try:
        yield
    except ArboretumError:
        raise
    except Exception as error:
        if registry is None:
            raise
        raise _translation(error, overrides, registry) from error


def _translation(error: Exception, overrides: Sequence[str], registry: Registry) -> ConfigError:
    if isinstance(error, OverrideParseException):
        return _syntax(error)
    if isinstance(error, MissingConfigException):
        return _missing(error, registry)
    text, cause = str(error), error.__cause__
    if found := _SPECIFY.search(text):
        return _unspecified(found["group"], registry)
    if "Ambiguous value" in text or "requires --multirun" in text:
        given = re.search(r"'([^=']+=[^']*)'", text)
        example = given[1] if given else "KEY=A,B"
        return ConfigError(f"{example} names several values; add -m to run each, or write a list as [A,B]")
    if found := _MERGING.search(text):
        return _misfit(found["key"], found["value"], cause, overrides, registry)
    if found := _KEY.search(text):
        return _unknown_key(found["key"], overrides, registry)
    if "Config group override must be" in text:
        return ConfigError("a group takes the name of an option (criterion=NAME), or a list of them for stopping, coverage")
    if isinstance(error, CompactHydraException) and cause is not None and not text.strip():
        text = str(cause)
    return ConfigError(" ".join(text.split()) or type(error).__name__)


def _syntax(error: OverrideParseException) -> ConfigError:
    reason = str(error.message).split("\n")
    what = next((line for line in reason if line and not line.startswith(("Error parsing", "See "))), "")
    if "Exception" in what:  # the parser's own words for a character it does not know
        what = "some of its characters have a meaning of their own"
    hint = "quote text with special characters inside the shell's quotes: 'KEY=\"a, b\"'"
    return ConfigError(f"cannot read {error.override!r} ({what}); expected KEY=VALUE; {hint}")


def _missing(error: MissingConfigException, registry: Registry) -> ConfigError:
    path = error.missing_cfg_file or ""
    if not path:
        found = re.search(r"Could not (?:load|find) '([^']+)'", str(error))
        path = found[1] if found else ""
    group, _, option = path.partition("/") if path.partition("/")[0] in KINDS else path.rpartition("/")
    if group in KINDS:
        if option == NONE:
            return _unspecified(group, registry)
        return ConfigError(registry.unknown_option(group, option))
    if group.startswith("hydra/"):
        kind = group.removeprefix("hydra/")
        listed = [line.strip() for line in str(error).split("\n") if line.startswith("\t") and "provider=" not in line]
        way_out = f"install its package (hydra-{option}-{kind})" if kind == "launcher" else "see Hydra's docs"
        way_out = f"{SEARCH} searches with Optuna" if kind == "sweeper" else way_out
        return ConfigError(f"unknown {group} {option!r}; known: {', '.join(listed)}; {way_out}")
    where = "" if group else " (is --config-dir given?)"
    return ConfigError(" ".join(str(error).split("\n")[0].split()).removeprefix(f"In '{path}': ") + where)


def _misfit(key: str, value: str, cause: Any, overrides: Sequence[str], registry: Registry) -> ConfigError:
    """A value of another shape than the field's: say what the field takes."""
    group, *rest = key.split(".")
    if group in KINDS and rest:
        option = _expanded(overrides, registry).get(group)
        name = rest.pop(0) if group in MANY else option
        if rest and name in registry.names(group) and registry.find_preset(group, name) is None:
            wanted = field_types(registry.get(group, name).cls).get(rest[0], Any)
            try:
                coerce(yaml.safe_load(value), wanted, key)
            except (ConfigError, yaml.YAMLError) as error:
                return ConfigError(" ".join(str(error).split()))
    reason = " ".join(str(cause).split("\n")[0].split()) if cause is not None else "its value has another form"
    return ConfigError(f"{key} does not take {value} ({reason})")


def _unspecified(group: str, registry: Registry) -> ConfigError:
    known = registry.names(group) if group in KINDS else []
    first = "iris" if "iris" in known else "NAME"
    way_out = " (or dataset=file dataset.path=PATH dataset.target=COLUMN)" if group == "dataset" else ""
    return ConfigError(f"a run needs a {group}; say {group}={first}{way_out}; installed: {', '.join(known) or 'none'}")


def _expanded(overrides: Sequence[str], registry: Registry) -> dict[str, Any]:
    """Group → option (or options), as far as the command line and its preset say."""
    said = chosen_options(overrides).items()
    return expand(registry, {group: tuple(names) if group in MANY else (names or [NONE])[0] for group, names in said})


def _unknown_key(key: str, overrides: Sequence[str], registry: Registry) -> ConfigError:
    group, *rest = key.lstrip("+~").split(".")
    if group == "budget":
        return ConfigError(unknown("parameter", key, [f"budget.{field.name}" for field in attrs.fields(Limits)]))
    if group == "hydra" or group.startswith("hydra/"):
        return ConfigError(f"unknown Hydra setting {key!r}; arboretum run --cfg hydra dataset=NAME lists them")
    if group not in KINDS:
        owners = _owners_of(group, overrides, registry)
        if owners and not rest:
            text = f"unknown key {group!r}: a parameter lives under its component; say {owners[0]}.{group}=VALUE"
            return ConfigError(text + (f" (or {', '.join(f'{one}.{group}' for one in owners[1:4])})" if owners[1:] else ""))
        near = closest(group, [*KINDS, *SETTINGS])
        hint = f"; did you mean {near!r}?" if near else ";"
        return ConfigError(f"unknown key {key!r}{hint} groups: {', '.join(KINDS)}; settings: {', '.join(SETTINGS)}")
    if not rest:
        return ConfigError(f"{key}: choose an option with {group}=NAME of {', '.join(registry.names(group))}")
    option = _expanded(overrides, registry).get(group)
    if group in MANY:
        return _unknown_rule(group, rest, tuple(option or ()), registry)
    if option in (NONE, "", None):
        return ConfigError(f"{key} has nothing to belong to: {group}=none; choose {group}=NAME")
    if option not in registry.names(group):  # an option of a configuration folder
        return ConfigError(f"{group} {option!r} has no parameter {rest[0]!r}")
    preset = registry.find_preset(group, str(option))
    entry = registry.get(group, preset.recipe if preset else str(option))
    return ConfigError(f"{group} {entry.name!r}: " + unknown("parameter", ".".join(rest), fields_of(entry.cls)))


def _owners_of(field: str, overrides: Sequence[str], registry: Registry) -> list[str]:
    """Where a parameter of that name lives ("stopping.standard"): in what the run has chosen, else in what is installed."""
    chosen = _expanded(overrides, registry)
    found, elsewhere = [], []
    for entry in registry.entries():
        if entry.kind in KINDS and field in fields_of(entry.cls):
            option = chosen.get(entry.kind)
            mine = entry.name in option if isinstance(option, tuple) else entry.name == option
            place = f"{entry.kind}.{entry.name}" if entry.kind in MANY else entry.kind
            (found if mine else elsewhere).append(place if mine or entry.kind in MANY else f"{entry.kind}={entry.name} {place}")
    return found or elsewhere


def _unknown_rule(group: str, rest: list[str], options: tuple[str, ...], registry: Registry) -> ConfigError:
    rule, given = rest[0], ", ".join(options) or NONE
    if rule in options and len(rest) > 1:
        return ConfigError(f"{group} {rule!r}: " + unknown("parameter", rest[1], fields_of(registry.get(group, rule).cls)))
    if rule in registry.names(group):
        wanted = ",".join((*options, rule))
        return ConfigError(f"{group}.{'.'.join(rest)}: {rule} is not among {group}=[{given}]; add {group}=[{wanted}]")
    owners = [o for o in options if rule in fields_of(registry.get(group, o).cls)]
    if owners:
        return ConfigError(f"{group}.{rule}: a field lives under its rule's name; say {group}.{owners[0]}.{rule}=VALUE")
    return ConfigError(unknown(f"{group} rule", rule, options or registry.names(group)))
