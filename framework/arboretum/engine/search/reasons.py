"""Why a component alone keeps kernels from growing subtrees, whatever the table: for the plan of
a run, and for ``explain``.
"""

from collections.abc import Iterator

from arboretum.kernels.kernel_decorators import mark_of

# kinds of component that decide it
KINDS = ("criterion", "impurity", "missing", "predicate", "stopping")


def reasons_for_no_kernel(kind: str, part: object) -> Iterator[str]:
    """Yield why a component makes every node be looked at by itself; nothing where it does not.

    kind : one of KINDS, of others nothing is said.   part : a component, or its class.
    """
    name = getattr(part, "name", None) or type(part).__name__
    if kind == "criterion":
        if not hasattr(part, "kernel") and mark_of(getattr(part, "score", None)) != "criterion":
            yield f"criterion {name} has no kernel"
        elif hasattr(part, "finalise_scores"):
            yield f"criterion {name} finalises a score by those of all candidates"
    elif kind == "impurity":
        if hasattr(part, "prefix") or hasattr(part, "leaf_value"):
            yield f"impurity {name} is computed from the values of a node"
        elif mark_of(getattr(part, "kernel", None)) != "impurity" and not hasattr(
            part, "for_objects"
        ):
            yield f"impurity {name} has no kernel"
    elif kind == "missing" and not getattr(part, "kernel", ""):
        yield f"missing {name} is asked at each node"
    elif kind == "predicate":
        yield f"predicate {name} makes its tests at each node"
    elif (
        kind == "stopping" and not hasattr(part, "leaf_rule") and not hasattr(part, "significance")
    ):
        yield f"stopping rule {name} has no leaf_rule()"


def describe_way(kind: str, part: object) -> str:
    """Return what a component says of the way trees are grown, before a table is known.

    kind, part : as of :func:`reasons_for_no_kernel`.
    """
    if reasons := "; ".join(reasons_for_no_kernel(kind, part)):
        return f"node by node, for want of a kernel: {reasons}"
    return (
        "kernels may grow subtrees of small nodes; table and other parts decide: a run's notes "
        "and `arboretum why` say"
    )
