"""Consensus ADMM over a graph and its private variants (Zhang, Khalili & Liu 2018 and others)."""
