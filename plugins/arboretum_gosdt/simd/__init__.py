"""Vector code for kernels."""
