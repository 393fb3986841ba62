"""GREEDYTREE: admissible impurities, the worst case of a test, and what its trees guarantee."""
