"""What exact searches share; a plugin brings the objective, the bounds and the order."""
