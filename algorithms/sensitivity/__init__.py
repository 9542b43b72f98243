"""Sensitivity lemmas of the papers: published bounds, bounds with a proof, and where they break."""
