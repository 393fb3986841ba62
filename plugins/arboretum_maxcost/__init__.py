"""Nan, Wang & Saligrama: trees whose costliest path is bounded, admissible impurities, exact
minima and fronts of error and price.
"""
