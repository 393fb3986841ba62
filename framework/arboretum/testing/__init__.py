"""How does an outsider prove conformance?  Suites, strategies and naive oracles."""
