"""Names of columns as keys: in quotes they may hold any sign, on the command line, in sweeps and
in Python.
"""

from __future__ import annotations

import pytest

import arboretum
from arboretum.config.compose import compose_and_resolve
from arboretum.errors import ConfigError
from arboretum.plugin.discovery import load_registry

NAMES = [
    "Größe",
    "sale date",
    "a=b",
    "x[0]",
    "{k}",
    "a,b",
    "a: b",
    'said "no"',
    "it's",
    "50%",
    "%%",
    "100",
    "1e5",
    "true",
    "null",
    "",
    "a.b",
    "~/c",
    "#1",
    "日本",
    "\\d",
    "tab\there",
    " blank ",
]


@pytest.fixture(scope="module")
def registry():
    return load_registry([])


@pytest.mark.parametrize("name", NAMES)
def test_a_key_in_quotes_is_the_name_as_it_stands(name, registry):
    key = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    overrides = ["dataset=file", "dataset.path=t.csv", "dataset.target=y", "cost=table"]
    overrides += [
        f"dataset.kinds={{{key}: categorical, other: ordinal}}",
        f"dataset.orders={{ {key} : [low, high]}}",
        f"cost.prices={{{key}: 2.5}}",
    ]
    overrides += [f'dataset.questions={{other: "a, {{b: c}}", {key}: "what, \'x\': it?"}}']
    _, resolved = compose_and_resolve(overrides, registry)
    dataset = resolved.parts.dataset
    assert dataset.kinds == {name: "categorical", "other": "ordinal"}
    assert dataset.orders == {name: ["low", "high"]}
    assert dict(resolved.parts.cost.prices) == {name: 2.5}
    assert dataset.questions == {"other": "a, {b: c}", name: "what, 'x': it?"}
    assert resolved.config["dataset"]["kinds"] == dataset.kinds


def test_single_quotes_do_as_well(registry):
    _, resolved = compose_and_resolve(
        ["dataset=file", "dataset.kinds={'Größe': ordinal}"], registry
    )
    assert resolved.parts.dataset.kinds == {"Größe": "ordinal"}


@pytest.mark.parametrize(
    ("override", "way"),
    [
        ("dataset.kinds.Größe=categorical", """'dataset.kinds={"Größe": categorical}'"""),
        ("dataset.kinds={Größe: categorical}", """keys too: 'KEY={"a, b": VALUE}'"""),
        ("dataset.kinds={" + "ä: ordinal, " * 1000 + "}", "… (12,016 characters)'"),
    ],
)
def test_other_ways_are_refused_with_this_one_in_a_short_line(override, way, registry):
    with pytest.raises(ConfigError) as caught:
        compose_and_resolve(["dataset=file", override], registry)
    assert way in str(caught.value) and len(str(caught.value)) < 600


def test_runs_of_python_and_of_their_records_take_such_columns(tmp_path, registry):
    (tmp_path / "t.csv").write_text("Größe [m],y\n1,p\n2,q\n1,p\n2,q\n", encoding="utf-8")
    words = [
        "dataset=file",
        f"dataset.path={tmp_path / 't.csv'}",
        "dataset.target=y",
        'dataset.kinds={"Größe [m]": ordinal}',
        "split=none",
    ]
    record = arboretum.run([*words, "method=cart", f"hydra.run.dir={tmp_path / 'r'}"])
    assert record.config["dataset"]["kinds"] == {"Größe [m]": "ordinal"}
    assert record.tree.columns[0].categories == ("1", "2")
    assert arboretum.load(tmp_path / "r").config == record.config
