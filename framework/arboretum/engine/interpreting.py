"""Small problems: kernels that are compiled nowhere are interpreted, which takes less than to
compile them.
"""

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from arboretum.errors import ConfigError, OnlyCompiled
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.method import Problem
from arboretum.kernels.plain import active_interpreter, compiled, interpreted

T = TypeVar("T")

MOST_CELLS, PATIENCE = 1 << 14, 5.0
"""Objects · (tests and raw columns) of a small problem, whose kernels are interpreted unless they
are compiled already, and the processor seconds that a process does so with one of them.  That takes
0.1 ms a cell; compiling a kernel that searches or grows takes 5 to 25 s.
"""


FEW_CELLS, HEAD_START = 1 << 10, 0.2
"""The same of a problem that is done by Python sooner than numba is imported and has loaded its
first kernel, which takes half a second; and the processor seconds after which a process does so.
"""


def interpret_small(problem: Problem, budget: Budget = Budget()) -> AbstractContextManager[None]:
    """Interpret kernels that are compiled nowhere, where the problem is small and no budget counts
    its seconds.

    The variable ARBORETUM_KERNELS says otherwise: ``python`` interprets all of them, so that a
    debugger can step through; ``compiled`` none.
    """
    way, objects = os.environ.get("ARBORETUM_KERNELS", "auto"), problem.objects
    if way not in ("auto", "compiled", "python"):
        raise ConfigError(f"ARBORETUM_KERNELS={way}: choose auto, compiled or python")
    cells = objects.n_objects * (objects.n_tests + len(objects.raw_features))
    # of single precision Python keeps what machine code widens
    small = cells <= MOST_CELLS and budget.seconds is None and objects.raw.itemsize != 4
    if way == "python":
        return interpreted(math.inf)
    if not small or way == "compiled":
        return compiled()
    return interpreted(PATIENCE, head_start=HEAD_START if cells <= FEW_CELLS else 0.0)


def or_compiled(work: Callable[[], T]) -> T:
    """Return what work finds.  Where interpreted kernels fail (a number leaves its type, or the
    patience ends) it begins anew with compiled ones; not where patience has no end.
    """
    if (found := active_interpreter()) and found.patience < math.inf:
        try:
            return work()
        except OnlyCompiled:
            with compiled():
                return work()
    return work()
