"""GOSDT's own algorithms, as the paper prints them."""
