"""The minimum over all trees, by dynamic programming over separable subtables."""
