"""Where do the cycles go?  Numba kernels: arrays in, arrays out; numba and numpy only."""
