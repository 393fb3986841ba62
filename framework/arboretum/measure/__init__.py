"""How good is it?  Metrics and complexities of trees."""
