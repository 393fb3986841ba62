"""All trees within a budget of cost: counted, listed, and those that no other beats."""
