"""What becomes of rows without a value."""
