"""How do files become tables?  Bytes → cells (one module per format) → columns of a known kind →
a checked table.
"""
