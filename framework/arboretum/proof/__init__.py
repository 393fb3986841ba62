"""Why should anybody believe a lower bound?  The log that a solver writes, and the checker that
replays it.
"""
