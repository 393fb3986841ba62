"""One changed number, and the proof is rejected by what it says, not by its checksum; files that
are no proofs are named so.
"""

from __future__ import annotations

import json

import attrs
import numpy as np
import pytest
from slow_prover import Exact, problem_of, prove, raw_problem_of, unit_of
from tampering import BOUND, DIGEST, MAGIC, rewritten, without_leaf, word

from arboretum.api import Price
from arboretum.errors import CapabilityError, StoreError, VerificationError
from arboretum.model.tree import Tree
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.proof.writing import ProofWriter
from arboretum_gosdt.problem.objectives import Accuracy, Balanced

RNG = np.random.default_rng(5)
X, Y = RNG.integers(0, 2, (14, 3)), RNG.integers(0, 2, 14)
Y[(X[:, 0] ^ X[:, 1] ^ X[:, 2]) == 1] = 1
Z = RNG.integers(0, 3, (14, 2)).astype(float)
KINDS = {
    "unlimited": problem_of(X, Y, Accuracy(lam=0.02)),
    "depth": problem_of(X, Y, Accuracy(lam=0.0), max_depth=2),
    "leaves": problem_of(X, Y, Accuracy(lam=0.0), max_leaves=3),
    "rows": problem_of(X, Y, Balanced(lam=0.03), min_leaf=3),
    "cuts": raw_problem_of(X[:, :1], Z, Y, Accuracy(lam=0.02), max_depth=2),
    "prices": problem_of(X, Y, Accuracy(lam=0.02, mu=0.003)),
    "prices, depth": problem_of(X, Y, Balanced(lam=0.01, mu=0.003), max_depth=2),
    "prices, leaves": problem_of(X, Y, Accuracy(lam=0.0, mu=0.003), max_leaves=3),
    "prices, cuts": raw_problem_of(X[:, :1], Z, Y, Accuracy(lam=0.01, mu=0.003), max_depth=2),
}
DEPTH, LEAVES, PATH = 1, 2, 5


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def log(kind, tmp_path):
    prove(KINDS[kind], tmp_path / "log")
    return tmp_path / "log"


def rejected(path, problem, match="."):
    with pytest.raises(VerificationError, match=match) as raised:
        check(read(path), problem)
    assert "\n" not in str(raised.value)


def test_a_raised_bound_of_any_record_is_rejected_there(kind, log, tmp_path):
    proof = read(log)
    for number in range(proof.n_records):
        higher = int(proof.record(number).bound) + 1
        path = rewritten(log, tmp_path / "t", words=word(number, BOUND, higher))
        rejected(path, KINDS[kind], rf"^record {number} \(.*\) claims a bound of {higher}, but ")


def test_a_lowered_bound_is_rejected_where_it_is_missed(kind, log, tmp_path):
    """The root's own is missed at the end."""
    proof = read(log)
    last = proof.n_records - 1
    path = rewritten(
        log, tmp_path / "t", words=word(last, BOUND, int(proof.record(last).bound) - 1)
    )
    rejected(path, KINDS[kind], "^the end claims a bound of .*, but its records show")


def test_looser_limits_than_were_proven_are_rejected(kind, log, tmp_path):
    """Each bound is the exact one; it stays one without limits, or the record is rejected."""
    problem, proof = KINDS[kind], read(log)
    exact, untrue = Exact(problem, unit_of(problem)), 0
    for number, record in enumerate(proof.records()):
        rows = frozenset(range(problem.objects.n_objects))
        for literal in map(tuple, record.path.tolist()):
            test, outcome = next(
                (t, o)
                for t, both in enumerate(exact.literals)
                for o in (0, 1)
                if both[o] == literal
            )
            rows = exact.part(rows, test, outcome)
        for place, limits in ((DEPTH, (-1, record.leaves)), (LEAVES, (record.depth, -1))):
            if record.bound > exact.least(rows, *limits)[0]:
                untrue += 1
                rejected(
                    rewritten(log, tmp_path / "t", words=word(number, place, -1)),
                    problem,
                    rf"^record {number} ",
                )
    assert untrue or kind in ("unlimited", "rows", "prices")


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [(DEPTH, -2, "its limits are none"), (LEAVES, 0, "its limits are none")],
)
def test_limits_that_are_none_are_rejected(kind, log, tmp_path, place, value, why):
    rejected(
        rewritten(log, tmp_path / "t", words=word(0, place, value)),
        KINDS[kind],
        "proofs know no limit of leaves|" + why,
    )


def test_a_path_that_names_no_test_is_rejected(kind, log, tmp_path):
    for place, value in ((PATH, 99), (PATH, -1), (PATH + 1, -1)):
        rejected(
            rewritten(log, tmp_path / "t", words=word(0, place, value)),
            KINDS[kind],
            "names a test that the log does not list",
        )


def test_another_path_is_rejected_where_its_set_costs_less(kind, log, tmp_path):
    proof, found = read(log), 0
    for number in range(proof.n_records - 1):
        other = 1 - int(proof.record(number).path[0, 1])
        try:
            check(
                read(rewritten(log, tmp_path / "t", words=word(number, PATH + 1, other))),
                KINDS[kind],
            )
        except VerificationError:
            found += 1
    assert found


@pytest.mark.parametrize(
    ("key", "change", "why"),
    [
        ("unit", lambda unit: "1/7", "unit 1/7 does not divide"),
        ("unit", lambda unit: "-1", "unit is -1; it must be above 0"),
        ("tests", lambda tests: [99], "names tests that the table has not"),
        ("tests", lambda tests: [[0, 0]], "names tests that the table has not"),
        ("data", lambda data: {**data, "sha256": "0" * 64}, "is of another table: sha256"),
        ("data", lambda data: {**data, "n_objects": 3}, "is of another table: n_objects"),
    ],
)
def test_a_changed_header_is_rejected(kind, log, tmp_path, key, change, why):
    rejected(
        rewritten(log, tmp_path / "t", header=lambda data: {**data, key: change(data[key])}),
        KINDS[kind],
        why,
    )


@pytest.mark.parametrize(
    ("key", "why"),
    [("bound", "^the end claims a bound of"), ("value", "^the end claims a tree of")],
)
def test_a_changed_end_is_rejected(kind, log, tmp_path, key, why):
    if not kind.endswith("cuts"):
        rejected(
            rewritten(log, tmp_path / "t", end=lambda data: {**data, key: data[key] + 1}),
            KINDS[kind],
            why,
        )


def test_a_changed_tree_is_rejected(tmp_path):
    prove(KINDS["unlimited"], tmp_path / "log")
    for name in ("label", "weights"):

        def change(data, name=name):
            last = data["tree"][name][-1]
            data["tree"][name][-1] = (
                [one + 1 for one in last] if isinstance(last, list) else 1 - last
            )
            return data

        rejected(
            rewritten(tmp_path / "log", tmp_path / "t", end=change),
            KINDS["unlimited"],
            "the end claims|holds a tree that is none",
        )


def test_a_tree_without_one_of_its_leaves_is_rejected(tmp_path):
    """Its parent answers for the objects that came there."""
    problem = KINDS["unlimited"]
    prove(problem, tmp_path / "log")

    def change(data):
        tree = Tree.from_json(json.dumps(data["tree"]))
        for leaf in np.flatnonzero(tree.is_leaf)[::-1].tolist():
            if tree.label[tree.parent[leaf]] == tree.label[leaf]:
                tree = without_leaf(tree, leaf)
        assert tree.n_nodes < len(data["tree"]["test"])
        return {**data, "tree": json.loads(tree.to_json())}

    path = rewritten(tmp_path / "log", tmp_path / "t", end=change)
    rejected(
        path,
        problem,
        r"the end holds a tree that is none for this table: row \d+ rests at node \d+, where "
        r"a leaf is left out",
    )


def test_another_objective_or_another_table_is_rejected(tmp_path):
    prove(KINDS["unlimited"], tmp_path / "log")
    rejected(
        tmp_path / "log", problem_of(X, 1 - Y, Accuracy(lam=0.02)), "is of another table: sha256"
    )
    rejected(
        tmp_path / "log", problem_of(X, Y, Accuracy(lam=0.01)), "does not divide|claims a bound"
    )


@pytest.mark.parametrize("kind", ["prices", "prices, depth", "prices, leaves", "prices, cuts"])
def test_other_prices_are_rejected(kind, log):
    """Lower ones by a record or by the tree, higher ones by the tree, others by the unit."""
    problem, found = KINDS[kind], 0
    for mu, prices in (
        (0.006, problem.prices),
        (0.0015, problem.prices),
        (0.0, problem.prices),
        (0.003, "above"),
        (0.003, "below"),
        (0.003, "other"),
    ):
        if prices in ("above", "below", "other"):
            change = {
                "above": lambda price: price + 1.0,
                "below": lambda price: np.maximum(price - 1.0, 0.0),
                "other": lambda price: price[::-1].copy(),
            }[prices]
            prices = attrs.evolve(
                problem.prices, tests=change(problem.prices.tests), raw=change(problem.prices.raw)
            )
        objective = attrs.evolve(problem.parts.objective, mu=mu)
        other = attrs.evolve(
            problem, prices=prices, parts=attrs.evolve(problem.parts, objective=objective)
        )
        try:
            check(read(log), other)
        except VerificationError:
            found += 1
        else:  # without a tree a bound holds for higher prices, too
            assert kind == "prices, cuts" and (
                mu == 0.006 or prices.raw.sum() > problem.prices.raw.sum()
            )
    assert found >= 3


@pytest.mark.parametrize("change", [{"price": "max"}, {"once_per_column": True}])
def test_prices_that_are_not_of_tests_alone_are_refused(change, tmp_path):
    problem = KINDS["prices, cuts"]
    prove(problem, tmp_path / "log")
    if "price" in change:
        problem = attrs.evolve(
            problem,
            parts=attrs.evolve(
                problem.parts, objective=Accuracy(lam=0.01, mu=0.003, price=Price.max)
            ),
        )
    else:
        problem = attrs.evolve(problem, prices=attrs.evolve(problem.prices, **change))
    with pytest.raises(CapabilityError, match="proofs know expected prices, one for each test"):
        check(read(tmp_path / "log"), problem)


def test_without_a_record_nothing_is_shown(kind, log, tmp_path):
    path = rewritten(
        log,
        tmp_path / "t",
        words=lambda words, start: words[:0],
        end=lambda data: {**data, "records": 0},
    )
    rejected(path, KINDS[kind], "^the end claims a bound of .*, but its records show 0$")


def test_single_thresholds_are_named_by_column_and_cut(tmp_path):
    problem = KINDS["cuts"]
    _exact, cost = prove(problem, tmp_path / "log")
    proof, fixed = read(tmp_path / "log"), problem.objects.n_tests - 2
    with ProofWriter(
        tmp_path / "t",
        problem,
        tests=[0, *([fixed + g, cut] for g in (0, 1) for cut in (0, 1, 2))],
        unit=proof.unit,
    ) as log:
        for record in proof.records():
            path = [
                (t, o) if t < fixed else (1 + 3 * (t - fixed) + o // 2, 1 - o % 2)
                for t, o in record.path.tolist()
            ]
            log.record(path, record.bound, record.depth)
        log.close(cost, None, None)
    assert problem.objects.n_tests == 4
    assert read(tmp_path / "t").header["tests"][1] == [fixed, 0]
    assert check(read(tmp_path / "t"), problem).lower_bound == check(proof, problem).lower_bound


def test_files_that_are_no_proofs_are_named_so(tmp_path):
    prove(KINDS["unlimited"], tmp_path / "log")
    data = (tmp_path / "log").read_bytes()
    for content, why in (
        (b"", "does not begin as one"),
        (b"\x00\xff" * 300, "does not begin as one"),
        (data[:-1], "checksum does not fit; it was cut short or changed"),
        (data[:-DIGEST], "checksum does not fit"),
        (data[:200], "checksum does not fit"),
        (
            data.replace(MAGIC, b"arboretum.proof/9\n"),
            "is of version 'arboretum.proof/9', this reads 'arboretum.proof/1'",
        ),
    ):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(StoreError, match=why) as raised:
            read(tmp_path / "bad")
        assert "\n" not in str(raised.value)
    with pytest.raises(StoreError, match="cannot be read"):
        read(tmp_path / "nowhere")
    for change in (
        {"header": lambda data: {"unit": "1"}},
        {"header": lambda data: {**data, "unit": "a half"}},
        {"header": lambda data: {**data, "tests": ["x"]}},
        {"words": lambda words, start: words[:-1]},
        {"words": word(0, 0, 1 << 30)},
        {"words": word(0, 0, -7)},
        {"end": lambda data: {**data, "records": data["records"] + 1}},
        {"end": lambda data: {}},
    ):
        with pytest.raises(StoreError, match="is no proof: ") as raised:
            read(rewritten(tmp_path / "log", tmp_path / "t", **change))
        assert "\n" not in str(raised.value)


def test_a_log_that_is_not_closed_leaves_nothing(tmp_path):
    with (
        pytest.raises(KeyError),
        ProofWriter(
            tmp_path / "log", KINDS["unlimited"], tests=[0], unit=unit_of(KINDS["unlimited"])
        ),
    ):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="is there already"):
        ProofWriter(
            tmp_path, KINDS["unlimited"], tests=[0], unit=unit_of(KINDS["unlimited"])
        ).close(0, None, None)


def test_buffers_of_kernels_are_taken_as_they_are(tmp_path):
    problem = KINDS["depth"]
    with ProofWriter(
        tmp_path / "log", problem, tests=range(problem.objects.n_tests), unit=unit_of(problem)
    ) as log:
        log.append(np.array([1, 2, -1, -5, -1, 0, 1, 99], np.int32)[:7], 1)
        log.append(np.array([0, 3, -1, 7, 1], np.int32), 1)
        log.close(0, None, None)
    one, two = read(tmp_path / "log").records()
    assert (one.path.tolist(), *one[1:]) == ([[0, 1]], 2, -1, -5)
    assert (two.path.tolist(), *two[1:]) == ([], 3, -1, (1 << 32) + 7)
