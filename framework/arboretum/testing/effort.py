"""How often is a thing tried?  In proportion to the examples of hypothesis' profile, so that one
word makes all tests thorough or brief.

Numbers are those of a hundred examples, which hypothesis asks for unless told otherwise; half of
them where fifty are asked for.
"""

import math

from hypothesis import settings


def tries(usual: int) -> int:
    """So many tables, seeds or draws of a loop."""
    return math.ceil(usual * settings().max_examples / 100)


def examples(usual: int) -> settings:
    """So many examples of a test of hypothesis, however long one takes."""
    return settings(max_examples=tries(usual), deadline=None)
