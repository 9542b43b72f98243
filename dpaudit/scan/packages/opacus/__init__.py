"""Opacus: the noise, the clipping and the sampling of its optimizers and of its engine."""
