"""Sampling: how an audit draws outputs, and the contract that these have to keep."""
