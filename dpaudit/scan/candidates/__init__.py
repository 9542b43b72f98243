"""The pairs that a scan tries, and the first looks that rank them."""
