"""All trade-offs of error and cost."""
