"""The depth-limited search on binary tests."""
