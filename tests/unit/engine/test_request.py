"""What identifies a run, and which combinations are refused before any work."""

from __future__ import annotations

import math
import time

import attrs
import numpy as np
import pytest

from arboretum.engine import check
from arboretum.engine.code import code_hash, framework_folder, versions
from arboretum.engine.run import Budget, Request, fingerprint, fit, prepare
from arboretum.errors import CapabilityError, DataError
from arboretum.interfaces.method import Parts
from arboretum.model.record import Solution, Status
from arboretum.model.table import Column, ColumnKind, Table, Target, Task
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry


@attrs.frozen
class Stub:
    """A component that only declares."""

    kind: str = "method"
    name: str = "stub"
    capabilities: tuple = ()
    needs: tuple = ()
    lam: float = 1.0


def make_table(
    n_classes: int = 2, weights: np.ndarray | None = None, task: Task = Task.classification
) -> Table:
    codes = np.arange(6, dtype=np.int32) % n_classes
    target = (
        Target("y", task, codes, tuple("abcdef"[:n_classes]))
        if task is Task.classification
        else Target("y", task, values=codes.astype(float))
    )
    return Table("toy", (Column("x", ColumnKind.continuous, np.arange(6.0)),), target, weights)


@attrs.frozen
class Given:
    """A data set made of a table."""

    table: Table

    def load(self, seed: int) -> Table:
        return self.table


WHOLE = Parts(method=Stub(), encoder=Stub(), cost=Stub())
REQUEST = Request(
    WHOLE,
    seed=3,
    config={"criterion": {"lam": 1}, "tracker": {"uri": "a"}},
    code={"arboretum": "c"},
)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"config": {"criterion": {"lam": 2}}},
        {"code": {"arboretum": "d"}},
        {"budget": Budget(seconds=1.0)},
        {"certify": True},
    ],
)
def test_whatever_can_change_the_result_changes_the_fingerprint(change):
    assert fingerprint(attrs.evolve(REQUEST, **change), "data") != fingerprint(REQUEST, "data")
    assert fingerprint(REQUEST, "other data") != fingerprint(REQUEST, "data")


def test_where_the_record_goes_does_not_change_the_fingerprint():
    elsewhere = {
        "criterion": {"lam": 1},
        "tracker": {"uri": "b"},
        "plugins": ["x.py"],
        "skip_finished": True,
    }
    assert fingerprint(attrs.evolve(REQUEST, config=elsewhere), "data") == fingerprint(
        REQUEST, "data"
    )


def test_the_code_hash_follows_contents_and_names_and_leaves_out_tests(tmp_path):
    folder = tmp_path / "plugin"
    (folder / "tests").mkdir(parents=True)
    (folder / "a.py").write_text("1")
    first = code_hash([folder])
    (folder / "tests" / "test_a.py").write_text("2")
    (folder / "notes.txt").write_text("3")
    assert code_hash([folder]) == first
    (folder / "a.py").write_text("2")
    changed = code_hash([folder])
    (folder / "a.py").rename(folder / "b.py")
    assert len({first, changed, code_hash([folder])}) == 3


def test_the_framework_is_part_of_the_versions_and_has_a_hash():
    assert {"python", "arboretum", "numpy", "numba"} <= set(versions())
    assert len(code_hash([framework_folder()])) == 64


@pytest.mark.parametrize("group", ["criterion", "solver"])
def test_a_method_without_a_part_it_needs_is_refused_by_name(group):
    with pytest.raises(CapabilityError, match=f"method stub needs a {group}; add {group}=NAME"):
        check.check_parts(Parts(method=Stub(needs=(group,))))


@pytest.mark.parametrize(("group", "words"), [("encoder", "an encoder"), ("cost", "a cost")])
def test_a_run_without_encoder_or_cost_is_refused_by_name(group, words):
    with pytest.raises(CapabilityError, match=f"a run needs {words}; add {group}=NAME"):
        check.check_parts(attrs.evolve(WHOLE, **{group: None}))


def test_a_run_without_a_data_set_is_refused():
    with pytest.raises(DataError, match="no data set is chosen; add dataset=NAME"):
        prepare(REQUEST)


def test_more_classes_than_a_component_handles_are_refused():
    two = Stub("criterion", "two", ("classification",))
    check.check_table(Parts(method=Stub(), criterion=two), make_table(2))
    with pytest.raises(CapabilityError, match="criterion two handles two classes, but toy has 3"):
        check.check_table(Parts(method=Stub(), criterion=two), make_table(3))


def test_weights_are_refused_by_a_component_that_leaves_them_out():
    light = Stub("criterion", "light", ("classification", "multiclass"))
    with pytest.raises(CapabilityError, match="criterion light does not handle object weights"):
        check.check_table(Parts(method=Stub(), criterion=light), make_table(2, np.full(6, 2.0)))


@pytest.mark.parametrize(
    ("task", "declared"),
    [(Task.regression, ("classification",)), (Task.classification, ("regression",))],
)
def test_a_target_of_the_other_kind_is_refused(task, declared):
    part = Stub("impurity", "imp", declared)
    with pytest.raises(
        CapabilityError,
        match=f"impurity imp does {declared[0]}, but the target 'y' of toy asks for",
    ):
        check.check_table(
            Parts(
                method=Stub(capabilities=("classification", "regression", "weights", "multiclass")),
                impurity=part,
            ),
            make_table(2, task=task),
        )


def test_a_component_that_declares_nothing_is_taken_to_classify():
    check.check_table(Parts(method=Stub()), make_table(5, np.ones(6)))
    with pytest.raises(CapabilityError, match="method stub does classification"):
        check.check_table(Parts(method=Stub()), make_table(2, task=Task.regression))


def test_a_tuner_without_validation_rows_is_refused():
    with pytest.raises(CapabilityError, match="tuner stub needs validation rows"):
        check.check_validation(Parts(method=Stub(), tuner=Stub("tuner")), None)
    check.check_validation(Parts(method=Stub(), tuner=Stub("tuner")), make_table())


def test_no_columns_no_rows_and_roles_of_other_rows_are_refused():
    table = make_table(2)

    def with_role(name, values):
        return attrs.evolve(table, roles={name: values})

    for broken, complaint in (
        (attrs.evolve(table, columns=()), "no usable column"),
        (table.take(np.arange(0)), "has no rows"),
        (with_role("event", np.ones(5)), r"6 rows, and its event is .* shape \(5,\)"),
        (with_role("event", np.full(6, 2.0)), r"the event must hold 0 \(censored\) .* has 2"),
        (with_role("fee", np.full(6, np.nan)), "the fee must hold a finite number .* row 1 has"),
    ):
        with pytest.raises(DataError, match=complaint):
            prepare(Request(attrs.evolve(WHOLE, dataset=Given(broken))))


@pytest.mark.parametrize("values", [{"seconds": -1.0}, {"seconds": math.nan}, {"memory_mb": 0}])
def test_a_budget_is_positive_but_for_seconds_which_may_be_none_at_all(values):
    with pytest.raises(ValueError, match="budget.* must be [>≥] 0"):
        Budget(**values)
    assert Budget(seconds=0).seconds == 0


@attrs.frozen
class Slow:
    """A method whose kernels take a while to load."""

    kind = "method"
    name = "slow"
    capabilities = ("classification", "regression", "thresholds")

    def warm_up(self, problem, context):
        time.sleep(0.2)

    def fit(self, problem, context):
        return Solution(None, 0.0, 0.0, Status.feasible)


@pytest.mark.caches
def test_loading_kernels_is_no_part_of_the_fit_clock():
    registry = load_registry()
    chosen = assemble(
        registry, {"dataset": "iris", "method": "greedy", "split": "none", "tracker": "none"}
    )
    parts, table = attrs.evolve(chosen, method=Slow()), chosen.dataset.load(0)
    assert fit(parts, table).timings["compile"] == 0
    warmed = fit(parts, table, warm=True).timings
    assert warmed["compile"] >= 0.2
    assert warmed["fit"] < 0.2
