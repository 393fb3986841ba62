"""How a search ends, whoever ends it, and what is said of that."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from arboretum.api import Attempt, BudgetError, Context, Ended, OutOfTime, Status, heard
from arboretum.solving.attempt import DEFAULT_BYTES, within_bytes

PROBLEM = SimpleNamespace(
    parts=SimpleNamespace(objective=SimpleNamespace(value=lambda tree, problem: tree))
)


class Halving:
    """A search that halves its gap with every step, and is ended by what a step raises."""

    lower, upper, subproblems = 0.0, 8.0, 0

    def __init__(self, *ends):
        self.ends = iter(ends)

    def run(self, context, report):
        assert context.memory_bytes is not None
        while self.lower < self.upper:
            end = next(self.ends, None)
            if isinstance(end, BaseException):
                raise end
            if end:
                return end
            self.subproblems += 1
            gap = (self.upper - self.lower) / 2
            self.lower += gap if gap > 1 else 2 * gap
            report()
        return None

    def tree(self):
        return self.upper


def test_it_goes_on_where_it_stopped_and_streams_what_it_proves():
    heard_of = []
    attempt = Attempt(
        PROBLEM,
        Halving(None, "seconds", KeyboardInterrupt(15), OutOfTime("no time"), BudgetError("full")),
    )
    context = Context(proven=lambda low, value: heard_of.append((low, value)))
    told = [attempt.go_on(context) for _ in range(5)]
    assert [one.status for one in told] == [Status.feasible] * 4 + [Status.optimal]
    assert told[0].notes == (
        "the budget of seconds ran out after 1 sets of objects: the value is that of the best "
        "tree found, and no tree is below 4",
    )
    assert told[1].notes[0].startswith("the search was interrupted after 1 sets of objects: ")
    assert told[1].interrupted.args == (15,) and not told[1].finished
    with pytest.raises(KeyboardInterrupt):
        told[1].unless_signalled()
    assert told[2].notes[0].startswith("the budget of seconds ran out")
    assert told[3].notes[0].startswith("the budget of bytes ran out") and not told[3].details
    assert told[4].unless_signalled() is told[4] and told[4].notes == () and told[4].finished
    assert heard_of == [(4.0, 8.0), (6.0, 8.0), (8.0, 8.0)]


def test_a_gap_that_rounding_leaves_is_told_and_none_within_the_slack():
    rounded = Ended().solution("tree", 1.0, 1.0 - 1e-12, 3, "", slack=1e-9, rounded="it rounds")
    assert rounded.status is Status.optimal and rounded.lower_bound < 1.0
    assert rounded.notes == ("it rounds; proven up to 9.99978e-13",)
    wide = Ended().solution("tree", 1.0, 0.75, 3, "", rounded="it rounds", notes=("more",))
    assert wide.status is Status.feasible and wide.finished
    assert wide.notes == ("it rounds; proven up to 0.25", "more")
    met = Ended("bytes").solution("tree", 1.0, 2.0, 3, "after 3 sets")
    assert met.status is Status.optimal and met.finished and met.lower_bound == 1.0
    assert met.notes == ("the budget of bytes ran out after 3 sets",)


def test_what_is_kept_of_work_is_for_its_author_to_say():
    def ended():
        raise KeyboardInterrupt

    assert heard(lambda: 1, lambda ended: 2) == 1
    assert heard(ended, lambda ended: ended.details) == {"interrupted": True}
    with pytest.raises(ZeroDivisionError):
        heard(lambda: 1 // 0, lambda ended: 2)


def test_a_budget_of_bytes_is_the_runs_or_the_default():
    assert within_bytes(Context()).memory_bytes == DEFAULT_BYTES
    assert within_bytes(Context(memory_bytes=7), 9).memory_bytes == 7
