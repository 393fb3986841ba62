"""Tests that are made at the node from raw columns."""
