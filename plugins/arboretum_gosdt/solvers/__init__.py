"""The components: what a run names, and which search serves it."""
