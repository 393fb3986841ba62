"""Trees of proven least squared or absolute error."""
