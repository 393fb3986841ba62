"""Trees that ask one test a level."""
