"""The experiments of Lin et al., done again: published numbers, verdicts, figures.

No method imports it.
"""
