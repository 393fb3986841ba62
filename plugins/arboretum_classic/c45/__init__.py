"""Quinlan's C4.5, release 8 and textbook."""
