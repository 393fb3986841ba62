"""Conformance suites, one module per kind; these are the only modules of the package that import
pytest.
"""
