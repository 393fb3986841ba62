"""Where do finished runs live?  Run folders, written whole or not at all, and the lookup by
fingerprint.
"""
