"""When a node is a leaf."""
