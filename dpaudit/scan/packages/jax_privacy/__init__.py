"""JAX Privacy: sums of clipped values, and the noise that is added to them."""
