"""What becomes of rows without the value that a test asks for: the four ways of the lecture, and
the two of rpart.
"""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arboretum.api import (
    MISSING_SPLITS,
    MISSING_STOPS,
    NO_OUTCOME,
    Encoded,
    Equals,
    Facts,
    TestRule,
    Values,
    param,
)

# rows on either side of a threshold that stands in for a test, as in rpart: fewer agree by chance
LEAST = 2
ROUNDED = 1e-10  # agreement that is not told from none


class _Rule:
    """What the rules share, where they say nothing else."""

    kind = "missing"
    paper = ""
    capabilities = ()
    counted = True
    discounted = False
    kernel = ""


@attrs.frozen
class Ignore(_Rule):
    """A test does not compete at a node where some row lacks its value; later rows without one
    follow the heaviest branch.
    """

    name = "ignore"
    paper = "Quinlan 1986 (ID3 knows complete rows alone)"
    left_out = True
    kernel = "left_out"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Return the outcome with the largest known weight, the first of equals.

        Only later rows follow it: where a row of the node lacks the value, the test does not
        compete.
        """
        return (int(np.argmax(known)),)


@attrs.frozen
class OwnCategory(_Rule):
    """Such rows are an outcome of their own, in every test that has such a form; tests that have
    none do not compete there.
    """

    name = "own_category"
    kernel = "own_outcome"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Return one more outcome for such rows, the last: its number is ``len(known)``."""
        return (len(known),)


@attrs.frozen
class Fractional(_Rule):
    """Such rows go down every branch in proportion to its weight, count in no table, and
    discount the score (C4.5).
    """

    name = "fractional"
    paper = "Quinlan 1993, chapter 3"
    counted = False
    discounted = True
    kernel = "splits"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """MISSING_SPLITS: down every branch, in proportion to its weight."""
        return (MISSING_SPLITS,)


@attrs.frozen
class Majority(_Rule):
    """Such rows follow the branch with the largest known weight, the first of equals, and count
    there.
    """

    name = "majority"
    kernel = "heaviest"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Return the outcome with the largest known weight, the first of equals."""
        return (int(np.argmax(known)),)


@attrs.frozen
class Stops(_Rule):
    """Such rows stay at the node, which predicts them: rpart without surrogates."""

    name = "stops"
    paper = "Therneau & Atkinson, rpart (usesurrogate = 0)"
    counted = False
    discounted = True
    kernel = "stops"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """MISSING_STOPS: the row stays at the node, which predicts it."""
        return (MISSING_STOPS,)


@attrs.frozen
class Surrogates(_Rule):
    """Tests of other columns stand in for the chosen one, the best first, as in rpart; then the
    heavier branch, if one is.

    The agreement of a test is the weight of the rows that it sends where the chosen one sends them,
    over that of all rows whose outcome is known (``style`` 0) or of those that have both values
    (1).  A column brings its best test if that agrees better than sending every row down the
    heavier branch.  Thresholds lie between neighbouring values of the node, with two rows on either
    side, and may point either way; a category goes where most of its weight does, where both sides
    have as much to the heavier branch, and of branches that weigh the same to that of the higher
    mean (of the classes' numbers), which is rpart's right one.
    """

    name = "surrogates"
    paper = "Breiman, Friedman, Olshen & Stone 1984, section 5.3; rpart's form"
    counted = False
    discounted = True
    kernel = "stops"

    use: int = param(
        2,
        "rpart's usesurrogate: 0 asks none, 1 asks them, 2 then has the heavier branch; else "
        "the row stays",
        choices=(0, 1, 2),
    )
    most: int = param(5, "rpart's maxsurrogate: how many a node keeps", ge=0)
    style: int = param(
        0,
        "rpart's surrogatestyle: agreement over the rows that the test knows (0), or that "
        "both know (1)",
        choices=(0, 1),
    )
    errors: int = param(
        0,
        "rows on which a test of categories disagrees, at least; rpart 4.1 asks 2, so that "
        "no perfect one stands in",
        ge=0,
    )

    def placements(self, known: np.ndarray) -> Sequence[int]:
        """Return the heaviest outcome where ``use`` is 2 and no other weighs as much; else
        MISSING_STOPS.

        known : float64[arity], weight of the rows with a value.

        It is for rows that no surrogate has an outcome for.
        """
        heaviest = np.flatnonzero(known == known.max())
        return (int(heaviest[0]) if self.use == 2 and len(heaviest) == 1 else MISSING_STOPS,)

    def surrogates(
        self,
        rule: TestRule,
        others: Sequence[TestRule],
        objects: Encoded,
        rows: np.ndarray,
        weight: np.ndarray,
    ) -> Sequence[tuple[TestRule, tuple[int, ...]]]:
        """Return (test, the outcome each of its outcomes stands for), the best first; see the
        class.

        rule : the chosen test; others : tests of coded columns that may stand in for it.
        rows : int64[n], of the node in the table; weight : float64[n].
        The first of equal agreement is that of the first column.
        """
        if self.use == 0:
            return []
        goes = rule.outcomes(objects.table, rows)
        best: Facts = {}
        positions = {feature.column: feature.position for feature in objects.all_features}
        own = np.bincount(goes[goes >= 0], weight[goes >= 0], rule.arity)
        for column, other, to, known, agree in self._tests(
            rule, goes, others, objects, rows, weight
        ):
            of = known if self.style else own
            share, least = agree / of.sum(), of.max() / of.sum()
            if share > least + ROUNDED and (column not in best or share > best[column][0]):
                best[column] = share, other, to
        ranked = sorted(best, key=lambda column: (-best[column][0], positions[column]))
        return [best[column][1:] for column in ranked[: self.most]]

    def _tests(
        self,
        rule: TestRule,
        goes: np.ndarray,
        others: Sequence[TestRule],
        objects: Encoded,
        rows: np.ndarray,
        weight: np.ndarray,
    ) -> Iterator[tuple[str, TestRule, tuple[int, ...], np.ndarray, float]]:
        """Yield (column, test, the outcome each of its outcomes stands for, float64[arity] what
        both know by outcome, what agrees).

        goes : int[n], outcomes of the chosen test ``rule``, NO_OUTCOME without one.
        others, rows, weight : as in :meth:`surrogates`.
        Raw columns bring their best threshold, then come the others, all categories of a column as
        one test.
        """
        from arboretum_classic.missing.kernels import best_agreement

        own, arity = set(rule.columns), rule.arity
        raw = [feature for feature in objects.raw_features if feature.column not in own]
        columns = [objects.table.column(feature.column).take(rows) for feature in raw]
        values = np.array([column.as_numbers() for column in columns], float).reshape(
            len(raw), len(rows)
        )
        cut = np.empty((len(raw), 2))
        sides = np.empty((len(raw), 2), np.int64)
        agree = np.empty(len(raw))
        both = np.empty((len(raw), arity))
        best_agreement(
            values,
            values.view(np.uint64),
            goes.astype(np.int32),
            weight,
            LEAST,
            cut,
            sides,
            agree,
            both,
        )
        for f in np.flatnonzero(agree >= 0).tolist():
            middle = cut[f, 0] / 2.0 + cut[f, 1] / 2.0
            threshold = float(middle if middle < cut[f, 1] else cut[f, 0])
            yield (
                raw[f].column,
                raw[f].rule(threshold),
                tuple(sides[f].tolist()),
                both[f],
                float(agree[f]),
            )
        whole, seen, who = [], set(), objects.object_of_row[rows[goes >= 0]]
        # priors count in the mean alone
        share = weight[goes >= 0] if objects.label is None else objects.weight[who]
        total = np.bincount(goes[goes >= 0], share, arity)
        mean = np.bincount(
            goes[goes >= 0],
            share * (objects.y if objects.label is None else objects.label)[who],
            arity,
        ) / np.where(total > 0, total, 1.0)
        for other in others:
            if not isinstance(other, Equals) or other.category is None or other.missing_is_other:
                whole.append(other)
            elif other.column not in seen:  # all categories of the column at once, as in rpart
                seen.add(other.column)
                whole.append(Values(other.column, objects.table.column(other.column).categories))
        for other in whole:
            if own & set(other.columns) or other.fuzzy:
                continue
            says = other.outcomes(objects.table, rows)
            told = np.flatnonzero((says != NO_OUTCOME) & (goes != NO_OUTCOME))
            mass = np.bincount(
                says[told] * arity + goes[told], weight[told], other.arity * arity
            ).reshape(other.arity, arity)
            if len(told):
                # for a category whose rows are equally many
                heavy = max(
                    range(arity), key=list(zip(mass.sum(axis=0), mean, strict=True)).__getitem__
                )
                to = np.where(mass[:, heavy] == mass.max(axis=1), heavy, mass.argmax(axis=1))
                to = np.where(mass.any(axis=1), to, NO_OUTCOME)
                if np.count_nonzero(to[says[told]] != goes[told]) >= self.errors:
                    yield (
                        other.columns[0],
                        other,
                        tuple(to.tolist()),
                        mass.sum(axis=0),
                        float(mass.max(axis=1).sum()),
                    )
