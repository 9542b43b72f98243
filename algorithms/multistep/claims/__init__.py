"""What Huang & Gong claim."""
