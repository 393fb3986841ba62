"""Survival trees: how long until an event, where some rows were last seen before it."""
