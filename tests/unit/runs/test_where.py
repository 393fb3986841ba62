"""The small language by which runs are chosen, against the obvious reading of it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from arboretum.errors import ConfigError
from arboretum.runs.where import Comparison, Joined, Negated, read_where, select, typed

RUNS = [
    {"dataset": "iris", "method": "cart", "seed": 1, "test_error": 0.05, "stopping": ["standard"]},
    {"dataset": "iris", "method": "id3", "seed": 2, "test_error": 0.15, "certify": True},
    {"dataset": "wine", "method": "cart", "seed": 10, "test_error": None, "stopping": []},
    {"dataset": "a (b)", "seed": 1, "stopping.standard.max_depth": 3, "when": "2026-11-27 11:25"},
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("dataset=iris and test_error<.1", [0]),
        ("dataset == iris", [0, 1]),
        ("dataset!=iris", [2, 3]),
        ("method=cart or method=id3 and seed=2", [0, 1, 2]),
        ("(method=cart or method=id3) and seed=2", [1]),
        ("not (method=cart)", [1, 3]),
        ("not method=cart and seed>=1", [1, 3]),
        ("method != cart", [1]),
        ("method in [cart, id3]", [0, 1, 2]),
        ("method not in [cart]", [1]),
        ("dataset in ['a (b)', \"wine\"]", [2, 3]),
        ("stopping.standard.max_depth<=3", [3]),
        ("certify", [1]),
        ("certify=true and test_error > 1e-1", [1]),
        ("stopping=standard", [0]),
        ("stopping=null", [2]),
        ("test_error=null", [2]),
        ("seed = 1.0", [0, 3]),
        ("seed=01", [0, 3]),
        ("when >= 2026-11-27", [3]),
        ("when<'2026-11-27'", []),
        (r'dataset="a \(b)"', [3]),
    ],
)
def test_what_an_expression_means(text, found):
    assert [RUNS.index(run) for run in select(RUNS, read_where(text))] == found


def test_true_is_no_number():
    runs = [{"number": 1, "truth": True}]
    for text in ("number = true", "number", "truth = 1", "truth in [1]", "truth = 'True'"):
        assert select(runs, read_where(text)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a key, but it ends there"),
        ("test_error <", "expected a value, but it ends there"),
        ("test_error < .1 andd", "expected and, or, or the end, got 'andd' at character 17"),
        ("(dataset=iris", r"expected '\)', but it ends there"),
        ("dataset in iris", r"expected '\[', got 'iris'"),
        ("dataset in []", r"expected a value, got '\]'"),
        ("= iris", "expected a key, got '=' at character 1"),
        ("and", "expected a key, got 'and'"),
        ("'dataset'=iris", "expected a key"),
        ("dataset=iris 'wine'", "got \"'wine'\""),
        ('name="a', "cannot read"),
        ("dataset = not", "expected|unknown"),
        ("not " * 60 + "certify", "more than 50 brackets"),
        ("(" * 60 + "certify" + ")" * 60, "more than 50 brackets"),
    ],
)
def test_what_is_none_is_refused_with_its_place(text, message):
    if text == "dataset = not":  # a word is a value wherever a value stands
        assert read_where(text) == Comparison("dataset", "=", ("not",))
        return
    with pytest.raises(ConfigError, match=message):
        read_where(text)


def test_an_unknown_key_has_its_closest_and_no_code_is_run():
    with pytest.raises(ConfigError, match="unknown key 'tset_error'; did you mean 'test_error'"):
        select(RUNS, read_where("tset_error < 1"))
    with pytest.raises(ConfigError, match="orders what has no order: dataset is 'iris'"):
        select(RUNS, read_where("dataset < 3"))
    with pytest.raises(ConfigError):
        read_where("__import__('os').system('touch robbed')")
    assert select([], read_where("anything=1")) == []


def test_words_have_the_type_that_a_reader_sees():
    found = [typed(word) for word in ("1", "-2", "1e3", ".5", "true", "None", "nan", "1_0", "x")]
    assert found == [1, -2, 1000.0, 0.5, True, None, "nan", 10.0, "x"]
    assert isinstance(found[0], int) and isinstance(found[2], float)


KEYS, VALUES = ("a", "b.c", "in_d"), (0, 1, 2.5, True, None, "x", "1 y")


def expressions() -> st.SearchStrategy:
    spelled = {True: "true", None: "null", "x": "x", "1 y": "'1 y'"}
    single = st.builds(
        lambda key, sign, value: (
            f"{key}{sign}{spelled.get(value, value) if value != 1 or value is True else 1}",
            ("compare", key, sign, value),
        ),
        st.sampled_from(KEYS),
        st.sampled_from(("=", "!=", " in ")),
        st.sampled_from(VALUES),
    ).map(lambda one: (one[0].replace(" in ", " in [") + "]" * (" in " in one[0]), one[1]))

    def joined(inner):
        both = st.tuples(inner, st.sampled_from(("and", "or")), inner).map(
            lambda one: (
                f"({one[0][0]}) {one[1]} ({one[2][0]})",
                (one[1], one[0][1], one[2][1]),
            )
        )
        return both | inner.map(lambda one: (f"not ({one[0]})", ("not", one[1])))

    return st.recursive(single, joined, max_leaves=6)


def plainly(meaning, facts) -> bool:
    """The reference: what the words say."""
    kind, *rest = meaning
    if kind == "compare":
        key, sign, value = rest
        if key not in facts:
            return False
        found = facts[key]
        same = (
            found is value
            if isinstance(found, bool) or isinstance(value, bool) or found is None or value is None
            else str(found) == str(value) or found == value
        )
        return same != (sign == "!=")
    if kind == "not":
        return not plainly(rest[0], facts)
    return (all if kind == "and" else any)([plainly(one, facts) for one in rest])


@given(
    expression=expressions(),
    facts=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
)
def test_any_expression_means_what_its_words_say(expression, facts):
    text, meaning = expression
    found = read_where(text)
    assert isinstance(found, Comparison | Joined | Negated)
    assert found.holds(facts) == plainly(meaning, facts)
