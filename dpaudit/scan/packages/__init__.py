"""Cards of packages that can be scanned, and the plain functions that run beside each."""
