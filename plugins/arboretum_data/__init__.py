"""First-party plugin: where tables come from, how their rows are divided and how columns become
tests.
"""
