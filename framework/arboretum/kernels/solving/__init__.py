"""The floor for solvers: what an exact search over sets of objects needs, and no plugin should
write again.

``fingerprints``: sets of objects known by a sum of random words, in a hash table.
``memo``: bounds of sets, which their fingerprints find.
``rows``: outcomes of tests, and the objects that have them.
``arrays``: arrays that grow within a budget of bytes.
``slices``: kernels that are left and entered again.

Sets of at most 64 things as one word: :mod:`arboretum.kernels.bits`.  Importing this package loads
no numba.
"""
