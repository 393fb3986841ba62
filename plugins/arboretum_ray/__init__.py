"""``rows=ray``: the rows of one growth in actors of a Ray cluster, however many machines it has."""
