"""The one loop that grows every greedy tree, and its two engines."""
