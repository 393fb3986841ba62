"""Files that somebody made to trouble the checker: each ends in one line that says why, and no
work is done twice for it.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import re
import struct

import attrs
import numpy as np
import pytest
from slow_prover import prove, unit_of
from tampering import BOUND, rewritten, word

from arboretum.cli import verify
from arboretum.config.compose import compose_and_resolve
from arboretum.engine import run as engine
from arboretum.errors import ArboretumError, CapabilityError
from arboretum.interfaces.stopping import LeafRule, Limits
from arboretum.plugin.discovery import load_registry
from arboretum.proof.check import check
from arboretum.proof.counting import MOST_KEPT
from arboretum.proof.format import DIGEST, MAGIC, is_proof, read
from arboretum.proof.writing import ProofWriter
from arboretum.testing.effort import tries

REGISTRY = load_registry()
SAID = ["dataset=file", "dataset.target=y", "split=none", "tracker=none", "method=exact"]
KINDS = {
    "additive": [
        "solver=gosdt",
        "objective=accuracy",
        "objective.lam=0.04",
        "encoder=onehot",
        "stopping=[standard]",
        "stopping.standard.max_depth=3",
    ],
    "complexity": [
        "solver=subtable_dp",
        "objective=zero_error",
        "complexity=n_nodes",
        "encoder=multiway",
        "stopping=[pure]",
    ],
}
NOTHING, UNLIMITED = [], -1


def problem_of(folder, kind: str):
    """A run's problem, posed as the command poses it again."""
    said = [*SAID, *KINDS[kind], f"dataset.path={folder / 'table.csv'}"]
    parts = compose_and_resolve(said, REGISTRY)[1].parts
    request = engine.Request(parts, 0)
    return engine.pose(parts, engine.prepare(request).table, 0).problem


def prove_nodes(problem, path) -> None:
    """The proof of the least number of nodes where one test tells the classes apart: 3."""
    from arboretum.testing.oracles import build_tree

    with ProofWriter(path, problem, tests=range(problem.objects.n_tests), unit=1) as log:
        log.record([], 3.0)
        log.close(3.0, 3.0, build_tree(problem.objects, (0, {0: None, 1: None}), problem.prices))


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proofs")
    rows = [f"{int(i < 6)},{i // 2 % 2},{i // 4 % 2},{'yes' if i < 6 else 'no'}" for i in range(16)]
    (folder / "table.csv").write_text("\n".join(["a,b,c,y", *rows]) + "\n")
    prove(problem_of(folder, "additive"), folder / "additive")
    prove_nodes(problem_of(folder, "complexity"), folder / "complexity")
    return folder


@pytest.fixture
def ends(monkeypatch, capsys):
    """What the command says of a file: "" where it accepts it, else the error, which has one
    line.
    """
    monkeypatch.setattr(verify, "load_registry", lambda files: REGISTRY)

    def said(path) -> str:
        try:
            assert verify.main([str(path)]) == 0
        except ArboretumError as error:
            assert "\n" not in str(error) and str(error) and len(str(error)) < 2000
            return str(error)
        assert capsys.readouterr().out.count("\n") == 5
        return ""

    return said


def test_the_honest_ones_are_accepted(logs, ends):
    assert [ends(logs / kind) for kind in KINDS] == ["", ""]


def with_config(**groups):
    """A change of a header: fields of groups, or of a group's component, are said anew."""

    def change(data):
        data = copy.deepcopy(dict(data))
        for kind, fields in groups.items():
            data["config"][kind] = {**(data["config"].get(kind) or {}), **fields}
        return data

    return change


STANDARD = {
    "max_depth": 3,
    "min_leaf": 1,
    "max_leaves": None,
    "min_decrease": None,
    "min_split": 2,
    "min_mass": 0.0,
}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"stopping": {"standard": {**STANDARD, "min_split": 17}}},
            "rejected: the run does not allow the tree: min_split is 17, and node 0 of 16 "
            "rows is divided",
        ),
        (
            {"stopping": {"standard": {**STANDARD, "min_mass": 0.4}}},
            "the run does not allow the tree: min_mass is 0.4, and a branch has 0.375 of the "
            "weight",
        ),
        (
            {"stopping": {"standard": {**STANDARD, "min_leaf": 7}}},
            "min_leaf is 7, and a branch has 6 rows",
        ),
        (
            {"stopping": {"standard": {**STANDARD, "min_decrease": 0.1}}},
            "stopping.standard has a min_decrease, a score; proofs know none",
        ),
        ({"stopping": {"standard": {**STANDARD, "least": 3}}}, "least"),
        (
            {"stopping": {"impurity": {"delta": 0.9}}, "impurity": {"name": "gini"}},
            "delta is 0.9, and node 0 of 16 rows is divided",
        ),
        (
            {"complexity": {"name": "n_nodes"}},
            "complexity=n_nodes stands beside objective=accuracy, which does not count it",
        ),
        ({"cost": {"name": "by_outcome", "prices": {"a": {"0": 1.0, "1": 2.0}}}}, "cost"),
    ],
)
def test_what_a_run_asks_is_held_against_the_tree_or_ends_the_check_with_its_name(
    logs, ends, tmp_path, change, why
):
    assert why in ends(rewritten(logs / "additive", tmp_path / "t", header=with_config(**change)))


def test_rules_that_the_checker_does_not_know_end_the_check_with_their_names(logs):
    problem, proof = problem_of(logs, "additive"), read(logs / "additive")

    class Looks:
        kind, name = "stopping", "looks"

        def limits(self):
            return Limits()

        def leaf_rule(self):
            return LeafRule()

        def is_leaf_among(self, tables, node):
            return False

    class Rule:
        kind, name = "stopping", "rule"

        def limits(self):
            return Limits()

    class Drawn:
        kind, name = "predicate", "drawn"

    changes = (
        ({"stopping": (Looks(),)}, "stopping=looks"),
        ({"stopping": (Rule(),)}, "stopping=rule"),
        ({"predicate": (Drawn(),)}, "predicate=drawn"),
    )
    for change, why in changes:
        with pytest.raises(CapabilityError, match=why):
            check(proof, attrs.evolve(problem, parts=attrs.evolve(problem.parts, **change)))


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        ("additive", "accuracy (λ lam=0.04, μ mu=0.0, price=expected), limits: max_depth=3"),
        ("complexity", "n_nodes, limits: none"),
    ],
)
def test_what_is_shown_names_what_was_read_here_and_what_the_header_alone_says(
    logs, tmp_path, monkeypatch, capsys, kind, least
):
    monkeypatch.setattr(verify, "load_registry", lambda files: REGISTRY)
    forged = lambda data: {
        **data,
        "solver": "\x1b[31mred\nno tree is below 9",
        "version": "v\t",
        "data": {**data["data"], "name": ["x\u202e"]},
    }
    assert verify.main([str(rewritten(logs / kind, tmp_path / "t", header=forged))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert (
        lines[0].startswith("accepted: ")
        and " records of \\x1b[31mred\\nno tree is below 9 checked in " in lines[0]
    )
    assert lines[1] == f"minimised: {least}"
    assert (
        lines[2]
        == f"table: table, 16 training rows, sha256 {problem_of(logs, kind).objects.table.sha256()}"
    )
    assert (
        lines[3]
        == r"said by the header alone: solver \x1b[31mred\nno tree is below 9, version v\t, "
        r"table ['x\u202e']"
    )
    assert (
        lines[4].startswith("no tree is below ")
        and lines[4].endswith(" (optimal)")
        and " on table)" in lines[4]
    )


ODD = [
    None,
    True,
    -1,
    0,
    1,
    7,
    10**18,
    10**400,
    -(10**400),
    1.5,
    float("nan"),
    float("inf"),
    1e308,
    "",
    "x",
    "0",
    "1e1000000",
    "-1",
    "none",
    "9" * 3000,
    "\x1b[31m\nred",
    "\ud800",
    "/dev/null",
    [],
    [[]],
    [0],
    [[0]],
    [0, 0],
    [[0, 1]],
    [None],
    {},
    {"": None},
    {"name": "x"},
]


def places(value, path=()):
    """The path of every value in nested JSON."""
    yield path
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(inner, (*path, key))


def with_odd(data, draw: random.Random):
    """One value replaced, or left out."""
    data = copy.deepcopy(dict(data))
    path = draw.choice([path for path in places(data) if path])
    holder = data
    for key in path[:-1]:
        holder = holder[key]
    if isinstance(holder, dict) and draw.random() < 0.15:
        del holder[path[-1]]
    else:
        holder[path[-1]] = draw.choice(ODD)
    return data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(int(os.environ.get("CRAFTED", tries(4)))))
def test_a_proof_with_odd_values_ends_in_one_line(logs, ends, tmp_path, kind, seed):
    draw = random.Random(f"{kind} {seed}")
    for part in ("header", "end") * 6:
        ends(rewritten(logs / kind, tmp_path / "odd", **{part: lambda data: with_odd(data, draw)}))


@pytest.mark.parametrize("kind", KINDS)
def test_a_proof_with_odd_words_ends_in_one_line(logs, ends, tmp_path, kind):
    draw = random.Random(kind)
    length = len(read(logs / kind).words)
    for _ in range(tries(24)):

        def change(words, start):
            for _ in range(draw.randint(1, 3)):
                words[draw.randrange(length)] = draw.choice(
                    [0, 1, -1, 2, 5, 99, -(2**31), 2**31 - 1, draw.getrandbits(31)]
                )
            return words

        ends(rewritten(logs / kind, tmp_path / "odd", words=change))


def signed(path, data: bytes):
    path.write_bytes(data + hashlib.sha256(data).digest())
    return path


def test_bytes_that_are_changed_and_signed_anew_end_in_one_line(logs, ends, tmp_path):
    draw = random.Random(0)
    for kind in KINDS:
        data = (logs / kind).read_bytes()[:-DIGEST]
        for _ in range(20):
            some = bytearray(data)
            for _ in range(draw.randint(1, 4)):
                some[draw.randrange(len(MAGIC), len(some))] = draw.randrange(256)
            ends(
                signed(
                    tmp_path / "odd",
                    bytes(some[: draw.choice([len(some), draw.randrange(len(some))])]),
                )
            )


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        (
            "additive",
            {"end": lambda data: {**data, "bound": 10**400}},
            "the end's bound must be a number that a record can hold",
        ),
        (
            "additive",
            {"end": lambda data: {**data, "bound": -(10**400)}},
            "the end's bound must be a number that a record can hold",
        ),
        (
            "complexity",
            {"end": lambda data: {**data, "bound": 10**400}},
            "the end's bound must be a number that a record can hold",
        ),
        (
            "additive",
            {"end": lambda data: {**data, "bound": float("nan")}},
            "the end's bound must be a number that a record can hold",
        ),
        (
            "complexity",
            {"end": lambda data: {**data, "value": float("nan")}},
            "the end's value must be a number that a record can hold",
        ),
        (
            "additive",
            {"header": lambda data: {**data, "unit": "1e1000000"}},
            "its unit is a fraction in digits, as 1/432 is",
        ),
        (
            "additive",
            {"header": lambda data: {**data, "unit": "1e-1000000"}},
            "its unit is a fraction in digits, as 1/432 is",
        ),
        (
            "additive",
            {"header": lambda data: {**data, "unit": "1/0"}},
            "its unit is a fraction in digits, as 1/432 is",
        ),
        (
            "additive",
            {"header": lambda data: {**data, "unit": "0"}},
            "the log's unit is 0; it must be above 0",
        ),
        ("additive", {"header": lambda data: {**data, "unit": "1/" + "9" * 1999}}, "exceed 2\\^53"),
        (
            "additive",
            {"header": lambda data: {**data, "tests": [[0]]}},
            "tests are numbers, or a raw column and a cut; got \\[0\\]",
        ),
        (
            "additive",
            {"header": lambda data: {**data, "tests": [0] * 9}},
            "its header names a test twice: 0",
        ),
        (
            "complexity",
            {"header": lambda data: {**data, "tests": [[0, 1]]}},
            "names tests that the table has not: \\[0, 1\\]",
        ),
        (
            "additive",
            {"header": lambda data: {**data, "shape": "complexity"}},
            "is of shape 'complexity', but objective=accuracy of its run is of",
        ),
        (
            "complexity",
            {"header": lambda data: {**data, "shape": "additive"}},
            "is of shape 'additive', but objective=zero_error of its run is of",
        ),
        (
            "complexity",
            {"header": lambda data: {**data, "shape": "squares"}},
            "its shape is additive, confusion, ranking, constrained, complexity, deviation or sums",
        ),
        (
            "complexity",
            {
                "words": lambda words, start: np.concatenate(
                    [words[:3], np.array([np.nan]).view(np.int32), words[5:]]
                )
            },
            "are numbers",
        ),
    ],
)
def test_what_is_said_of(logs, ends, tmp_path, kind, change, why):
    assert re.search(why, ends(rewritten(logs / kind, tmp_path / "odd", **change)))


def test_a_name_is_not_needed(logs, ends, tmp_path):
    nameless = lambda data: {
        **data,
        "data": {key: value for key, value in data["data"].items() if key != "name"},
    }
    assert ends(rewritten(logs / "additive", tmp_path / "nameless", header=nameless)) == ""


def test_a_header_nested_too_deeply_is_none(logs, ends, tmp_path):
    for depth in (900, 100_000):
        line = b'{"version": ' + b"[" * depth + b"]" * depth + b"}\n"
        closing = struct.pack("<2i", -1, 2) + b"{}"
        assert "is no proof" in ends(signed(tmp_path / "deep", MAGIC + line + closing))
    deep = "[" * 900 + "]" * 900
    end = lambda data: {**data, "tree": {**data["tree"], "rules": json.loads(deep)}}
    assert "the end holds a tree that is none" in ends(
        rewritten(logs / "additive", tmp_path / "deep", end=end)
    )


def test_what_is_no_file_is_not_waited_for(ends, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    way_out = "; name the file that solver.proof=FILE wrote"
    for path, kind in ((tmp_path / "pipe", "no regular file"), (tmp_path, "a folder")):
        assert ends(path) == f"{str(path)!r} is no proof: it is {kind}{way_out}"
    assert "does not begin as one" in ends(tmp_path / "empty")
    assert (
        "cannot be read" in ends("no\0name")
        and "cannot be read" in ends("x" * 300)
        and "cannot be read" in ends("~nobody-of-that-name/x")
    )
    assert not is_proof(tmp_path / "pipe") and not is_proof("no\0name") and not is_proof(tmp_path)


def kept(rules) -> int:
    """Records that are looked at for a set at most."""
    most = 0
    for number in rules.log.slots[:, 0].tolist():
        length, record = 0, number - 1
        while record >= 0:
            length, record = length + 1, int(rules.log.before[record])
        most = max(most, length)
    return most


@pytest.mark.parametrize("path", [NOTHING, [(0, 0), (0, 1)]], ids=["root", "empty"])
def test_what_is_said_again_is_kept_once(logs, tmp_path, path):
    """Of one set, any number of times, with bounds that rise: each record is judged by a single
    one before it.
    """
    from arboretum.proof.additive import Additive

    problem = problem_of(logs, "additive")
    tests = range(problem.objects.n_tests)
    with ProofWriter(tmp_path / "t", problem, tests=tests, unit=unit_of(problem)) as log:
        for number in range(3000):
            log.record(path, number // 1500, 3 - number % 2, UNLIMITED)
        log.close(0, None, None)
    proof, rules = read(tmp_path / "t"), Additive(problem, list(tests), unit_of(problem))
    assert list(rules.refusals(proof, lambda number: None)) == []
    assert kept(rules) == 1


def test_a_set_has_no_more_records_than_are_looked_at(logs, tmp_path):
    """Looser limits with lower bounds: none says what another does."""
    problem = problem_of(logs, "additive")
    tests = range(problem.objects.n_tests)
    with ProofWriter(tmp_path / "t", problem, tests=tests, unit=unit_of(problem) / 10_000) as log:
        for number in range(MOST_KEPT + 2):
            log.record([(0, 0), (0, 1)], 5000 - number, number, UNLIMITED)
        log.close(0, None, None)
    with pytest.raises(
        ArboretumError,
        match=(
            rf"^record {MOST_KEPT} \(.*there are 4,096 of its set before, under limits of "
            r"which none is"
        ),
    ):
        check(read(tmp_path / "t"), problem)


def test_a_complexity_counts_a_set_once_for_a_bound(logs, tmp_path, monkeypatch):
    from arboretum.proof.subtables import Subtables

    problem, counted = problem_of(logs, "complexity"), []
    least = Subtables._least_cost
    monkeypatch.setattr(
        Subtables, "_least_cost", lambda self, bits: counted.append(1) or least(self, bits)
    )
    with ProofWriter(tmp_path / "t", problem, tests=range(problem.objects.n_tests), unit=1) as log:
        for number in range(1000):
            log.record([(0, 0), (0, 1)] if number % 2 else [], 1.0)
        log.close(1.0, None, None)
    assert check(read(tmp_path / "t"), problem).lower_bound == 1.0
    assert len(counted) == 2


def test_a_raised_bound_is_still_found_where_another_took_the_place(logs, ends, tmp_path):
    """What was replaced was weaker: the last record of a proof still follows, and one that is
    raised does not.
    """
    proof = read(logs / "additive")
    last = proof.n_records - 1
    assert ends(
        rewritten(
            logs / "additive",
            tmp_path / "t",
            words=word(last, BOUND, int(proof.record(last).bound) + 1),
        )
    ).startswith("rejected: record")
