"""The study that the paper reports: protocol, published numbers, verdicts, figures.

No method imports it.
"""
