"""How do raw columns become tests?  Cut points → coded columns → objects, each test able to read
itself aloud.
"""
