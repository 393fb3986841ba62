"""What the page of a tree holds; how it behaves in a browser is for tests/browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

import arboretum
from arboretum.errors import DataError
from arboretum.model.tree import Tree
from arboretum_basics.questionnaire import Questionnaire

TENNIS = ["dataset=play-tennis", "split=none", "method=id3", "tracker=none"]


@pytest.fixture(scope="module")
def tree() -> Tree:
    return arboretum.run(
        [*TENNIS, 'dataset.questions={outlook: "What does the sky look like?"}']
    ).tree


def test_questions_travel_with_the_tree_and_change_nothing_else(tree):
    plain = arboretum.run(TENNIS)
    assert [column.question for column in tree.columns] == [
        "What does the sky look like?",
        "",
        "",
        "",
    ]
    assert Tree.from_json(tree.to_json()) == tree
    assert '"question"' not in plain.tree.to_json(), "files without questions stay what they were"
    asked = arboretum.run([*TENNIS, "dataset.questions={windy: Is there wind?}"])
    assert asked.data["sha256"] == plain.data["sha256"], "how one asks is no part of the data"


@pytest.mark.parametrize(
    "dataset", ["play-tennis", "iris-setosa", "random_table", "dfep dataset.bits=3"]
)
def test_every_data_set_takes_questions_and_refuses_those_about_no_column(dataset):
    with pytest.raises(DataError, match="dataset.questions: unknown column 'outlok'"):
        arboretum.run(
            [
                *f"dataset={dataset}".split(),
                "split=none",
                "method=id3",
                "tracker=none",
                "dataset.questions={outlok: How?}",
            ]
        )


def test_a_file_takes_questions(tmp_path):
    (tmp_path / "rows.csv").write_text(
        "age,sick\n" + "".join(f"{age},{'yes' if age > 40 else 'no'}\n" for age in range(20, 60))
    )
    words = [
        "dataset=file",
        f"dataset.path={tmp_path / 'rows.csv'}",
        "dataset.target=sick",
        "method=cart",
        "tracker=none",
    ]
    tree = arboretum.run([*words, "dataset.questions={age: How old are you?}"]).tree
    assert held(Questionnaire().write(tree))["questions"] == [
        {"name": "age", "words": "How old are you?", "input": "number"}
    ]


def held(page: str) -> dict:
    """The data of a page."""
    return json.loads(
        re.search('<script type="application/json" id="tree">(.*?)</script>', page)[1]
    )


def test_the_page_holds_the_tree(tree):
    data = held(Questionnaire().write(tree))
    assert data["test"] == tree.test.tolist() and data["child"] == tree.child.tolist()
    assert data["weights"][0] == [5, 9] and data["classes"] == ["no", "yes"]
    assert data["questions"][0] == {
        "name": "outlook",
        "words": "What does the sky look like?",
        "options": ["overcast", "rainy", "sunny"],
    }
    assert data["rules"][0] == {
        "asks": 0,
        "name": "outlook",
        "labels": ["= overcast", "= rainy", "= sunny"],
        "lost": -1,
        "outcomes": [0, 1, 2],
    }


def test_the_policy_names_the_two_texts_that_the_browser_may_use_and_no_address(tree):
    page = Questionnaire(title="a <style>", unit="<script>x</script>").write(tree)
    policy = re.search('http-equiv="Content-Security-Policy" content="(.*?)"', page)[1]
    for kind in ("style", "script"):
        (text,) = re.findall(f"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert not re.search(
        'https?:|//[a-z]|url\\(|@import|<link rel="(?!icon)', page.replace("// ", "")
    ), "nothing is fetched"
    assert page.isascii(), "so it is the same text in whatever encoding it is written"
