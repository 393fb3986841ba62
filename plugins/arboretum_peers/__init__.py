"""Solvers of others (gosdt, pystreed, pydl8.5, pycontree, imodels, pytrees-rs, licketysplit,
odtlearn) as solvers beside ours, each in a process of its own.
"""
