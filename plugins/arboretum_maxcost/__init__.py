"""Nan, Wang & Saligrama: trees whose dearest path is bounded, admissible impurities, exact
minima and fronts of error and price.
"""
