"""Trees of least cost by sums over leaves: any leaf cost of an author's own."""
