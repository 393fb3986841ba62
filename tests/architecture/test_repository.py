"""What the repository may say, and what the lock file promises."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

import arboretum
from arboretum import api

# written in pieces, so that this file does not hold what it forbids
MACHINE_PATHS = re.compile(
    "|".join(
        (
            r"(?<![\w.-])/" + r"work/",
            r"(?<![\w.-])/" + r"root/",
            r"(?<![\w.-])/" + r"Users/\w",
            r"(?<![\w.-])/" + r"home/\w",
            r"(?<![\w.-])/" + r"opt/\w",
            r"\.\./" + "shared",
        )
    )
)
REGISTRIES = re.compile(
    "|".join(
        (
            "pypi" + r"\.org",
            "python" + "hosted",
            "ana" + r"conda\.org",
            r"--(extra-)?index" + "-url",
            "--find" + "-links",
        )
    )
)


def _offences(house, pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in house.tracked:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or an archive
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(house.root)}:{number}: {line.strip()[:100]}")
    return found


def test_nothing_tracked_names_a_path_of_one_machine(house):
    offences = _offences(house, MACHINE_PATHS)
    assert not offences, "\n".join(offences)


def test_nothing_tracked_names_a_package_index(house):
    offences = _offences(house, REGISTRIES)
    assert not offences, "\n".join(offences)


def test_no_run_folder_store_or_environment_is_tracked(house):
    forbidden = {".venv", "mlruns", "outputs", "multirun", "__pycache__", "mlflow.db"}
    tracked = [str(path.relative_to(house.root)) for path in house.tracked]
    assert [name for name in tracked if forbidden & set(name.split("/"))] == []


def _pins(house) -> dict[str, list[str]]:
    """Requirement line of the lock file → its hashes."""
    pins: dict[str, list[str]] = {}
    current = ""
    for line in (house.root / "requirements.lock").read_text(encoding="utf-8").splitlines():
        line = line.strip().removesuffix("\\").strip()
        if line.startswith("--hash="):
            pins[current].append(line)
        elif line and not line.startswith("#"):
            current = line
            pins[current] = []
    return pins


def _names(house) -> set[str]:
    return {re.split(r"[=\s;]", line)[0].lower().replace("_", "-") for line in _pins(house)}


def test_the_lock_file_pins_one_version_and_a_hash_of_everything(house):
    pins = _pins(house)
    assert [
        line for line in pins if not re.match(r"[A-Za-z0-9_.-]+==[^\s;]+(\s*;.*)?$", line)
    ] == []
    assert [
        line
        for line, hashes in pins.items()
        if not all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", h) for h in hashes) or not hashes
    ] == []
    assert len(_names(house)) == len(pins), "one set of pins serves every version of Python"


def test_the_lock_file_includes_the_build_backend_and_every_dependency(house):
    project = tomllib.loads((house.root / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
    wanted += project["project"]["optional-dependencies"]["test"]
    names = {re.split(r"[^A-Za-z0-9_-]", requirement)[0].lower() for requirement in wanted}
    assert sorted(names - _names(house)) == []


OLD_NAMES = {"arboretum_rivals"}
"""Packages that only lead to others, for one version."""


def test_every_first_party_plugin_is_packed_into_the_wheel_and_has_an_entry_point(house):
    project = tomllib.loads((house.root / "pyproject.toml").read_text(encoding="utf-8"))
    folders = {module.package for module in house.plugins}
    assert set(project["project"]["entry-points"]["arboretum"]) == folders - OLD_NAMES
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(packed) == {"framework/arboretum", *(f"plugins/{folder}" for folder in folders)}


def test_every_version_is_in_the_change_log(house):
    project = tomllib.loads((house.root / "pyproject.toml").read_text(encoding="utf-8"))
    version = arboretum.__version__
    assert project["project"]["dynamic"] == ["version"], "the package says it, and nobody else"
    assert f"## [{version}]" in (house.root / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = yaml.safe_load((house.root / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["cff-version"], citation["version"]) == ("1.2.0", version)
    assert citation["license"] == project["project"]["license"]
    assert all({"type", "title", "authors"} <= work.keys() for work in citation["references"])


def test_what_a_plugin_may_import_is_grouped_by_what_its_author_writes():
    grouped = " ".join(api.GROUPS.values()).split()
    assert sorted(grouped) == api.__all__ and len(set(grouped)) == len(grouped)
    brought = {name for name in vars(api) if name[0] != "_"} | api._LATE.keys()
    types = {"TYPE_CHECKING", "Any", "Facts", "Key", "Keyed", "Plain"}  # of annotations
    assert brought - types - {"GROUPS", "warnings"} == set(grouped), "give each name its group"


@pytest.mark.parametrize("name", api._RENAMED)
def test_a_name_that_changed_works_for_one_version_and_says_what_it_is_called(name):
    with pytest.warns(DeprecationWarning, match=f"{name} is called {api._RENAMED[name]} now"):
        assert getattr(api, name) is getattr(api, api._RENAMED[name])


@pytest.mark.parametrize("name", api._LEFT)
def test_a_name_that_left_works_for_one_version_and_says_where_it_is(name):
    with pytest.warns(DeprecationWarning, match=f"{name} left arboretum.api") as told:
        found = getattr(api, name)
    assert found.__module__ in str(told[0].message)
