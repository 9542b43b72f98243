"""What Huang & Gong claim on the way to their Theorem 7, equation by equation."""
