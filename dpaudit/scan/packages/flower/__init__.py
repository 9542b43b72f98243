"""Flower: the clipping and the noise of its clients and of its strategies."""
