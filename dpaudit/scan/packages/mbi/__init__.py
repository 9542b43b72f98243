"""mbi: models of noisy marginals."""
