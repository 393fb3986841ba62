"""First-party plugin: the parts that belong to no paper (leaf rules, prices, the two open
recipes).
"""
