"""How good is a tree, and what does it cost?"""

from arboretum.measure.complexity import complexities, costs_of_rows, covering_cost
from arboretum.measure.evaluate import (
    DIRECTIONS,
    ValidationScore,
    better,
    direction,
    evaluate,
    pareto_front,
)
