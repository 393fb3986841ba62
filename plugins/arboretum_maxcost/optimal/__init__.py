"""The least maximum cost of any tree of zero error, or within a budget."""
