"""Claims of Huang & Gong."""
