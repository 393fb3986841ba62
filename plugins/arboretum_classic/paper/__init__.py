"""The lecture: its figures and its claims, done again; no method imports it."""
