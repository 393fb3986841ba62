"""The folder conf/ holds choices only, and every file in it works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from arboretum.config.compose import Loader, search_path
from arboretum.config.study import Study
from arboretum.plugin.discovery import load_registry

CONF = Path(__file__).resolve().parents[2] / "conf"
STUDIES = sorted(path.stem for path in CONF.glob("study/*.yaml"))
FILES = sorted(
    path.relative_to(CONF).as_posix()
    for path in CONF.rglob("*.yaml")
    if path.parent.name != "study"
)


def leaves(values, prefix=""):
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def select(config, path):
    for key in path.split("."):
        config = config[key]
    return config


@pytest.mark.parametrize("file", FILES)
def test_no_line_repeats_a_default_and_every_key_is_one_of_a_schema(file):
    group, name = file.removesuffix(".yaml").rsplit("/", 1)
    values = yaml.safe_load((CONF / file).read_text())
    values.pop("defaults", None)
    choice = f"{group}={name}" if group == "dataset" else f"+{group}={name}"
    data = [] if group == "dataset" else ["dataset=wine"]
    # refuses a key of no schema
    composed = Loader(search_path(str(CONF)), load_registry()).load_run([*data, choice])
    prefix = f"{group}." if group == "dataset" else ""
    base = [f"dataset={composed.dataset.name}", f"split={composed.split.name}"]
    plain = Loader(search_path(), load_registry()).load_run(base)
    for path, value in leaves(values, prefix):
        if not path.startswith("hydra.sweeper.params"):
            assert select(composed, path) == value
            assert select(plain, path) != value, f"{file}: {path} repeats the default"


@pytest.mark.parametrize(
    ("experiment", "more", "runs"),
    [
        ("small_trees", ["dataset=iris"], 4),
        ("first_look", [], 18),
        ("admissible_functions", ["dataset=play-tennis"], 9),
    ],
)
def test_an_experiment_is_one_word_on_the_command_line(experiment, more, runs, call):
    result = call("run", f"+experiment={experiment}", *more, "-m", "tracker=none")
    assert result.status == 0, result.err
    assert f"{runs} of {runs}" in result.out


def test_pruners_and_rules_for_gaps_go_with_a_criterion_of_another_paper(call, here):
    draw = np.random.default_rng(0)
    rows = [
        [f"{a:.1f}", "uvw"[b], "yes" if (a > 0.4) != (b == 1) else "no"]
        for a, b in zip(draw.random(80), draw.integers(3, size=80), strict=True)
    ]
    for row in rows:
        row[:2] = ["" if draw.random() < 0.2 else value for value in row[:2]]
    (here / "gaps.csv").write_text(
        "\n".join([",".join(row) for row in [["a", "b", "class"], *rows]])
    )
    words = [
        "+experiment=pruners_and_gaps",
        "dataset=file",
        "dataset.path=gaps.csv",
        "dataset.target=class",
        "-m",
        "tracker=none",
    ]
    result = call("run", "--config-dir", str(CONF), *words)
    assert result.status == 0, result.err
    assert "12 of 12" in result.out and all(
        rule in result.out
        for rule in ("fractional", "majority", "surrogates", "error_based", "m_estimate")
    )


@pytest.mark.parametrize("name", STUDIES)
def test_every_run_of_a_study_can_be_composed(call, name, monkeypatch):
    """Of one data set and one seed: the others differ in values alone."""
    whole = Study.jobs

    def jobs_of_first(study):
        found = whole(study)
        first = found[0].names["dataset"]
        return [job for job in found if job.names["dataset"] == first and "seed=1" in job.overrides]

    monkeypatch.setattr(Study, "jobs", jobs_of_first)
    result = call("study", name, "--dry-run")
    assert result.status == 0, result.err
