"""Impurities and the criteria that score a test by them."""
