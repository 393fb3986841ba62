"""What is a table, a test, a tree, a solution, a record?  Frozen values over NumPy arrays; no
I/O.
"""
