"""First-party plugin: the classical methods (CART, ID3, gain ratio, a random baseline)."""
