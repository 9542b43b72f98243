"""Composition by Fourier series and contour integrals."""
