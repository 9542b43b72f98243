"""Claims of Huang & Gong on the way to their Theorem 7, equation by equation."""
