"""How much memory a growth will take for its own arrays, asked before it takes any."""

from arboretum.engine.search import subtree
from arboretum.engine.search.coded import BLOCK_ENTRIES, WIDE
from arboretum.engine.search.compiled_criterion import CompiledCriterion
from arboretum.engine.search.histograms import KEEP_BYTES
from arboretum.engine.search.node_tests import OUTCOMES_AT_ONCE
from arboretum.engine.search.plan import BINNED, NODE_TESTS, SHARED, Plan
from arboretum.engine.search.workspace import Workspace
from arboretum.errors import BudgetError

# nodes that wait with their histograms, unless these are so large that fewer are kept
OPEN_NODES = 16
BINS = 256  # bins of a raw column
SUMS = 89  # bytes by which a row is scored by sums
TESTS = 1024  # tests that predicates are taken to make at a node


def check_memory(
    space: Workspace,
    scorer: CompiledCriterion,
    plan: Plan,
    compiled: bool,
    memory_bytes: int | None,
) -> None:
    """Raise BudgetError, naming need, budget and the way out, where the budget is too small.

    compiled : subtrees may be grown inside a kernel.
    memory_bytes : the budget; None: there is none.
    """
    if (
        memory_bytes is None
        or (need := estimate_growth_bytes(space, scorer, plan, compiled)) <= memory_bytes
    ):
        return
    raise BudgetError(
        f"growing needs some {need / 1e6:,.1f} MB for its own arrays, more than "
        f"budget.memory_mb={memory_bytes / 1e6:g}; raise it, or choose fewer rows, columns or bins"
    )


def estimate_growth_bytes(
    space: Workspace, scorer: CompiledCriterion, plan: Plan, compiled: bool
) -> int:
    """Return the bytes of the largest arrays; the encoded table and the tree are not among them,
    the tables of a NumPy criterion are.

    compiled : as of :func:`check_memory`.
    """
    objects, stats = space.objects, space.statistics
    n, entry = objects.n_objects, 8 * (stats.width + stats.count_width)
    need = n * (4 + 4 + 8 + 4) + space.extra.nbytes  # permutation, scratch, target, outcomes
    if SHARED in plan.engines:
        # entries and sorted columns of open nodes, at first
        pool = 3 * n * (12 + 8 * objects.raw.shape[1]) if compiled and plan.kernel else 0
        # what objects add to tables, of all and of the node; who and how much
        return need + pool + n * (4 * entry + 32)
    if NODE_TESTS in plan.engines:
        return need + (4 + entry) * min(OUTCOMES_AT_ONCE, TESTS * n)
    if objects.features:
        bins = [feature.n_bins + feature.has_missing for feature in objects.features]
        narrow = sum(b for b in bins if b <= WIDE)
        need += (
            _estimate_histogram_bytes(narrow, space)
            + max((b for b in bins if b > WIDE), default=0) * entry
        )
    if objects.raw_features:
        columns, size = objects.raw.shape[1], objects.raw.itemsize
        # sorted columns; owners, and what sorting one reads and returns
        need += n * columns * (4 + size) + n * (4 + 8 + 2 * size)
        sums = SUMS * (scorer.sum_form > 0)
        need += n * sums
        if BINNED in plan.engines:  # a code; scratch of a node; scores and bounds
            need += (
                n * columns
                + n * (16 + 5 * size)
                + _estimate_histogram_bytes(columns * BINS, space)
                + columns * BINS * 32
            )
        if compiled and plan.kernel:
            columns += len(objects.features)
            entries = min(n * columns, subtree.MOST_ENTRIES)
            need += entries * (2 * size + 24) + min(n, entries // columns) * (
                2 * (200 + entry) + sums
            )
    if scorer.listing:
        need += min(BLOCK_ENTRIES, 2 * max(1, objects.n_tests, n) * stats.width) * 16
    return int(need)


def _estimate_histogram_bytes(bins: int, space: Workspace) -> int:
    """Return the bytes of a node's tables as criteria read them, those kept for nodes that wait,
    and the lists of tests.
    """
    stats = space.statistics
    read = bins * 8 * (stats.width + stats.count_width)
    kept = bins * 4 * stats.width if stats.unit and not stats.moments else read
    return read + max(kept, min(KEEP_BYTES, OPEN_NODES * kept)) + bins * 48
