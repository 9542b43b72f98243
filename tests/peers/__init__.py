"""The comparison with other packages: what its page says of what was measured."""
