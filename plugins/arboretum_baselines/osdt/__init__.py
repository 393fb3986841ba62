"""Branch and bound over sets of leaves: OSDT, PyGOSDT."""
