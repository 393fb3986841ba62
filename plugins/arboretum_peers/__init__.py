"""Exact solvers of others (gosdt, pystreed, pydl8.5, pycontree, imodels) as solvers beside ours,
each in a process of its own.
"""
