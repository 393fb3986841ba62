"""Who is installed: discovery, the registry, presets, and building components without Hydra."""

from __future__ import annotations

import enum

import attrs
import numpy as np
import pytest

from arboretum.api import AdditiveObjective, ConfigError, PluginError, SumsObjective, param
from arboretum.interfaces.component import EVERY_KIND, KINDS, MANY
from arboretum.interfaces.contracts import REQUIRED
from arboretum.interfaces.cost import Cost
from arboretum.interfaces.measure import Measure
from arboretum.kernels import column_kernel, criterion_kernel
from arboretum.plugin.assemble import DEFAULT_CHOICES, assemble, expand
from arboretum.plugin.build import build, coerce
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import ONE_FILE, Entry, Owner, Preset, Registry

OWNER = Owner("shop")


class Size(enum.Enum):
    small = "S"
    large = "L"


@attrs.frozen
class Thing:
    """A criterion with a field of every type."""

    kind, name, paper, capabilities = "criterion", "thing", "", ()

    lam: float = param(1.0, "a number", ge=0.0, lt=10.0)
    depth: int | None = param(None, "a whole number", ge=1)
    size: Size = param(Size.small, "a size")
    flag: bool = param(False, "yes or no")
    word: str = param("", "text")
    many: tuple[int, ...] = param((), "numbers", ge=0)
    prices: dict[str, float] = param(attrs.Factory(dict), "numbers by name")
    theta: float = param(0.1, "shared", shared="theta")


ENTRY = Entry("criterion", "thing", Thing, OWNER)


def price_list(self, objects, seed): ...


def divide(self, table, seed): ...


def made_with(default):
    return attrs.frozen(
        type(
            "Made", (), {"__annotations__": {"x": list}, "x": default, "kind": "cost", "name": "a"}
        )
    )


def class_of(**body):
    stated = {
        "kind": "cost",
        "name": "a",
        "paper": "",
        "capabilities": (),
        "price_list": price_list,
        "divide": divide,
        **body,
    }
    return attrs.frozen(
        type("Made", (), {name: value for name, value in stated.items() if value is not ...})
    )


def of_protocol(**body):
    """As :func:`class_of`, of a class that inherits from the protocol, which says nothing."""
    return attrs.frozen(type("Made", (Measure,), dict(name="a", paper="", capabilities=(), **body)))


def score_kernel(weights, counts, price, extra, node): ...


def criterion(score, **body):
    return class_of(kind="criterion", score=score, **body)


# -- the registry ----------------------------------------------------------------------------------


def test_two_plugins_cannot_own_one_name_be_it_component_or_preset():
    registry = Registry()
    registry.add(class_of(), OWNER)
    for claim in (
        lambda: registry.add(class_of(), Owner("other")),
        lambda: registry.put(Preset("cost", "a", "unit", {}, Owner("other"))),
    ):
        with pytest.raises(PluginError, match="cost 'a' is claimed by two plugins: shop and other"):
            claim()


def test_a_file_that_claims_the_name_of_another_plugin_is_named_by_its_path():
    registry = Registry()
    registry.add(class_of(), OWNER)
    with pytest.raises(
        PluginError, match=r"by two plugins: shop and /x/a.py; .*ARBORETUM_DISABLE=shop$"
    ):
        registry.add(class_of(), Owner("a", ONE_FILE, path="/x/a.py"))


def test_one_name_may_stand_in_two_kinds():
    registry = Registry()
    registry.add(class_of(), OWNER)
    registry.add(class_of(kind="split"), OWNER)
    assert registry.names("cost") == registry.names("split") == ["a"]


@pytest.mark.parametrize(
    ("cls", "rule"),
    [
        (class_of(kind="criterium"), "Made.kind is 'criterium'; did you mean 'criterion'?"),
        (class_of(kind="xyz"), "Made.kind is 'xyz'; it must be one of dataset, split"),
        (class_of(kind=...), 'Made states no kind; add kind = "'),
        (class_of(name=...), 'Made states no name; add name = "…", the word after cost='),
        (class_of(paper=1984), "Made.paper is 1984; it must be text"),
        (
            class_of(capabilities=5),
            "Made.capabilities: 'int' object is not iterable; known: classification",
        ),
        (class_of(kind="hydra.sweeper"), "Made lacks the method sweep"),
        (class_of()(), " is no class; arboretum_components"),
        (class_of(name="a b"), "name is 'a b'; it must be a word"),
        *(
            (
                class_of(name=word),
                f"name is '{word}', which the command line and YAML read as a value",
            )
            for word in ("none", "nan", "NaN", "inf", "null", "True", "off")
        ),
        (class_of(name="-inf"), "name is '-inf'; it must be a word"),
        (class_of(name="1e3"), "name is '1e3'; it must be a word"),
        (
            class_of(capabilities=("flying",)),
            "capabilities: 'flying' is not a valid Capability; known:",
        ),
        (type("Plain", (), {"kind": "cost", "name": "a"}), "is not an attrs class"),
        (
            attrs.define(
                type(
                    "Loose",
                    (),
                    {"__annotations__": {"x": int}, "x": 1, "kind": "cost", "name": "a"},
                )
            ),
            "is not frozen",
        ),
        (
            attrs.frozen(
                type("Bare", (), {"__annotations__": {"x": int}, "kind": "cost", "name": "a"})
            ),
            "x has no default",
        ),
        (
            attrs.define(type("Empty", (), {"kind": "cost", "name": "a"})),
            "Empty is not frozen; decorate it with @attrs.frozen",
        ),
        (
            attrs.frozen(type("Bare", (), {"q": param(1, "q"), "kind": "cost", "name": "a"})),
            r"q states no type, so .* q: float = param",
        ),
        (made_with([]), r"x has a mutable default, .*; use a tuple, or attrs.Factory\(list\)"),
        (made_with(np.zeros(2)), "x has a mutable default"),
        (
            type("Child", (made_with(1),), {"q": param(1, "q")}),
            "q is no field, because only its parent is decorated",
        ),
    ],
)
def test_a_class_that_is_no_component_is_refused_by_rule(cls, rule):
    with pytest.raises(PluginError, match=rule):
        Registry().add(cls, OWNER)


@pytest.mark.parametrize(
    ("cls", "rule"),
    [
        (
            class_of(price_list=...),
            r"has no method 'price_list'; a cost needs price_list\(self, objects: Encoded, "
            r"seed: int\) -> Prices",
        ),
        (
            criterion(..., scores=price_list),
            r"has no method 'score' \(is 'scores' meant for it\?\); a criterion needs "
            r"score\(self, tab",
        ),
        (
            criterion(lambda self, tables: 0),
            r"Made.score takes \(self, tables\); a criterion needs score\(self, tables: "
            r"Tables, node: Node\)",
        ),
        (
            criterion(lambda tables, node: 0),
            r"Made.score takes \(tables, node\); a criterion needs score\(self, tables",
        ),
        (criterion(property(lambda self: 0)), "Made.score is no method"),
        (
            criterion(criterion_kernel(lambda weights: 0)),
            "Made.score.weights. is no kernel as it is called; write @staticmethod, below",
        ),
        (
            criterion(staticmethod(criterion_kernel(lambda self, objects, seed: 0))),
            r"Made.score\(self, objects, seed\) is no kernel as .* then score\(w",
        ),
        (
            criterion(criterion_kernel(staticmethod(lambda a, b, c, d, e: 0.0))),
            "score.a, b, c, d, e. is no kernel as it is called; write @staticmethod, below "
            "it @criterion",
        ),
        (
            criterion(price_list, terms=lambda self: {}),
            r"Made.terms takes \(self\); a criterion needs terms\(self, tables: Tables, node",
        ),
        (
            criterion(price_list, columns=lambda self, node: 0),
            r"Made.columns takes \(self, node\); a criterion needs columns",
        ),
        (
            criterion(price_list, column=staticmethod(lambda w, k, n: 0.0)),
            "is no kernel as it is called; write @staticmethod, below it @column",
        ),
        (
            criterion(price_list, column=staticmethod(column_kernel(lambda w: 0.0))),
            r"column\(w\) is no kernel as .* column\(weight, l",
        ),
        (
            criterion(price_list, kernel=lambda self: 0),
            r"Made.kernel takes \(self\); a criterion needs kernel\(self, impurity: Impurity \| N",
        ),
        (
            class_of(kind="coverage", covered=price_list, prepare=lambda self: 0),
            r"Made.prepare takes \(self\); a coverage needs prep",
        ),
        (
            class_of(kind="impurity", value=lambda self, w: w, scale="sum"),
            "Made.scale is 'sum'; it must be 'mean' or 'total'",
        ),
        (
            class_of(kind="impurity", value=lambda self, w: w, kernel=lambda w: 0),
            "is no kernel as it is called; write @staticmethod, below",
        ),
        (
            class_of(kind="encoder", encode=lambda self, table, whole, seed: 0),
            r"encode takes .*\*, raw_thresholds: bool, seed: int",
        ),
        (class_of(kind="impurity"), "has no method 'value'; an impurity needs value"),
        (
            class_of(kind="impurity", value=lambda self, weights: weights),
            'states no \'scale\': "mean" or "total"',
        ),
        (
            class_of(kind="measure", of=lambda self, record: 1.0, words="ones"),
            "states no 'higher_is_better': Which way is better",
        ),
        (
            of_protocol(kind="measure", of=lambda self, record: 1.0, words="ones"),
            "states no 'higher_is_better': Which way is better",
        ),
    ],
)
def test_a_class_without_the_methods_of_its_kind_is_refused_when_it_is_registered(cls, rule):
    with pytest.raises(PluginError, match=f"plugin shop: (Made)?.*{rule}") as caught:
        Registry().add(cls, OWNER)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "cls",
    [
        criterion(staticmethod(criterion_kernel(score_kernel))),
        criterion(price_list, columns=lambda self, node, objects: 0),
        criterion(price_list, columns=lambda self, node, objects, rows: 0),
        criterion(
            price_list,
            kernel=lambda self, impurity: None,
            column=staticmethod(column_kernel(lambda w, k, n: 0.0)),
        ),
        criterion(price_list, kernel=lambda self, impurity, coverage: None),
        class_of(
            kind="coverage", covered=lambda self, objects, rows: 0, prepare=lambda self, objects: 0
        ),
        criterion(lambda self, *anything: 0, paper=...),
        class_of(kind="impurity", for_objects=lambda self, objects: 0),
        class_of(
            kind="impurity",
            of_values=lambda self, y, weight: 0,
            leaf_value=lambda self, y, weight: 0,
        ),
        class_of(kind="dataset", load=lambda self, seed, more=1: 0),
    ],
)
def test_every_form_the_contract_allows_is_registered(cls):
    assert Registry().add(cls, OWNER).cls is cls


def test_the_contracts_name_every_kind_and_every_component_of_the_house_keeps_them():
    assert set(REQUIRED) == set(EVERY_KIND)
    assert load_registry().failures == []


def test_a_method_by_its_old_name_is_heard_and_warns():
    with pytest.warns(DeprecationWarning, match="shop: Made.settle is called finalise_scores now"):
        made = Registry().add(criterion(price_list, settle=lambda self, s, t, n: s), OWNER).cls
    assert made().finalise_scores("scores", {}, None) == "scores"


def test_a_method_that_a_protocol_only_sketches_is_missing():
    with pytest.raises(PluginError, match="has no method 'price_list'"):
        Registry().add(attrs.frozen(type("Made", (Cost,), {"kind": "cost", "name": "a"})), OWNER)


def objective(base, **written):
    """A class of an objective, with these methods."""
    return attrs.frozen(type("Made", (base,), {"name": "made", "__module__": "mine", **written}))


@pytest.mark.parametrize(
    ("base", "written", "told"),
    [
        (AdditiveObjective, ["cost"], r"no method 'costs' \(is 'cost' meant for it\?\)"),
        (AdditiveObjective, ["row_costs"], r"no method 'costs' \(is 'row_costs' meant"),
        (AdditiveObjective, ["error"], r"no method 'errors' \(is 'error' meant for it\?\)"),
        (SumsObjective, ["moments", "leaf"], r"no method 'predicts'; an objective needs"),
        (SumsObjective, ["moments", "predict", "leaf"], r"is 'predict' meant for it"),
    ],
)
def test_costs_that_are_written_by_another_name_are_missed(base, written, told):
    methods = dict.fromkeys(written, lambda self, given: given)
    with pytest.raises(PluginError, match=told):
        Registry().add(objective(base, **methods), OWNER)


def test_helpers_of_an_objective_that_says_its_costs_have_any_name():
    def costs(self, problem):
        return problem

    def other(self):
        return 1

    for written in (
        {"costs": costs, "row_costs": other},
        {"_cost": other},
        {"deepest": other},
        {},  # every error costs 1
    ):
        cls = objective(AdditiveObjective, **written)
        assert Registry().add(cls, OWNER).cls is cls


def test_an_unknown_name_lists_what_is_installed_with_owner_and_what_failed():
    registry = load_registry()
    with pytest.raises(
        ConfigError,
        match=(
            r"unknown criterion 'reductoin'; did you mean 'reduction' "
            r"\(arboretum_classic\)\? installed:"
        ),
    ):
        registry.get("criterion", "reductoin")
    with pytest.raises(ConfigError, match="unknown kind 'criterium'; did you mean 'criterion'"):
        registry.get("criterium", "x")
    far = registry.unknown_option("criterion", "zzz")
    assert "; installed: " in far and far.endswith("; one in a file of your own: add --plugin FILE")


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("criterion", "gini", "gini is an impurity: say impurity=gini"),
        ("impurity", "gain_ratio", "gain_ratio is a criterion: say criterion=gain_ratio"),
        ("solver", "cart", "cart is a method: say method=cart"),
        ("stopping", "error_based", "error_based is a pruner: say pruner=error_based"),
    ],
)
def test_a_name_of_another_kind_is_told_as_such(kind, name, told):
    assert (
        load_registry()
        .unknown_option(kind, name)
        .startswith(f"unknown {kind} '{name}'; {told}; installed: ")
    )


def test_of_many_names_only_the_nearest_are_listed():
    text = load_registry().unknown_option("dataset", "iriss")
    assert text.startswith(
        "unknown dataset 'iriss'; did you mean 'iris' (arboretum_data)? installed: iris, iris-"
    )
    assert text.endswith(" more (arboretum plugins dataset lists them)") and len(text) < 240


def test_every_default_choice_is_installed():
    registry = load_registry()
    for kind, choice in DEFAULT_CHOICES.items():
        for name in choice if isinstance(choice, tuple) else (choice,):
            assert name in ("", "none") or name in registry.names(kind), f"{kind}={name}"
    assert set(DEFAULT_CHOICES) == set(KINDS)


# -- building --------------------------------------------------------------------------------------


def test_plain_values_become_the_types_of_the_fields():
    values = {
        "lam": "2.5",
        "depth": 3.0,
        "size": "L",
        "flag": "true",
        "word": 7,
        "many": [1, 2],
        "prices": {"a": 1},
    }
    found = build(ENTRY, values)
    assert found == Thing(2.5, 3, Size.large, True, "7", (1, 2), {"a": 1.0}, 0.1)
    assert build(ENTRY, {"size": "small", "depth": None}) == Thing()
    assert build(ENTRY, {"lam": "138/6907"}) == Thing(138 / 6907)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"lam": "much"}, "criterion.lam must be a number; got 'much'"),
        ({"lam": "1/0"}, "criterion.lam must be a number; got '1/0'"),
        ({"lam": "1/2/3"}, "criterion.lam must be a number; got '1/2/3'"),
        ({"lam": True}, "criterion.lam must be a number; got True"),
        ({"lam": -1}, "criterion.lam must be ≥ 0 and < 10; got -1.0"),
        ({"lam": float("nan")}, "criterion.lam must be a number; got nan"),
        ({"depth": 1.5}, "criterion.depth must be a whole number; got 1.5"),
        ({"depth": 0}, "criterion.depth must be ≥ 1; got 0"),
        ({"depth": 1 << 63}, "criterion.depth must be a whole number of at most 64 bits; got"),
        ({"lam": None}, "criterion.lam must be a number; got None"),
        ({"size": "XL"}, "criterion.size: unknown value 'XL'"),
        ({"flag": "perhaps"}, "criterion.flag must be true or false; got 'perhaps'"),
        ({"flag": 1}, "criterion.flag must be true or false; got 1"),
        ({"word": ["a"]}, "criterion.word must be text; got"),
        ({"word": None}, "criterion.word must be text; got None; the word null is text in two"),
        ({"many": 3}, "criterion.many must be a list"),
        ({"many": "abc"}, "criterion.many must be a list"),
        ({"many": [1, -2]}, "criterion.many must be ≥ 0; got"),
        ({"prices": [1]}, "criterion.prices must be a mapping"),
        ({"prices": {"a": "x"}}, "criterion.prices[a] must be a number; got 'x'"),
        ({"lamb": 1}, "criterion 'thing': unknown parameter 'lamb'; did you mean 'lam'?"),
    ],
)
def test_a_value_that_does_not_fit_names_field_rule_and_value(values, message):
    with pytest.raises(ConfigError) as caught:
        build(ENTRY, values)
    assert str(caught.value).startswith(message)


def test_where_several_components_live_together_the_message_says_which():
    @attrs.frozen
    class Rule:
        """A rule."""

        kind, name, paper, capabilities = "stopping", "rule", "", ()
        depth: int = param(1, "a depth", ge=1)

    entry = Entry("stopping", "rule", Rule, OWNER)
    for value, message in (
        (0, "stopping.rule.depth must be ≥ 1; got 0"),
        ("x", "stopping.rule.depth must be a whole number"),
    ):
        with pytest.raises(ConfigError, match=message):
            build(entry, {"depth": value})


def test_a_field_follows_the_shared_value_it_declares_unless_set():
    assert build(ENTRY, {}).theta == 0.1
    assert build(ENTRY, {}, {"theta": 0.3, "other": 1}).theta == 0.3
    assert build(ENTRY, {"theta": 0.4}, {"theta": 0.3}).theta == 0.4


def test_words_that_yaml_takes_for_values_are_names_where_text_is_wanted():
    assert coerce([True, False, 1, 2.5], list[str], "x") == ["true", "false", "1", "2.5"]
    assert coerce({True: 1, None: 2, 3: 3}, dict[str, int], "x") == {"true": 1, "null": 2, "3": 3}
    assert coerce(True, bool | str, "x") is True


def test_coercion_of_unions_takes_the_first_type_that_fits():
    assert coerce("3", int | str, "x") == 3
    assert coerce("three", int | str, "x") == "three"


# -- assembling without Hydra ----------------------------------------------------------------------


def test_what_is_chosen_wins_over_the_preset_which_wins_over_the_default():
    registry = load_registry()
    assert expand(registry, {})["criterion"] == "reduction"
    assert expand(registry, {"method": "random"})["criterion"] == "random"
    assert (
        expand(registry, {"method": "random", "criterion": "gain_ratio"})["criterion"]
        == "gain_ratio"
    )
    assert expand(registry, {"method": "random"})["method"] == "greedy"
    assert [
        expand(registry, {"stopping": value})["stopping"]
        for value in ("none", "pure", ["pure", "mass"])
    ] == [
        (),
        ("pure",),
        ("pure", "mass"),
    ]


def test_lists_and_mappings_of_overrides_mean_the_same():
    registry = load_registry()
    one = assemble(
        registry,
        {"dataset": "iris", "tracker": "none"},
        {"stopping.standard.max_depth": 3, "cost": "random"},
    )
    two = assemble(
        registry,
        {"dataset": "iris", "tracker": "none"},
        ["stopping.standard.max_depth=3", "cost=random"],
    )
    assert one == two and one.stopping[0].max_depth == 3 and one.cost.name == "random"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["criterium.x=1"], "unknown group 'criterium'"),
        (["stopping.max_depth=3"], "must name the rule: stopping.RULE.max_depth"),
        (["stopping.mass.theta=1"], "unknown stopping rule 'mass'"),
        (["nonsense"], "cannot read override 'nonsense'; expected KEY=VALUE"),
    ],
)
def test_an_override_that_fits_nowhere_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        assemble(load_registry(), {"dataset": "iris", "tracker": "none"}, overrides)


def test_groups_of_several_are_those_the_contract_names():
    assert {kind for kind, choice in DEFAULT_CHOICES.items() if isinstance(choice, tuple)} == set(
        MANY
    )
