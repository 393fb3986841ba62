"""A component is a frozen attrs class; its fields are its whole configuration.

The class states ``kind`` (its group), ``name`` (its option), ``paper`` and ``capabilities`` as
class attributes. :func:`param` declares a field with its bound, unit and meaning, once: the Hydra
schema, the command-line help, the docs table and the MLflow parameters are derived from it.
"""

import enum
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import attrs


class Capability(enum.Enum):
    """A property that a component claims.

    A component that declares nothing is taken to handle classification with any number of classes
    and weights; one that declares something is held to the list.
    """

    classification = "classification"
    regression = "regression"
    multiclass = "multiclass"
    """More than two classes."""
    weights = "weights"
    """Object weights other than 1."""
    missing = "missing"
    """Tests that have no outcome for some objects."""
    prices = "prices"
    """Looks at what tests cost."""
    multiway = "multiway"
    """Tests with more than two outcomes."""
    thresholds = "thresholds"
    """Raw columns: thresholds are found at the node."""
    additive = "additive"
    """Reads nothing but the contingency table; false for absolute error, which needs order
    statistics.
    """
    concave = "concave"
    """An impurity that no split can raise on average."""
    admissible = "admissible"
    """Non-negative, zero on pure, monotone, supermodular (Nan, Wang & Saligrama, Definition 2)."""
    randomised = "randomised"
    """Depends on the seed."""
    anytime = "anytime"
    """Returns its best tree when the budget runs out."""
    exact = "exact"
    """Proves a lower bound."""


def as_capabilities(
    declared: str | Capability | Iterable[str | Capability] | None,
) -> frozenset[Capability]:
    """Read a declaration (an iterable of Capability or of their names); raises ValueError on an
    unknown name.
    """
    items = [declared] if isinstance(declared, str | Capability) else declared or ()
    return frozenset(item if isinstance(item, Capability) else Capability(item) for item in items)


def summary_of(docstring: str | None) -> str:
    """Its first paragraph, as one line; "" without one."""
    return " ".join(inspect.cleandoc(docstring or "").partition("\n\n")[0].split())


class Component(attrs.AttrsInstance, Protocol):
    """What every component class states.

    kind : one of :data:`KINDS` or of :data:`STUDIES`.
    name : unique within the kind.
    paper : a reference, or "" where there is none.
    capabilities : an iterable of :class:`Capability` or of their names.

    A class may also state ``needs``, the kinds that a run must have besides (a run without is
    refused), and ``example``, what the command that documentation prints has to say besides
    ``kind=name``: ``"dataset.path=FILE"``, words in capitals being for the reader to replace.

    The first paragraph of the docstring is the summary that ``arboretum plugins`` prints.  The
    class is frozen (``@attrs.frozen``), every field has a default, and it has the methods of its
    kind's contract: otherwise PluginError when it is registered.
    """

    @property
    def kind(self) -> str:
        """Its group."""

    @property
    def name(self) -> str:
        """Its option."""

    def __hash__(self) -> int:
        """Of its fields."""


KINDS: dict[str, str] = {
    "dataset": "where does the table come from?",
    "split": "which rows train, which test?",
    "encoder": "how do raw columns become tests?",
    "predicate": "which tests may a node use?",
    "impurity": "how mixed is a class-weight vector?",
    "coverage": "how close is an object to being identified?",
    "criterion": "how good is this test here?",
    "stopping": "is this node a leaf?",
    "missing": "what becomes of a row without a value?",
    "cost": "what does asking a test cost?",
    "complexity": "what does a whole tree cost?",
    "objective": "what does an exact solver minimise?",
    "solver": "what is the optimum, and who proves it?",
    "pruner": "what should be cut back?",
    "tuner": "which parameter value, judged on validation rows?",
    "method": "the recipe a paper proposes",
    "rows": "where do the rows of one growth lie?",
    "tracker": "who keeps the record?",
}
"""Every kind that a run is put together from and the question it answers; each is a Hydra group."""

STUDIES: dict[str, str] = {
    "reproduction": "do the numbers that a paper reports come out?",
    "export": "in which form does a tree leave?",
    "measure": "how good was a run?",
    "comparison": "which of several methods differ?",
}
"""Kinds that are no part of a run: they make many, compare many, or take a tree elsewhere.
Registered and described like all others, and no Hydra groups.
"""

EVERY_KIND: dict[str, str] = {**KINDS, **STUDIES}
"""What a plugin may bring."""

MANY = frozenset({"stopping", "coverage", "predicate"})
"""Kinds of which a run may hold several at once."""


_COMPARED = {"≥": operator.ge, ">": operator.gt, "≤": operator.le, "<": operator.lt}


def param(
    default: object,
    doc: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    choices: Sequence[object] = (),
    unit: str = "",
    converter: Callable[..., object] | None = None,
    shared: str = "",
    alias: str | None = None,
    writes: bool = False,
) -> Any:
    """Declare a component's field.

    default : every field has one; ``attrs.Factory`` for containers.
    doc : one line of meaning.
    unit : "bits", "rows", … ge, gt, le, lt, choices : the rule; a value of None is allowed when the
        default is None.
    shared : name of the top-level value that this field follows unless it is set itself (θ is
        ``theta``).
    alias : the field's name in configuration, command line and constructor, where the attribute
        cannot have it (``kind`` and ``name`` are taken by the class); default: the attribute's
        name.
    writes : names a file that the component writes; a run that is repeated (``--from``) does not
        take it over.

    Raises (when the component is built) ValueError naming field, rule and value.
    """
    limits = {
        sign: bound
        for sign, bound in zip(_COMPARED, (ge, gt, le, lt), strict=True)
        if bound is not None
    }
    words = [f"{sign} {bound:g}" for sign, bound in limits.items()] + [
        "one of " + ", ".join(map(str, choices))
    ] * bool(choices)
    bounds = " and ".join(words)

    def allows(value: Any) -> bool:  # NaN is within no limit
        return (not choices or value in choices) and all(
            _COMPARED[sign](value, bound) for sign, bound in limits.items()
        )

    def check(instance: object, attribute: "attrs.Attribute[object]", value: object) -> None:
        """Raise ValueError unless the value, or every entry of a list or mapping, is allowed."""
        if value is None and attribute.default is None:
            return
        try:
            obeys = all(
                map(
                    allows,
                    value.values()
                    if isinstance(value, dict)
                    else value
                    if isinstance(value, tuple | list)
                    else (value,),
                )
            )
        except TypeError:
            obeys = False
        if not obeys:
            cls = type(instance)
            raise ValueError(
                f"{getattr(cls, 'kind', cls.__name__)}.{attribute.alias} must be {bounds}; got "
                f"{value!r}"
            )

    metadata = {"doc": doc, "unit": unit, "bounds": bounds, "shared": shared, "writes": writes}
    return attrs.field(
        default=default,
        validator=check if bounds else None,
        converter=converter,
        alias=alias,
        metadata=metadata,
    )
