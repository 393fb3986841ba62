"""Zhang & Gionis: accurate trees with complexity guarantees by regularized impurity reduction."""
