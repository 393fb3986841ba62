"""The depth-limited search over all thresholds of continuous columns."""
