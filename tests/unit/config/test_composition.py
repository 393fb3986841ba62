"""What Hydra does not do by itself, fact by fact (the command line → frozen components)."""

from __future__ import annotations

import threading

import attrs
import pytest
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from arboretum.api import (
    ArboretumError,
    Column,
    ColumnKind,
    ConfigError,
    StoreError,
    Table,
    Target,
    Task,
    param,
)
from arboretum.cli.comparison import goal_of
from arboretum.config.bridge import Start, hold_nodes, start_from
from arboretum.config.compose import Loader, compose_and_resolve, search_path
from arboretum.config.entry import load, run
from arboretum.config.execute import Session
from arboretum.interfaces.component import KINDS
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.build import config_value
from arboretum.plugin.discovery import load_registry


@attrs.frozen
class Odd:
    """Every type of field."""

    kind, name, paper, capabilities = "dataset", "odd", "", ()

    count: int | None = param(None, "a count", ge=1)
    share: float = param(0.5, "a share", ge=0.0, le=1.0)
    word: str = param("x", "a word")
    flag: bool = param(False, "a flag")
    many: tuple[float, ...] = param((1.0, 2.0), "numbers")
    kinds: dict[str, str] = param(attrs.Factory(dict), "column → kind")
    needed: str = param("???", "must be given")

    def load(self, seed):
        codes = [0, 1] * 5
        return Table(
            "odd",
            (Column("a", ColumnKind.continuous, [float(c) for c in codes]),),
            Target("y", Task.classification, codes, ("n", "y")),
        )


@pytest.fixture(scope="module")
def registry():
    from arboretum.plugin.registry import Owner

    found = load_registry()
    found.add(Odd, Owner("test"))
    return found


def built(registry, *overrides, **more):
    return compose_and_resolve(["dataset=odd", "dataset.needed=x", *overrides], registry, **more)[1]


# -- values ----------------------------------------------------------------------------------------


def test_a_frozen_class_takes_overrides_of_every_type(registry):
    found = built(
        registry,
        "dataset.count=3",
        "dataset.share=1",
        "dataset.word=12",
        "dataset.flag=true",
        "dataset.many=[3,4]",
        "dataset.kinds={age: continuous}",
    ).parts.dataset
    assert found == Odd(3, 1.0, "12", True, (3.0, 4.0), {"age": "continuous"}, "x")
    assert isinstance(found.share, float)


def test_a_mapping_takes_new_keys_one_by_one_with_and_without_a_plus(registry):
    found = built(
        registry, "dataset.kinds.age=ordinal", "+dataset.kinds.name=categorical"
    ).parts.dataset
    assert found.kinds == {"age": "ordinal", "name": "categorical"}


def test_two_spellings_of_one_configuration_give_one_canonical_configuration(registry):
    one = built(registry, "dataset.share=1", "pruner=null", "stopping=standard").config
    two = built(registry, "dataset.share=1.0", "pruner=none", "stopping=[standard]").config
    assert one == two


def test_a_missing_value_is_refused_wherever_it_is(registry):
    with pytest.raises(ConfigError, match="dataset.needed has no value; say dataset.needed=VALUE"):
        compose_and_resolve(["dataset=odd"], registry)


def test_nothing_of_a_component_is_typed_twice_every_default_comes_from_its_class(registry):
    composed = Loader(search_path(), registry).load_run(["dataset=odd", "dataset.needed=x"])
    shown = OmegaConf.to_container(composed.dataset)
    assert shown == {
        "name": "odd",
        **{
            field.name: config_value(getattr(Odd(needed="x"), field.name))
            for field in attrs.fields(Odd)
        },
    }


# -- groups ----------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_plugin_room(registry):
    choices = built(registry).config["choices"]
    for kind in set(KINDS) - {"dataset", "method"}:
        expected = DEFAULT_CHOICES[kind]
        assert choices[kind] == (list(expected) if isinstance(expected, tuple) else expected), kind
    assert choices["method"] == "cart" and choices["dataset"] == "odd"


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"dataset", "method"}))
def test_every_optional_group_can_be_left_empty_by_none_and_by_null(kind, registry):
    for word in ("none", "null"):
        assert getattr(built(registry, f"{kind}={word}").parts, kind) in (None, ())


def test_a_group_of_several_takes_them_in_order_with_fields_under_their_names(registry):
    rules = built(
        registry,
        "stopping=[mass,standard]",
        "stopping.standard.max_depth=4",
        "stopping.mass.theta=0.1",
    ).parts.stopping
    assert [rule.name for rule in rules] == ["mass", "standard"]
    assert (rules[0].theta, rules[1].max_depth) == (0.1, 4)
    alone = built(registry, "stopping=standard", "stopping.standard.max_depth=2").parts.stopping
    assert [rule.max_depth for rule in alone] == [2]
    assert built(registry, "stopping=[]").parts.stopping == ()


def test_theta_is_followed_unless_it_is_set_itself(registry):
    rule = lambda *overrides: built(registry, "stopping=[mass]", *overrides).parts.stopping[0].theta
    assert rule() == 0.0, "nobody says: the component's own default"
    assert rule("theta=0.25") == 0.25
    assert rule("theta=0.25", "stopping.mass.theta=0.5") == 0.5


def test_a_preset_selects_and_the_command_line_still_overrides(registry):
    preset = built(registry, "method=random")
    assert (preset.parts.criterion.name, preset.parts.method.name) == ("random", "greedy")
    assert preset.config["choices"]["method"] == "random", "the name that was chosen is kept"
    over = built(
        registry, "criterion=gain_ratio", "method=random", "stopping=[pure]", "method.order=best"
    )
    assert over.parts.criterion.name == "gain_ratio"
    assert [rule.name for rule in over.parts.stopping] == ["pure"]
    assert over.parts.method.order.name == "best"


def test_hydra_and_the_estimators_assemble_the_same_parts(registry):
    """The same choices lead to the same components on both ways."""
    from arboretum.plugin.assemble import assemble

    for overrides in (
        ["method=id3"],
        ["method=cart", "stopping.standard.max_depth=3"],
        ["method=random", "cost=random"],
    ):
        here = built(registry, *overrides, "tracker=none").parts
        there = assemble(
            registry, {"dataset": "odd", "tracker": "none"}, [*overrides, "dataset.needed=x"]
        )
        assert here == there


def test_a_folder_of_choices_adds_options_and_experiments(registry, tmp_path):
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "hospital.yaml").write_text("defaults: [odd]\nneeded: h\ncount: 7\n")
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "deep.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /criterion: gain_ratio\nstopping:\n  "
        "standard:\n    max_depth: 9\n"
    )
    overrides = ["dataset=hospital", "dataset.share=0.1", "+experiment=deep"]
    _, found = compose_and_resolve(overrides, registry, config_dir=str(tmp_path))
    assert found.parts.dataset == Odd(count=7, share=0.1, needed="h")
    assert found.parts.stopping[0].max_depth == 9 and found.parts.criterion.name == "gain_ratio"
    assert (
        found.config["choices"]["dataset"] == "hospital"
        and found.config["choices"]["experiment"] == "deep"
    )
    assert found.config["dataset"]["name"] == "odd", (
        "the record names the component, wherever the folder is"
    )


# -- Hydra's global state --------------------------------------------------------------------------


def test_the_store_and_the_global_hydra_are_left_as_they_were(registry):
    store, other = ConfigStore.instance(), object()
    store.store(group="criterion", name="of_another_application", node={"a": 1})
    before = store.repo
    GlobalHydra.instance().hydra = other
    try:
        built(registry)
        assert store.repo is before and set(before["criterion"]) == {"of_another_application.yaml"}
        with pytest.raises(ConfigError, match="unknown criterion 'of_another_application'"):
            built(registry, "criterion=of_another_application")
        assert GlobalHydra.instance().hydra is other
    finally:
        GlobalHydra.instance().hydra = None
        del store.repo["criterion"]


def test_threads_may_compose_at_the_same_time(registry):
    found: dict[int, int] = {}

    def work(depth: int) -> None:
        found[depth] = (
            built(registry, f"stopping.standard.max_depth={depth}").parts.stopping[0].max_depth
        )

    threads = [threading.Thread(target=work, args=(depth,)) for depth in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {depth: depth for depth in range(1, 5)}


def test_a_component_that_cannot_be_built_with_its_own_defaults_is_named(registry):
    from arboretum.api import PluginError
    from arboretum.plugin.registry import Owner, Registry

    @attrs.frozen
    class Wrong:
        """Its default breaks its rule."""

        kind, name, paper, capabilities = "cost", "wrong", "", ()
        low: int = param(-1, "low", ge=0)

        def price_list(self, objects, seed):
            raise NotImplementedError

    broken = Registry()
    broken.add(Wrong, Owner("shop"))
    with (
        pytest.raises(
            PluginError,
            match=r"cost 'wrong' \(shop\) cannot be built with its own defaults: cost.low",
        ),
        hold_nodes(broken),
    ):
        pass


# -- Python ----------------------------------------------------------------------------------------


def test_run_returns_a_record_and_writes_nothing_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = run(["dataset=iris", "method=cart", "seed=1"])
    assert record.verified and record.seed == 1 and record.tree.n_leaves > 1
    assert record.config["choices"]["tracker"] == "none"
    assert list(tmp_path.iterdir()) == []
    asked = run(["dataset=iris", "seed=1", "hydra.run.dir=kept"])
    assert load(tmp_path / "kept").metrics == asked.metrics == record.metrics
    assert load("kept/record.json").fingerprint == record.fingerprint


def test_a_failed_run_raises_one_of_ours():
    with pytest.raises(ArboretumError, match="unknown dataset 'iirs'; did you mean 'iris'"):
        run(["dataset=iirs"])
    with pytest.raises(ConfigError, match="overrides is a list of texts"):
        run("dataset=iris")
    with pytest.raises(StoreError, match="there is no run folder"):
        load("./nothing")


def test_a_goal_that_is_no_metric_is_refused_before_any_work():
    with pytest.raises(
        ConfigError, match="goal: unknown metric 'valid_eror'; did you mean 'valid_error'"
    ):
        run(["dataset=iris", "goal=valid_eror"])


def test_a_goal_that_a_run_has_not_is_told_with_the_reason():
    classes = {"test_error": 0.1, "valid_error": 0.2, "depth": 2.0}
    with pytest.raises(ConfigError, match="this run has no valid_r2; .* known: valid_error$"):
        goal_of("valid_r2", classes)
    with pytest.raises(ConfigError, match="the split leaves no valid rows to judge on"):
        goal_of("valid_r2", {"train_error": 0.1})


def test_a_bug_in_a_plugin_is_one_of_ours_that_names_it_and_keeps_the_cause(tmp_path):
    (tmp_path / "buggy.py").write_text(
        "import attrs\n@attrs.frozen\nclass Buggy:\n"
        "    kind, name, paper, capabilities = 'dataset', 'buggy', '', ()\n"
        "    def load(self, seed):\n        raise KeyError('no\\nsuch')\n"
    )
    with pytest.raises(
        ArboretumError, match=r"^dataset 'buggy': load raised KeyError: .*no.*such.*buggy.py:6"
    ) as caught:
        run(["dataset=buggy"], plugins=[tmp_path / "buggy.py"])
    assert isinstance(caught.value.__cause__, KeyError)
    assert "\n" not in str(caught.value)


# -- again, from a record --------------------------------------------------------------------------


def test_a_record_gives_back_the_configuration_it_was_made_with(registry):
    record = run(
        [
            "dataset=iris",
            "method=id3",
            "stopping=[standard,mass]",
            "theta=0.05",
            "stopping.standard.max_depth=3",
            "encoder.missing=drop_rows",
            "seed=4",
        ]
    )
    again = compose_and_resolve([], registry, start=start_from(record, [], registry))[1]
    assert {**again.config, "plugins": []} == {**record.config, "plugins": []}


def test_a_group_chosen_anew_forgets_its_recorded_values(registry):
    record = run(["dataset=iris", "cost=random", "cost.high=3"])
    overrides = ["cost=unit"]
    again = compose_and_resolve(overrides, registry, start=start_from(record, overrides, registry))[
        1
    ]
    assert again.config["cost"] == {"name": "unit"}


ALIKE = {
    (p.recipe, tuple(sorted(p.select)), p.owner.plugin): p.name
    for p in load_registry().presets()
    if p.kind == "method"
}
PRESETS = sorted(ALIKE.values())
SELECTED = {
    p.name: {
        kind: f"[{','.join(one)}]" if isinstance(one, tuple) else one
        for kind, one in p.select.items()
    }
    for p in load_registry().presets()
}
"""One of all that choose for the same groups: what is repeated depends on that."""

INSTEAD = {
    "criterion": ("gain_ratio", "random"),
    "impurity": ("entropy", "gini"),
    "stopping": ("[mass]", "[]"),
    "encoder": ("onehot", "auto"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds", [("criterion", "stopping"), ("impurity", "encoder")], ids="-".join
)
@pytest.mark.parametrize("preset", PRESETS)
def test_what_was_chosen_instead_of_a_presets_selection_is_repeated(preset, kinds, registry):
    options = [
        f"{kind}={next(one for one in INSTEAD[kind] if one != SELECTED[preset].get(kind))}"
        for kind in kinds
    ]
    found = built(registry, f"method={preset}", *options, "seed=1")
    record = Record(found.config, 1, {}, {"name": "odd"}, {}, {}, None, True, None)
    again = compose_and_resolve([], registry, start=start_from(record, [], registry))[1]
    assert again.config == found.config
    assert again.parts == found.parts


def test_a_repeated_run_has_the_fingerprint_of_the_first(registry):
    first = run(
        [
            "dataset=iris",
            "method=cart",
            "criterion=gain_ratio",
            "impurity=entropy",
            "stopping=[mass]",
            "theta=0.1",
        ]
    )
    _, again = compose_and_resolve([], registry, start=start_from(first, [], registry))
    repeated = Session(load_registry()).execute(again).record
    assert (repeated.fingerprint, repeated.metrics) == (first.fingerprint, first.metrics)


def test_the_command_line_wins_over_the_record(registry):
    record = run(["dataset=iris", "criterion=gain_ratio", "stopping=[mass]", "cost=random"])
    for overrides, criterion, stopping in (
        (["criterion=reduction"], "reduction", ["mass"]),
        (["stopping=[pure]"], "gain_ratio", ["pure"]),
        (["method=random"], "random", ["standard"]),  # another method brings its own recipe
    ):
        again = compose_and_resolve(
            overrides, registry, start=start_from(record, overrides, registry)
        )[1]
        assert again.parts.criterion.name == criterion
        assert again.config["choices"]["stopping"] == stopping
        assert again.parts.cost.name == "random"


@pytest.mark.parametrize(
    ("recorded", "overrides", "encoder"),
    [
        (["method=cart"], ["method=id3"], {"name": "multiway"}),  # id3's own, with its own values
        (["method=id3"], ["method=cart"], {"name": "auto"}),
        (
            ["method=id3", "encoder.missing=drop_rows"],
            ["method=cart"],
            {"name": "auto", "missing": "keep"},
        ),
        (
            ["method=cart", "encoder=onehot"],
            ["method=id3", "encoder=multiway"],
            {"name": "multiway"},
        ),
    ],
)
def test_another_method_brings_its_own_encoder_unless_one_is_chosen(
    recorded, overrides, encoder, registry
):
    found = built(registry, *recorded)
    record = Record(found.config, 1, {}, {"name": "odd"}, {}, {}, None, True, None)
    again = compose_and_resolve(overrides, registry, start=start_from(record, overrides, registry))[
        1
    ]
    fresh = built(registry, f"encoder={encoder['name']}").config["encoder"]
    assert again.config["encoder"] == {**fresh, **encoder}


def test_the_start_of_a_composition_is_a_plain_value():
    assert Start().choices == DEFAULT_CHOICES
    assert Start().values == {}


# -- sweeps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [
        ["dataset=odd", "dataset.needed=x", "seed=3"],
        [
            "dataset=odd",
            "method=random",
            "dataset.needed=x",
            "stopping.standard.max_depth=3",
            "dataset.kinds={a: ordinal}",
        ],
        [
            "dataset=odd",
            "stopping=[mass,pure]",
            "theta=0.5",
            "stopping.mass.theta=0.25",
            "+dataset.kinds.b=ordinal",
        ],
        ["dataset=odd", "pruner=null", "dataset.needed='a b'", "budget.seconds=2", "~cost"],
    ],
)
def test_a_job_of_a_sweep_is_composed_as_hydra_composes_it_but_sooner(overrides, registry):
    """Setting values on a copy of the composed choices gives what a whole composition gives."""
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.utils import setup_globals
    from hydra.types import RunMode

    from arboretum.config.bridge import PRIMARY
    from arboretum.config.compose import Loader, search_path

    setup_globals()
    with hold_nodes(registry):
        loader = Loader(search_path(), registry)
        master = loader.load_configuration(PRIMARY, ["hydra.sweep.dir=s"], RunMode.MULTIRUN)
        for _ in range(2):  # the second time from the copy, which other values have not touched
            loader._compose_job(
                master,
                [*overrides, "seed=99", "+dataset.kinds.other=ordinal", "dataset.share=0.125"],
            )
            quick = loader._compose_job(master, overrides)
            whole = ConfigLoaderImpl.load_sweep_config(loader, master, overrides)
            assert OmegaConf.to_container(quick) == OmegaConf.to_container(whole)


@pytest.mark.parametrize(
    "override",
    [
        "dataset.sharee=1",
        "bogus=1",
        "bogus.x=1",
        "seed=[1",
        "dataset.kinds.a.b=1",
        "+x._target_=os.system",
    ],
)
def test_a_job_of_a_sweep_is_refused_in_the_same_words(override, registry):
    from hydra.core.utils import setup_globals
    from hydra.types import RunMode

    from arboretum.config.bridge import PRIMARY
    from arboretum.config.compose import Loader, search_path

    setup_globals()
    overrides = ["dataset=odd", "dataset.needed=x", override]
    with pytest.raises(ConfigError) as alone:
        compose_and_resolve(overrides, registry)
    with hold_nodes(registry), pytest.raises(ConfigError) as swept:
        loader = Loader(search_path(), registry)
        loader.load_sweep_config(
            loader.load_configuration(PRIMARY, [], RunMode.MULTIRUN), overrides
        )
    assert str(swept.value) == str(alone.value)


# -- fields whose names the class needs itself -----------------------------------------------------


@attrs.frozen
class Aliased:
    """A component with a field named kind."""

    kind, name, paper, capabilities = "cost", "aliased", "", ()

    sort: str = param("a", "which sort", choices=("a", "b"), alias="kind")

    def price_list(self, objects, seed):
        raise NotImplementedError


def test_a_field_may_be_called_kind_although_the_class_says_its_group_by_that_name(registry):
    if "aliased" not in registry.names("cost"):
        from arboretum.plugin.registry import Owner

        registry.add(Aliased, Owner("test"))
    parts = built(registry, "cost=aliased", "cost.kind=b").parts
    assert (parts.cost.sort, parts.cost.kind, Aliased(kind="b")) == ("b", "cost", parts.cost)
    with pytest.raises(ConfigError, match="cost.kind must be one of a, b; got 'c'"):
        built(registry, "cost=aliased", "cost.kind=c")
    with pytest.raises(ConfigError, match="did you mean 'kind'"):
        built(registry, "cost=aliased", "cost.kinds=b")


# -- many runs, few compositions -------------------------------------------------------------------

COINS = '''
import attrs
import numpy as np
from arboretum.api import Column, ColumnKind, Table, Target, Task, param

@attrs.frozen
class Coins:
    """Ten coins."""

    kind, name, paper, capabilities = "dataset", "coins", "", ()

    share: float = param({default}, "a share")

    def load(self, seed):
        codes = np.arange(40) % 2
        column = Column("a", ColumnKind.continuous, codes * 1.0)
        return Table("coins", (column,), Target("y", Task.classification, codes, ("n", "y")))
'''


@pytest.fixture
def compositions(monkeypatch):
    """How often Hydra composes a run."""
    from hydra._internal.config_loader_impl import ConfigLoaderImpl

    calls, whole = [], ConfigLoaderImpl.load_configuration
    monkeypatch.setattr(
        ConfigLoaderImpl, "load_configuration", lambda *a, **k: calls.append(a) or whole(*a, **k)
    )
    return calls


def test_runs_that_differ_in_values_are_composed_once(compositions, tmp_path):
    base = ["dataset=iris", "stopping.standard.max_depth=1"]
    first = run([*base, "seed=1"])
    seen = len(compositions)
    records = [run([*base, f"seed={seed}", "goal=test_error"]) for seed in (1, 2)]
    run([*base, "seed=3", f"hydra.run.dir={tmp_path}/kept"])
    assert len(compositions) == seen and (tmp_path / "kept" / "record.json").is_file()
    assert (
        records[0].metrics == first.metrics
        and records[0].fingerprint == first.fingerprint != records[1].fingerprint
    )
    with pytest.raises(ConfigError, match="seed=1,2 names several values"):
        run([*base, "seed=1,2"])
    run([*base, "criterion=gain_ratio"])
    assert len(compositions) == seen + 1


def test_what_changes_around_the_calls_is_seen(compositions, tmp_path, monkeypatch):
    file = tmp_path / "ten_coins.py"
    file.write_text(COINS.format(default=0.25))
    overrides, plugins = ["dataset=coins", "stopping.standard.max_depth=${oc.env:DEPTH}"], [file]
    monkeypatch.setenv("DEPTH", "1")
    first = run(overrides, plugins=plugins)
    monkeypatch.setenv("DEPTH", "2")
    deeper = run(overrides, plugins=plugins)
    assert [r.config["stopping"]["standard"]["max_depth"] for r in (first, deeper)] == [1, 2]
    file.write_text(COINS.format(default=0.75))
    changed = run(overrides, plugins=plugins)
    assert (deeper.config["dataset"]["share"], changed.config["dataset"]["share"]) == (0.25, 0.75)
    assert changed.fingerprint != deeper.fingerprint
    monkeypatch.setenv("ARBORETUM_DISABLE", "arboretum_classic")
    with pytest.raises(ConfigError, match="unknown method .cart."):
        run(overrides, plugins=plugins)


def test_a_folder_of_choices_is_read_at_every_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    for depth in (1, 2):
        (folder / "mine.yaml").write_text(
            f"# @package _global_\nstopping:\n  standard:\n    max_depth: {depth}\n"
        )
        record = run(["dataset=iris", "hydra.searchpath=[file://conf]", "+experiment=mine"])
        assert record.config["stopping"]["standard"]["max_depth"] == depth
