"""Alkhalid, Chikalov & Moshkov: sixteen greedy criteria and the exact minimum over separable
subtables.
"""
