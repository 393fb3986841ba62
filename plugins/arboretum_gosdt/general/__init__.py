"""The search that knows every limit, and asks the others for bounds."""
