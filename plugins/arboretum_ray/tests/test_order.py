"""Answers are added up in one order, whoever holds which parts."""

from __future__ import annotations

from hypothesis import given, strategies as st

from arboretum_ray.order import Span, add_up


def brackets(one: str, other: str) -> str:
    """A sum that shows its order."""
    return f"({one}+{other})"


def single(span: Span) -> str | None:
    return str(span.first) if span.stop == span.first + 1 else None


@given(st.integers(1, 40), st.data())
def test_the_order_of_a_sum_does_not_depend_on_who_holds_what(n, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1) if n > 1 else st.nothing())))
    spans = map(Span, [0, *cuts], [*cuts, n])
    whole, known = Span(0, n), {}
    for mine in spans:
        for span in whole.largest_within(mine):
            assert mine.first <= span.first < span.stop <= mine.stop
            known[span] = add_up(span, single, brackets)
    assert add_up(whole, known.get, brackets) == add_up(whole, single, brackets)
    assert [span.first for span in known] == sorted(span.first for span in known)


def test_two_equal_halves_are_one_answer_each():
    whole = Span(0, 8)
    assert whole.largest_within(Span(4, 8)) == [Span(4, 8)]
